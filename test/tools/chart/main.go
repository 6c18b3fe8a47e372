// Command chart writes what the Helm chart has from config: definitions, rules of roles, monitoring, and the annotations
// that Artifact Hub reads. Nothing of it is written twice by hand.
//
//	chart -root . -out config/helm/etcd-steward
//	chart -root . -out bin/release/etcd-steward -version v1.2.3
//
// A chart that is released also has its version, and what changed, from CHANGELOG.md.
//
// Templates read what is written under files, as it is. A new kind of object is one line in parts, and a template.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	root := flag.String("root", ".", "the root of the repository")
	out := flag.String("out", "", "the directory of the chart to write to")
	version := flag.String("version", "", "the version to release")
	flag.Parse()
	if err := run(*root, *out, *version); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// source is where the chart is that is written by hand.
const source = "config/helm/etcd-steward"

// parts are directories of config whose files the chart takes as they are, but for comments.
var parts = []struct{ from, to string }{
	{"config/crd/bases/*.yaml", "files/crds"},
	{"config/policy/own-objects.yaml", "files/policy"},
	{"config/policy/plain-objects.yaml", "files/policy"},
	{"config/policy/restricted-pods.yaml", "files/policy"},
	{"config/policy/evictions.yaml", "files/policy"},
	{"config/policy/backups.yaml", "files/policy"},
	{"config/policy/clients.yaml", "files/policy"},
	{"config/policy/namespaces.yaml", "files/policy"},
	{"config/webhook/configuration.yaml", "files/webhook"},
	{"config/webhook/role.yaml", "files/webhook"},
	{"config/webhook/service.yaml", "files/webhook"},
	{"config/monitoring/alerts.yaml", "files/monitoring"},
	{"config/monitoring/members.yaml", "files/monitoring"},
	{"config/monitoring/operator.yaml", "files/monitoring"},
	{"config/monitoring/dashboards/*.json", "files/monitoring/dashboards"},
	{"config/samples/etcdcluster.yaml", "files"},
}

// run writes all of it anew, so that what is gone from config is gone from the chart.
func run(root, out, version string) error {
	if out == "" {
		return errors.New("-out names no directory")
	}
	if err := os.RemoveAll(filepath.Join(out, "files")); err != nil {
		return fmt.Errorf("removing what was generated before: %w", err)
	}
	for _, part := range parts {
		if err := take(filepath.Join(root, part.from), filepath.Join(out, part.to)); err != nil {
			return err
		}
	}
	roles, err := rolesOf(filepath.Join(root, "config/rbac"))
	if err != nil {
		return err
	}
	if err := write(filepath.Join(out, "files/roles.yaml"), roles); err != nil {
		return err
	}
	return describe(root, filepath.Join(out, "Chart.yaml"), version)
}

// take copies these files.
func take(pattern, directory string) error {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return fmt.Errorf("there is no file %s: %w", pattern, err)
	}
	for _, file := range files {
		to := filepath.Join(directory, filepath.Base(file))
		if filepath.Ext(file) == ".json" { // a dashboard, which reaches Grafana as it is
			text, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("reading config: %w", err)
			}
			if err := writeText(to, text); err != nil {
				return err
			}
			continue
		}
		object, err := read(file)
		if err != nil {
			return err
		}
		if err := write(to, object); err != nil {
			return err
		}
	}
	return nil
}

// role is what a template needs of one.
type role struct {
	Labels map[string]string `json:"labels,omitempty"`
	Rules  []any             `json:"rules"`
}

// rolesOf reads each role that the kustomization of a directory lists, by its name.
func rolesOf(directory string) (map[string]role, error) {
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	if err := decode(filepath.Join(directory, "kustomization.yaml"), &kustomization); err != nil {
		return nil, err
	}
	roles := map[string]role{}
	for _, file := range kustomization.Resources {
		text, err := os.ReadFile(filepath.Join(directory, file))
		if err != nil {
			return nil, fmt.Errorf("reading a role: %w", err)
		}
		for _, document := range strings.Split(string(text), "\n---\n") {
			var object struct {
				Kind     string `json:"kind"`
				Metadata struct {
					Name   string            `json:"name"`
					Labels map[string]string `json:"labels"`
				} `json:"metadata"`
				Rules []any `json:"rules"`
			}
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if strings.HasSuffix(object.Kind, "Role") {
				roles[object.Metadata.Name] = role{object.Metadata.Labels, object.Rules}
			}
		}
	}
	return roles, nil
}

// marker is the line of Chart.yaml after which everything is generated.
const marker = "  # Generated from config by `make manifests`, from here to the end.\n"

// examples are the samples that show each kind.
var examples = []string{"etcdcluster", "etcdbackup-s3", "etcdbackupschedule", "etcdclient", "etcdrestore"}

// annotation is one of Artifact Hub's that has a list in it.
type annotation struct {
	name  string
	value any
}

// describe writes Chart.yaml: what is by hand, and the annotations of Artifact Hub that follow from config. A version that
// is released takes the place of the one by hand.
func describe(root, to, version string) error {
	text, err := os.ReadFile(filepath.Join(root, source, "Chart.yaml"))
	if err != nil {
		return fmt.Errorf("reading the chart: %w", err)
	}
	byHand, _, isMarked := strings.Cut(string(text), marker)
	if !isMarked {
		return fmt.Errorf("the chart has no line %q in Chart.yaml", strings.TrimSpace(marker))
	}
	var changes []annotation
	if version != "" {
		if byHand, changes, err = released(root, byHand, version); err != nil {
			return err
		}
	}
	generated, err := fromConfig(root, byHand)
	if err != nil {
		return err
	}
	made, err := written(append(generated, changes...))
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, []byte(byHand+marker+made), 0o644); err != nil { //nolint:gosec // for all
		return fmt.Errorf("writing the chart: %w", err)
	}
	return nil
}

// fromConfig are the annotations that tell of kinds and images.
func fromConfig(root, chart string) ([]annotation, error) {
	crds, err := definitions(filepath.Join(root, "config/crd/bases"))
	if err != nil {
		return nil, err
	}
	shown := make([]any, len(examples))
	for i, name := range examples {
		if shown[i], err = read(filepath.Join(root, "config/samples", name+".yaml")); err != nil {
			return nil, err
		}
	}
	images, err := imagesOf(chart, shown[0])
	if err != nil {
		return nil, err
	}
	return []annotation{{"crds", crds}, {"crdsExamples", shown}, {"images", images}}, nil
}

// written are annotations as Chart.yaml has them.
func written(annotations []annotation) (string, error) {
	var text strings.Builder
	for _, a := range annotations {
		value, err := yaml.Marshal(a.value)
		if err != nil {
			return "", fmt.Errorf("writing the annotation %s: %w", a.name, err)
		}
		fmt.Fprintf(&text, "  artifacthub.io/%s: |\n", a.name)
		for line := range strings.Lines(string(value)) {
			text.WriteString("    " + line)
		}
	}
	return text.String(), nil
}

// definition is what Artifact Hub shows of a kind.
type definition struct {
	Kind        string `json:"kind"`
	Version     string `json:"version"`
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Description string `json:"description"`
}

// definitions describes each kind by the first sentence of its own.
func definitions(directory string) ([]definition, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("there are no definitions in %s: %w", directory, err)
	}
	var all []definition
	for _, file := range files {
		var crd struct {
			Metadata struct{ Name string } `json:"metadata"`
			Spec     struct {
				Names    struct{ Kind string } `json:"names"`
				Versions []struct {
					Name   string `json:"name"`
					Schema struct {
						OpenAPIV3Schema struct{ Description string } `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		if err := decode(file, &crd); err != nil {
			return nil, err
		}
		kind, version := crd.Spec.Names.Kind, crd.Spec.Versions[0]
		description := strings.Join(strings.Fields(version.Schema.OpenAPIV3Schema.Description), " ")
		first, _, _ := strings.Cut(description, ". ")
		all = append(all, definition{kind, version.Name, crd.Metadata.Name, spaced(kind), strings.TrimSuffix(first, ".") + "."})
	}
	return all, nil
}

// spaced is a kind as people read it: EtcdBackup is "Etcd Backup".
func spaced(kind string) string {
	var words strings.Builder
	for i, letter := range kind {
		if i > 0 && letter >= 'A' && letter <= 'Z' {
			words.WriteByte(' ')
		}
		words.WriteRune(letter)
	}
	return words.String()
}

// image is one that Artifact Hub scans.
type image struct {
	Name      string   `json:"name"`
	Image     string   `json:"image"`
	Platforms []string `json:"platforms"`
}

// imagesOf are the operator's and that of etcd in a sample.
func imagesOf(chart string, sample any) ([]image, error) {
	var about struct {
		AppVersion string `json:"appVersion"`
	}
	if err := yaml.Unmarshal([]byte(chart), &about); err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	cluster, _ := sample.(map[string]any)
	spec, _ := cluster["spec"].(map[string]any)
	version, _ := spec["version"].(string)
	if about.AppVersion == "" || version == "" {
		return nil, fmt.Errorf("the chart's appVersion is %q and the sample's version %q", about.AppVersion, version)
	}
	platforms := []string{"linux/amd64", "linux/arm64"}
	return []image{
		{"etcd-steward", "ghcr.io/etcdsteward/etcd-steward:" + about.AppVersion, slices.Clone(platforms)},
		{"etcd", "gcr.io/etcd-development/etcd:v" + version, platforms},
	}, nil
}

func read(file string) (map[string]any, error) {
	object := map[string]any{}
	return object, decode(file, &object)
}

func decode(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading config: %w", err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func write(file string, object any) error {
	text, err := yaml.Marshal(object)
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return writeText(file, text)
}

func writeText(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // for all
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // for all
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}
