package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/test/gcsserver"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// servers start the real ones. Those of S3 and GCS are built by make; azurite-blob of npm's azurite is found in the directory
// that AZURE_BINARIES names, and without it nothing is tried on it.
var servers = map[string]func(t *testing.T) (Config, Options){
	"versitygw": func(t *testing.T) (Config, Options) { return startS3(t, s3server.Versitygw) },
	"rclone":    func(t *testing.T) (Config, Options) { return startS3(t, s3server.Rclone) },
	"fake-gcs-server": func(t *testing.T) (Config, Options) {
		s := gcsserver.Start(t)
		return Config{GCS: &GCS{Bucket: s.Bucket, Prefix: "some/prefix", Endpoint: s.Endpoint}}, Options{CredentialsDir: s.Credentials}
	},
	"azurite-blob": func(t *testing.T) (Config, Options) {
		root, dir := t.TempDir(), t.TempDir()
		key := base64.StdEncoding.EncodeToString([]byte(secret))
		must(t, os.WriteFile(filepath.Join(dir, fileAccountName), []byte("steward"), 0o600))
		must(t, os.WriteFile(filepath.Join(dir, fileAccountKey), []byte(key), 0o600))
		t.Setenv("AZURITE_ACCOUNTS", "steward:"+key)
		endpoint := startServer(t, "azurite-blob", root, func(address string) []string {
			_, port, _ := net.SplitHostPort(address)
			return []string{"--blobHost", "127.0.0.1", "--blobPort", port, "--location", root, "--skipApiVersionCheck", "--disableTelemetry", "--silent"}
		})
		azure := &Azure{Container: fakeBucket, Prefix: "some/prefix", Endpoint: endpoint + "/steward"}
		client, err := azureClient(azure, dir, nil, nil)
		must(t, err)
		_, err = client.Create(context.Background(), nil)
		must(t, err)
		return Config{Azure: azure}, Options{CredentialsDir: dir}
	},
}

func startS3(t *testing.T, kind s3server.Kind) (Config, Options) {
	t.Helper()
	s := s3server.Start(t, kind, s3server.Options{})
	return Config{S3: &S3{Bucket: s.Bucket, Prefix: "some/prefix", Endpoint: s.Endpoint, Region: s.Region, ForcePathStyle: true}},
		Options{CredentialsDir: credentialsOf(t, s.Access)}
}

// credentialsOf is a mounted Secret that opens a server.
func credentialsOf(t testing.TB, access s3server.Access) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, fileAccessKeyID), []byte(access.AccessKeyID), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, fileSecretAccessKey), []byte(access.SecretAccessKey), 0o600))
	return dir
}

// startServer starts one program that has the bucket as a directory, and returns its URL.
func startServer(t *testing.T, program, root string, args func(address string) []string) (endpoint string) {
	t.Helper()
	dir := os.Getenv("AZURE_BINARIES")
	if dir == "" {
		t.Skip("AZURE_BINARIES is not set: nothing is tried on a real server of this kind")
	}
	must(t, os.Mkdir(filepath.Join(root, fakeBucket), 0o700))
	address := freeAddress(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	must(t, err)
	command := exec.Command(filepath.Join(dir, program), args(address)...)
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
	awaitPort(t, address)
	return "http://" + address
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func awaitPort(t testing.TB, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for ticker := time.NewTicker(50 * time.Millisecond); ; {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(fmt.Errorf("nothing listens at %s: %w", address, ctx.Err()))
		case <-ticker.C:
		}
	}
}
