package trust

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// releases is the workflow that publishes.
func releases(t *testing.T) workflow {
	t.Helper()
	return workflows(t)["release"]
}

// before lists a job and all that has to succeed before it.
func (w workflow) before(id string) []string {
	all := []string{id}
	switch needs := w.Jobs[id].Needs.(type) {
	case string:
		all = append(all, w.before(needs)...)
	case []any:
		for _, need := range needs {
			all = append(all, w.before(need.(string))...)
		}
	}
	return all
}

// writers are the jobs that may write, with what they may.
func (w workflow) writers() map[string][]string {
	all := map[string][]string{}
	for id, j := range w.Jobs {
		for permission, access := range j.Permissions {
			if access == "write" {
				all[id] = append(all[id], permission)
			}
		}
	}
	return all
}

func TestNothingIsPublishedBeforeMainTheGateAndAReviewerAgree(t *testing.T) {
	w := releases(t)
	gate := w.Jobs["gate"].Uses
	if called := workflows(t)[strings.TrimSuffix(filepath.Base(gate), ".yml")]; !strings.HasPrefix(gate, "./") || !called.runs(".ci/run") ||
		!called.isCalled() {
		t.Errorf("the gate is %q, which runs no .ci/run when it is called", gate)
	}
	if !slices.Contains(w.before("build"), "on-main") {
		t.Error("what is not on main is built")
	}
	if len(w.writers()) == 0 {
		t.Error("no job publishes")
	}
	for id := range w.writers() {
		before := w.before(id)
		for _, need := range []string{"on-main", "gate", "build"} {
			if !slices.Contains(before, need) {
				t.Errorf("%s publishes and does not wait for %s, but for %v", id, need, before[1:])
			}
		}
		if !slices.ContainsFunc(before, func(id string) bool { return w.Jobs[id].Environment == "release" }) {
			t.Errorf("%s publishes without the environment release, whose reviewers agree", id)
		}
	}
}

func (w workflow) runs(command string) bool {
	for s := range steps(w) {
		if strings.Contains(s.Run, command) {
			return true
		}
	}
	return false
}

func (w workflow) isCalled() bool {
	triggers, _ := w.On.(map[string]any)
	_, isCalled := triggers["workflow_call"]
	return isCalled
}

func TestTheJobsThatPublishRunNothingThatWasBuilt(t *testing.T) {
	w := releases(t)
	for id, rights := range w.writers() {
		mayNot := []string{"make ", "chmod ", "go run ", "bash ", "sh ", "./", "docker "}
		if slices.Contains(rights, "id-token") {
			mayNot = append(mayNot, "go ")
		}
		for _, s := range w.Jobs[id].Steps {
			for _, command := range mayNot {
				if strings.Contains(" "+s.Run, " "+command) {
					t.Errorf("%s runs %q in\n%s", id, command, s.Run)
				}
			}
			if strings.HasPrefix(s.Uses, "actions/checkout@") && slices.Contains(rights, "id-token") {
				t.Errorf("%s signs, and has the programs of the tree", id)
			}
		}
	}
}

func TestTwoReleasesDoNotInterleave(t *testing.T) {
	c := releases(t).Concurrency
	if c.Group == "" || strings.Contains(c.Group, "${{") || c.CancelInProgress != false {
		t.Errorf("concurrency is %+v: want one group of all tags, in which none ends another", c)
	}
}

func TestTheImageHasItsProvenanceAndItsSBOMsAsAttestations(t *testing.T) {
	w := releases(t)
	var provenance, files bool
	for _, s := range w.Jobs["sign"].Steps {
		if strings.HasPrefix(s.Uses, "actions/attest@") {
			provenance = provenance || s.With["subject-name"] == "ghcr.io/etcdsteward/etcd-steward" &&
				s.With["subject-digest"] == "${{ steps.built.outputs.image }}" && s.With["push-to-registry"] == true
			files = files || s.With["subject-checksums"] == "dist/checksums.txt"
		}
	}
	if !provenance || !files {
		t.Errorf("there is provenance of the image: %v, and of the files: %v", provenance, files)
	}
	if !w.runs(`cosign attest --yes --type spdxjson --predicate "$sbom" "$IMAGE@$IMAGE_DIGEST"`) {
		t.Error("no SBOM is attested")
	}
	for _, command := range []string{"gh attestation verify oci://", "gh attestation verify install.yaml",
		"cosign verify-attestation --type slsaprovenance1 ", "cosign verify-attestation --type spdxjson "} {
		expectSays(t, "docs/verify.md", command)
	}
}

// What Artifact Hub does not understand, it drops without a word (artifacthub/hub:internal/repo/manager.go).
func TestArtifactHubUnderstandsWhoPublishesTheChart(t *testing.T) {
	const file = "config/helm/artifacthub-repo.yml"
	var publisher *struct {
		RepositoryID string              `json:"repositoryID"`
		Owners       []map[string]string `json:"owners"`
		Ignore       []map[string]string `json:"ignore"`
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, file)), &publisher); err != nil || publisher == nil {
		t.Fatalf("%s is no object of known fields: %v", file, err)
	}
	id := regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	if publisher.RepositoryID != "" && !id.MatchString(publisher.RepositoryID) {
		t.Errorf("%s: %q is no ID of a repository", file, publisher.RepositoryID)
	}
	for _, owner := range publisher.Owners {
		if owner["name"] == "" || !strings.Contains(owner["email"], "@") || len(owner) != 2 {
			t.Errorf("%s: an owner has a name and an email, and nothing else: %v", file, owner)
		}
	}
	if !releases(t).runs(`crane push dist/artifacthub "$REGISTRY/charts/etcd-steward:artifacthub.io"`) {
		t.Error("it is not pushed beside the chart")
	}
}

// The step is run as GitHub runs it, in a clone as actions/checkout makes it.
func TestATagThatIsNotOnMainIsRefused(t *testing.T) {
	checks := releases(t).Jobs["on-main"].Steps
	if len(checks) != 2 || checks[0].With["fetch-depth"] != float64(0) {
		t.Fatalf("want a checkout with all that led to main, and the check: %+v", checks)
	}
	origin := t.TempDir()
	git(t, origin, "init", "--quiet", "--initial-branch=first")
	for _, made := range []struct{ branch, tag string }{
		{"--orphan=main", "v1.0.0"}, {"main", "v1.1.0"}, {"--create=other", "v6.6.6"}, {"--orphan=apart", "v6.6.7"},
	} {
		git(t, origin, "switch", "--quiet", made.branch)
		git(t, origin, "commit", "--quiet", "--allow-empty", "--message="+made.tag)
		git(t, origin, "tag", "--annotate", "--message=x", made.tag)
	}
	git(t, origin, "switch", "--quiet", "main")
	for tag, isOnMain := range map[string]bool{"v1.0.0": true, "v1.1.0": true, "v6.6.6": false, "v6.6.7": false} {
		clone := t.TempDir()
		git(t, clone, "clone", "--quiet", origin, ".")
		git(t, clone, "checkout", "--quiet", "--detach", tag)
		command := exec.CommandContext(t.Context(), "bash", "-e", "-c", checks[1].Run)
		command.Dir, command.Env = clone, append(os.Environ(), "GITHUB_REF_NAME="+tag)
		said, err := command.CombinedOutput()
		if isOnMain != (err == nil) {
			t.Errorf("%s: %v\n%s", tag, err, said)
		}
		if !isOnMain && (!strings.Contains(string(said), tag) || !strings.Contains(string(said), "not on main")) {
			t.Errorf("%s: nothing says why: %s", tag, said)
		}
	}
}

// git runs git in a directory, without what the machine has set for it.
func git(t *testing.T, directory string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = directory
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.com", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.com")
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, said)
	}
}
