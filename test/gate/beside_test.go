package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inDirectoryWith has make find these targets.
func inDirectoryWith(t *testing.T, makefile string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("Makefile", []byte(makefile), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOfTwoTargetsThatRunSideBySideEachIsToldOf(t *testing.T) {
	inDirectoryWith(t, `
stories:
	@touch one; timeout 60 sh -c 'until [ -e two ]; do sleep 0.01; done'
computed:
	@timeout 60 sh -c 'until [ -e one ]; do sleep 0.01; done'; touch two
	@echo "--- FAIL: TestOne (0.00s)"; printf 'FAIL\t%s/controllers/plan\t0.1s\n' `+module+`; exit 1
`)
	phases := playTogether(t.Context(), []string{"stories", "computed"})
	if len(phases) != 2 || phases[0].failed || !phases[1].failed {
		t.Fatalf("%+v", phases)
	}
	if failures := phases[1].reproductions(); len(failures) != 1 || failures[0].command != "go test ./controllers/plan -run '^(TestOne)$'" {
		t.Errorf("%+v", failures)
	}
}

func TestWhatRunsBesideGivesWayAndEndsWithAllThatItStarted(t *testing.T) {
	inDirectoryWith(t, "quick:\n\t@true\nlong:\n\t@sleep 600 & echo $$! >pid.new; mv pid.new pid; wait\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan phase)
	go func() { ended <- playTogether(ctx, []string{"quick", "long"})[1] }()
	var child int
	within(t, "it starts", func() bool {
		said, _ := os.ReadFile("pid")
		child, _ = strconv.Atoi(strings.TrimSpace(string(said)))
		return child > 0
	})
	if nice, want := niceOf(t, child), min(niceOf(t, os.Getpid())+10, 19); nice != want {
		t.Errorf("what it starts is nice by %d, and not by %d", nice, want)
	}
	within(t, "its session gives way, which is asked of Linux right after it began", func() bool {
		group, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", child))
		return err != nil || strings.HasSuffix(string(group), " nice 10\n")
	})
	cancel()
	if p := <-ended; !p.failed {
		t.Error("what was cancelled is green")
	}
	within(t, "what it started ends", func() bool { return hasEnded(child) })
}

// niceOf is how far a process gives way to others: field 19 of proc_pid_stat(5).
func niceOf(t *testing.T, pid int) int {
	t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), ") ")
	nice, err := strconv.Atoi(strings.Fields(rest)[16])
	if err != nil {
		t.Fatal(err)
	}
	return nice
}

// hasEnded says so of a process, also while its parent has not asked yet.
func hasEnded(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return syscall.Kill(pid, 0) != nil || err != nil || strings.Contains(string(stat), ") Z ")
}

func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what + ": not within a minute")
		}
	}
}
