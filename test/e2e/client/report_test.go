package client

import (
	"testing"
	"time"
)

func TestAGapCountsFromTheStartAndToTheEnd(t *testing.T) {
	start := time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds ...int) []ack {
		var acks []ack
		for _, s := range seconds {
			acks = append(acks, ack{at: start.Add(time.Duration(s) * time.Second)})
		}
		return acks
	}
	for name, row := range map[string]struct {
		acks     []ack
		from, to int
		want     int
	}{
		"between two acknowledgements":              {at(1, 2, 6, 7), 0, 8, 4},
		"from the start to the first one":           {at(5, 6, 7), 0, 8, 5},
		"from the last one to the end":              {at(1, 2), 0, 9, 7},
		"all the time, where nothing was":           {nil, 2, 9, 7},
		"from the beginning of a span":              {at(1, 5, 6), 2, 6, 3},
		"to the end of a span, not to what is next": {at(1, 2, 9), 1, 5, 3},
		"none before the span":                      {at(1, 20, 21), 20, 22, 1},
	} {
		got := longestGap(row.acks, start.Add(time.Duration(row.from)*time.Second), start.Add(time.Duration(row.to)*time.Second))
		if got != time.Duration(row.want)*time.Second {
			t.Errorf("%s: %s, want %d s", name, got, row.want)
		}
	}
}

func TestAnOutageAtTheEndOfTheWritingIsInTheReport(t *testing.T) {
	now := time.Now()
	w := &Writer{began: now.Add(-time.Minute), acks: []ack{{at: now.Add(-59 * time.Second)}, {at: now.Add(-20 * time.Second)}}, stopped: now.Add(-10 * time.Second)}
	if got := w.Now().LongestGap; got != 39*time.Second {
		t.Errorf("between two acknowledgements: %s", got)
	}
	w.acks = w.acks[:1]
	if got := w.Now().LongestGap; got != 49*time.Second {
		t.Errorf("to the moment at which it was told to stop: %s", got)
	}
	w.stopped = time.Time{}
	if got := w.Now().LongestGap; got < 59*time.Second {
		t.Errorf("to this moment, while it writes: %s", got)
	}
}
