package etcdutil

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordedExit is a real crash as the contract tests wrote it down: "<reason> <code>", then the message.
type recordedExit struct {
	name    string
	reason  ExitReason
	code    int
	message string
}

func recordedExits(t testing.TB) []recordedExit {
	t.Helper()
	files, err := filepath.Glob("testdata/exits/*/*.txt")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d recorded exits, err %v: they are part of the tests", len(files), err)
	}
	var exits []recordedExit
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, message, _ := strings.Cut(string(text), "\n")
		e := recordedExit{name: strings.TrimPrefix(file, "testdata/exits/"), message: message}
		if _, err := fmt.Sscanf(head, "%s %d", &e.reason, &e.code); err != nil {
			t.Fatalf("%s begins with %q: %v", file, head, err)
		}
		exits = append(exits, e)
	}
	return exits
}

func TestRecordedCrashesAreUnderstood(t *testing.T) {
	for _, e := range recordedExits(t) {
		t.Run(e.name, func(t *testing.T) {
			if got := Classify(e.code, e.message); got != e.reason {
				t.Errorf("understood as %s, want %s:\n%s", got, e.reason, e.message)
			}
		})
	}
}
