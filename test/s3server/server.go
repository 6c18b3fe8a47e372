// Package s3server starts real S3 servers for tests: two programs that have nothing in common, each a process of its
// own on an address of its own, with credentials of its own. Whatever passes on one of them only relies on an accident.
//
// A Proxy before a server does what networks and overloaded, wrong or hostile servers do.
//
// The programs are built by `make bin/s3/versitygw bin/s3/rclone` and looked for in $S3_BINARIES. Only a full
// run needs rclone.
package s3server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// Kind is one of the programs, or one that serves another protocol.
type Kind string

// The programs: a gateway to a file system, and a file manager's server.
const (
	Versitygw Kind = "versitygw"
	Rclone    Kind = "rclone"
)

// Kinds are all programs.
var Kinds = []Kind{Versitygw, Rclone}

// Options say how a server is to be; the zero value is one on loopback without TLS.
type Options struct {
	// Host is the address it listens on. Default: 127.0.0.1. Pods of localkube reach this machine as 198.18.0.1.
	Host string
	// TLS gives it a certificate of a CA made for it.
	TLS bool
	// Dir is where it keeps everything. Default: a temporary directory, which only Start chooses.
	Dir string
	// Bucket is the bucket that is made. Default: backups.
	Bucket string
	// Binaries is the directory of the programs. Default: $S3_BINARIES.
	Binaries string
}

// Server is one that runs.
type Server struct {
	Access

	Kind Kind

	dir     string
	pair    *KeyPair // nil without TLS
	process *process
}

// startTimeout is how long a server may take to serve on a machine that does much else.
const startTimeout = time.Minute

// attempts is how many ports are tried: one that was free may be taken a moment later.
const attempts = 3

// Each runs a test on each program.
func Each(t *testing.T, o Options, test func(t *testing.T, s *Server)) {
	t.Helper()
	for _, kind := range Kinds {
		t.Run(string(kind), func(t *testing.T) { test(t, Start(t, kind, o)) })
	}
}

// Start runs a program until the test ends. It needs $S3_BINARIES; a program that is missing there fails the test. Only
// a full run has another than versitygw.
func Start(t testing.TB, kind Kind, o Options) *Server {
	t.Helper()
	if kind != Versitygw {
		needs.Full(t, "a second S3 server, "+string(kind))
	}
	if o.Binaries == "" {
		o.Binaries = needs.Variable(t, "S3_BINARIES",
			"Build an S3 server (make bin/s3/"+string(kind)+") and set it to bin/s3.")
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := Run(t.Context(), kind, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("%s said:\n%s", kind, s.process.output())
		}
	})
	return s
}

// Run starts a program, waits until it serves, and makes the bucket. It ends with this process, or by Stop.
func Run(ctx context.Context, kind Kind, o Options) (*Server, error) {
	if o.Dir == "" {
		return nil, errors.New("starting an S3 server: it needs a directory")
	}
	s := &Server{Kind: kind, dir: o.Dir, Access: Access{
		Region:          "us-east-1",
		Bucket:          cmp.Or(o.Bucket, "backups"),
		AccessKeyID:     "TEST" + rand.Text()[:16],
		SecretAccessKey: rand.Text() + rand.Text(),
	}}
	for _, dir := range []string{"data", "meta", "cache", "tls"} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
			return nil, fmt.Errorf("making the directory of an S3 server: %w", err)
		}
	}
	host := cmp.Or(o.Host, Loopback)
	if o.TLS {
		pair, err := NewKeyPair(filepath.Join(s.dir, "tls"), host)
		if err != nil {
			return nil, err
		}
		s.pair, s.CA = pair, pair.CA
	}
	binary, err := filepath.Abs(filepath.Join(o.Binaries, string(kind))) // it runs in a directory of its own
	if err != nil {
		return nil, fmt.Errorf("finding %s: %w", kind, err)
	}
	return s, s.launch(ctx, binary, host)
}

// launch tries a few ports.
func (s *Server) launch(ctx context.Context, binary, host string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var err error
	for range attempts {
		var address string
		if address, err = freeAddress(host); err != nil {
			return err
		}
		s.Endpoint = "http://" + address
		if s.pair != nil {
			s.Endpoint = "https://" + address
		}
		if s.process, err = startProcess(binary, s.dir, s.arguments(address), s.environment()); err != nil {
			return fmt.Errorf("starting %s: %w", s.Kind, err)
		}
		if err = s.waitReady(ctx); err == nil {
			return nil
		}
		s.Stop()
		if !bytes.Contains(s.process.output(), []byte("address already in use")) {
			break
		}
	}
	return fmt.Errorf("%s does not serve: %w\n%s", s.Kind, err, s.process.output())
}

// waitReady makes the bucket with the credentials that were made for this server, so that what answers is no other.
func (s *Server) waitReady(ctx context.Context) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := s.makeBucket(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.process.done:
			return fmt.Errorf("it ended: %w", s.process.err)
		case <-ctx.Done():
			return fmt.Errorf("making the bucket: %w", err)
		case <-again.C:
		}
	}
}

// File is where the server keeps an object: a plain file with its bytes, to be compared or spoilt behind its back. Its
// length should stay: rclone remembers that for a while, and which files there are. Put another object for such things.
func (s *Server) File(key string) string {
	return filepath.Join(s.dir, "data", s.Bucket, filepath.FromSlash(key))
}

// Stop kills the process and waits until it is gone.
func (s *Server) Stop() { s.process.kill() }

func freeAddress(host string) (string, error) {
	port, err := needs.Port(host)
	return net.JoinHostPort(host, port), err
}

// Loopback is the address that only this machine reaches.
const Loopback = "127.0.0.1"

// FreeAddress is one on this machine where nobody listened a moment ago.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return FreeAddressOf(t, Loopback)
}

// FreeAddressOf is FreeAddress of one of this machine's addresses.
func FreeAddressOf(t testing.TB, host string) string {
	t.Helper()
	address, err := freeAddress(host)
	if err != nil {
		t.Fatal(err)
	}
	return address
}
