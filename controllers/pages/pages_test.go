package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestAMessageLeadsToThePagesOfItsOwnRelease(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3", "v1.2.3-rc.1": "v1.2.3-rc.1", "": "main", "dev": "main", "v1.2.3-4-g0123abc": "main",
		"v1.2.3-dirty": "main", "v1.2.3/../..": "main", "0123abc": "main",
	} {
		if got := branchOf(version); got != want {
			t.Errorf("%q leads to %s, want %s", version, got, want)
		}
	}
}

var (
	page    = regexp.MustCompile(`^([^"]*"(?:[^"\\]|\\.)*)?\bdocs/[a-z-]+\.md`)
	address = regexp.MustCompile(`pages\.Docs ?\+ ?"docs/([a-z-]+\.md)(?:#([a-z-]+))?`)
)

// A person who reads a status may have no clone.
func TestEveryPageThatAMessageNamesHasItsAddressAndIsThere(t *testing.T) {
	found := 0
	for _, root := range []string{"../../controllers", "../../cmd", "../../pkg"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				code, _, _ := strings.Cut(line, "// ")
				if page.MatchString(code) && !address.MatchString(code) {
					t.Errorf("%s: a page without an address: %s", path, strings.TrimSpace(line))
				}
				for _, named := range address.FindAllStringSubmatch(code, -1) {
					found++
					checkPage(t, named[1], named[2])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 16 {
		t.Errorf("only %d pages are named", found)
	}
}

func checkPage(t *testing.T, name, anchor string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	if err != nil {
		t.Errorf("a message leads to no page: %v", err)
		return
	}
	for line := range strings.Lines(string(text)) {
		title := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
		title = regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(title, "")
		if strings.HasPrefix(line, "#") && strings.ReplaceAll(title, " ", "-") == anchor {
			return
		}
	}
	if anchor != "" {
		t.Errorf("docs/%s has no section %s", name, anchor)
	}
}
