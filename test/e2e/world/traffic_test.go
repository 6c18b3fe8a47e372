package world

import (
	"testing"
	"time"
)

func TestWritesGoOnOnlyIfNoGapIsLongerThanTheStoryClaims(t *testing.T) {
	for name, row := range map[string]struct {
		during flowed
		goesOn bool
	}{
		"all the time":                       {flowed{time.Minute, 1000, 100 * time.Millisecond}, true},
		"but for an election":                {flowed{time.Minute, 1000, OneElection}, true},
		"but for longer than an election":    {flowed{time.Minute, 1000, OneElection + time.Millisecond}, false},
		"until shortly before the end":       {flowed{10 * time.Second, 190, 4 * time.Second}, false},
		"hardly, with no gap that is longer": {flowed{time.Minute, 30, 2 * time.Second}, false},
		"in a moment without any":            {flowed{time.Second, 0, time.Second}, true},
	} {
		if err := row.during.check(OneElection); (err == nil) != row.goesOn {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARefusedConnectionIsLongerThanAStoryBehindTheServiceAllows(t *testing.T) {
	const refused = time.Second // what 6 of 14 rolls cost such a client before members left the Service first
	writes := flowed{lasted: 30 * time.Second, writes: 30 * manyPuts, gap: refused}
	if err := writes.check(OneConnection); err == nil {
		t.Error("a refused connection goes unnoticed")
	}
	writes.gap = 200 * time.Millisecond
	if err := writes.check(OneConnection); err != nil {
		t.Error(err)
	}
}
