package registry

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/images"
)

// pushed is a registry with one image, and the name and digest of that.
func pushed(t *testing.T) (*httptest.Server, string) {
	t.Helper()
	server := httptest.NewTLSServer(Handler(t.TempDir()))
	t.Cleanup(server.Close)
	archive, program := filepath.Join(t.TempDir(), "image.tar"), filepath.Join(t.TempDir(), "etcd")
	if err := os.WriteFile(program, []byte("a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := images.Write(archive, images.Image{Reference: "gcr.io/etcd-development/etcd:v3.6.16",
		Files: map[string]string{"bin/etcd": program}}); err != nil {
		t.Fatal(err)
	}
	client := Client{Host: strings.TrimPrefix(server.URL, "https://"), Transport: server.Client().Transport}
	names, err := client.Push(t.Context(), archive)
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	return server, names[0]
}

func pull(ctx context.Context, server *httptest.Server, text string, as authn.Authenticator) error {
	reference, err := name.ParseReference(text)
	if err != nil {
		return err
	}
	_, err = remote.Image(reference, remote.WithContext(ctx), remote.WithTransport(server.Client().Transport), remote.WithAuth(as))
	return err
}

func TestAnImageIsPulledByTagAndByDigestWithThePassword(t *testing.T) {
	server, pushed := pushed(t)
	tagged, digest, _ := strings.Cut(pushed, "@")
	host := strings.TrimPrefix(server.URL, "https://")
	if tagged != host+"/etcd-development/etcd:v3.6.16" {
		t.Errorf("it is named %s", tagged)
	}
	for _, text := range []string{tagged, host + "/etcd-development/etcd@" + digest} {
		if err := pull(t.Context(), server, text, &authn.Basic{Username: User, Password: Password}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNothingIsPulledWithoutThePassword(t *testing.T) {
	server, pushed := pushed(t)
	for who, as := range map[string]authn.Authenticator{"nobody": authn.Anonymous,
		"a wrong password": &authn.Basic{Username: User, Password: "wrong"}} {
		err := pull(t.Context(), server, pushed, as)
		if err == nil || !strings.Contains(err.Error(), "UNAUTHORIZED") {
			t.Errorf("%s: %v", who, err)
		}
	}
}
