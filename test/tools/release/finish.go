package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/test/tools/krew"
	"github.com/etcdsteward/etcd-steward/test/tools/pack"
)

// Directories of the release that are OCI layouts.
const (
	imageLayout = "image"
	chartLayout = "chart"
	hubLayout   = "artifacthub" // who publishes the chart
)

// checksums is the file that has the hash of every other one.
const checksums = "checksums.txt"

// finish packs the chart and the bundle for OLM, writes the checksums, and says how to publish and sign what there is.
func (r release) finish(to io.Writer) error {
	if err := r.packChart(); err != nil {
		return err
	}
	if err := r.packBundle(); err != nil {
		return err
	}
	if err := r.describePlugin(); err != nil {
		return err
	}
	sums, err := r.sums()
	if err != nil {
		return err
	}
	if err := r.write(checksums, []byte(sums)); err != nil {
		return err
	}
	return r.tell(to)
}

// chartVersion is the version without v, which is what Helm asks for.
func (r release) chartVersion() string { return strings.TrimPrefix(r.version, "v") }

// packChart packs the chart that lies in the work directory, with what tells Artifact Hub who publishes it.
func (r release) packChart() error {
	chart, err := pack.PackChart(filepath.Join(r.work, "etcd-steward"), r.created)
	if err != nil {
		return fmt.Errorf("packing the chart: %w", err)
	}
	if chart.Version != r.chartVersion() || chart.AppVersion != r.version {
		return fmt.Errorf("the chart is of version %q and installs %q, and the release is %s", chart.Version, chart.AppVersion,
			r.version)
	}
	if err := chart.Write(r.out); err != nil {
		return fmt.Errorf("writing the chart: %w", err)
	}
	if err := chart.WriteLayout(filepath.Join(r.out, chartLayout), r.chart); err != nil {
		return fmt.Errorf("writing the chart for registries: %w", err)
	}
	publisher, err := os.ReadFile(filepath.Join(r.root, "config/helm/artifacthub-repo.yml"))
	if err != nil {
		return fmt.Errorf("reading who publishes the chart: %w", err)
	}
	if err := pack.WriteHubLayout(filepath.Join(r.out, hubLayout), r.chart, publisher); err != nil {
		return fmt.Errorf("writing who publishes the chart: %w", err)
	}
	return nil
}

// bundleCSV is the file of the bundle that describes the operator to OLM.
const bundleCSV = "etcd-steward.clusterserviceversion.yaml"

// packBundle packs the bundle for OLM that lies in the work directory, with the file that builds its image.
func (r release) packBundle() error {
	from := filepath.Join(r.work, "olm")
	if err := r.checkBundle(filepath.Join(from, "bundle/manifests", bundleCSV)); err != nil {
		return err
	}
	files, err := pack.Below(filepath.Join(from, "bundle"), "bundle")
	if err != nil {
		return fmt.Errorf("packing the bundle for OLM: %w", err)
	}
	const dockerfile = "bundle.Dockerfile"
	files = append(files, pack.File{Target: dockerfile, Source: filepath.Join(from, dockerfile), Mode: pack.Document})
	archive, err := pack.TarGz(files, r.created)
	if err != nil {
		return fmt.Errorf("packing the bundle for OLM: %w", err)
	}
	return r.write(strings.Join([]string{"etcd-steward", r.version, "olm.tar.gz"}, "_"), archive)
}

// checkBundle asks for the version and the image of this release.
func (r release) checkBundle(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the bundle for OLM: %w", err)
	}
	var bundle struct {
		Metadata struct {
			Name        string            `json:"name"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal(text, &bundle); err != nil {
		return fmt.Errorf("reading the bundle for OLM: %w", err)
	}
	digest, err := r.digest(imageLayout)
	if err != nil {
		return err
	}
	name, image := "etcd-steward."+r.version, r.image+"@"+digest
	if got := bundle.Metadata; got.Name != name || got.Annotations["containerImage"] != image {
		return fmt.Errorf("the bundle for OLM is %s with the image %s, and the release is %s with %s", got.Name,
			got.Annotations["containerImage"], name, image)
	}
	return nil
}

// pluginManifest is called like the plugin in it, which krew asks for.
const pluginManifest = "etcd-steward.yaml"

// describePlugin writes the manifest by which krew finds the archives of the plugin.
func (r release) describePlugin() error {
	template, err := os.ReadFile(filepath.Join(r.root, "config/krew", pluginManifest))
	if err != nil {
		return fmt.Errorf("reading the template of krew's manifest: %w", err)
	}
	manifest, err := krew.Manifest(string(template), r.out, r.version)
	if err != nil {
		return err
	}
	return r.write(pluginManifest, []byte(manifest))
}

// sums is a line for each file of the release, as sha256sum reads it.
func (r release) sums() (string, error) {
	files, err := pack.Below(r.out, "")
	if err != nil {
		return "", fmt.Errorf("computing checksums: %w", err)
	}
	slices.SortFunc(files, func(a, b pack.File) int { return strings.Compare(a.Target, b.Target) })
	var lines strings.Builder
	for _, f := range files {
		if f.Target == checksums {
			continue
		}
		content, err := os.ReadFile(f.Source)
		if err != nil {
			return "", fmt.Errorf("computing checksums: %w", err)
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), f.Target)
	}
	return lines.String(), nil
}

// tell prints the digests, and the commands that publish and sign them. SBOMs and the image as one file are signed with
// the checksums.
func (r release) tell(to io.Writer) error {
	image, err := r.digest(imageLayout)
	if err != nil {
		return err
	}
	chart, err := r.digest(chartLayout)
	if err != nil {
		return err
	}
	fmt.Fprintf(to, "%s is in %s.\n\nTo publish the image and the chart:\n", r.version, r.out)
	for _, l := range []struct{ layout, at string }{
		{imageLayout, r.image + ":" + r.version}, {chartLayout, r.chart + ":" + r.chartVersion()},
		{hubLayout, r.chart + ":" + pack.HubTag},
	} {
		fmt.Fprintf(to, "  crane push %s %s\n", filepath.Join(r.out, l.layout), l.at)
	}
	fmt.Fprintf(to, "\nTo sign them, once they are published, and the files:\n")
	fmt.Fprintf(to, "  cosign sign --yes %s@%s\n  cosign sign --yes %s@%s\n", r.image, image, r.chart, chart)
	for _, p := range programs {
		for _, on := range nodes {
			if p.archive == "" {
				fmt.Fprintf(to, "  cosign attest --yes --type spdxjson --predicate %s %s@%s\n",
					filepath.Join(r.out, p.name()+"_"+on.String()+".spdx.json"), r.image, image)
			}
		}
	}
	signed, err := r.signed()
	if err != nil {
		return err
	}
	for _, file := range signed {
		fmt.Fprintf(to, "  cosign sign-blob --yes --bundle %s.sigstore.json %s\n", file, file)
	}
	return nil
}

// digest is that of the one entry of a layout.
func (r release) digest(name string) (string, error) {
	index, err := layout.ImageIndexFromPath(filepath.Join(r.out, name))
	if err != nil {
		return "", fmt.Errorf("reading the layout %s: %w", name, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return "", fmt.Errorf("reading the layout %s: %w", name, err)
	}
	if len(manifest.Manifests) != 1 {
		return "", errors.New("the layout " + name + " has not one entry")
	}
	return manifest.Manifests[0].Digest.String(), nil
}

// signed are the files that people download alone, and the checksums, which cover all.
func (r release) signed() ([]string, error) {
	var found []string
	for _, pattern := range []string{checksums, "install.yaml", "*.tgz", "*.tar.gz"} {
		files, err := filepath.Glob(filepath.Join(r.out, pattern))
		if err != nil {
			return nil, fmt.Errorf("listing the release: %w", err)
		}
		found = append(found, files...)
	}
	return found, nil
}
