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
		"but for an election":                {flowed{time.Minute, 1000, 3 * time.Second}, true},
		"but for as long as is bearable":     {flowed{time.Minute, 1000, standstill}, true},
		"but for a little longer":            {flowed{time.Minute, 1000, standstill + time.Millisecond}, false},
		"until shortly before the end":       {flowed{20 * time.Second, 190, 11 * time.Second}, false},
		"hardly, with no gap that is longer": {flowed{time.Minute, 30, 2 * time.Second}, false},
		"in a moment without any":            {flowed{time.Second, 0, time.Second}, true},
	} {
		if err := row.during.check(standstill); (err == nil) != row.goesOn {
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
