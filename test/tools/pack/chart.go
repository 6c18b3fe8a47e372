package pack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

// Media types of a Helm chart in a registry.
const (
	HelmConfig types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	HelmChart  types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// Chart is a packaged Helm chart.
type Chart struct {
	Name        string
	Version     string
	AppVersion  string
	Description string

	content []byte // the package
	about   []byte // Chart.yaml as JSON
	created time.Time
}

// PackChart packs the chart in a directory, as `helm package` does but for dates.
func PackChart(directory string, created time.Time) (Chart, error) {
	text, err := os.ReadFile(filepath.Join(directory, "Chart.yaml"))
	if err != nil {
		return Chart{}, fmt.Errorf("reading the chart: %w", err)
	}
	chart := Chart{created: created}
	if chart.about, err = yaml.YAMLToJSON(text); err != nil {
		return Chart{}, fmt.Errorf("reading the chart: %w", err)
	}
	if err := json.Unmarshal(chart.about, &chart); err != nil {
		return Chart{}, fmt.Errorf("reading the chart: %w", err)
	}
	files, err := Below(directory, chart.Name)
	if err != nil {
		return Chart{}, fmt.Errorf("packing the chart: %w", err)
	}
	if chart.content, err = TarGz(files, created); err != nil {
		return Chart{}, fmt.Errorf("packing the chart: %w", err)
	}
	return chart, nil
}

// Write writes the package as one file into a directory, named as Helm names it.
func (c Chart) Write(directory string) error {
	file := filepath.Join(directory, c.Name+"-"+c.Version+".tgz")
	if err := os.WriteFile(file, c.content, 0o644); err != nil { //nolint:gosec // for all
		return fmt.Errorf("writing the chart: %w", err)
	}
	return nil
}

// WriteLayout makes an OCI layout of the chart, as `helm push` makes a registry hold it.
func (c Chart) WriteLayout(directory, repository string) error {
	return writeArtifact(directory, names(repository, c.Version), blob{c.about, HelmConfig}, blob{c.content, HelmChart},
		map[string]string{
			"org.opencontainers.image.title":       c.Name,
			"org.opencontainers.image.version":     c.Version,
			"org.opencontainers.image.description": c.Description,
			"org.opencontainers.image.url":         Repository,
			"org.opencontainers.image.source":      Repository,
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.created":     c.created.Format(time.RFC3339),
		})
}
