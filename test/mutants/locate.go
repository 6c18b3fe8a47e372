package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// rooms are where bugs are seeded and their tests are. What is generated from them holds the same texts, and is left out.
var rooms = []string{"api", "cmd", "controllers", "pkg", "config/policy", "test"}

// place is where a mutant's text stands, and which package has its test.
type place struct {
	file string // from the root of the repository
	pkg  string // a directory as go test takes it
}

// locate finds the place of each mutant in the repository at root. A text that stands in no file or more than once, and
// a test that is in no package or in two, is an error: such a mutant proves nothing.
func locate(root string, mutants []mutant) ([]mutant, error) {
	texts, tests, err := read(root)
	if err != nil {
		return nil, fmt.Errorf("reading the code: %w", err)
	}
	var wrong []error
	located := make([]mutant, 0, len(mutants))
	for _, m := range mutants {
		var files []string
		for file, text := range texts {
			for range strings.Count(text, m.From) {
				files = append(files, file)
			}
		}
		slices.Sort(files)
		test, _, _ := strings.Cut(m.Test, "/")
		switch packages := tests[test]; {
		case len(files) != 1:
			wrong = append(wrong, fmt.Errorf("%s: the text to replace stands %d times: %v", m.Name, len(files), files))
		case len(packages) != 1:
			wrong = append(wrong, fmt.Errorf("%s: %d packages have %s: %v", m.Name, len(packages), test, packages))
		default:
			m.place = place{file: files[0], pkg: packages[0]}
			located = append(located, m)
		}
	}
	return located, errors.Join(wrong...)
}

var testName = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

func addTests(tests map[string][]string, file, text string) {
	for _, match := range testName.FindAllStringSubmatch(text, -1) {
		tests[match[1]] = append(tests[match[1]], "./"+path.Dir(file))
	}
}

// read returns the text of each file that is shipped, and the packages that have a test of a name.
func read(root string) (texts map[string]string, tests map[string][]string, err error) {
	texts, tests = map[string]string{}, map[string][]string{}
	for _, room := range rooms {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(root, room),
			func(name string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() || !slices.Contains([]string{".go", ".yaml"}, filepath.Ext(name)) {
					return err
				}
				text, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				file, err := filepath.Rel(root, name)
				if err != nil {
					return err
				}
				switch {
				case strings.HasSuffix(file, "_test.go"):
					addTests(tests, file, string(text))
				case room != "test", strings.HasPrefix(file, "test/tools/"):
					texts[file] = string(text)
				}
				return nil
			}))
	}
	return texts, tests, err
}
