package krew

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// plugin has all fields that krew knows, and no others.
type plugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Platforms        []struct {
			Selector struct {
				MatchLabels struct {
					OS   string `json:"os"`
					Arch string `json:"arch"`
				} `json:"matchLabels"`
			} `json:"selector"`
			URI    string `json:"uri"`
			SHA256 string `json:"sha256"`
			Bin    string `json:"bin"`
			Files  []struct {
				From string `json:"from"`
				To   string `json:"to"`
			} `json:"files"`
		} `json:"platforms"`
	} `json:"spec"`
}

const file = "../../../config/krew/etcd-steward.yaml"

// fill fills the template for archives with their own names as content.
func fill(t *testing.T, version string, names ...string) (string, error) {
	t.Helper()
	directory := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return Manifest(string(text), directory, version)
}

func TestTheManifestHasTheFieldsThatKrewAsksFor(t *testing.T) {
	text, err := fill(t, "v1.2.3", "kubectl-etcd-steward_v1.2.3_linux_arm64.tar.gz",
		"kubectl-etcd-steward_v1.2.3_windows_amd64.tar.gz", "kubectl-etcd-steward_v1.2.2_linux_amd64.tar.gz", "checksums.txt")
	if err != nil {
		t.Fatal(err)
	}
	var p plugin
	if err := yaml.UnmarshalStrict([]byte(text), &p); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s := p.Spec
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || s.Version != "v1.2.3" ||
		p.Metadata.Name != strings.TrimSuffix(filepath.Base(file), ".yaml") || !regexp.MustCompile(`^[\w-]+$`).MatchString(p.Metadata.Name) {
		t.Errorf("got %+v", p)
	}
	if s.ShortDescription == "" || strings.Contains(s.ShortDescription, "\n") || s.Description == "" || s.Caveats == "" ||
		!strings.HasPrefix(s.Homepage, "https://") {
		t.Errorf("it does not say what it is: %+v", s)
	}
	if len(s.Platforms) != 2 {
		t.Fatalf("%d platforms, want linux/arm64 and windows/amd64:\n%s", len(s.Platforms), text)
	}
	linux, windows := s.Platforms[0], s.Platforms[1]
	if linux.Selector.MatchLabels.OS != "linux" || linux.Selector.MatchLabels.Arch != "arm64" || linux.Bin != "kubectl-etcd_steward" ||
		windows.Selector.MatchLabels.OS != "windows" || windows.Bin != "kubectl-etcd_steward.exe" {
		t.Errorf("got %+v", s.Platforms)
	}
	const uri = "https://github.com/etcdsteward/etcd-steward/releases/download/v1.2.3/kubectl-etcd-steward_v1.2.3_linux_arm64.tar.gz"
	// echo -n kubectl-etcd-steward_v1.2.3_linux_arm64.tar.gz | sha256sum
	const sum = "5c2f7ee3b3fbb1311a7659e42495c061a1fb249c8804698fa8c90b5e193cd7ae"
	if linux.URI != uri || linux.SHA256 != sum {
		t.Errorf("got %s %s", linux.URI, linux.SHA256)
	}
	if len(linux.Files) != 2 || linux.Files[0].From != linux.Bin || linux.Files[1].From != "LICENSE" || linux.Files[1].To != "." {
		t.Errorf("the archive's files: %+v", linux.Files)
	}
}

func TestAReleaseThatKrewCannotTakeIsRefused(t *testing.T) {
	const archive = "kubectl-etcd-steward_v1.2.3_linux_amd64.tar.gz"
	for _, c := range []struct{ version, archive, want string }{
		{"1.2.3", archive, `the version is "1.2.3"; krew wants one such as v1.2.3`},
		{"v1.2", archive, `the version is "v1.2"`},
		{"v1.2.4", archive, "has no archives kubectl-etcd-steward_v1.2.4_<os>_<arch>.tar.gz"},
		{"v1.2.3", "kubectl-etcd-steward_v1.2.3_linux.tar.gz", "names no <os>_<arch>"},
	} {
		if _, err := fill(t, c.version, c.archive); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: got %v, want %q", c.version, c.archive, err, c.want)
		}
	}
}
