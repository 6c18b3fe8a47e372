package pack

import (
	"bytes"
	"encoding/json"
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

// blob is what a manifest names.
type blob struct {
	content []byte
	kind    types.MediaType
}

// writeArtifact makes an OCI layout of what is no image: a configuration and one layer. Its entry is named.
func writeArtifact(directory string, named map[string]string, config, layer blob, annotations map[string]string) error {
	to, err := layout.Write(directory, empty.Index)
	if err != nil {
		return fmt.Errorf("making the layout %s: %w", directory, err)
	}
	manifest := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Annotations: annotations}
	if manifest.Config, err = writeBlob(to, config.content, config.kind); err != nil {
		return err
	}
	content, err := writeBlob(to, layer.content, layer.kind)
	if err != nil {
		return err
	}
	manifest.Layers = []v1.Descriptor{content}
	text, err := json.Marshal(manifest)
	if err != nil {
		return fmt.Errorf("writing the manifest of %s: %w", directory, err)
	}
	entry, err := writeBlob(to, text, types.OCIManifestSchema1)
	if err != nil {
		return err
	}
	entry.Annotations = named
	if err := to.AppendDescriptor(entry); err != nil {
		return fmt.Errorf("writing the layout %s: %w", directory, err)
	}
	return nil
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
