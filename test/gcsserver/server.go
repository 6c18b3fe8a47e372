// Package gcsserver starts a real server of Google Cloud Storage's protocol for tests: fake-gcs-server, a process of its own.
// Its proxies and their faults are those of package s3server, whose names of operations stand for GCS's own.
//
// The program is built by `make bin/gcs/fake-gcs-server` and looked for in $GCS_BINARIES. Only a full run needs it.
package gcsserver

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/test/needs"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

const program = "fake-gcs-server"

// startTimeout is how long it may take to serve on a machine that does much else.
const startTimeout = time.Minute

// Server is one that runs.
type Server struct {
	Endpoint string // a URL without a path
	Bucket   string
	// Credentials is a directory with service-account.json, as the kubelet mounts a Secret. Whoever gives out tokens for it
	// is a server of the test's.
	Credentials string
}

// Absent is a server that does not run, for a proxy that answers everything in its place.
func Absent(t testing.TB) *Server {
	t.Helper()
	return &Server{Endpoint: "http://" + s3server.FreeAddress(t), Bucket: "backups", Credentials: serviceAccount(t)}
}

// Start runs the program until the test ends, in a full run. It needs $GCS_BINARIES; a program that is missing there
// fails the test.
func Start(t testing.TB) *Server {
	t.Helper()
	needs.Full(t, "a server of GCS's protocol, "+program)
	dir := needs.Variable(t, "GCS_BINARIES", "Build GCS's server (make bin/gcs/fake-gcs-server) and set it to bin/gcs.")
	root := t.TempDir()
	s := Absent(t)
	must(t, os.Mkdir(filepath.Join(root, s.Bucket), 0o700))
	address := strings.TrimPrefix(s.Endpoint, "http://")
	_, port, err := net.SplitHostPort(address)
	must(t, err)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	must(t, err)
	command := exec.Command(filepath.Join(dir, program), "-scheme=http", "-host=127.0.0.1", "-port="+port, "-backend=memory", "-data="+root,
		"-public-host="+address, "-external-url="+s.Endpoint)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s said:\n%s", program, text)
		}
	})
	s.await(t)
	return s
}

// Proxy starts one, which ends with the test. An upload in several requests stays with it.
func (s *Server) Proxy(t testing.TB) *s3server.Proxy {
	t.Helper()
	return s3server.Before(t, s3server.Backend{Endpoint: s.Endpoint, Bucket: s.Bucket, Classify: classify})
}

// operations are recognised by the first line that fits. An upload in several requests is begun, gets its parts, and is
// complete with the last.
var operations = []struct {
	operation s3server.Operation
	fit       func(r *http.Request) bool
}{
	{s3server.PutObject, func(r *http.Request) bool { return isUpload(r) && r.URL.Query().Get("uploadType") == "multipart" }},
	{s3server.CreateMultipartUpload, func(r *http.Request) bool {
		return isUpload(r) && r.Method == http.MethodPost && !r.URL.Query().Has("upload_id")
	}},
	{s3server.UploadPart, isUpload},
	{s3server.DeleteObject, func(r *http.Request) bool { return r.Method == http.MethodDelete }},
	{s3server.Other, func(r *http.Request) bool { return r.Method != http.MethodGet }},
	{s3server.ListObjects, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/o") }},
	{s3server.HeadObject, func(r *http.Request) bool {
		return strings.HasPrefix(r.URL.Path, "/storage/") && r.URL.Query().Get("alt") != "media"
	}},
	{s3server.GetObject, func(*http.Request) bool { return true }},
}

func isUpload(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/upload/") }

// classify names a request as S3 would.
func classify(r *http.Request) s3server.Request {
	out := s3server.Request{Signed: r.Header.Get("Authorization") != ""}
	_, out.Key, _ = strings.Cut(r.URL.Path, "/o/")
	for _, o := range operations {
		if o.fit(r) {
			out.Operation = o.operation
			break
		}
	}
	return out
}

// await returns once the bucket is there.
func (s *Server) await(t testing.TB) {
	t.Helper()
	again, ends := time.NewTicker(20*time.Millisecond), time.After(startTimeout)
	defer again.Stop()
	for {
		answer, err := http.Get(s.Endpoint + "/storage/v1/b/" + s.Bucket)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
			err = fmt.Errorf("it answers %s", answer.Status)
		}
		select {
		case <-ends:
			t.Fatalf("%s does not serve: %v", program, err)
		case <-again.C:
		}
	}
}

// key is made once: it takes longer than most tests.
var key = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func serviceAccount(t testing.TB) string {
	t.Helper()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, rand.Text())
	}))
	t.Cleanup(tokens.Close)
	key, err := key()
	must(t, err)
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "backup@example.com", "token_uri": tokens.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
	})
	must(t, err)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "service-account.json"), text, 0o600))
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
