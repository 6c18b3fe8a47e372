package facts

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// How far revisions have come, and how far above that the next incarnation begins.

const (
	// roomToBegin is left above all that was served when an incarnation is prepared. The members that there are serve
	// on until the switch-over, and after it for as long as they are not stopped. 10000 writes a second take 14 hours.
	roomToBegin = record.DefaultBump / 2
	// roomToSwitch is what must be left of it at the switch-over.
	roomToSwitch = record.DefaultBump / 10
)

// Recorded is the highest revision that volumes say was served, of this incarnation and of those that ended. They
// outlive the birth record.
func (o View) Recorded() int64 {
	var highest int64
	for _, r := range o.EveryReplica() {
		highest = max(highest, r.Record().Began)
	}
	return highest
}

// Served is the highest revision that the cluster is known to have served: by its records, and by what members say.
func (o View) Served() int64 {
	highest := max(o.Birth.BeganAt(), o.Recorded())
	for _, r := range o.Members {
		if o.hasSaidRevision(r) {
			highest = max(highest, r.Answer.Revision)
		}
	}
	if o.Proven != nil { // a backup holds what was served
		highest = max(highest, o.Proven.Revision)
	}
	return min(highest, record.LastRevision)
}

func (o View) hasSaidRevision(r Replica) bool {
	return r.Answer != nil && (o.Birth.ClusterID == 0 || r.Answer.ClusterID == o.Birth.ClusterID)
}

// toClear is what the next incarnation must begin above. Where no quorum says how far it is, it may have gone as far
// since its beginning as a restore raises revisions.
func (o View) toClear() int64 {
	if !o.HasQuorum() {
		return o.Served() + record.DefaultBump + roomToBegin
	}
	return o.Served() + roomToBegin
}

// BumpFor is by how much revisions are raised for the next incarnation where the operator may choose. It is a whole
// number of billions, and so the same in two looks between which clients write.
func (o View) BumpFor(n record.Next) int64 {
	n.Bump = record.DefaultBump
	if lacking := o.toClear() - o.Birth.BeginsAt(n); lacking > 0 {
		n.Bump += (lacking + record.DefaultBump - 1) / record.DefaultBump * record.DefaultBump
	}
	return n.Bump
}

// MayBegin reports whether the next incarnation begins so far above all that was served that it may be prepared.
func (o View) MayBegin(n record.Next) bool {
	if n.Source == record.SourceEmpty { // it begins at 1, whatever it is raised by
		return true
	}
	at := o.Birth.BeginsAt(n)
	return at >= o.toClear() && at <= record.LastRevision
}

// IsStillAbove reports whether the next incarnation, which was prepared a while ago, begins above all that was served
// by now.
func (o View) IsStillAbove(n record.Next) bool {
	return n.Source == record.SourceEmpty || o.Birth.BeginsAt(n) >= o.Served()+roomToSwitch
}

// Resumed are the volumes of an earlier cluster from which it is resumed.
func (o Observation) Resumed() []Retained {
	return Filter(o.Retained, func(v Retained) bool { return !v.Record.IsZero() && v.Superseded == "" })
}

// GoesBackFrom is the incarnation that served clients, at higher revisions, after the one that is resumed. It is ""
// where there is none, and where each volume of the resumed one says that a person knows it.
func (o Observation) GoesBackFrom() string {
	resumed, last := o.Resumed(), Retained{}
	for _, v := range o.Retained {
		if !v.Record.IsZero() && v.Superseded != "" && (last.Name == "" || v.counter() > last.counter()) {
			last = v
		}
	}
	isEarlier := func(v Retained) bool { return v.counter() < last.counter() && v.GoesBackFrom != last.Incarnation }
	if last.Name == "" || !slices.ContainsFunc(resumed, isEarlier) {
		return ""
	}
	return last.Incarnation
}

// counter is how many incarnations its cluster had begun before that of the volume; -1 where an even earlier cluster of
// the name had begun it.
func (r Retained) counter() int { return slices.Index(incarnationsOf(r.Owner), r.Incarnation) }
