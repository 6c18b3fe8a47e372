package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// nonRoot is the user of the distroless "nonroot" images; numeric, so that the kubelet can check runAsNonRoot.
const nonRoot = "65532:65532"

// epoch is the date of everything in the image: a real one would make each build a different image.
var epoch = time.Unix(0, 0).UTC()

// build assembles the image in memory: one layer with all files, and the configuration.
func build(o options) (v1.Image, error) {
	content, err := layerTar(o.files)
	if err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	// The archive goes to nodes on this machine: speed counts, not size.
	layer, err := tarball.LayerFromOpener(opener, tarball.WithCompressionLevel(gzip.BestSpeed))
	if err != nil {
		return nil, fmt.Errorf("making the layer: %w", err)
	}
	img, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "test/tools/image"},
	})
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	img, err = mutate.ConfigFile(img, config(o, img))
	if err != nil {
		return nil, fmt.Errorf("setting the configuration: %w", err)
	}
	return img, nil
}

func config(o options, img v1.Image) *v1.ConfigFile {
	cf, err := img.ConfigFile()
	if err != nil { // an image assembled in memory always has one
		panic(err)
	}
	cf = cf.DeepCopy()
	cf.Created = v1.Time{Time: epoch}
	cf.OS, cf.Architecture = "linux", o.arch
	cf.Config = v1.Config{
		User:       nonRoot,
		Entrypoint: []string{o.entrypoint},
		WorkingDir: "/",
		Env:        []string{"PATH=/"},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "etcd-steward",
			"org.opencontainers.image.description": "Kubernetes operator for etcd clusters",
			"org.opencontainers.image.source":      "https://github.com/etcdsteward/etcd-steward",
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.version":     o.version,
			"org.opencontainers.image.revision":    o.revision,
		},
	}
	return cf
}

// layerTar writes files, which must be sorted, with the directories above them.
func layerTar(files []file) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	made := map[string]bool{"/": true}
	for _, f := range files {
		if err := addParents(w, f.target, made); err != nil {
			return nil, err
		}
		content, err := os.ReadFile(f.source)
		if err != nil {
			return nil, fmt.Errorf("reading %s for the image: %w", f.source, err)
		}
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f.target, "/"), Size: int64(len(content)), Mode: 0o555, ModTime: epoch,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("adding %s: %w", f.target, err)
		}
		if _, err := w.Write(content); err != nil {
			return nil, fmt.Errorf("adding %s: %w", f.target, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("closing the layer: %w", err)
	}
	return buf.Bytes(), nil
}

func addParents(w *tar.Writer, target string, made map[string]bool) error {
	dir := path.Dir(target)
	if made[dir] {
		return nil
	}
	if err := addParents(w, dir, made); err != nil {
		return err
	}
	made[dir] = true
	header := &tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(dir, "/") + "/", Mode: 0o755, ModTime: epoch}
	if err := w.WriteHeader(header); err != nil {
		return fmt.Errorf("adding %s: %w", dir, err)
	}
	return nil
}

// write puts the archive in place in one step, so that nobody loads half of it.
func write(o options, img v1.Image) error {
	tag, err := name.NewTag(o.tag, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("reading the tag %q: %w", o.tag, err)
	}
	if err := os.MkdirAll(filepath.Dir(o.out), 0o755); err != nil {
		return fmt.Errorf("making the directory of %s: %w", o.out, err)
	}
	partial := o.out + ".partial"
	if err := tarball.WriteToFile(partial, tag, img); err != nil {
		return fmt.Errorf("writing %s: %w", partial, err)
	}
	if err := os.Rename(partial, o.out); err != nil {
		return fmt.Errorf("putting the archive in place: %w", err)
	}
	digest, err := img.Digest()
	if err != nil {
		return fmt.Errorf("computing the digest: %w", err)
	}
	fmt.Printf("%s: %s %s\n", o.out, o.tag, digest)
	return nil
}
