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
	"regexp"
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
	Test    string // its name; a row of it after a slash
}

// row is the name of a test of one row of the table of rules.
func row(sentence string) string {
	return "TestNextOneSentencePerRule/" + strings.ReplaceAll(sentence, " ", "_")
}

// every is each mutant.
func every() []mutant {
	return slices.Concat(life, guards, effects, rolls, deaths, returns, restores, inPlace, records, schedules, stores,
		judgements, copies, kept, passes, phases, logs, minors)
}

func main() {
	chosen := every()
	if wanted := os.Args[1:]; len(wanted) > 0 {
		chosen = slices.DeleteFunc(chosen, func(m mutant) bool { return !slices.Contains(wanted, m.Name) })
	}
	if err := sound(chosen); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	killed, total := 0, len(chosen)
	for _, m := range chosen {
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
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return fmt.Sprintf("making room for the mutant: %v", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.overlay(dir)
	if err != nil {
		return err.Error()
	}
	program := filepath.Join(dir, "mutant.test")
	if out, err := build(program, m.Package, "-overlay", overlay); err != nil {
		return "does not compile: " + lastLine(out)
	}
	out, err := test(program, m.Package, m.Test)
	switch {
	case err != nil && strings.Contains(string(out), "--- FAIL"):
		return "killed"
	case err != nil:
		return "test did not run: " + lastLine(out)
	}
	return "SURVIVED"
}

// sound reports which tests do not pass without any bug, or do not exist: that they fail with one would prove nothing.
func sound(chosen []mutant) error {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return fmt.Errorf("making room for the tests: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	built := map[string]string{}
	for _, m := range chosen {
		program, ok := built[m.Package]
		if !ok {
			program = filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(m.Package, "./"), "/", "-")+".test")
			if out, err := build(program, m.Package); err != nil {
				return fmt.Errorf("building the tests of %s: %w: %s", m.Package, err, lastLine(out))
			}
			built[m.Package] = program
		}
		out, err := test(program, m.Package, m.Test)
		_, row, isRow := strings.Cut(m.Test, "/")
		if err != nil || strings.Contains(string(out), "no tests to run") || isRow &&
			!strings.Contains(string(out), "/"+row+" ") {
			return fmt.Errorf("%s of %s does not pass as things are, or is not there: %s", m.Test, m.Package,
				lastLine(out))
		}
	}
	return nil
}

// build links the tests of a package into one program. Vet has nothing to say about a seeded bug.
func build(program, pkg string, more ...string) ([]byte, error) {
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program}, more...)
	return exec.Command("go", append(args, pkg)...).CombinedOutput()
}

// test runs one test where go test would.
func test(program, dir, name string) ([]byte, error) {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	command := exec.Command(program, "-test.v", "-test.short", "-test.timeout=1m", "-test.run",
		strings.Join(parts, "/"))
	command.Dir = dir
	return command.CombinedOutput()
}

// overlay writes the mutated file and the map that lets the compiler see it in the place of the real one.
func (m mutant) overlay(dir string) (string, error) {
	source, err := m.source()
	if err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.File)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", m.File, err)
	}
	mutated := filepath.Join(dir, filepath.Base(m.File))
	if err := os.WriteFile(mutated, []byte(strings.Replace(source, m.From, m.To, 1)), 0o600); err != nil {
		return "", fmt.Errorf("writing the mutant: %w", err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		return "", fmt.Errorf("writing the overlay: %w", err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, replace, 0o600)
}

// source is the text of the file to mutate, in which the text to replace stands once.
func (m mutant) source() (string, error) {
	source, err := os.ReadFile(m.File)
	if err != nil {
		return "", fmt.Errorf("reading the file to mutate: %w", err)
	}
	if n := strings.Count(string(source), m.From); n != 1 {
		return "", fmt.Errorf("the text to replace stands %d times in %s", n, m.File)
	}
	return string(source), nil
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
