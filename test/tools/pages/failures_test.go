// Package pages holds docs/failures to the pages that explain its words, and to the stories that prove it.
package pages

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	root = "../../../"
	// proofsFile is the one place that says which stories prove a row; proofsPage is made from it.
	proofsFile = "test/e2e/proofs.txt"
	proofsPage = "docs/reference/proofs.md"
	// longestRow is a number of characters, as a reader sees them.
	longestRow = 300
)

var update = flag.Bool("update", false, "write docs/reference/proofs.md anew")

func TestEachReasonOnThePagesOfFailuresIsExplained(t *testing.T) {
	explained := read(t, "docs/conditions.md") + read(t, "docs/alerts.md") + read(t, "docs/backup.md") + read(t, "docs/access.md")
	var told strings.Builder
	for _, page := range append(pagesOfFailures(t), "docs/failures.md", "docs/troubleshooting.md", "docs/reference/judgement.md") {
		told.WriteString(read(t, page))
	}
	reasons := regexp.MustCompile("`([A-Z][A-Za-z]+)`").FindAllStringSubmatch(told.String(), -1)
	if len(reasons) < 50 {
		t.Fatalf("only %d reasons found", len(reasons))
	}
	for _, reason := range reasons {
		if !strings.Contains(explained, "`"+reason[1]+"`") {
			t.Errorf("%s is explained in none of conditions.md, alerts.md, backup.md and access.md", reason[1])
		}
	}
}

func TestEachRowOfFailuresHasANameAndFourShortCells(t *testing.T) {
	for _, fault := range badRows(failures(t)) {
		t.Error(fault)
	}
	for want, r := range map[string]row{
		"no name":              {cells: []string{"A node dies", "Nothing", "Waits.", "Nothing."}},
		"3 cells instead of 4": {name: "a", cells: []string{"A node dies", "Nothing", "Waits."}},
		"an empty cell":        {name: "a", cells: []string{"A node dies", "", "Waits.", "Nothing."}},
		"instead of 300":       {name: "a", cells: []string{strings.Repeat("x", 297), "y", "y", "y"}},
		"repeats another row":  {name: "a", cells: []string{"A node dies", "The same", "Waits.", "Nothing."}},
	} {
		if got := badRows([]row{r}); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%v: %q is not found: %v", r, want, got)
		}
	}
	twice := row{name: "a", cells: []string{"A node dies", "Nothing", "Waits.", "Nothing."}}
	if got := badRows([]row{twice, twice}); len(got) != 1 || !strings.Contains(got[0], "the name of two rows") {
		t.Errorf("a name of two rows is not found: %v", got)
	}
}

func TestEachRowOfFailuresIsProvenByStoriesThatAreThere(t *testing.T) {
	rows, proofs := failures(t), readProofs(t)
	if len(rows) < 200 || len(proofs) < 300 {
		t.Fatalf("only %d rows and %d proofs found", len(rows), len(proofs))
	}
	for _, fault := range badProofs(rows, proofs, listStories(t)) {
		t.Error(fault)
	}
	rows = []row{{name: "node-dies"}}
	for want, proofs := range map[string][]proof{
		"node-dies has no proof":  nil,
		"no row is called other":  {{"node-dies", "A node dies"}, {"other", "A node dies"}},
		"no such story: A Pod":    {{"node-dies", "A Pod dies"}},
		"names A node dies twice": {{"node-dies", "A node dies"}, {"node-dies", "A node dies"}},
	} {
		if got := badProofs(rows, proofs, []string{"A node dies"}); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%q is not found: %v", want, got)
		}
	}
}

func TestThePageOfProofsIsMadeFromTheRowsAndTheirStories(t *testing.T) {
	want := proofsOf(t, failures(t), readProofs(t))
	if *update {
		if err := os.WriteFile(root+proofsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if read(t, proofsPage) != want {
		t.Errorf("%s is behind %s; (cd test/tools && go test ./pages -update) writes it", proofsPage, proofsFile)
	}
}

func TestThePageOfFailuresLeadsToItsPagesAndHasNoRowItself(t *testing.T) {
	text := read(t, "docs/failures.md")
	for _, page := range pagesOfFailures(t) {
		if !strings.Contains(text, "]("+strings.TrimPrefix(page, "docs/")+")") {
			t.Errorf("docs/failures.md has no link to %s", page)
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| ") && len(cellsOf(line)) != 2 {
			t.Errorf("docs/failures.md: a failure stands on a page of docs/failures, and its stories in %s: %s", proofsFile, line)
		}
	}
}

// row is a row of a page of failures.
type row struct {
	page, title, name string
	cells             []string
}

// proof is a story that proves the row of a name.
type proof struct{ name, story string }

// repeats is a cell that means the one above it.
var repeats = regexp.MustCompile(`^The same([.,;]|$)`)

// badRows says what is wrong with the form of rows.
func badRows(rows []row) []string {
	var bad []string
	link := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	seen := map[string]bool{}
	for _, r := range rows {
		say := func(format string, args ...any) {
			bad = append(bad, fmt.Sprintf("%s: %s: ", r.page, r.cells[0])+fmt.Sprintf(format, args...))
		}
		long := utf8.RuneCountInString(link.ReplaceAllString("| "+strings.Join(r.cells, " | ")+" |", "$1"))
		switch {
		case r.name == "":
			say(`it has no name: begin it with <a id="short-name"></a>`)
		case seen[r.name]:
			say("%s is the name of two rows", r.name)
		case len(r.cells) != 4:
			say("%d cells instead of 4", len(r.cells))
		case slices.Contains(r.cells, ""):
			say("it has an empty cell")
		case long > longestRow:
			say("%d characters instead of %d: say less, or below the table", long, longestRow)
		case slices.ContainsFunc(r.cells, repeats.MatchString):
			say("it repeats another row, which a reader who was led here does not see")
		}
		seen[r.name] = true
	}
	return bad
}

// badProofs says which rows have no proof, and which proofs prove nothing.
func badProofs(rows []row, proofs []proof, stories []string) []string {
	var bad []string
	for _, r := range rows {
		if !slices.ContainsFunc(proofs, func(p proof) bool { return p.name == r.name }) {
			bad = append(bad, fmt.Sprintf("%s: %s has no proof: add `%s: <story>` to %s", r.page, r.name, r.name, proofsFile))
		}
	}
	seen := map[proof]bool{}
	for _, p := range proofs {
		switch {
		case !slices.ContainsFunc(rows, func(r row) bool { return r.name == p.name }):
			bad = append(bad, fmt.Sprintf("%s: no row is called %s", proofsFile, p.name))
		case !slices.Contains(stories, p.story):
			bad = append(bad, fmt.Sprintf("%s: %s: no such story: %s", proofsFile, p.name, p.story))
		case seen[p]:
			bad = append(bad, fmt.Sprintf("%s: %s names %s twice", proofsFile, p.name, p.story))
		}
		seen[p] = true
	}
	return bad
}

// readProofs are the lines `name: story`.
func readProofs(t *testing.T) []proof {
	t.Helper()
	var all []proof
	for line := range strings.Lines(read(t, proofsFile)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, story, isProof := strings.Cut(line, ": ")
		if !isProof {
			t.Fatalf("%s: a line is `name-of-a-row: text of a story`: %s", proofsFile, line)
		}
		all = append(all, proof{name, story})
	}
	return all
}

// proofsOf is the page that shows the stories of each row.
func proofsOf(t *testing.T, rows []row, proofs []proof) string {
	t.Helper()
	var page strings.Builder
	fmt.Fprintf(&page, "# Proofs\n\nThe stories on a real Kubernetes (`make stories`) that prove each row of [failures](../failures.md). "+
		"Made from `%s`.\n", proofsFile)
	title := ""
	for _, r := range rows {
		if r.title != title {
			title = r.title
			fmt.Fprintf(&page, "\n## %s\n\n| Row | Stories |\n|---|---|\n", title)
		}
		var stories []string
		for _, p := range proofs {
			if p.name == r.name {
				stories = append(stories, p.story)
			}
		}
		fmt.Fprintf(&page, "| [%[1]s](../failures/%[2]s#%[1]s) | %[3]s |\n", r.name, filepath.Base(r.page), strings.Join(stories, "<br>"))
	}
	return page.String()
}

// pagesOfFailures are the paths of the pages of docs/failures, in the order in which docs/failures.md names them.
func pagesOfFailures(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(root + "docs/failures/*.md")
	if err != nil || len(paths) < 5 {
		t.Fatalf("only %d pages of failures found: %v", len(paths), err)
	}
	index := read(t, "docs/failures.md")
	for i := range paths {
		paths[i] = strings.TrimPrefix(filepath.ToSlash(paths[i]), root)
	}
	slices.SortFunc(paths, func(a, b string) int {
		return strings.Index(index, strings.TrimPrefix(a, "docs/")) - strings.Index(index, strings.TrimPrefix(b, "docs/"))
	})
	return paths
}

var nameOfRow = regexp.MustCompile(`^<a id="([a-z0-9-]+)"></a>`)

// failures are the rows of all pages, cell by cell.
func failures(t *testing.T) []row {
	t.Helper()
	var rows []row
	for _, page := range pagesOfFailures(t) {
		text := read(t, page)
		title, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| What is broken |") {
				continue
			}
			r := row{page: page, title: title, cells: cellsOf(line)}
			if m := nameOfRow.FindStringSubmatch(r.cells[0]); m != nil {
				r.name, r.cells[0] = m[1], strings.TrimPrefix(r.cells[0], m[0])
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// cellsOf are the cells of a line of a table.
func cellsOf(line string) []string {
	cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(root + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
