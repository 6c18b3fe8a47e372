// Mutants seeds known bugs into the code, each alone, and runs the one test that must notice. It prints killed / total.
// It fails when a mutant survives, when its text no longer stands in the code, and when its test is skipped or gone.
// The tree is not touched: the compiler sees the mutated file through -overlay.
//
//	go run ./test/mutants [-only guard,peers] [name ...]
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// mutant is one seeded bug: From becomes To, and Test must fail. It names no file, so code and tests move freely: From
// stands once in all that is shipped, and one package has the test.
type mutant struct {
	Name string // what is wrong, in a few words
	Peer string // who shipped it: a thread of reference, or empty
	From string
	To   string
	Test string // its name; a row of it after a slash

	place // found by locate
}

// row is the name of a test of one row of the table of rules.
func row(sentence string) string {
	return "TestNextOneSentencePerRule/" + strings.ReplaceAll(sentence, " ", "_")
}

// every is each mutant.
func every() []mutant {
	return slices.Concat(lifecycle, guards, effects, rolls, upkeep, sleep, leads, fences, deaths, returns, restores, inPlace, records, schedules, stores,
		judgements, places, moves, attributes, halves, copies, compared, kept, passes, phases, logs, minors, trust, foreign, sidecars, network, installs,
		seeing, rights, plugin, asked, releases, cas, previous, signatures, auth, access, transports)
}

// isOf reports whether a bug is of a group. Other operators shipped those of peers; any other group is a directory of
// the code. The guard's stand beside the changes, and in what it computes with.
func (m mutant) isOf(group string) bool {
	if group == "peers" {
		return m.Peer != ""
	}
	dir := path.Base(path.Dir(m.file))
	return dir == group || group == "guard" && (dir == "changes" || isListed(guards, m))
}

func isListed(list []mutant, m mutant) bool {
	return slices.ContainsFunc(list, func(other mutant) bool { return other.Name == m.Name })
}

// choose returns the mutants of these names, of these groups, or all where neither is given.
func choose(all []mutant, names, groups []string) ([]mutant, error) {
	if len(names)+len(groups) == 0 {
		return all, nil
	}
	isFound := map[string]bool{}
	var chosen []mutant
	for _, m := range all {
		isChosen := slices.Contains(names, m.Name)
		for _, group := range groups {
			if m.isOf(group) {
				isFound[group], isChosen = true, true
			}
		}
		if isChosen {
			isFound[m.Name] = true
			chosen = append(chosen, m)
		}
	}
	for _, word := range slices.Concat(names, groups) {
		if !isFound[word] {
			return nil, fmt.Errorf("there is no mutant %q, and no group of that name", word)
		}
	}
	return chosen, nil
}

func main() {
	only := flag.String("only", "", "the mutants of these `groups`: peers, or directories such as guard,apply,record")
	flag.Parse()
	if err := run(flag.Args(), strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(names, groups []string) error {
	all, err := locate(".", every())
	if err != nil {
		return err
	}
	chosen, err := choose(all, names, groups)
	if err != nil {
		return err
	}
	return play(chosen)
}

// result is what came of a mutant.
type result struct {
	mutant
	verdict string
	took    time.Duration
}

// play tries every mutant, as many at a time as there are cores, and returns an error that names those that live.
func play(chosen []mutant) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return fmt.Errorf("making room for the tests: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	objections := withoutBugs(dir, chosen)
	waiting, results := make(chan mutant), make(chan result)
	for range runtime.NumCPU() {
		go func() {
			for m := range waiting {
				begin := time.Now()
				results <- result{m, m.run(objections[m.test()]), time.Since(begin)}
			}
		}()
	}
	go func() {
		for _, m := range chosen {
			waiting <- m
		}
	}()
	table := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	var alive []string
	for range chosen {
		r := <-results
		if r.verdict != killed {
			alive = append(alive, fmt.Sprintf("  go run ./test/mutants %q # %s", r.Name, r.verdict))
		}
		fmt.Fprintf(table, "%s\t%s\t%.1fs\t%s\t%s\n", r.Name, r.verdict, r.took.Seconds(), r.Test, r.Peer)
		_ = table.Flush()
	}
	fmt.Printf("mutants: %d/%d killed\n", len(chosen)-len(alive), len(chosen))
	if len(alive) > 0 {
		return fmt.Errorf("not killed:\n%s", strings.Join(alive, "\n"))
	}
	return nil
}

const killed = "killed"

// run reports "killed" when the test fails with the bug in, and otherwise why that proves nothing.
func (m mutant) run(objection func() string) string {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return fmt.Sprintf("making room for the mutant: %v", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.overlay(dir)
	if err != nil {
		return err.Error()
	}
	if why := objection(); why != "" {
		return why
	}
	program := filepath.Join(dir, "mutant.test")
	if out, err := build(program, m.pkg, "-overlay", overlay); err != nil {
		return "does not compile: " + lastLine(out)
	}
	out, err := runTest(program, m.pkg, m.Test)
	hangs := strings.Contains(string(out), "panic: test timed out")
	switch {
	case err != nil && (hangs || strings.Contains(string(out), "--- FAIL")):
		return killed
	case err != nil:
		return "test did not run: " + lastLine(out)
	}
	return "SURVIVED"
}

// test is the key of a mutant's test.
func (m mutant) test() string { return m.pkg + " " + m.Test }

// withoutBugs returns for each test what objection there is without any bug. The tests of a package are linked once.
func withoutBugs(dir string, chosen []mutant) map[string]func() string {
	programs, objections := map[string]func() (string, error){}, map[string]func() string{}
	for _, m := range chosen {
		if programs[m.pkg] == nil {
			name := strings.ReplaceAll(strings.TrimPrefix(m.pkg, "./"), "/", "-") + ".test"
			programs[m.pkg] = sync.OnceValues(func() (string, error) {
				program := filepath.Join(dir, name)
				if out, err := build(program, m.pkg); err != nil {
					return "", fmt.Errorf("the tests do not compile: %s", lastLine(out))
				}
				return program, nil
			})
		}
		if objections[m.test()] == nil {
			linked := programs[m.pkg]
			objections[m.test()] = sync.OnceValue(func() string { return m.objection(linked) })
		}
	}
	return objections
}

// objection says why the mutant's test proves nothing: it does not pass as things are, or is skipped here, or is gone.
func (m mutant) objection(linked func() (string, error)) string {
	program, err := linked()
	if err != nil {
		return err.Error()
	}
	out, err := runTest(program, m.pkg, m.Test)
	switch {
	case err != nil:
		return "test fails without the mutant: " + lastLine(out)
	case strings.Contains(string(out), "--- SKIP: "+m.Test+" "), strings.Contains(string(out), "--- SKIP: "+m.Test+"/") &&
		!strings.Contains(string(out), "--- PASS: "+m.Test+"/"):
		return "test is skipped"
	case !strings.Contains(string(out), "--- PASS: "+m.Test+" "):
		return "there is no such test"
	}
	return ""
}

// build links the tests of a package into one program. Vet has nothing to say about a seeded bug. Code that is neither
// inlined nor made for a debugger compiles in less than half the time. A package may be of another module than this
// one.
func build(program, pkg string, more ...string) ([]byte, error) {
	args := []string{"test", "-C", pkg, "-c", "-vet=off", "-gcflags=-l -dwarf=false", "-ldflags=-s -w", "-o", program}
	return exec.Command("go", append(args, more...)...).CombinedOutput()
}

// runTest runs one test where go test would.
func runTest(program, dir, name string) ([]byte, error) {
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
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", m.file, err)
	}
	source, err := os.ReadFile(original)
	if err != nil {
		return "", fmt.Errorf("reading the file to mutate: %w", err)
	}
	mutated := filepath.Join(dir, filepath.Base(m.file))
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
