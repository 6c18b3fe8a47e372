// Mutants seeds known bugs into the code, one at a time, and runs the one test that must notice. It prints killed / total and
// fails when a mutant survives. The tree is not touched: the compiler sees the mutated file through -overlay.
//
//	go run ./test/mutants [name ...]
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// mutant is one seeded bug: in File, the first From becomes To, and Test of Package must fail.
type mutant struct {
	Name    string // what is wrong, in a few words
	Peer    string // who shipped it, where somebody did: a thread of reference, or empty
	File    string
	From    string
	To      string
	Package string
	Test    string // a -run expression
}

func main() {
	wanted := os.Args[1:]
	table := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	killed, total := 0, 0
	for _, m := range mutants {
		if len(wanted) > 0 && !slices.Contains(wanted, m.Name) {
			continue
		}
		total++
		begin := time.Now()
		verdict := m.run()
		if verdict == "killed" {
			killed++
		}
		fmt.Fprintf(table, "%s\t%s\t%.1fs\t%s\t%s\n", m.Name, verdict, time.Since(begin).Seconds(), m.Test, m.Peer)
		_ = table.Flush()
	}
	fmt.Printf("mutants: %d/%d killed\n", killed, total)
	if killed != total || total == 0 {
		os.Exit(1)
	}
}

// run reports "killed" when the test fails with the bug in, and otherwise why that proves nothing.
func (m mutant) run() string {
	overlay, err := m.overlay()
	if err != nil {
		return err.Error()
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(overlay)) }()
	if out, err := exec.Command("go", "test", "-overlay", overlay, "-run", "^$", m.Package).CombinedOutput(); err != nil {
		return "does not compile: " + lastLine(out)
	}
	out, err := exec.Command("go", "test", "-short", "-count=1", "-overlay", overlay, "-run", m.Test, m.Package).CombinedOutput()
	switch {
	case err != nil && strings.Contains(string(out), "--- FAIL"):
		return "killed"
	case err != nil:
		return "test did not run: " + lastLine(out)
	case strings.Contains(string(out), "no tests to run"):
		return "no such test"
	}
	return "SURVIVED"
}

// overlay writes the mutated file and the map that lets the compiler see it in the place of the real one.
func (m mutant) overlay() (string, error) {
	source, err := os.ReadFile(m.File)
	if err != nil {
		return "", fmt.Errorf("reading the file to mutate: %w", err)
	}
	if n := strings.Count(string(source), m.From); n != 1 {
		return "", fmt.Errorf("the text to replace stands %d times in %s", n, m.File)
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", fmt.Errorf("making room for the mutant: %w", err)
	}
	original, err := filepath.Abs(m.File)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", m.File, err)
	}
	mutated := filepath.Join(dir, filepath.Base(m.File))
	if err := os.WriteFile(mutated, []byte(strings.Replace(string(source), m.From, m.To, 1)), 0o600); err != nil {
		return "", fmt.Errorf("writing the mutant: %w", err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		return "", fmt.Errorf("writing the overlay: %w", err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, replace, 0o600)
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
