package main

import (
	"fmt"
	"path/filepath"
	"strings"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"
)

// chart is what Chart.yaml says of the operator. Part of it is generated from config.
type chart struct {
	APIVersion  string            `json:"apiVersion"`
	Name        string            `json:"name"`
	Type        string            `json:"type"`
	Icon        string            `json:"icon"`
	Home        string            `json:"home"`
	AppVersion  string            `json:"appVersion"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	KubeVersion string            `json:"kubeVersion"`
	Keywords    []string          `json:"keywords"`
	Sources     []string          `json:"sources"`
	Annotations map[string]string `json:"annotations"`
	Maintainers []struct {
		Name  string `json:"name"`
		Email string `json:"email"`
		URL   string `json:"url"`
	} `json:"maintainers"`

	images []image
}

// image is one that the chart says it needs.
type image struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// readChart reads the chart of the repository.
func readChart(root string) (*chart, error) {
	c := &chart{}
	if err := read(filepath.Join(root, "config/helm/etcd-steward/Chart.yaml"), c); err != nil {
		return nil, err
	}
	if err := c.annotation("images", &c.images); err != nil {
		return nil, err
	}
	if len(c.images) == 0 || len(c.Sources) == 0 {
		return nil, fmt.Errorf("the chart has %d images and %d sources", len(c.images), len(c.Sources))
	}
	return c, nil
}

// image is the operator's, which the chart names first.
func (c *chart) image() string { return c.images[0].Image }

// annotation reads what an annotation of Artifact Hub has as YAML.
func (c *chart) annotation(name string, into any) error {
	text, isThere := c.Annotations["artifacthub.io/"+name]
	if !isThere {
		return fmt.Errorf("the chart has no annotation artifacthub.io/%s", name)
	}
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("the chart's annotation %s: %w", name, err)
	}
	return nil
}

// links are the chart's.
func (c *chart) links() ([]operators.AppLink, error) {
	var links []operators.AppLink
	return links, c.annotation("links", &links)
}

// maintainers are those of the chart that have an address. OLM takes no others.
func (c *chart) maintainers() []operators.Maintainer {
	var all []operators.Maintainer
	for _, m := range c.Maintainers {
		if m.Email != "" {
			all = append(all, operators.Maintainer{Name: m.Name, Email: m.Email})
		}
	}
	return all
}

// minKubeVersion is the first version of Kubernetes that the chart allows.
func (c *chart) minKubeVersion() string {
	return strings.TrimSuffix(strings.TrimPrefix(c.KubeVersion, ">="), "-0")
}
