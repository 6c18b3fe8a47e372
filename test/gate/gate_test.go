package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryFailureIsListedWithTheCommandThatRepeatsIt(t *testing.T) {
	for what, tc := range map[string]struct {
		output   []string
		commands []string
	}{
		"tests of two packages": {[]string{
			"--- FAIL: TestOne (0.00s)",
			"    --- FAIL: TestOne/of_a_table (0.00s)",
			"    one_test.go:1: wrong",
			"--- FAIL: TestTwo (0.00s)",
			"FAIL",
			"FAIL\tgithub.com/etcdsteward/etcd-steward/controllers/plan\t0.1s",
			"ok  \tgithub.com/etcdsteward/etcd-steward/controllers/record\t0.1s",
			"--- FAIL: TestThree (0.00s)",
			"FAIL\tgithub.com/etcdsteward/etcd-steward/test/tools/pages\t0.1s",
			"FAIL",
			"make[1]: *** [Makefile:12: test-plain] Error 1",
		}, []string{
			"go test ./controllers/plan -run '^(TestOne|TestTwo)$'",
			"go test -C test/tools ./pages -run '^(TestThree)$'",
		}},
		"a package that does not compile, or whose process ended": {[]string{
			"FAIL\tgithub.com/etcdsteward/etcd-steward/pkg/pki [build failed]",
		}, []string{"go test ./pkg/pki"}},
		"a story, which is named twice": {[]string{
			"\x1b[38;5;9m[FAIL]\x1b[0m \x1b[0mA roll \x1b[38;5;9m\x1b[1m[It] to another (patch) version\x1b[0m [roll, core]",
			"  \x1b[38;5;9m[FAIL]\x1b[0m \x1b[0mA roll \x1b[38;5;9m\x1b[1m[It] to another (patch) version\x1b[0m [roll, core]",
		}, []string{`make test-all STORY='A roll to another \(patch\) version'`}},
		"targets of make": {[]string{
			"make[1]: *** [Makefile:12: gofmt] Error 1",
			"FAIL\tgithub.com/etcdsteward/etcd-steward/pkg/pki\t0.1s",
			"make[1]: *** [Makefile:16: test-plain] Error 1",
			"make[1]: *** [Makefile:20: lint] Error 1",
		}, []string{"make gofmt", "go test ./pkg/pki", "make lint"}},
		"targets that the phase runs side by side": {[]string{
			"make[1]: *** [Makefile:12: lint] Error 1",
			"make: *** [Makefile:16: phase] Error 2",
		}, []string{"make lint"}},
		"a package of another module, which its target runs": {[]string{
			"FAIL\tlocalkube.invalid/kubernetes/internal/spread\t0.1s",
			"make[1]: *** [Makefile:24: test-spread] Error 1",
		}, []string{"make test-spread"}},
		"what nobody reads": {[]string{"it hangs"}, []string{"make phase"}},
	} {
		t.Run(what, func(t *testing.T) {
			p := phase{name: "phase", failed: true, reader: &reader{phase: "phase"}}
			if _, err := p.reader.Write([]byte(strings.Join(tc.output, "\n") + "\n")); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range p.reproductions() {
				got = append(got, f.command)
			}
			if strings.Join(got, "\n") != strings.Join(tc.commands, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.commands, "\n"))
			}
		})
	}
}

func TestAFindingIsListedOnceAndIsNoFailure(t *testing.T) {
	p := phase{name: "test-unit", reader: &reader{}}
	for range 2 {
		_, _ = p.reader.Write([]byte("FINDING (does not fail): never rests, see" + " seed 7\n"))
	}
	var out strings.Builder
	r := report{phases: []phase{p}}
	r.print(&out)
	if r.isRed() || strings.Count(out.String(), "never rests, see seed 7") != 1 {
		t.Errorf("red %v:\n%s", r.isRed(), out.String())
	}
}

func TestASecondRunOnTheMachineIsToldOfTheFirstAndTheNextOneWorks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache", "gate.lock")
	release, err := hold(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hold(path); err == nil || !strings.Contains(err.Error(), "process ") {
		t.Errorf("the second run got %v", err)
	}
	release()
	release, err = hold(path)
	if err != nil {
		t.Fatal(err)
	}
	release()
}
