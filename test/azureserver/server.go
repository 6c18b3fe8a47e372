// Package azureserver starts a real server of Azure's blobs for tests: azurite-blob, a process of its own. Its proxies
// and their faults are those of package s3server, whose names of operations stand for Azure's own.
//
// The program is brought by `make bin/azure/azurite-blob`, which needs npm, and looked for in $AZURE_BINARIES. Only a
// full run needs it.
package azureserver

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/etcdsteward/etcd-steward/test/needs"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// Program is what serves.
const Program s3server.Kind = "azurite-blob"

const account = "steward"

// startTimeout is how long it may take to serve on a machine that does much else.
const startTimeout = time.Minute

// Server is one that runs.
type Server struct {
	Endpoint  string // a URL that ends with the account
	Container string
	// Credentials is a directory with account-name and account-key, as the kubelet mounts a Secret.
	Credentials string
	// CA is the CA of its certificate, PEM; nil without TLS.
	CA []byte

	address   string
	container *container.Client
}

// Start runs the program until the test ends, in a full run. It needs $AZURE_BINARIES; a program that is missing there
// fails the test.
func Start(t testing.TB) *Server {
	t.Helper()
	return start(t, s3server.Loopback, nil)
}

// StartTLS is Start on an address of this machine that others reach, with a certificate of a CA made for it.
func StartTLS(t testing.TB, host string) *Server {
	t.Helper()
	pair, err := s3server.NewKeyPair(t.TempDir(), host)
	must(t, err)
	return start(t, host, pair)
}

func start(t testing.TB, host string, pair *s3server.KeyPair) *Server {
	t.Helper()
	needs.Full(t, "a server of Azure's blobs, "+string(Program))
	dir := needs.Variable(t, "AZURE_BINARIES", "Get Azure's server (make bin/azure/azurite-blob; it takes npm) and set it to bin/azure.")
	key := base64.StdEncoding.EncodeToString([]byte(rand.Text()))
	s := &Server{Container: "backups", Credentials: t.TempDir(), address: s3server.FreeAddressOf(t, host)}
	for name, value := range map[string]string{"account-name": account, "account-key": key} {
		must(t, os.WriteFile(filepath.Join(s.Credentials, name), []byte(value), 0o600))
	}
	_, port, err := net.SplitHostPort(s.address)
	must(t, err)
	args := []string{"--blobHost", host, "--blobPort", port, "--inMemoryPersistence", "--skipApiVersionCheck",
		"--disableTelemetry", "--silent"}
	s.Endpoint = "http://" + s.address + "/" + account
	if pair != nil {
		s.Endpoint, s.CA = "https://"+s.address+"/"+account, pair.CA
		args = append(args, "--cert", pair.CertFile, "--key", pair.KeyFile)
	}
	s3server.Spawn(t, filepath.Join(dir, string(Program)), args, append(os.Environ(), "AZURITE_ACCOUNTS="+account+":"+key))
	s.makeContainer(t, key)
	return s
}

// Put writes an object as another tool does.
func (s *Server) Put(ctx context.Context, key string, content []byte) error {
	_, err := s.container.NewBlockBlobClient(key).UploadBuffer(ctx, content, nil)
	return err
}

// makeContainer returns once it is there.
func (s *Server) makeContainer(t testing.TB, key string) {
	t.Helper()
	credential, err := container.NewSharedKeyCredential(account, key)
	must(t, err)
	options := &container.ClientOptions{}
	options.Transport = &http.Client{Transport: s3server.Trusting(s.CA)}
	s.container, err = container.NewClientWithSharedKeyCredential(s.Endpoint+"/"+s.Container, credential, options)
	must(t, err)
	again, ends := time.NewTicker(50*time.Millisecond), time.After(startTimeout)
	defer again.Stop()
	for {
		connection, err := net.Dial("tcp", s.address)
		if err == nil {
			_ = connection.Close()
			_, err = s.container.Create(t.Context(), nil)
			must(t, err)
			return
		}
		select {
		case <-ends:
			t.Fatalf("%s does not serve: %v", Program, err)
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
