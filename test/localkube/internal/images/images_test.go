package images

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestAnImageHoldsWhatAProgramNeeds(t *testing.T) {
	image := write(t, Image{
		Reference: "example.test/etcd:v1", Files: map[string]string{"usr/local/bin/etcd": executable(t)},
		Links: map[string]string{"bin/sh": "busybox"}, Directories: []string{"var/lib/etcd"},
		Cmd: []string{"etcd"}, WorkingDir: "/var/lib/etcd",
	})
	files := contents(t, image)
	for path, mode := range map[string]int64{
		"tmp": 0o1777, "var/lib/etcd": 0o1777, "var": 0o755, "usr/local/bin/etcd": 0o755, "etc/passwd": 0o644,
	} {
		if got, found := files[path]; !found || got.Mode != mode {
			t.Errorf("%s: %+v, want mode %o", path, got, mode)
		}
	}
	if link := files["bin/sh"]; link == nil || link.Linkname != "busybox" {
		t.Errorf("no link: %+v", link)
	}
	config, err := image.ConfigFile()
	if err != nil || config.OS != "linux" || config.Config.WorkingDir != "/var/lib/etcd" || len(config.Config.Cmd) != 1 {
		t.Errorf("config %+v: %v", config, err)
	}
}

func TestAnImageIsFoundUnderEachOfItsNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image.tar")
	names := []string{"example.test/a:b", "mirror.test/a:b"}
	if err := Write(path, Image{Reference: names[0], Also: names[1:], Files: map[string]string{"bin/a": executable(t)}}); err != nil {
		t.Fatal(err)
	}
	for _, reference := range names {
		tag, err := name.NewTag(reference)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tarball.ImageFromPath(path, &tag); err != nil {
			t.Errorf("%s: %v", reference, err)
		}
	}
}

func TestTheSameBinariesMakeTheSameImage(t *testing.T) {
	same := Image{Reference: "example.test/a:b", Files: map[string]string{"bin/a": executable(t), "bin/b": executable(t)}}
	first, err := write(t, same).Digest()
	if err != nil {
		t.Fatal(err)
	}
	second, err := write(t, same).Digest()
	if err != nil || first != second {
		t.Errorf("%s and then %s: %v", first, second, err)
	}
}

func write(t *testing.T, image Image) v1.Image {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := Write(path, image); err != nil {
		t.Fatal(err)
	}
	read, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func executable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("machine code"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func contents(t *testing.T, image v1.Image) map[string]*tar.Header {
	t.Helper()
	files := map[string]*tar.Header{}
	stream := mutate.Extract(image)
	defer func() { _ = stream.Close() }()
	for r := tar.NewReader(stream); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = header
	}
}
