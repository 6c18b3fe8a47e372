package backup

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Policy says which backups of one cluster are kept: every one that any rule keeps. Without a rule all are kept. The
// newest is kept whatever the rules say.
type Policy struct {
	KeepLast   int            // the newest N
	KeepDaily  int            // the newest of each of the last N days that have one
	KeepWeekly int            // the newest of each of the last N ISO weeks that have one
	KeepWithin time.Duration  // all that are at most so much older than the newest
	Location   *time.Location // where days and weeks begin; nil: UTC
}

// Kept is one backup as its manifest has it. What failed has none, and is no backup.
type Kept struct {
	Key         string
	Incarnation int64
	Revision    int64
	Time        time.Time // when it was complete
	Held        bool      // somebody reads it now: it stays
}

// newer orders by what cannot run backwards: the incarnation, then the revision within it. Clocks differ between nodes,
// so the time decides only between backups of one revision, and the key between those of one moment. Names decide
// nothing else: the text of a number sorts 10 before 9.
func newer(a, b Kept) int {
	return cmp.Or(
		cmp.Compare(b.Incarnation, a.Incarnation), cmp.Compare(b.Revision, a.Revision), b.Time.Compare(a.Time),
		cmp.Compare(b.Key, a.Key),
	)
}

// Obsolete is what the policy does not keep at a time, the oldest first. It does not change its arguments.
func (p Policy) Obsolete(backups []Kept, now time.Time) []Kept {
	if p.empty() {
		return nil
	}
	ordered := slices.Clone(backups)
	slices.SortFunc(ordered, newer)
	rules := []*quota{
		{left: max(1, p.KeepLast), period: func(b Kept) string { return b.Key }}, // the newest always
		{left: p.KeepDaily, period: func(b Kept) string { return p.local(b, now).Format(time.DateOnly) }},
		{left: p.KeepWeekly, period: func(b Kept) string { return week(p.local(b, now)) }},
	}
	var obsolete []Kept
	newest := newestOf(ordered, now)
	for _, b := range ordered {
		kept := b.Held || p.within(b, newest)
		for _, rule := range rules {
			kept = rule.keeps(b) || kept // every rule counts, whichever keeps it
		}
		if !kept {
			obsolete = append(obsolete, b)
		}
	}
	slices.Reverse(obsolete)
	return obsolete
}

func (p Policy) empty() bool {
	return p.KeepLast <= 0 && p.KeepDaily <= 0 && p.KeepWeekly <= 0 && p.KeepWithin <= 0
}

// newestOf is when the newest backup was complete: ages are counted from it, so that neither a clock that runs ahead
// nor backups that have failed for a long time cost the ones that are there. It is now at the latest.
func newestOf(ordered []Kept, now time.Time) time.Time {
	for _, b := range ordered {
		if b.Time.Before(now) {
			return b.Time
		}
	}
	return now
}

func (p Policy) within(b Kept, newest time.Time) bool {
	return p.KeepWithin > 0 && newest.Sub(b.Time) <= p.KeepWithin
}

// local is when the backup was complete where the policy lives; a clock that was ahead counts as now.
func (p Policy) local(b Kept, now time.Time) time.Time {
	location := p.Location
	if location == nil {
		location = time.UTC
	}
	if b.Time.After(now) {
		return now.In(location)
	}
	return b.Time.In(location)
}

func week(t time.Time) string {
	year, number := t.ISOWeek()
	return fmt.Sprintf("%d-%d", year, number)
}

// quota keeps the first backup of each of a number of periods.
type quota struct {
	left   int
	period func(Kept) string
	seen   []string
}

func (q *quota) keeps(b Kept) bool {
	period := q.period(b)
	if slices.Contains(q.seen, period) || len(q.seen) >= q.left {
		return false
	}
	q.seen = append(q.seen, period)
	return true
}
