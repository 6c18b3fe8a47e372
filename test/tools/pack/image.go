package pack

import (
	"bytes"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nonRoot is the user of the distroless "nonroot" images; numeric, so that the kubelet can check runAsNonRoot.
const nonRoot = "65532:65532"

// Repository is where the source is.
const Repository = "https://github.com/etcdsteward/etcd-steward"

// Image is what an image is made from.
type Image struct {
	Arch        string // GOARCH of the programs
	Entrypoint  string // path of the program that the image starts
	Version     string // for the labels
	Revision    string // for the labels
	Created     time.Time
	Compression int // of gzip
	Files       []File
}

// Build assembles the image in memory: one layer with all files, and the configuration.
func (i Image) Build() (v1.Image, error) {
	content, err := Tar(i.Files, Epoch)
	if err != nil {
		return nil, fmt.Errorf("making the layer: %w", err)
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithCompressionLevel(i.Compression),
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("making the layer: %w", err)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: i.Created}, CreatedBy: "test/tools/pack"},
	})
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	img, err = mutate.ConfigFile(img, i.config(img))
	if err != nil {
		return nil, fmt.Errorf("setting the configuration: %w", err)
	}
	return img, nil
}

func (i Image) config(img v1.Image) *v1.ConfigFile {
	cf, err := img.ConfigFile()
	if err != nil { // an image assembled in memory always has one
		panic(err)
	}
	cf = cf.DeepCopy()
	cf.Created = v1.Time{Time: i.Created}
	cf.OS, cf.Architecture = "linux", i.Arch
	cf.Config = v1.Config{
		User:       nonRoot,
		Entrypoint: []string{i.Entrypoint},
		WorkingDir: "/",
		Env:        []string{"PATH=/"},
		Labels:     i.labels(),
	}
	return cf
}

// labels are those that registries and scanners read.
func (i Image) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         "etcd-steward",
		"org.opencontainers.image.description":   "Kubernetes operator for etcd clusters",
		"org.opencontainers.image.source":        Repository,
		"org.opencontainers.image.documentation": Repository + "/tree/main/docs",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.version":       i.Version,
		"org.opencontainers.image.revision":      i.Revision,
		"org.opencontainers.image.created":       i.Created.Format(time.RFC3339),
	}
}

// runnable is an image that an index does not list as an artifact: clients may pass over what has a type of its own.
type runnable struct{ v1.Image }

// ArtifactType is empty for what runs.
func (runnable) ArtifactType() (string, error) { return "", nil }

// Index is one image for several architectures. It has the labels of its images as annotations.
func Index(images []Image) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, i := range images {
		img, err := i.Build()
		if err != nil {
			return nil, fmt.Errorf("making the image of %s: %w", i.Arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: runnable{img}, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: i.Arch}},
		})
	}
	return mutate.Annotations(index, images[0].labels()).(v1.ImageIndex), nil
}
