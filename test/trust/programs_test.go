package trust

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"testing"
)

// program is a block of a page that is a whole program in Go.
var program = regexp.MustCompile("(?ms)^```go\n(package main\n.*?)^```$")

// The commands of pages are run elsewhere: make test-docs.
func TestEachGoProgramOfAPageCompilesWithTheClientOfThisRelease(t *testing.T) {
	found := 0
	for _, page := range files(t) {
		if path.Ext(page) != ".md" {
			continue
		}
		for _, m := range program.FindAllStringSubmatch(read(t, page), -1) {
			found++
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(m[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			vet := exec.CommandContext(t.Context(), "go", "vet", file)
			vet.Dir = root
			if out, err := vet.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", page, err, out)
			}
		}
	}
	if found == 0 {
		t.Error("no page has a program")
	}
}
