package pack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var moment = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const repository = "registry.example/etcd-steward"

func TestTheSameFilesInAnotherDirectoryAndOrderGiveTheSameArchive(t *testing.T) {
	first, second := files(t), files(t)
	slices.Reverse(second)
	a, errA := TarGz(first, moment)
	b, errB := TarGz(second, moment)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Error("two archives of the same files differ", errA, errB)
	}
	plain, err := gzip.NewReader(bytes.NewReader(a))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(plain); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || !header.ModTime.Equal(moment) || header.Uid != 0 || header.Uname != "" {
			t.Fatal(header, err)
		}
		names = append(names, header.Name)
	}
	if !slices.Equal(names, []string{"agent", "manager", "sub/", "sub/LICENSE"}) {
		t.Error(names)
	}
}

func TestAnImageForTwoArchitecturesIsALayoutThatOthersCanRead(t *testing.T) {
	directory, digest := indexLayout(t)
	read, err := layout.ImageIndexFromPath(directory)
	if err != nil {
		t.Fatal(err)
	}
	top, err := read.IndexManifest()
	if err != nil || len(top.Manifests) != 1 || top.Manifests[0].Digest != digest {
		t.Fatal(top, err)
	}
	if found := top.Manifests[0].Annotations; !maps.Equal(found, names(repository, "v1.2.3")) {
		t.Error(found)
	}
	index, err := read.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.MediaType != types.OCIImageIndex || len(manifest.Manifests) != 2 {
		t.Fatal(manifest)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		if platform := manifest.Manifests[i].Platform; !platform.Equals(v1.Platform{OS: "linux", Architecture: arch}) {
			t.Error(platform)
		}
		if artifact := manifest.Manifests[i].ArtifactType; artifact != "" {
			t.Error("a client may take the image for an artifact:", artifact)
		}
		img, err := index.Image(manifest.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		about, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if about.Architecture != arch || !about.Created.Equal(moment) || about.Config.Labels["org.opencontainers.image.revision"] != "abc" {
			t.Error(about)
		}
		if !maps.Equal(manifest.Annotations, about.Config.Labels) {
			t.Error("the index says something else than its images:", manifest.Annotations)
		}
	}
}

func TestLayoutsOfTheSameFilesAreTheSame(t *testing.T) {
	first, _ := indexLayout(t)
	second, _ := indexLayout(t)
	if a, b := archived(t, first), archived(t, second); !bytes.Equal(a, b) {
		t.Error("two layouts of the same image differ")
	}
	first, second = chartLayout(t), chartLayout(t)
	if !bytes.Equal(archived(t, first), archived(t, second)) {
		t.Error("two layouts of the same chart differ")
	}
}

// It pulls as Artifact Hub does (artifacthub/hub:internal/oci/oci.go): the first layer of the media type that it asks for.
func TestArtifactHubPullsWhoPublishesTheChart(t *testing.T) {
	const asked = "application/vnd.cncf.artifacthub.repository-metadata.layer.v1.yaml"
	directory := filepath.Join(t.TempDir(), "hub")
	if err := WriteHubLayout(directory, repository, []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(directory)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := index.IndexManifest()
	if err != nil || entries.Manifests[0].Annotations["io.containerd.image.name"] != repository+":artifacthub.io" {
		t.Fatal(entries, err)
	}
	image, err := index.Image(entries.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	held := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer held.Close()
	at, err := name.ParseReference(strings.TrimPrefix(held.URL, "http://")+"/charts/x:artifacthub.io", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(at, image); err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Image(at)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := pulled.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	content, errA := layers[0].Compressed()
	kind, errB := layers[0].MediaType()
	if errA != nil || errB != nil || kind != asked {
		t.Fatal(kind, errA, errB)
	}
	if text, err := io.ReadAll(content); err != nil || string(text) != "{}\n" {
		t.Errorf("%q %v", text, err)
	}
}

// chartLayout is a directory with a chart in it, packed and as a layout.
func chartLayout(t *testing.T) string {
	t.Helper()
	source, out := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(source, "Chart.yaml"), []byte("name: x\nversion: 1.2.3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	chart, err := PackChart(source, moment)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(chart.Write(out), chart.WriteLayout(filepath.Join(out, "layout"), repository)); err != nil {
		t.Fatal(err)
	}
	return out
}

func indexLayout(t *testing.T) (string, v1.Hash) {
	t.Helper()
	var images []Image
	for _, arch := range []string{"amd64", "arm64"} {
		images = append(images, Image{Arch: arch, Entrypoint: "/manager", Version: "v1.2.3", Revision: "abc", Created: moment, Files: files(t)})
	}
	index, err := Index(images)
	if err != nil {
		t.Fatal(err)
	}
	directory := filepath.Join(t.TempDir(), "image")
	digest, err := WriteIndex(directory, repository, "v1.2.3", index)
	if err != nil {
		t.Fatal(err)
	}
	return directory, digest
}

func archived(t *testing.T, directory string) []byte {
	t.Helper()
	below, err := Below(directory, "")
	if err != nil || len(below) < 4 {
		t.Fatal(below, err)
	}
	archive, err := Tar(below, moment)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// files are three that were made now, in a directory of their own.
func files(t *testing.T) []File {
	t.Helper()
	var made []File
	directory := t.TempDir()
	for target, mode := range map[string]fs.FileMode{"/manager": Program, "/agent": Program, "/sub/LICENSE": Document} {
		source := filepath.Join(directory, filepath.Base(target))
		if err := os.WriteFile(source, []byte("this is "+target), 0o600); err != nil {
			t.Fatal(err)
		}
		made = append(made, File{target, source, mode})
	}
	return made
}
