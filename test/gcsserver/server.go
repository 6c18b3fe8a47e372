// Package gcsserver starts a real server of Google Cloud Storage's protocol for tests: fake-gcs-server, a process of
// its own. Its proxies and their faults are those of package s3server, whose names of operations stand for GCS's own.
//
// The program is built by `make bin/gcs/fake-gcs-server` and looked for in $GCS_BINARIES. Only a full run needs it.
package gcsserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/test/needs"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// Program is what serves.
const Program s3server.Kind = "fake-gcs-server"

// startTimeout is how long it may take to serve on a machine that does much else.
const startTimeout = time.Minute

// Server is one that runs.
type Server struct {
	Endpoint string // a URL without a path
	Bucket   string
	// Credentials is a directory with service-account.json, as the kubelet mounts a Secret. Whoever gives out tokens
	// for it is a server of the test's.
	Credentials string
	// CA is the CA of its certificate, PEM; nil without TLS.
	CA []byte

	pair *s3server.KeyPair // nil without TLS
}

// Absent is a server that does not run, for a proxy that answers everything in its place.
func Absent(t testing.TB) *Server {
	t.Helper()
	return absent(t, s3server.Loopback, nil)
}

func absent(t testing.TB, host string, pair *s3server.KeyPair) *Server {
	t.Helper()
	s := &Server{Endpoint: "http://" + s3server.FreeAddressOf(t, host), Bucket: "backups", pair: pair}
	if pair != nil {
		s.Endpoint, s.CA = strings.Replace(s.Endpoint, "http:", "https:", 1), pair.CA
	}
	s.Credentials = serviceAccount(t, host, pair)
	return s
}

// Start runs the program until the test ends, in a full run. It needs $GCS_BINARIES; a program that is missing there
// fails the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := Absent(t)
	s.run(t)
	return s
}

// StartTLS is Start on an address of this machine that others reach, with a certificate of a CA made for it.
// The server of tokens has that certificate as well.
func StartTLS(t testing.TB, host string) *Server {
	t.Helper()
	pair, err := s3server.NewKeyPair(t.TempDir(), host)
	must(t, err)
	s := absent(t, host, pair)
	s.run(t)
	return s
}

func (s *Server) run(t testing.TB) {
	t.Helper()
	needs.Full(t, "a server of GCS's protocol, "+string(Program))
	dir := needs.Variable(t, "GCS_BINARIES", "Build GCS's server (make bin/gcs/fake-gcs-server) and set it to bin/gcs.")
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, s.Bucket), 0o700))
	scheme, address, _ := strings.Cut(s.Endpoint, "://")
	host, port, err := net.SplitHostPort(address)
	must(t, err)
	args := []string{"-scheme=" + scheme, "-host=" + host, "-port=" + port, "-backend=memory", "-data=" + root,
		"-public-host=" + address, "-external-url=" + s.Endpoint}
	if s.pair != nil {
		args = append(args, "-cert-location="+s.pair.CertFile, "-private-key-location="+s.pair.KeyFile)
	}
	s3server.Spawn(t, filepath.Join(dir, string(Program)), args, os.Environ())
	s.await(t)
}

// Put writes an object as another tool does.
func (s *Server) Put(ctx context.Context, key string, content []byte) error {
	to := s.Endpoint + "/upload/storage/v1/b/" + s.Bucket + "/o?uploadType=media&name=" + url.QueryEscape(key)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(content))
	if err != nil {
		return err
	}
	answer, err := s.client().Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return nil
}

func (s *Server) client() *http.Client { return &http.Client{Transport: s3server.Trusting(s.CA)} }

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
		answer, err := s.client().Get(s.Endpoint + "/storage/v1/b/" + s.Bucket)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
			err = fmt.Errorf("it answers %s", answer.Status)
		}
		select {
		case <-ends:
			t.Fatalf("%s does not serve: %v", Program, err)
		case <-again.C:
		}
	}
}

// key is made once: it takes longer than most tests.
var key = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func serviceAccount(t testing.TB, host string, pair *s3server.KeyPair) string {
	t.Helper()
	tokens := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, rand.Text())
	}))
	var err error
	tokens.Listener, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	must(t, err)
	if pair == nil {
		tokens.Start()
	} else {
		tokens.TLS = &tls.Config{Certificates: []tls.Certificate{pair.Certificate}, MinVersion: tls.VersionTLS12}
		tokens.StartTLS()
	}
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
