// Package images writes container images from scratch, with no registry and no container engine: a static binary or
// two, the few directories and files that programs expect, and an entrypoint.
package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image is what an image consists of.
type Image struct {
	// Reference is the full name under which Pods ask for it.
	Reference string
	// Also are further names of the same image.
	Also []string
	// Files maps a path in the image to the executable of this machine that goes there.
	Files map[string]string
	// Links maps a path in the image to what it links to.
	Links map[string]string
	// Directories are made world-writable, sticky, as /tmp is.
	Directories []string
	Entrypoint  []string
	Cmd         []string
	Env         []string
	WorkingDir  string
}

// base files let programs find out who they are and how names are resolved.
var baseFiles = map[string]string{
	"etc/passwd":        "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n",
	"etc/group":         "root:x:0:\nnonroot:x:65532:\n",
	"etc/nsswitch.conf": "hosts: files dns\n",
}

// Write writes the image as a docker-archive.
func Write(path string, image Image) error {
	layer, err := image.layer()
	if err != nil {
		return fmt.Errorf("writing the layer of %s: %w", image.Reference, err)
	}
	built, err := image.build(layer)
	if err != nil {
		return fmt.Errorf("building %s: %w", image.Reference, err)
	}
	tags := map[name.Tag]v1.Image{}
	for _, reference := range append([]string{image.Reference}, image.Also...) {
		tag, err := name.NewTag(reference)
		if err != nil {
			return fmt.Errorf("naming %s: %w", reference, err)
		}
		tags[tag] = built
	}
	if err := tarball.MultiWriteToFile(path, tags); err != nil {
		return fmt.Errorf("writing %s: %w", image.Reference, err)
	}
	return nil
}

func (i Image) build(layerTar []byte) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layerTar)), nil
	}, tarball.WithCompressionLevel(gzip.BestSpeed))
	if err != nil {
		return nil, err
	}
	built, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(built, i.config(built))
}

func (i Image) config(built v1.Image) *v1.ConfigFile {
	config, err := built.ConfigFile()
	if err != nil {
		config = &v1.ConfigFile{}
	}
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Entrypoint, config.Config.Cmd = i.Entrypoint, i.Cmd
	config.Config.Env, config.Config.WorkingDir = i.Env, i.WorkingDir
	return config
}

// layer has no times in it, so that the same binaries make the same image.
func (i Image) layer() ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	dirs := map[string]bool{}
	for _, d := range append([]string{"tmp"}, i.Directories...) {
		if err := addDir(w, dirs, d, 0o1777); err != nil {
			return nil, err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(baseFiles)) {
		if err := addFile(w, dirs, path, []byte(baseFiles[path]), 0o644); err != nil {
			return nil, err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(i.Files)) {
		data, err := os.ReadFile(i.Files[path])
		if err != nil {
			return nil, err
		}
		if err := addFile(w, dirs, path, data, 0o755); err != nil {
			return nil, err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(i.Links)) {
		if err := addLink(w, dirs, path, i.Links[path]); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}

func addDir(w *tar.Writer, dirs map[string]bool, path string, mode int64) error {
	if path == "." || dirs[path] {
		return nil
	}
	if err := addDir(w, dirs, filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dirs[path] = true
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: path + "/", Mode: mode})
}

func addFile(w *tar.Writer, dirs map[string]bool, path string, data []byte, mode int64) error {
	if err := addDir(w, dirs, filepath.Dir(path), 0o755); err != nil {
		return err
	}
	header := tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: mode, Size: int64(len(data))}
	if err := w.WriteHeader(&header); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

func addLink(w *tar.Writer, dirs map[string]bool, path, target string) error {
	if err := addDir(w, dirs, filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: path, Linkname: target, Mode: 0o777})
}
