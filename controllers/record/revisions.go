package record

import "math"

// A client that watches asks for what comes after the last revision that it was served. Of a member whose revision is
// lower it hears nothing until that member gets there: no events, and no "compacted". So each incarnation begins above
// every revision that the cluster has served, with all below compacted.

const (
	// DefaultBump is by how much a restore raises revisions, where that is enough.
	DefaultBump int64 = 1_000_000_000
	// LastRevision is the highest that anything is restored to. Above it a sum of revisions could overflow.
	LastRevision int64 = math.MaxInt64 / 2
)

// BeganAt is the highest revision at which this incarnation may have begun. Nothing before it was served a higher one.
// An older release wrote down neither, and its restores raised revisions by the default where nothing asked for more.
func (b Birth) BeganAt() int64 {
	if b.Origin.IsZero() {
		return b.Served
	}
	return max(b.Served, b.Origin.Revision+DefaultBump)
}

// BeginsAt is the lowest revision at which the next incarnation may begin. A survivor that did not answer holds at
// least what this incarnation began with. An empty one begins at 1; for it this only says how far revisions had come.
func (b Birth) BeginsAt(n Next) int64 {
	if n.isOfUnheard() {
		return b.BeganAt() + n.Bump
	}
	return n.Origin.Revision + n.Bump
}

// servedBy is the highest revision that was served, or is begun with, once the next incarnation is the current one.
func (b Birth) servedBy(n Next) int64 {
	begins := b.BeginsAt(n)
	if n.isOfUnheard() {
		begins += DefaultBump // which it may have written since
	}
	return max(b.Served, begins)
}

// isOfUnheard reports a survivor that did not say which revision it holds.
func (n Next) isOfUnheard() bool { return n.Source == SourceSurvivor && n.Origin.Revision == 0 }
