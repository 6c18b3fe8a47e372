// Package azureserver starts a real server of Azure's blobs for tests: azurite-blob, a process of its own. Its proxies and their
// faults are those of package s3server, whose names of operations stand for Azure's own.
//
// The program is brought by `make bin/azure/azurite-blob`, which needs npm, and looked for in $AZURE_BINARIES. Only a
// full run needs it.
package azureserver

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/etcdsteward/etcd-steward/test/needs"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

const (
	program = "azurite-blob"
	account = "steward"
)

// startTimeout is how long it may take to serve on a machine that does much else.
const startTimeout = time.Minute

// Server is one that runs.
type Server struct {
	Endpoint  string // a URL that ends with the account
	Container string
	// Credentials is a directory with account-name and account-key, as the kubelet mounts a Secret.
	Credentials string

	address string
}

// Start runs the program until the test ends, in a full run. It needs $AZURE_BINARIES; a program that is missing there
// fails the test.
func Start(t testing.TB) *Server {
	t.Helper()
	needs.Full(t, "a server of Azure's blobs, "+program)
	dir := needs.Variable(t, "AZURE_BINARIES", "Get Azure's server (make bin/azure/azurite-blob; it takes npm) and set it to bin/azure.")
	key := base64.StdEncoding.EncodeToString([]byte(rand.Text()))
	s := &Server{Container: "backups", Credentials: t.TempDir(), address: s3server.FreeAddress(t)}
	s.Endpoint = "http://" + s.address + "/" + account
	for name, value := range map[string]string{"account-name": account, "account-key": key} {
		must(t, os.WriteFile(filepath.Join(s.Credentials, name), []byte(value), 0o600))
	}
	host, port, err := net.SplitHostPort(s.address)
	must(t, err)
	var log bytes.Buffer
	command := exec.Command(filepath.Join(dir, program), "--blobHost", host, "--blobPort", port, "--inMemoryPersistence",
		"--skipApiVersionCheck", "--disableTelemetry", "--silent")
	command.Dir, command.Env = t.TempDir(), append(os.Environ(), "AZURITE_ACCOUNTS="+account+":"+key)
	command.Stdout, command.Stderr = &log, &log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", program, &log)
		}
	})
	s.makeContainer(t, key)
	return s
}

// makeContainer returns once it is there.
func (s *Server) makeContainer(t testing.TB, key string) {
	t.Helper()
	credential, err := container.NewSharedKeyCredential(account, key)
	must(t, err)
	client, err := container.NewClientWithSharedKeyCredential(s.Endpoint+"/"+s.Container, credential, nil)
	must(t, err)
	again, ends := time.NewTicker(50*time.Millisecond), time.After(startTimeout)
	defer again.Stop()
	for {
		connection, err := net.Dial("tcp", s.address)
		if err == nil {
			_ = connection.Close()
			_, err = client.Create(t.Context(), nil)
			must(t, err)
			return
		}
		select {
		case <-ends:
			t.Fatalf("%s does not serve: %v", program, err)
		case <-again.C:
		}
	}
}

// Proxy starts one, which ends with the test. What leads to it is Endpoint of it and the account.
func (s *Server) Proxy(t testing.TB) (p *s3server.Proxy, endpoint string) {
	t.Helper()
	p = s3server.Before(t, s3server.Backend{Endpoint: "http://" + s.address, Bucket: s.Container, Classify: classify})
	return p, p.Endpoint + "/" + account
}

// operations are by method and the word behind comp in the query.
var operations = map[string]s3server.Operation{
	"PUT":           s3server.PutObject,
	"PUT block":     s3server.UploadPart,
	"PUT blocklist": s3server.CompleteMultipartUpload,
	"GET list":      s3server.ListObjects,
	"GET":           s3server.GetObject,
	"HEAD":          s3server.HeadObject,
	"DELETE":        s3server.DeleteObject,
}

// classify names a request as S3 would. Azure's uploads in several requests have no beginning of their own.
func classify(r *http.Request) s3server.Request {
	out := s3server.Request{Operation: s3server.Other, Signed: r.Header.Get("Authorization") != ""}
	if parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 3); len(parts) == 3 {
		out.Key = parts[2]
	}
	if operation, known := operations[strings.TrimSpace(r.Method+" "+r.URL.Query().Get("comp"))]; known {
		out.Operation = operation
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(fmt.Errorf("azureserver: %w", err))
	}
}
