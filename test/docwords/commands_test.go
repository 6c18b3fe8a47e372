package docwords

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fenced = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	broken = regexp.MustCompile("(?m)`(?:kubectl|etcdctl|helm|make|go) [^`\\n]*$")
)

// Text that is copied from a page keeps its line breaks, and a shell ends a command at each.
func TestNoCommandIsBrokenOverTwoLines(t *testing.T) {
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("pages %v: %v", pages, err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		prose := fenced.ReplaceAllStringFunc(string(text), func(block string) string {
			return strings.Repeat("\n", strings.Count(block, "\n"))
		})
		for _, at := range broken.FindAllStringIndex(prose, -1) {
			line := prose[strings.LastIndexByte(prose[:at[0]], '\n')+1 : at[1]]
			if strings.Count(line, "`")%2 == 1 {
				t.Errorf("%s: this line ends within a command: %s", page, line)
			}
		}
	}
}
