// Package pages holds docs/failures.md to the pages that explain its words, and to the stories that prove it.
package pages

import (
	"os"
	"os/exec"
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

// listStories are the stories as make stories prints them.
func listStories(t *testing.T) []string {
	t.Helper()
	command := exec.Command("go", "run", "./test/e2e/stories")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		t.Fatalf("listing the stories: %v", err)
	}
	lines := strings.Split(string(out), "\n")
	column := strings.Index(lines[0], "PROVEN")
	var stories []string
	for _, line := range lines[1:] {
		if column > 0 && len(line) > column {
			stories = append(stories, strings.TrimSpace(line[column:]))
		}
	}
	if len(stories) < 100 {
		t.Fatalf("only %d stories found", len(stories))
	}
	return stories
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
