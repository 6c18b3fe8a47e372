package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryMutantHasItsPlaceInTheCode notices at once what a mutant that runs would say much later: the code changed, and it did not. That
// its test passes without the bug, and fails with it, is what a run of the mutants shows.
func TestEveryMutantHasItsPlaceInTheCode(t *testing.T) {
	t.Chdir("../..")
	const fewest = 440
	if n := len(every()); n < fewest {
		t.Errorf("there are %d mutants, and were %d: one that stands nowhere wants its text moved along with the code",
			n, fewest)
	}
	seen := map[string]bool{}
	for _, m := range every() {
		if seen[m.Name] {
			t.Errorf("%s: two mutants have this name", m.Name)
		}
		seen[m.Name] = true
		if _, err := m.source(); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		if m.From == m.To {
			t.Errorf("%s: it changes nothing", m.Name)
		}
		if !hasTest(t, m) {
			t.Errorf("%s: %s stands in no test of %s", m.Name, m.Test, m.Package)
		}
	}
}

// hasTest reports whether the package has a test of that name, and the row somewhere in its tests.
func hasTest(t *testing.T, m mutant) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(m.Package, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	test, row, _ := strings.Cut(m.Test, "/")
	hasFunc, hasRow := false, false
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		hasFunc = hasFunc || strings.Contains(string(text), "func "+test+"(t *testing.T)")
		hasRow = hasRow || strings.Contains(strings.ReplaceAll(string(text), " ", "_"), row)
	}
	return hasFunc && hasRow
}
