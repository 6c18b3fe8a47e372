package pack

import (
	"bytes"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// names are the annotations by which tools find an entry of a layout: skopeo and oras by the tag, containerd by the name.
func names(repository, tag string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.ref.name": tag,
		"io.containerd.image.name":          repository + ":" + tag,
	}
}

// WriteIndex makes an OCI layout of an image for several architectures. It returns the digest to pin and to sign.
func WriteIndex(directory, repository, tag string, index v1.ImageIndex) (v1.Hash, error) {
	to, err := layout.Write(directory, empty.Index)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("making the layout %s: %w", directory, err)
	}
	if err := to.AppendIndex(index, layout.WithAnnotations(names(repository, tag))); err != nil {
		return v1.Hash{}, fmt.Errorf("writing the layout %s: %w", directory, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return v1.Hash{}, fmt.Errorf("computing the digest: %w", err)
	}
	return digest, nil
}

func writeBlob(to layout.Path, content []byte, kind types.MediaType) (v1.Descriptor, error) {
	digest, size, err := v1.SHA256(bytes.NewReader(content))
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("computing a digest: %w", err)
	}
	if err := to.WriteBlob(digest, io.NopCloser(bytes.NewReader(content))); err != nil {
		return v1.Descriptor{}, fmt.Errorf("writing a blob of the layout: %w", err)
	}
	return v1.Descriptor{MediaType: kind, Size: size, Digest: digest}, nil
}
