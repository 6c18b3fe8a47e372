package pack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

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

// Media types of a Helm chart in a registry.
const (
	HelmConfig types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	HelmChart  types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// Chart is a packaged Helm chart, as a registry holds it.
type Chart struct {
	Name        string
	Version     string
	Description string
	About       []byte // Chart.yaml as JSON, which is the configuration
	Content     []byte // the package
	Created     time.Time
}

// WriteChart makes an OCI layout of a chart, as `helm push` makes a registry hold it.
func WriteChart(directory, repository string, chart Chart) (v1.Hash, error) {
	to, err := layout.Write(directory, empty.Index)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("making the layout %s: %w", directory, err)
	}
	config, err := writeBlob(to, chart.About, HelmConfig)
	if err != nil {
		return v1.Hash{}, err
	}
	content, err := writeBlob(to, chart.Content, HelmChart)
	if err != nil {
		return v1.Hash{}, err
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: config, Layers: []v1.Descriptor{content},
		Annotations: map[string]string{
			"org.opencontainers.image.title":       chart.Name,
			"org.opencontainers.image.version":     chart.Version,
			"org.opencontainers.image.description": chart.Description,
			"org.opencontainers.image.url":         Repository,
			"org.opencontainers.image.source":      Repository,
			"org.opencontainers.image.created":     chart.Created.Format(time.RFC3339),
		},
	})
	if err != nil {
		return v1.Hash{}, fmt.Errorf("writing the manifest of the chart: %w", err)
	}
	entry, err := writeBlob(to, manifest, types.OCIManifestSchema1)
	if err != nil {
		return v1.Hash{}, err
	}
	entry.Annotations = names(repository, chart.Version)
	if err := to.AppendDescriptor(entry); err != nil {
		return v1.Hash{}, fmt.Errorf("writing the layout %s: %w", directory, err)
	}
	return entry.Digest, nil
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
