package store

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// servers start the real ones. Those of S3 are found in the directory that S3_BINARIES names, the others in that of
// BACKUP_SERVERS: fake-gcs-server of github.com/fsouza/fake-gcs-server, and azurite-blob of npm's azurite. Without it
// nothing is tried on them.
var servers = map[string]func(t *testing.T) (Config, Options){
	"versitygw": func(t *testing.T) (Config, Options) { return startS3(t, s3server.Versitygw) },
	"rclone":    func(t *testing.T) (Config, Options) { return startS3(t, s3server.Rclone) },
	"fake-gcs-server": func(t *testing.T) (Config, Options) {
		root := t.TempDir()
		endpoint := startServer(t, "fake-gcs-server", root, func(address string) []string {
			_, port, _ := net.SplitHostPort(address)
			return []string{
				"-scheme=http", "-host=127.0.0.1", "-port=" + port, "-backend=memory", "-data=" + root,
				"-public-host=" + address, "-external-url=http://" + address,
			}
		})
		return Config{GCS: &GCS{Bucket: fakeBucket, Prefix: "some/prefix", Endpoint: endpoint}},
			Options{CredentialsDir: serviceAccount(t)}
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

// serviceAccount is a mounted Secret with a key of Google's kind, and a server that gives tokens for it.
func serviceAccount(t *testing.T) string {
	t.Helper()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, secret)
	}))
	t.Cleanup(tokens.Close)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "backup@example.com", "token_uri": tokens.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
	})
	must(t, err)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, fileServiceAccount), text, 0o600))
	return dir
}

// startServer starts one program that has the bucket as a directory, and returns its URL.
func startServer(t *testing.T, program, root string, args func(address string) []string) (endpoint string) {
	t.Helper()
	dir := os.Getenv("BACKUP_SERVERS")
	if dir == "" {
		t.Skip("BACKUP_SERVERS is not set: nothing is tried on a real server of this kind")
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
