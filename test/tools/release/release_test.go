package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/etcdsteward/etcd-steward/test/tools/pack"
)

var moment = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestAVersionThatIsNoneIsRefusedAndTheRightFormIsShown(t *testing.T) {
	for _, version := range []string{"", "1.2.3", "v1.2", "v1.2.3+build", "97cc014", "v1.2.3-4-g97cc014-dirty+x", "v01.2.3", "latest"} {
		err := small(t, version).validate()
		if err == nil || !strings.Contains(err.Error(), "VERSION") || !strings.Contains(err.Error(), "v1.2.3") {
			t.Errorf("%q: %v", version, err)
		}
	}
	for _, version := range []string{"v1.2.3", "v0.0.0", "v1.2.3-rc.1"} {
		if err := small(t, version).validate(); err != nil {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestAReleaseOfNoKnownCommitIsRefused(t *testing.T) {
	for _, change := range []func(*release){
		func(r *release) { r.revision = "" },
		func(r *release) { r.created = time.Unix(0, 0) },
	} {
		r := small(t, "v1.2.3")
		change(&r)
		if err := r.validate(); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
			t.Error(err)
		}
	}
}

func TestEachProgramThatIsReleasedIsThereAndSoIsTheManager(t *testing.T) {
	for _, p := range programs {
		if _, err := os.Stat(filepath.Join("../../..", p.dir, "main.go")); err != nil {
			t.Error(err)
		}
	}
	if !slices.Contains(programs, program{dir: "cmd/manager"}) {
		t.Error("the image has no manager to start")
	}
}

func TestTheSameCommitInAnotherDirectoryIsTheSameRelease(t *testing.T) {
	first, second := made(t), small(t, "v1.2.3")
	if err := second.make(); err != nil {
		t.Fatal(err)
	}
	expected, got := content(t, first.out), content(t, second.out)
	for name := range expected {
		if expected[name] != got[name] {
			t.Errorf("%s differs", name)
		}
	}
	if len(expected) != len(got) || len(expected) < 15 {
		t.Errorf("%d files, and then %d", len(expected), len(got))
	}
}

func TestChecksumsCoverEveryFileOfARelease(t *testing.T) {
	r := made(t)
	command := exec.Command("sha256sum", "--strict", "-c", checksums)
	command.Dir = r.out
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatal(string(said))
	}
	if lines, files := strings.Count(string(said), ": OK\n"), len(content(t, r.out)); lines != files-1 {
		t.Errorf("%d of %d files are covered", lines, files-1)
	}
	text := content(t, r.out)[checksums]
	var names []string
	for line := range strings.Lines(text) {
		names = append(names, strings.Fields(line)[1])
	}
	if !slices.IsSorted(names) {
		t.Error("they are not sorted")
	}
}

func TestWhatAnEarlierReleaseLeftIsNoPartOfTheNext(t *testing.T) {
	if _, isThere := content(t, made(t).out)[left]; isThere {
		t.Error("it is there")
	}
}

func TestTheManifestOfThePluginIsCalledAsThePageSays(t *testing.T) {
	page, err := os.ReadFile("../../../docs/kubectl.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, isThere := content(t, made(t).out)[pluginManifest]; !isThere || !strings.Contains(string(page), "install --manifest="+pluginManifest) {
		t.Errorf("%s: made %v, and what the page says is another one", pluginManifest, isThere)
	}
}

func TestAnArchiveHasTheProgramAndTheLicense(t *testing.T) {
	modes := archived(t, filepath.Join(made(t).out, "kubectl-etcd-steward_v1.2.3_"+host().String()+".tar.gz"))
	if len(modes) != 2 || modes["kubectl-etcd_steward"] != int64(pack.Program) || modes["LICENSE"] != int64(pack.Document) {
		t.Error(modes)
	}
}

func TestTheImageHasTheProgramsOfTheImageAndNoOther(t *testing.T) {
	r := made(t)
	top, err := layout.ImageIndexFromPath(filepath.Join(r.out, imageLayout))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(r.binary(program{dir: "cmd/kubectl-etcd-steward"}, host())); err != nil {
		t.Error("there is no program that could be in the image by mistake", err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := index.Image(platforms.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	files, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for archive := tar.NewReader(files); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
	if !slices.Equal(names, []string{"agent", "manager"}) {
		t.Error(names)
	}
}

func TestTheBundleForOLMIsInAnArchiveWithWhatBuildsItsImage(t *testing.T) {
	names := archived(t, filepath.Join(made(t).out, "etcd-steward_v1.2.3_olm.tar.gz"))
	want := []string{"bundle/", "bundle.Dockerfile", "bundle/manifests/", "bundle/manifests/" + bundleCSV}
	if got := slices.Sorted(maps.Keys(names)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Error(got)
	}
}

func TestABundleOfAnotherVersionOrImageIsRefused(t *testing.T) {
	for said, change := range map[string]func(*release){
		"etcd-steward.v1.2.4":       func(r *release) { r.version = "v1.2.4" },
		"registry.example/another@": func(r *release) { r.image = "registry.example/another" },
	} {
		r := made(t)
		change(&r)
		if err := r.packBundle(); err == nil || !strings.Contains(err.Error(), said) {
			t.Error(err)
		}
	}
}

func TestAChartOfAnotherVersionIsRefused(t *testing.T) {
	r := made(t)
	r.version = "v1.2.4"
	if err := r.finish(io.Discard); err == nil || !strings.Contains(err.Error(), "v1.2.4") {
		t.Error(err)
	}
}

func TestWhatToSignIsSaidWithItsDigest(t *testing.T) {
	r := made(t)
	image, errA := r.digest(imageLayout)
	chart, errB := r.digest(chartLayout)
	var said bytes.Buffer
	if err := errors.Join(errA, errB, r.tell(&said)); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"crane push " + r.out + "/image registry.example/operator:v1.2.3",
		"crane push " + r.out + "/chart registry.example/charts/operator:1.2.3",
		"crane push " + r.out + "/artifacthub registry.example/charts/operator:artifacthub.io",
		"cosign sign --yes registry.example/operator@" + image,
		"cosign sign --yes registry.example/charts/operator@" + chart,
		"cosign attest --yes --type spdxjson --predicate " + r.out + "/agent_" + host().String() + ".spdx.json registry.example/operator@" + image,
		"cosign sign-blob --yes --bundle " + r.out + "/checksums.txt.sigstore.json " + r.out + "/checksums.txt",
		"cosign sign-blob --yes --bundle " + r.out + "/kubectl-etcd-steward_v1.2.3_" + host().String() + ".tar.gz.sigstore.json ",
	} {
		if !strings.Contains(said.String(), "  "+line) {
			t.Errorf("%q is not in\n%s", line, said.String())
		}
	}
}

func host() platform { return platform{runtime.GOOS, runtime.GOARCH} }

// small is a release of three small programs, for this machine alone, from a directory of its own.
func small(t *testing.T, version string) release {
	t.Helper()
	wasPrograms, wasNodes, wasDesks := programs, nodes, desks
	t.Cleanup(func() { programs, nodes, desks = wasPrograms, wasNodes, wasDesks })
	programs = []program{{dir: "cmd/manager"}, {dir: "cmd/agent"}, {dir: "cmd/kubectl-etcd-steward", archive: "kubectl-etcd_steward"}}
	nodes, desks = []platform{host()}, []platform{host()}

	root := t.TempDir()
	return release{root: root, work: filepath.Join(root, "bin/release"), out: filepath.Join(root, "dist"), version: version,
		revision: "abc", created: moment, ldflags: "-s -w -buildid= -X main.version=" + version,
		image: "registry.example/operator", chart: "registry.example/charts/operator"}
}

// make does what make does, from sources that it writes first.
func (r release) make() error {
	files := map[string]string{"go.mod": "module example.com/operator\n\ngo 1.26\n", "LICENSE": "as you like", "dist/" + left: "",
		"config/krew/etcd-steward.yaml": "version: {{ .Version }}\n", "config/helm/artifacthub-repo.yml": "{}\n"}
	for _, p := range programs {
		files[p.dir+"/main.go"] = "package main\n\nvar version string\n\nfunc main() { println(version) }\n"
	}
	for name, text := range files {
		if err := put(filepath.Join(r.root, name), text); err != nil {
			return err
		}
	}
	if err := r.build(); err != nil {
		return err
	}
	image, err := r.digest(imageLayout)
	return errors.Join(err,
		put(filepath.Join(r.work, "etcd-steward/Chart.yaml"), "name: etcd-steward\nversion: 1.2.3\nappVersion: v1.2.3\n"),
		put(filepath.Join(r.work, "olm/bundle.Dockerfile"), "FROM scratch\n"),
		put(filepath.Join(r.work, "olm/bundle/manifests", bundleCSV),
			"metadata: {name: etcd-steward.v1.2.3, annotations: {containerImage: registry.example/operator@"+image+"}}\n"),
		put(filepath.Join(r.out, "install.yaml"), "a manifest"), r.finish(io.Discard))
}

// left is a file of an earlier release.
const left = "etcd-steward-1.2.2.tgz"

// finished is where the release is that all tests look at, built by the first of them.
var finished string

func TestMain(m *testing.M) {
	code := m.Run()
	if finished != "" {
		_ = os.RemoveAll(finished)
	}
	os.Exit(code)
}

// made is such a release, finished. Tests only read it.
func made(t *testing.T) release {
	t.Helper()
	r := small(t, "v1.2.3")
	isMade := finished != ""
	if !isMade {
		root, err := os.MkdirTemp("", "release")
		if err != nil {
			t.Fatal(err)
		}
		finished = root
	}
	r.root, r.work, r.out = finished, filepath.Join(finished, "bin/release"), filepath.Join(finished, "dist")
	if !isMade {
		if err := r.make(); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func put(file, text string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600))
}

// archived is the mode of each entry of an archive.
func archived(t *testing.T, name string) map[string]int64 {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]int64{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return modes
		}
		if err != nil {
			t.Fatal(err)
		}
		modes[header.Name] = header.Mode
	}
}

// content is what each file of a directory has in it.
func content(t *testing.T, directory string) map[string]string {
	t.Helper()
	files, err := pack.Below(directory, "")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f.Source)
		if err != nil {
			t.Fatal(err)
		}
		all[f.Target] = string(text)
	}
	return all
}
