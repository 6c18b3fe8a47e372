// Package pages holds docs/failures.md to the pages that explain its words, and to the stories that prove it.
package pages

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../../"

func TestEachReasonOnThePageOfFailuresIsExplained(t *testing.T) {
	explained := page(t, "conditions.md") + page(t, "alerts.md") + page(t, "backup.md")
	reasons := regexp.MustCompile("`([A-Z][A-Za-z]+)`").FindAllStringSubmatch(page(t, "failures.md"), -1)
	if len(reasons) < 50 {
		t.Fatalf("only %d reasons found", len(reasons))
	}
	for _, reason := range reasons {
		if !strings.Contains(explained, "`"+reason[1]+"`") {
			t.Errorf("%s is explained in none of conditions.md, alerts.md and backup.md", reason[1])
		}
	}
}

func TestEachFailureSaysWhatIsDoneWhatIsSeenAndWhatToDo(t *testing.T) {
	for _, cells := range failures(t) {
		if len(cells) != 5 {
			t.Errorf("%d cells instead of 5: %s", len(cells), cells[0])
			continue
		}
		for i, column := range []string{"failure", "what the operator does", "what you see", "what you must do", "story"} {
			if cells[i] == "" {
				t.Errorf("%s is empty: %s", column, cells[0])
			}
		}
	}
}

func TestEachStoryThatAFailureNamesIsThere(t *testing.T) {
	stories := listStories(t)
	for _, cells := range failures(t) {
		for story := range strings.SplitSeq(cells[len(cells)-1], "<br>") {
			if !slices.Contains(stories, story) {
				t.Errorf("%s: no such story: %s", cells[0], story)
			}
		}
	}
}

// listStories asks Ginkgo for the full names of the stories, without running them.
func listStories(t *testing.T) []string {
	t.Helper()
	list := filepath.Join(t.TempDir(), "stories.json")
	command := exec.Command(storiesProgram(t), "-ginkgo.dry-run", "-ginkgo.json-report="+list)
	command.Dir = root + "test/e2e"
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("listing the stories: %v\n%s", err, out)
	}
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts    []string
			LeafNodeType, LeafNodeText string
		}
	}
	if err := json.Unmarshal(text, &suites); err != nil {
		t.Fatal(err)
	}
	var stories []string
	for _, suite := range suites {
		for _, spec := range suite.SpecReports {
			if spec.LeafNodeType == "It" {
				stories = append(stories, strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " "))
			}
		}
	}
	if len(stories) < 100 {
		t.Fatalf("only %d stories found", len(stories))
	}
	return stories
}

// storiesProgram is the test binary of test/e2e: the one that E2E_TEST names, or one that is linked for this test.
func storiesProgram(t *testing.T) string {
	t.Helper()
	if linked := os.Getenv("E2E_TEST"); linked != "" {
		return linked
	}
	program := filepath.Join(t.TempDir(), "e2e.test")
	command := exec.Command("go", "test", "-c", "-vet=off", "-o", program, "./test/e2e")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("linking the stories: %v\n%s", err, out)
	}
	return program
}

// failures are the rows of the page, cell by cell.
func failures(t *testing.T) [][]string {
	t.Helper()
	var rows [][]string
	_, text, isThere := strings.Cut(page(t, "failures.md"), "\n## Rolls\n") // before it is the table of judgements
	if !isThere {
		t.Fatal("the failures do not begin with those of rolls")
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Failure |") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 50 {
		t.Fatalf("only %d rows found", len(rows))
	}
	return rows
}

func page(t *testing.T, name string) string {
	t.Helper()
	return read(t, "docs/"+name)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(root + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
