// Package pages holds docs/failures.md to the pages that explain its words.
package pages

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestEachReasonOnThePageOfFailuresIsExplained(t *testing.T) {
	explained := page(t, "conditions.md") + page(t, "alerts.md")
	reasons := regexp.MustCompile("`([A-Z][A-Za-z]+)`").FindAllStringSubmatch(page(t, "failures.md"), -1)
	if len(reasons) < 50 {
		t.Fatalf("only %d reasons found", len(reasons))
	}
	for _, reason := range reasons {
		if !strings.Contains(explained, "`"+reason[1]+"`") {
			t.Errorf("%s is explained neither in conditions.md nor in alerts.md", reason[1])
		}
	}
}

func TestEachFailureSaysWhatIsDoneWhatIsSeenAndWhatToDo(t *testing.T) {
	rows := 0
	for line := range strings.Lines(page(t, "failures.md")) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Failure |") {
			continue
		}
		rows++
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|"), "|")
		if len(cells) != 5 {
			t.Errorf("%d cells instead of 5: %s", len(cells), line)
			continue
		}
		for i, column := range []string{"failure", "what the operator does", "what you see", "what you must do"} {
			if strings.TrimSpace(cells[i]) == "" {
				t.Errorf("%s is empty: %s", column, line)
			}
		}
	}
	if rows < 50 {
		t.Fatalf("only %d rows found", rows)
	}
}

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
