package main

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/test/tools/pack"
)

const changelog = `# Changelog

## [Unreleased]

### Added

- **A new thing.** The field ` + "`spec.x`" + ` of the
  [API](docs/api.md) does it. More of it.

## [1.2.3] - 2026-03-01

### Changed

- **A change** of ` + "`mode: A`" + ` to B. It was C.
- Another one

### Security

- A hole is closed.

## [1.2.2] - 2026-02-01

### Fixed

- A fault.
`

func TestAReleasesChangesAreThoseOfItsSection(t *testing.T) {
	got, err := changesOf(changelog, "1.2.3")
	want := []change{{"changed", "A change of mode: A to B."}, {"changed", "Another one"}, {"security", "A hole is closed."}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q %v", got, err)
	}
}

func TestAReleaseWithoutASectionHasTheChangesThatNoOtherHas(t *testing.T) {
	got, err := changesOf(changelog, "1.3.0")
	if want := []change{{"added", "A new thing. The field spec.x of the API does it."}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q %v", got, err)
	}
}

func TestARealReleaseOfNothingIsRefused(t *testing.T) {
	if _, err := changesOf("# Changelog\n\n## [Unreleased]\n\n## [1.0.0]\n\n### Added\n\n- All.\n", "1.0.1"); err == nil {
		t.Error("it is accepted")
	}
}

// chart is the chart as a release writes it.
func chart(t *testing.T, version string) (string, map[string]any) {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "etcd-steward")
	if out, err := exec.Command("cp", "-r", filepath.Join(root, source), directory).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	if err := run(root, directory, version); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(directory, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	about := map[string]any{}
	if err := yaml.Unmarshal(text, &about); err != nil {
		t.Fatal(err)
	}
	return directory, about
}

func TestAReleasedChartSaysItsVersionAndInstallsIt(t *testing.T) {
	directory, about := chart(t, "v1.2.3-rc.1")
	annotations := sub(about, "annotations")
	if about["version"] != "1.2.3-rc.1" || about["appVersion"] != "v1.2.3-rc.1" {
		t.Error(about["version"], about["appVersion"])
	}
	if annotations["artifacthub.io/prerelease"] != "true" {
		t.Error("a release candidate is called a release")
	}
	if images, _ := annotations["artifacthub.io/images"].(string); !strings.Contains(images, "etcd-steward:v1.2.3-rc.1\n") {
		t.Error(images)
	}
	_, final := chart(t, "v1.2.3")
	if sub(final, "annotations")["artifacthub.io/prerelease"] != "false" {
		t.Error("a release is called a release candidate")
	}
	if out, err := helm(t, "lint", "--strict", directory); err != nil {
		t.Error(string(out), err)
	}
	made, err := helm(t, append([]string{"template", "etcd-steward", directory}, withoutCRDs()...)...)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(made), "image: \"ghcr.io/etcdsteward/etcd-steward:v1.2.3-rc.1\"\n") {
		t.Error("the chart installs another image")
	}
}

func TestEachChangeOfTheChangelogIsInTheReleasedChart(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, about := chart(t, "v1.2.3")
	list, _ := sub(about, "annotations")["artifacthub.io/changes"].(string)
	var shown []change
	if err := yaml.Unmarshal([]byte(list), &shown); err != nil {
		t.Fatal(err)
	}
	section := sectionOf(string(text), "\n## [1.2.3]")
	if section == "" {
		section = sectionOf(string(text), "\n## ["+unreleased+"]")
	}
	if items := strings.Count(section, "\n- "); items == 0 || len(shown) != items {
		t.Errorf("%d of %d changes are shown", len(shown), items)
	}
	kinds := []string{"added", "changed", "deprecated", "removed", "fixed", "security"}
	for _, c := range shown {
		if !slices.Contains(kinds, c.Kind) || len(c.Description) < 4 || strings.ContainsAny(c.Description, "`*") {
			t.Errorf("%+v", c)
		}
	}
}

func TestHelmInstallsFromARegistryWhatWasPackedAndPushed(t *testing.T) {
	directory, _ := chart(t, "v1.2.3")
	packed, err := pack.PackChart(directory, time.Unix(1750000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	held := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer held.Close()
	repository := strings.TrimPrefix(held.URL, "http://") + "/charts/etcd-steward"
	if err := errors.Join(packed.Write(out), packed.WriteLayout(filepath.Join(out, "chart"), repository)); err != nil {
		t.Fatal(err)
	}
	push(t, filepath.Join(out, "chart"), repository+":1.2.3")
	pulled := t.TempDir()
	if said, err := helm(t, "pull", "oci://"+repository, "--version=1.2.3", "--plain-http", "--destination="+pulled); err != nil {
		t.Fatal(string(said), err)
	}
	got, errA := os.ReadFile(filepath.Join(pulled, "etcd-steward-1.2.3.tgz"))
	want, errB := os.ReadFile(filepath.Join(out, "etcd-steward-1.2.3.tgz"))
	if errA != nil || errB != nil || !bytes.Equal(got, want) {
		t.Error("Helm pulled something else than was packed", errA, errB)
	}
	made, err := helm(t, append([]string{"template", "x", filepath.Join(pulled, "etcd-steward-1.2.3.tgz")}, withoutCRDs()...)...)
	if err != nil || !strings.Contains(string(made), "etcd-steward:v1.2.3") {
		t.Error("what was pulled makes nothing", err)
	}
}

// push copies the one entry of a layout into a registry, as crane push does.
func push(t *testing.T, directory, to string) {
	t.Helper()
	index, err := layout.ImageIndexFromPath(directory)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	reference, err := name.ParseReference(to, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, image); err != nil {
		t.Fatal(err)
	}
}

func TestTheNotesOfAReleaseLeadToItsOwnPages(t *testing.T) {
	released, _ := chart(t, "v1.2.3")
	for directory, pages := range map[string]string{released: "/blob/v1.2.3/docs/connect.md", filepath.Join(root, source): "/blob/main/docs/connect.md"} {
		notes, err := helm(t, withoutCRDs("install", "etcd-steward", directory, "--dry-run=client")...)
		if err != nil || !strings.Contains(string(notes), pages) {
			t.Errorf("%v: the notes do not lead to %s:\n%s", err, pages, notes)
		}
	}
}
