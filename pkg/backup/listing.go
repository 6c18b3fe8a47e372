package backup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

// Policy says which backups of one cluster are kept: every one that any rule keeps. Without a rule all are kept. The
// newest is kept whatever the rules say, and so is the newest that was proven.
type Policy struct {
	KeepLast   int            // the newest N
	KeepDaily  int            // one of each of the last N days that have one: the newest proven one, if there is one
	KeepWeekly int            // the same of ISO weeks
	KeepWithin time.Duration  // all that are at most so much older than the newest
	Location   *time.Location // where days and weeks begin; nil: UTC
}

// Kept is one backup as its manifest has it. What failed has none, and is no backup.
type Kept struct {
	Key         string
	Incarnation int64
	Revision    int64
	Time        time.Time // when it was complete
	Proven      bool      // by its manifest
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
	kept := slices.Concat(
		quota{max(1, p.KeepLast), func(b Kept) string { return b.Key }}.of(ordered), // the newest always
		quota{1, func(Kept) string { return "any" }}.of(ordered),                    // the newest proven always
		quota{p.KeepDaily, func(b Kept) string { return p.local(b, now).Format(time.DateOnly) }}.of(ordered),
		quota{p.KeepWeekly, func(b Kept) string { return week(p.local(b, now)) }}.of(ordered),
	)
	newest := newestOf(ordered, now)
	obsolete := slices.DeleteFunc(ordered, func(b Kept) bool {
		return b.Held || p.within(b, newest) || slices.Contains(kept, b)
	})
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

// quota keeps one backup of each of a number of periods.
type quota struct {
	periods int
	period  func(Kept) string
}

// of are the backups that it keeps: of each of its first periods the newest that was proven, or the newest of all where
// none was.
func (q quota) of(ordered []Kept) []Kept {
	var seen []string
	var chosen []Kept
	for _, b := range ordered {
		period := q.period(b)
		switch at := slices.Index(seen, period); {
		case at < 0 && len(seen) < q.periods:
			seen, chosen = append(seen, period), append(chosen, b)
		case at >= 0 && b.Proven && !chosen[at].Proven:
			chosen[at] = b
		}
	}
	return chosen
}

// Listed is what lies in a store where a backup has its place.
type Listed struct {
	Key      string
	Manifest *Manifest // nil where no sound one speaks of it
	Why      string    // why it is no backup, or "" for one
}

// List gives what lies in the places of backups, by its key: of one cluster, of all those of a name or of a namespace,
// as far as whose says.
func List(ctx context.Context, bucket *store.Bucket, whose Whose) ([]Listed, error) {
	sizes, err := listPlaces(ctx, bucket, whose)
	if err != nil {
		return nil, err
	}
	var withManifest []string
	all := map[string]Listed{}
	for key := range sizes {
		snapshot := path.Join(path.Dir(key), snapshotObject)
		all[snapshot] = Listed{Key: snapshot, Why: "it has no manifest: its backup goes on, did not end, failed its " +
			"comparison, or was removed"}
		if path.Base(key) == manifestObject {
			withManifest = append(withManifest, snapshot)
		}
	}
	found, err := readManifests(ctx, bucket, withManifest, func() {})
	if err != nil {
		return nil, err
	}
	for _, u := range found.unsound {
		all[u.key] = Listed{Key: u.key, Why: "its manifest cannot be trusted: " + u.why.Error()}
	}
	for _, m := range found.sound {
		size, isThere := sizes[m.Key]
		all[m.Key] = listed(m, size, isThere)
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Listed) int { return cmp.Compare(a.Key, b.Key) }), nil
}

func listed(m Manifest, size int64, isThere bool) Listed {
	l := Listed{Key: m.Key, Manifest: &m}
	switch {
	case !isThere:
		l.Why = "its snapshot is gone"
	case size != m.SizeBytes:
		l.Why = "its snapshot has another size than its manifest says"
	}
	return l
}

// listPlaces are the sizes of snapshots and manifests, by their keys.
func listPlaces(ctx context.Context, bucket *store.Bucket, whose Whose) (map[string]int64, error) {
	wanted := []string{whose.Namespace, whose.Name, whose.UID}
	sizes := map[string]int64{}
	err := bucket.List(ctx, bucket.Prefix(), func(object store.Object) error {
		if !isOwnPlace(bucket, path.Join(path.Dir(object.Key), snapshotObject)) {
			return nil
		}
		parts := strings.Split(strings.TrimPrefix(object.Key, bucket.Key("")), "/")
		if name := parts[4]; name != snapshotObject && name != manifestObject {
			return nil
		}
		for i, want := range wanted {
			if want != "" && parts[i] != want {
				return nil
			}
		}
		if len(sizes) == maxObjects {
			return fail(ReasonTooMany, "the store has more than %d objects of backups: name one cluster", maxObjects)
		}
		sizes[object.Key] = object.Size
		return nil
	})
	return sizes, err
}
