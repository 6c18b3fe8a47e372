package registry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/images"
)

// pushed is a registry with one image, and the name and digest of that.
func pushed(t *testing.T) (*httptest.Server, string) {
	t.Helper()
	server := httptest.NewTLSServer(serving(t))
	t.Cleanup(server.Close)
	client := Client{Host: strings.TrimPrefix(server.URL, "https://"), Transport: server.Client().Transport}
	names, err := client.Push(t.Context(), loaded(t))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	return server, names[0]
}

// loaded is the archive of an image, as nodes get it.
func loaded(t *testing.T) string {
	t.Helper()
	archive, program := filepath.Join(t.TempDir(), "image.tar"), filepath.Join(t.TempDir(), "etcd")
	if err := os.WriteFile(program, []byte("a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := images.Write(archive, images.Image{Reference: "gcr.io/etcd-development/etcd:v3.6.16",
		Files: map[string]string{"bin/etcd": program}}); err != nil {
		t.Fatal(err)
	}
	return archive
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
	for who, as := range map[string]authn.Authenticator{"no password": authn.Anonymous,
		"a wrong password": &authn.Basic{Username: User, Password: "wrong"}} {
		err := pull(t.Context(), server, pushed, as)
		if err == nil || !strings.Contains(err.Error(), "UNAUTHORIZED") {
			t.Errorf("%s: %v", who, err)
		}
	}
}

func TestAnImageOfTheRegistryIsAnotherOneThanTheSameThatWasLoaded(t *testing.T) {
	server, pushed := pushed(t)
	reference, err := name.ParseReference(pushed)
	if err != nil {
		t.Fatal(err)
	}
	there, err := remote.Image(reference, remote.WithTransport(server.Client().Transport),
		remote.WithAuth(&authn.Basic{Username: User, Password: Password}))
	if err != nil {
		t.Fatal(err)
	}
	here, err := tarball.ImageFromPath(loaded(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	thereID, errThere := there.ConfigName()
	hereID, errHere := here.ConfigName()
	if errThere != nil || errHere != nil || thereID == hereID {
		t.Errorf("a kubelet takes both for one image: %s, %s (%v, %v)", thereID, hereID, errThere, errHere)
	}
}

// serving is the registry of a localkube that has just begun, which has no directory yet.
func serving(t *testing.T) http.Handler {
	t.Helper()
	handler, err := Handler(filepath.Join(t.TempDir(), "registry"))
	if err != nil {
		t.Fatal(err)
	}
	return handler
}
