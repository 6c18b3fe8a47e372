package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestADiskIsMeasuredAndNothingStaysOnIt(t *testing.T) {
	dir, result := t.TempDir(), filepath.Join(t.TempDir(), "result")
	var out bytes.Buffer
	code := run(t.Context(), []string{"disk", "--dir=" + dir, "--at-most=200ms", "--termination-log=" + result, "--progress-address="}, &out)
	text, err := os.ReadFile(result)
	if code != 0 || err != nil {
		t.Fatalf("exit code %d: %s: %v", code, out.String(), err)
	}
	var got measured
	if err := json.Unmarshal(text, &got); err != nil || got.Appends == 0 || got.P50 > got.P99 || got.P99 > got.P999 || got.P999 > got.Max {
		t.Errorf("got %s: %v", text, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v stays: %v", left, err)
	}
}

func TestTheShareOfAppendsThatWereFasterIsCounted(t *testing.T) {
	var took []time.Duration
	for i := range 1000 {
		took = append(took, time.Duration(1000-i)*time.Microsecond)
	}
	if got := measurementOf(took); got != (measured{Appends: 1000, P50: 500, P99: 990, P999: 999, Max: 1000}) {
		t.Errorf("got %+v", got)
	}
	if got := measurementOf(nil); got != (measured{}) {
		t.Errorf("of none: %+v", got)
	}
}

func TestADiskThatIsNotThereFails(t *testing.T) {
	for _, args := range [][]string{{"disk"}, {"disk", "--dir=" + filepath.Join(t.TempDir(), "missing")}} {
		var out bytes.Buffer
		if code := run(t.Context(), append(args, "--termination-log=", "--progress-address="), &out); code == 0 {
			t.Errorf("%v: %s", args, out.String())
		}
	}
}
