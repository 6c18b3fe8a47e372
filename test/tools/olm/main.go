// Command olm writes what the Operator Lifecycle Manager installs the operator from: a bundle in the format registry+v1,
// and a file-based catalogue. All of it comes from config, from the chart, and from config/olm/base.yaml.
//
//	olm -root . -out config/olm
//
// A release says with flags which image it has, by digest, and when it was made.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"
)

// Names that OLM knows the operator by.
const (
	packageName = "etcd-steward"
	channel     = "candidate" // as OLM names one for versions before a stable one
)

// options are the flags.
type options struct {
	root    string
	out     string
	version string // empty: the chart's
	image   string // empty: the chart's
	bundle  string // the image of the bundle; empty: beside the operator's
	created string
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "the root of the repository")
	flag.StringVar(&o.out, "out", "", "the directory to write to")
	flag.StringVar(&o.version, "version", "", "version of the operator, such as 1.2.3; empty: the chart's")
	flag.StringVar(&o.image, "image", "", "the operator's image, with its digest; empty: the chart's")
	flag.StringVar(&o.bundle, "bundle", "", "the bundle's own image, with its digest; empty: <image>-bundle:v<version>")
	flag.StringVar(&o.created, "created", "1970-01-01T00:00:00Z", "when the version was made; 1970 where it is no release")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "olm:", err)
		os.Exit(1)
	}
}

// run writes all of it anew, so that what is gone from config is gone from the bundle.
func run(o options) error {
	if o.out == "" {
		return errors.New("-out names no directory")
	}
	about, err := readChart(o.root)
	if err != nil {
		return err
	}
	o.version = cmp.Or(o.version, about.Version)
	o.image = cmp.Or(o.image, about.image())
	o.bundle = cmp.Or(o.bundle, repository(o.image)+"-bundle:v"+o.version)
	objects, err := readObjects(o.root)
	if err != nil {
		return err
	}
	csv, err := describe(o, about, objects)
	if err != nil {
		return err
	}
	for _, part := range []string{"bundle", "catalog", "catalog-templates"} {
		if err := os.RemoveAll(filepath.Join(o.out, part)); err != nil {
			return fmt.Errorf("removing what was generated before: %w", err)
		}
	}
	if err := writeBundle(o, csv, objects.carried); err != nil {
		return err
	}
	return writeCatalog(o, csv)
}

// repository is an image without tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		return image[:colon]
	}
	return image
}

// annotations say what the bundle is. The image of the bundle has them as labels.
func annotations() map[string]string {
	const prefix = "operators.operatorframework.io."
	return map[string]string{
		prefix + "bundle.mediatype.v1":           "registry+v1",
		prefix + "bundle.manifests.v1":           "manifests/",
		prefix + "bundle.metadata.v1":            "metadata/",
		prefix + "bundle.package.v1":             packageName,
		prefix + "bundle.channels.v1":            channel,
		prefix + "bundle.channel.default.v1":     channel,
		prefix + "test.mediatype.v1":             "scorecard+v1",
		prefix + "test.config.v1":                "tests/scorecard/",
		"com.redhat.openshift.versions":          openShift,
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.source":        "https://github.com/etcdsteward/etcd-steward",
		"org.opencontainers.image.title":         "etcd-steward bundle for OLM",
		"org.opencontainers.image.documentation": "https://github.com/etcdsteward/etcd-steward/blob/main/docs/install.md#olm",
	}
}

// openShift is the first one with Kubernetes 1.34, which the operator needs.
const openShift = "v4.21"

// writeBundle writes the files of the bundle.
func writeBundle(o options, csv *operators.ClusterServiceVersion, carried []object) error {
	bundle := filepath.Join(o.out, "bundle")
	if err := write(filepath.Join(bundle, "manifests", packageName+".clusterserviceversion.yaml"), trimmed(csv)); err != nil {
		return err
	}
	for _, o := range carried {
		name := fmt.Sprintf("%s.%s.yaml", o.name(), strings.ToLower(o.kind()))
		if err := write(filepath.Join(bundle, "manifests", name), o); err != nil {
			return err
		}
	}
	labels := annotations()
	if err := write(filepath.Join(bundle, "metadata/annotations.yaml"), map[string]any{"annotations": labels}); err != nil {
		return err
	}
	if err := writeText(filepath.Join(o.out, "bundle.Dockerfile"), dockerfile(labels)); err != nil {
		return err
	}
	scorecard := map[string]any{}
	if err := read(filepath.Join(o.root, "config/olm/scorecard.yaml"), &scorecard); err != nil {
		return err
	}
	return write(filepath.Join(bundle, "tests/scorecard/config.yaml"), scorecard)
}

// dockerfile builds the image of the bundle, which has its annotations as labels.
func dockerfile(labels map[string]string) string {
	text := "# docker build --file bundle.Dockerfile .\nFROM scratch\n"
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		text += fmt.Sprintf("LABEL %s=%q\n", name, labels[name])
	}
	return text + "COPY bundle/manifests /manifests/\nCOPY bundle/metadata /metadata/\n" +
		"COPY bundle/tests/scorecard /tests/scorecard/\n"
}

// read reads a file of YAML, in which each field must be known.
func read(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading config: %w", err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// write writes documents of YAML.
func write(file string, documents ...any) error {
	var all []string
	for _, document := range documents {
		text, err := yaml.Marshal(document)
		if err != nil {
			return fmt.Errorf("writing %s: %w", file, err)
		}
		all = append(all, string(text))
	}
	return writeText(file, strings.Join(all, "---\n"))
}

func writeText(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // for all
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // for all
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}
