package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// module is the path before a package's directory.
const module = "github.com/etcdsteward/etcd-steward"

// modules are the ones of the tree that are tested from their own directory, the longest path first.
var modules = []string{"test/histories", "test/localkube", "test/gitops", "test/tools"}

// phase is one target that was run.
type phase struct {
	name    string
	seconds int
	failed  bool
	reader  *reader
}

func (p phase) String() string {
	if p.failed {
		return fmt.Sprintf("%s: %d s, failed", p.name, p.seconds)
	}
	return fmt.Sprintf("%s: %d s", p.name, p.seconds)
}

// failure is one thing that failed and how to see it again.
type failure struct{ what, command string }

// reader reads what a phase prints, a line at a time, for failures of go test, Ginkgo and make.
type reader struct {
	phase    string // a target that only runs others: what failed is theirs
	rest     []byte
	tests    []string // that failed, of the package that is not named yet
	isToldOf bool     // why the target that is running fails
	failures []failure
	findings []string
}

func (r *reader) Write(p []byte) (int, error) {
	r.rest = append(r.rest, p...)
	for {
		line, rest, isWhole := bytes.Cut(r.rest, []byte("\n"))
		if !isWhole {
			return len(p), nil
		}
		r.read(string(line))
		r.rest = rest
	}
}

var (
	failedTest    = regexp.MustCompile(`^--- FAIL: (\S+)`)
	failedPackage = regexp.MustCompile(`^FAIL\t(\S+)`)
	failedStory   = regexp.MustCompile(`^\s*(?:\x1b\[[0-9;]*m)*\[(?:FAIL|PANICKED!|TIMEDOUT|INTERRUPTED)\](?:\x1b\[[0-9;]*m)* (.*)`)
	failedTarget  = regexp.MustCompile(`^make(?:\[\d+\])?: \*\*\* \[\S+: (\S+)\] Error`)
	colours       = regexp.MustCompile(`\x1b\[[0-9;]*m`)
)

const finding = "FINDING (does not fail): "

func (r *reader) read(line string) {
	if at := strings.Index(line, finding); at >= 0 {
		r.findings = append(r.findings, line[at+len(finding):])
	}
	if m := failedTest.FindStringSubmatch(line); m != nil {
		r.tests = append(r.tests, m[1])
	}
	if m := failedPackage.FindStringSubmatch(line); m != nil {
		if strings.HasPrefix(m[1], module) { // else its target alone knows how to run it
			r.add(failureOf(m[1], r.tests))
		}
		r.tests = nil
	}
	if m := failedStory.FindStringSubmatch(line); m != nil {
		r.add(storyFailure(colours.ReplaceAllString(m[1], "")))
	}
	if m := failedTarget.FindStringSubmatch(line); m != nil && m[1] != r.phase {
		if !r.isToldOf {
			r.add(failure{what: "make " + m[1], command: "make " + m[1]})
		}
		r.isToldOf = false
	}
}

// add leaves out what was said before: Ginkgo names a story when it fails, and again at the end.
func (r *reader) add(f failure) {
	r.isToldOf = true
	if !slices.Contains(r.failures, f) {
		r.failures = append(r.failures, f)
	}
}

// failureOf is that of a package, by its import path.
func failureOf(path string, tests []string) failure {
	dir, where := strings.TrimPrefix(strings.TrimPrefix(path, module), "/"), ""
	for _, m := range modules {
		if rest, isIn := strings.CutPrefix(dir+"/", m+"/"); isIn {
			dir, where = strings.TrimSuffix(rest, "/"), " -C "+m
			break
		}
	}
	command := "go test" + where + " ./" + dir
	what := path
	if len(tests) > 0 {
		command += fmt.Sprintf(" -run '^(%s)$'", strings.Join(tests, "|"))
		what += ": " + strings.Join(tests, ", ")
	}
	return failure{what: strings.TrimPrefix(what, module+"/"), command: command}
}

var (
	nodeOfStory   = regexp.MustCompile(`\[(?:It|BeforeEach|AfterEach|DeferCleanup \([^)]*\)|JustBeforeEach|BeforeSuite)\] ?`)
	labelsOfStory = regexp.MustCompile(` \[[^\]]*\]$`)
)

// storyFailure is that of a story, by the text by which Ginkgo names it.
func storyFailure(text string) failure {
	text = labelsOfStory.ReplaceAllString(nodeOfStory.ReplaceAllString(text, ""), "")
	quoted := strings.ReplaceAll(regexp.QuoteMeta(text), "'", ".")
	return failure{what: "story: " + text, command: "make test-all STORY='" + quoted + "'"}
}

// report is what all phases came to.
type report struct {
	began  time.Time
	phases []phase
}

func (r report) isRed() bool {
	return slices.ContainsFunc(r.phases, func(p phase) bool { return p.failed })
}

func (r report) print(out io.Writer) {
	_, _ = fmt.Fprintln(out, "\nphases:")
	for _, p := range r.phases {
		_, _ = fmt.Fprintln(out, "  "+p.String())
	}
	_, _ = fmt.Fprintf(out, "  all: %d s\n", int(time.Since(r.began).Seconds()))
	r.printFindings(out)
	if !r.isRed() {
		return
	}
	_, _ = fmt.Fprintln(out, "\nfailed, each with the command that repeats it:")
	for _, p := range r.phases {
		for _, f := range p.reproductions() {
			_, _ = fmt.Fprintf(out, "  %s: %s\n      %s\n", p.name, f.what, f.command)
		}
	}
}

// reproductions are the failures of a phase. One that was not understood is repeated whole.
func (p phase) reproductions() []failure {
	switch {
	case !p.failed:
		return nil
	case len(p.reader.failures) == 0:
		return []failure{{what: "see its output", command: "make " + p.name}}
	}
	return p.reader.failures
}

// printFindings lists each finding once.
func (r report) printFindings(out io.Writer) {
	var findings []string
	for _, p := range r.phases {
		findings = append(findings, p.reader.findings...)
	}
	if len(findings) == 0 {
		return
	}
	slices.Sort(findings)
	_, _ = fmt.Fprintln(out, "\nfindings of the simulator, which do not fail; CONTRIBUTING.md says what to do with one:")
	for _, f := range slices.Compact(findings) {
		_, _ = fmt.Fprintln(out, "  "+f)
	}
}
