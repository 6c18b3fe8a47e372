package trust

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// index lists each page of docs by what a reader wants to do.
const index = "docs/README.md"

func TestTheIndexNamesEachPageByWhatAReaderWantsToDo(t *testing.T) {
	row := regexp.MustCompile(`^\| [a-z].* \| \[[^\]]+\]\(([^)#]+)(#[^)]+)?\) \|$`)
	named := map[string]int{}
	for line := range strings.Lines(read(t, index)) {
		m := row.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case m != nil && m[2] == "":
			named[path.Join("docs", m[1])]++
		case m == nil && strings.Contains(line, "]("):
			t.Errorf("%s: a row is `| what I want to do | [page](page) |`: %s", index, line)
		}
	}
	pages := []string{"docs/decisions/README.md"}
	for _, p := range files(t) {
		isPage := path.Dir(p) == "docs" || path.Dir(p) == "docs/reference"
		if isPage && path.Ext(p) == ".md" && p != index {
			pages = append(pages, p)
		}
	}
	if len(pages) < 15 {
		t.Errorf("only %d pages were found", len(pages))
	}
	for _, p := range pages {
		if named[p] != 1 {
			t.Errorf("%s names %s %d times: give it one row, where a reader looks for it", index, p, named[p])
		}
	}
}

var (
	// absolute is an address of a file of this repository, with a heading of it where one is named.
	absolute = regexp.MustCompile(`https://(?:github\.com/etcdsteward/etcd-steward/(?:blob|tree)/main|` +
		`raw\.githubusercontent\.com/etcdsteward/etcd-steward/main)/([\w./-]*\w)(?:#([\w-]+))?`)
	// relative is a link of a page to a file beside it, or to a heading.
	relative = regexp.MustCompile(`\]\(([\w./-]*)(?:#([\w-]+))?\)`)
	block    = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
)

func TestEachLinkLeadsToAFileOfThisRepositoryAndAHeadingOfIt(t *testing.T) {
	found := 0
	for _, from := range files(t) {
		if !slices.Contains([]string{".yml", ".yaml", ".md"}, path.Ext(from)) {
			continue
		}
		text := read(t, from)
		for _, m := range absolute.FindAllStringSubmatch(text, -1) {
			found++
			expectThere(t, from, m[1], m[2])
		}
		if path.Ext(from) != ".md" {
			continue
		}
		for _, m := range relative.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
			found++
			to := from
			if m[1] != "" {
				to = path.Join(path.Dir(from), m[1])
			}
			expectThere(t, from, to, m[2])
		}
	}
	if found < 300 {
		t.Errorf("only %d links were found", found)
	}
}

func expectThere(t *testing.T, from, to, anchor string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, to)); err != nil {
		t.Errorf("%s: %s is not there", from, to)
	} else if anchor != "" && !anchors(t, to)[anchor] {
		t.Errorf("%s: %s has no heading #%s", from, to, anchor)
	}
}

var (
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	noAnchor = regexp.MustCompile("[^a-z0-9 _-]")
	// rowName is the anchor of a row of a table.
	rowName = regexp.MustCompile(`<a id="([a-z0-9-]+)"></a>`)
)

// anchorsOf are the anchors of the pages that were read.
var anchorsOf = map[string]map[string]bool{}

// anchors are those that GitHub makes of the headings of a page, and those of its rows.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	if anchorsOf[page] == nil {
		found := map[string]bool{}
		for _, m := range heading.FindAllStringSubmatch(read(t, page), -1) {
			plain := noAnchor.ReplaceAllString(strings.ToLower(linkText.ReplaceAllString(m[1], "$1")), "")
			found[strings.ReplaceAll(plain, " ", "-")] = true
		}
		for _, m := range rowName.FindAllStringSubmatch(read(t, page), -1) {
			found[m[1]] = true
		}
		anchorsOf[page] = found
	}
	return anchorsOf[page]
}
