package main

import (
	"path/filepath"
	"strings"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// property is one of a bundle in a catalogue.
type property struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

// metadata is what a catalogue shows of a ClusterServiceVersion, as opm renders it: the property olm.csv.metadata.
type metadata struct {
	Annotations               map[string]string                   `json:"annotations,omitempty"`
	CustomResourceDefinitions operators.CustomResourceDefinitions `json:"crdDescriptions,omitempty"`
	Description               string                              `json:"description,omitempty"`
	DisplayName               string                              `json:"displayName,omitempty"`
	InstallModes              []operators.InstallMode             `json:"installModes,omitempty"`
	Keywords                  []string                            `json:"keywords,omitempty"`
	Labels                    map[string]string                   `json:"labels,omitempty"`
	Links                     []operators.AppLink                 `json:"links,omitempty"`
	Maintainers               []operators.Maintainer              `json:"maintainers,omitempty"`
	Maturity                  string                              `json:"maturity,omitempty"`
	MinKubeVersion            string                              `json:"minKubeVersion,omitempty"`
	Provider                  operators.AppLink                   `json:"provider,omitempty"`
}

// writeCatalog writes the file-based catalogue, which has the bundle alone, and the template that opm makes one from.
func writeCatalog(o options, csv *operators.ClusterServiceVersion) error {
	icon := csv.Spec.Icon[0]
	offered := map[string]any{"schema": "olm.package", "name": packageName, "defaultChannel": channel,
		"description": csv.Annotations["description"],
		"icon":        map[string]any{"base64data": icon.Data, "mediatype": icon.MediaType}}
	versions := map[string]any{"schema": "olm.channel", "name": channel, "package": packageName,
		"entries": []any{map[string]any{"name": csv.Name, "skipRange": skipRange(o)}}}
	images := append([]operators.RelatedImage{{Image: o.bundle}}, csv.Spec.RelatedImages...)
	bundle := map[string]any{"schema": "olm.bundle", "name": csv.Name, "package": packageName, "image": o.bundle,
		"properties": properties(o, csv), "relatedImages": images}
	if err := write(filepath.Join(o.out, "catalog", packageName, "catalog.yaml"), offered, versions, bundle); err != nil {
		return err
	}
	template := map[string]any{"schema": "olm.template.basic",
		"entries": []any{offered, versions, map[string]any{"schema": "olm.bundle", "image": o.bundle}}}
	return write(filepath.Join(o.out, "catalog-templates/basic.yaml"), template)
}

// properties say what a bundle brings.
func properties(o options, csv *operators.ClusterServiceVersion) []property {
	var all []property
	for _, kind := range csv.Spec.CustomResourceDefinitions.Owned {
		_, group, _ := strings.Cut(kind.Name, ".")
		all = append(all, property{"olm.gvk", map[string]any{"group": group, "kind": kind.Kind, "version": kind.Version}})
	}
	s := csv.Spec
	return append(all, property{"olm.package", map[string]any{"packageName": packageName, "version": o.version}},
		property{"olm.csv.metadata", metadata{Annotations: csv.Annotations,
			CustomResourceDefinitions: s.CustomResourceDefinitions,
			Description:               s.Description, DisplayName: s.DisplayName, InstallModes: s.InstallModes, Keywords: s.Keywords,
			Labels: csv.Labels, Links: s.Links, Maintainers: s.Maintainers, Maturity: s.Maturity,
			MinKubeVersion: s.MinKubeVersion, Provider: s.Provider}})
}
