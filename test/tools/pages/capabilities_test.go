package pages

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// claims are the rows of the page of capability levels, cell by cell, by the level that they prove.
func claims(t *testing.T) map[string][][]string {
	t.Helper()
	levels := map[string][][]string{}
	for chapter := range strings.SplitSeq(read(t, "docs/capabilities.md"), "\n## ") {
		level, text, _ := strings.Cut(chapter, "\n")
		for line := range strings.Lines(text) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
			if strings.HasPrefix(line, "| ") && len(cells) == 3 && strings.TrimSpace(cells[0]) != "Claim" && strings.HasPrefix(level[1:], ". ") {
				levels[level] = append(levels[level], cells)
			}
		}
	}
	return levels
}

func TestEachClaimOfACapabilityNamesAPageAndAStoryOrATestThatIsThere(t *testing.T) {
	stories, tests, levels := listStories(t), listTests(t), claims(t)
	if len(levels) != 5 {
		t.Fatalf("there are claims of %d levels, want 5", len(levels))
	}
	for level, rows := range levels {
		if len(rows) < 5 {
			t.Errorf("%s: only %d claims were found", level, len(rows))
		}
		for _, cells := range rows {
			if !strings.Contains(cells[1], "](") {
				t.Errorf("%s: no page says more of: %s", level, cells[0])
			}
			for proof := range strings.SplitSeq(strings.TrimSpace(cells[2]), "<br>") {
				name := strings.Trim(proof, "`")
				if isTest := name != proof; isTest && !slices.Contains(tests, name) || !isTest && !slices.Contains(stories, proof) {
					t.Errorf("%s: no such story or test: %s", cells[0], proof)
				}
			}
		}
	}
}

func TestTheLevelThatThePageClaimsIsThatOfTheChart(t *testing.T) {
	claimed := regexp.MustCompile(`operatorCapabilities: (.+)\n`).FindStringSubmatch(read(t, "config/helm/etcd-steward/Chart.yaml"))
	if claimed == nil {
		t.Fatal("the chart claims no level")
	}
	name := regexp.MustCompile(`(?m)^\| \d\. \[(.+)\]\(.*\) \| Yes, in the Helm chart and the OLM bundle \|`).FindStringSubmatch(read(t, "docs/capabilities.md"))
	if name == nil || !strings.EqualFold(name[1], claimed[1]) {
		t.Errorf("the chart claims %q, and the page %q", claimed[1], name)
	}
}

// listTests are the names of all tests of the repository.
func listTests(t *testing.T) []string {
	t.Helper()
	command := exec.Command("git", "grep", "--untracked", "-hoE", `^func Test\w+`, "--", "*_test.go")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		t.Fatalf("listing the tests: %v", err)
	}
	var names []string
	for line := range bytes.Lines(out) {
		names = append(names, strings.TrimPrefix(strings.TrimSpace(string(line)), "func "))
	}
	if len(names) < 500 {
		t.Fatalf("only %d tests were found", len(names))
	}
	return names
}
