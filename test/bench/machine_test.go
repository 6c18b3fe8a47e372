package main

import "testing"

func TestTheShareOfBusyTimeLeavesOutOnlyWhatWasIdle(t *testing.T) {
	before := parseTicks("cpu  100 0 50 800 50 0 0 0 7 7\ncpu0 1 1 1 1\n")
	after := parseTicks("cpu  120 0 60 860 60 0 0 0 9 9\ncpu0 1 1 1 1\n")
	if got := after.share(before); got != 0.4 {
		t.Errorf("got %v, want 0.4", got)
	}
}

func TestAMachineThatDoesNotTellIsNotBusy(t *testing.T) {
	for _, stat := range []string{"", "cpu x y\n"} {
		if got := parseTicks(stat).share(ticks{}); got != 0 {
			t.Errorf("%q: got %v", stat, got)
		}
	}
}
