// Package trust holds to the tree what strangers read before they trust it: workflows, updates of dependencies, and what
// the project says about its own security and support.
package trust

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// root is the top of the tree.
const root = "../.."

// workflow is what a file of .github/workflows is held to.
type workflow struct {
	On          any            `json:"true"` // `on` is true in YAML 1.1
	Permissions any            `json:"permissions"`
	Concurrency concurrency    `json:"concurrency"`
	Jobs        map[string]job `json:"jobs"`
}

// concurrency says which runs wait for each other.
type concurrency struct {
	Group            string `json:"group"`
	CancelInProgress any    `json:"cancel-in-progress"`
}

type job struct {
	Uses        string            `json:"uses"`
	Needs       any               `json:"needs"` // a name or a list of them
	Environment string            `json:"environment"`
	Permissions map[string]string `json:"permissions"`
	Steps       []step            `json:"steps"`
}

type step struct {
	ID   string         `json:"id"`
	Uses string         `json:"uses"`
	With map[string]any `json:"with"`
	Run  string         `json:"run"`
}

// mayWrite is everything that a job may write, beyond reading the repository.
var mayWrite = map[string][]string{
	"codeql/analyze":     {"security-events"},
	"release/push":       {"packages"},
	"release/sign":       {"attestations", "contents", "id-token", "packages"},
	"scorecard/analysis": {"id-token", "security-events"},
}

// runs is the command that a workflow is there for: what a person runs, too.
var runs = map[string]string{
	"ci":      ".ci/run",
	"codeql":  "make build",
	"release": `make release VERSION="$GITHUB_REF_NAME"`,
}

func TestAWorkflowMayReadAndItsJobsWriteWhatTheyHaveTo(t *testing.T) {
	found := map[string][]string{}
	for name, w := range workflows(t) {
		if w.Permissions != "read-all" && !onlyReads(w.Permissions) {
			t.Errorf("%s: permissions on top are %v: make it `contents: read`, and give a job what it writes", name,
				w.Permissions)
		}
		for id, j := range w.Jobs {
			for permission, access := range j.Permissions {
				if access == "write" {
					found[name+"/"+id] = append(found[name+"/"+id], permission)
				}
			}
			slices.Sort(found[name+"/"+id])
		}
	}
	for id := range found {
		if !slices.Equal(found[id], mayWrite[id]) {
			t.Errorf("%s may write %v, want %v", id, found[id], mayWrite[id])
		}
	}
	for id := range mayWrite {
		if found[id] == nil {
			t.Errorf("there is no %s", id)
		}
	}
}

func onlyReads(permissions any) bool {
	named, ok := permissions.(map[string]any)
	return ok && len(named) == 1 && named["contents"] == "read"
}

// pinned is an action by its commit, with the release that this commit is.
var pinned = regexp.MustCompile(`^(?:- )?uses: ([\w.-]+/[\w.-]+)(?:/[\w./-]+)?@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$`)

// ofThisCommit is a workflow that another one calls: GitHub takes both from the same commit.
var ofThisCommit = regexp.MustCompile(`^uses: \./\.github/workflows/[\w-]+\.yml$`)

func TestEachActionIsPinnedByItsCommitAndEachCommitIsOneRelease(t *testing.T) {
	pins := map[string]string{}
	for name, text := range workflowTexts(t) {
		for line := range strings.Lines(text) {
			if !strings.Contains(line, "uses:") {
				continue
			}
			if ofThisCommit.MatchString(strings.TrimSpace(line)) {
				continue
			}
			m := pinned.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				t.Errorf("%s: want owner/name@ and 40 hex digits # v1.2.3: %s", name, strings.TrimSpace(line))
				continue
			}
			pin := m[2] + " # " + m[3]
			if was := pins[m[1]]; was != "" && was != pin {
				t.Errorf("%s: %s is pinned to %s, and elsewhere to %s", name, m[1], pin, was)
			}
			pins[m[1]] = pin
		}
	}
	if len(pins) < 5 {
		t.Errorf("only %d actions were found", len(pins))
	}
}

// A branch may have any name and an issue any text: what an expression puts into a shell, an attacker may run there.
func TestNoWorkflowGivesAStrangerAShellOrATokenOfTheRepository(t *testing.T) {
	for name, text := range workflowTexts(t) {
		for _, trigger := range []string{"pull_request_target", "workflow_run"} {
			if strings.Contains(text, trigger) {
				t.Errorf("%s runs on %s, with the rights of the repository", name, trigger)
			}
		}
	}
	for name, w := range workflows(t) {
		for s := range steps(w) {
			if strings.Contains(s.Run, "${{") {
				t.Errorf("%s: pass a value through env, not into the text of a shell: %s", name, s.Run)
			}
			if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != false {
				t.Errorf("%s: a checkout needs persist-credentials: false", name)
			}
		}
	}
}

func TestAWorkflowRunsWhatAPersonRuns(t *testing.T) {
	all := workflows(t)
	for name, want := range runs {
		var shells []string
		for s := range steps(all[name]) {
			shells = append(shells, s.Run)
		}
		if !strings.Contains(strings.Join(shells, "\n"), want) {
			t.Errorf("%s does not run %q, but %q", name, want, shells)
		}
	}
}

func TestDependabotLooksAtEachModuleThatTheTreeHas(t *testing.T) {
	var config struct {
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	readYAML(t, ".github/dependabot.yml", &config)
	got := map[string][]string{}
	for _, update := range config.Updates {
		got[update.Ecosystem] = slices.Sorted(slices.Values(update.Directories))
	}
	want := map[string][]string{
		"gomod":          directoriesWith(t, "go.mod"),
		"npm":            directoriesWith(t, "package-lock.json"),
		"docker":         directoriesWith(t, "Dockerfile"),
		"github-actions": {"/"},
	}
	for _, ecosystem := range slices.Sorted(maps.Keys(want)) {
		if !slices.Equal(got[ecosystem], want[ecosystem]) {
			t.Errorf("%s: dependabot looks at %v, and the tree has %v", ecosystem, got[ecosystem], want[ecosystem])
		}
	}
}

// directoriesWith lists the directories of the tree that have a file of this name, as dependabot names them.
func directoriesWith(t *testing.T, name string) []string {
	t.Helper()
	var found []string
	for _, path := range files(t) {
		if filepath.Base(path) == name {
			found = append(found, filepath.ToSlash(filepath.Join("/", filepath.Dir(path))))
		}
	}
	slices.Sort(found)
	return found
}

// files lists the files of the tree, without what is built or downloaded into it.
func files(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "dist", "node_modules", "reports"}, entry.Name()):
			return filepath.SkipDir
		case !entry.IsDir():
			relative, err := filepath.Rel(root, path)
			all = append(all, relative)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func workflowTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(root, ".github/workflows/*"))
	if err != nil || len(paths) < 3 {
		t.Fatalf("only %d workflows: %v", len(paths), err)
	}
	for _, path := range paths {
		texts[strings.TrimSuffix(filepath.Base(path), ".yml")] = read(t, ".github/workflows/"+filepath.Base(path))
	}
	return texts
}

func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	all := map[string]workflow{}
	for name := range workflowTexts(t) {
		var w workflow
		readYAML(t, ".github/workflows/"+name+".yml", &w)
		all[name] = w
	}
	return all
}

func steps(w workflow) func(yield func(step) bool) {
	return func(yield func(step) bool) {
		for _, j := range w.Jobs {
			for _, s := range j.Steps {
				if !yield(s) {
					return
				}
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, path)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
