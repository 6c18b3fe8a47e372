package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

// asAgent makes the test's own program run one step instead, so that it can be killed.
const asAgent = "RUN_AS_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asRoots) != "" {
		os.Exit(countRoots())
	}
	if args, ok := os.LookupEnv(asAgent); ok {
		os.Exit(run(context.Background(), strings.Split(args, "\n"), os.Stdout))
	}
	os.Exit(m.Run())
}

// slowBucket is an S3 server with one object, of which it sends half and waits until it is told to go on.
type slowBucket struct {
	*httptest.Server
	content []byte
	half    chan struct{} // closed when half of it has been sent
	whole   atomic.Bool
}

func newSlowBucket(t testing.TB, key string, content []byte) *slowBucket {
	t.Helper()
	b := &slowBucket{content: content, half: make(chan struct{})}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/backups/"+key {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(b.content)))
		w.Header().Set("Last-Modified", time.Unix(1_700_000_000, 0).UTC().Format(http.TimeFormat))
		if b.whole.Load() {
			_, _ = w.Write(b.content)
			return
		}
		_, _ = w.Write(b.content[:len(b.content)/2])
		w.(http.Flusher).Flush()
		close(b.half)
		<-r.Context().Done()
	}))
	t.Cleanup(b.Close)
	return b
}

func TestAFetchThatIsKilledStartsOverAndEnds(t *testing.T) {
	content := bytes.Repeat([]byte("a database, as far as the store knows\n"), 512*1000)
	content = append(content[:len(content)/512*512], make([]byte, 32)...)
	sum := sha256.Sum256(content)
	m := backup.Manifest{Key: "team/demo/u-1/d/snapshot.db", SHA256: hex.EncodeToString(sum[:]), SizeBytes: int64(len(content)), Revision: 7}
	bucket, volume, credentials := newSlowBucket(t, m.Key, content), t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(credentials, "access-key-id"), []byte("somebody"), 0o600))
	must(t, os.WriteFile(filepath.Join(credentials, "secret-access-key"), []byte("something"), 0o600))
	args := slices.Concat([]string{"fetch-for-restore", `--store={"s3":{"bucket":"backups","forcePathStyle":true,"endpoint":"` + bucket.URL + `"}}`,
		"--credentials-dir=" + credentials}, restoreArgs(m, volume))

	agent := exec.Command(os.Args[0])
	agent.Env = append(os.Environ(), asAgent+"="+strings.Join(append(slices.Clone(args), "--termination-log=", "--progress-address="), "\n"))
	var output bytes.Buffer
	agent.Stdout, agent.Stderr = &output, &output
	must(t, agent.Start())
	select {
	case <-bucket.half:
	case <-time.After(2 * time.Minute):
		_ = agent.Process.Kill()
		t.Fatalf("nothing was fetched: %s", output.String())
	}
	must(t, agent.Process.Kill())
	_ = agent.Wait()
	snapshot := filepath.Join(volume, "1a2b3c4d.restore", "demo-0", "snapshot.db")
	if info, err := os.Stat(snapshot); err != nil || info.Size() >= m.SizeBytes {
		t.Fatalf("what was killed has left %v, %v", info, err)
	}

	bucket.whole.Store(true)
	if code, message := runArgs(t, args...); code != 0 {
		t.Fatal(message)
	}
	fetched, err := os.ReadFile(snapshot)
	must(t, err)
	if !bytes.Equal(fetched, content) {
		t.Errorf("%d bytes were fetched that are not the object's %d", len(fetched), len(content))
	}
}
