package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A sample begins when the machine has little else to do, or when waiting for that has taken long enough: others may work
// on it. How busy it was is noted with each sample.
const (
	idleBelow = 0.4 // busy share of all processors
	idleFor   = 2 * time.Second
)

// ticks is what the processors have done since the machine started.
type ticks struct{ busy, total float64 }

// readTicks is zero where there is nothing to read.
func readTicks() ticks {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return ticks{}
	}
	return parseTicks(string(text))
}

// parseTicks adds up the first line: user, nice, system, idle, iowait, irq, softirq, steal. Waiting for a disk is not
// idle here: it slows a sample down as much.
func parseTicks(stat string) ticks {
	var t ticks
	first, _, _ := strings.Cut(stat, "\n")
	const idle, last = 4, 8
	for i, field := range strings.Fields(first) {
		if i == 0 || i > last {
			continue
		}
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return ticks{}
		}
		t.total += n
		if i != idle {
			t.busy += n
		}
	}
	return t
}

// share is the part of the time since an earlier reading in which the processors were busy.
func (t ticks) share(earlier ticks) float64 {
	if t.total <= earlier.total {
		return 0
	}
	return (t.busy - earlier.busy) / (t.total - earlier.total)
}

// untilIdle waits until the machine is idle, but not for ever.
func (b *bench) untilIdle(ctx context.Context) error {
	deadline, told := time.Now().Add(b.idle), false
	for b.idle > 0 {
		before := readTicks()
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for an idle machine: %w", ctx.Err())
		case <-time.After(idleFor):
		}
		busy := readTicks().share(before)
		if busy < idleBelow || time.Now().After(deadline) {
			return nil
		}
		if !told {
			b.say("waiting for others: the machine is %.0f %% busy", busy*100)
			told = true
		}
	}
	return ctx.Err()
}
