package facts

import (
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// What etcd 3.5 wrote to raft's log is covered once every member with data wrote a snapshot of raft's state past it.
// etcd 3.7 cannot read it, and reads all that no snapshot covers. See docs/decisions/0021.

// logMargin is how many entries each member applies past its mark. A leader keeps 5,000 of those that its snapshot
// covers, for members that lag (etcd-io/etcd:server/etcdserver/server.go DefaultSnapshotCatchUpEntries).
const logMargin = 5_200

// NextLogMark is the mark to write beside a member's data: the one that stands there, or a new one where the Pods are
// others by now, or where the member's process is.
func (o Incarnation) NextLogMark(r Replica) record.LogMark {
	pods, written := o.pods(), r.Record().LogMark
	switch {
	case pods == "" || !r.IsHealthy(o.Membership) || r.Answer.Snapshots == nil:
		return written
	case written.Pods == pods && written.Snapshots <= *r.Answer.Snapshots:
		return written
	}
	return record.LogMark{Pods: pods, Snapshots: *r.Answer.Snapshots, Applied: r.Answer.Applied}
}

// IsLogCovered reports whether each member with data passed the mark that was written down under the Pods that there
// are. What a new member gets is covered then as well.
func (o Incarnation) IsLogCovered() bool {
	isNot := func(r Replica) bool { return !o.hasCovered(r) }
	return o.pods() != "" && !slices.ContainsFunc(o.withLog(), isNot)
}

func (o Incarnation) hasCovered(r Replica) bool {
	mark := r.Record().LogMark
	return r.IsHealthy(o.Membership) && r.Answer.Snapshots != nil && mark.Pods == o.pods() &&
		mark.IsPassed(*r.Answer.Snapshots, r.Answer.Applied, logMargin)
}

// MayMarkLog reports whether nothing that runs can still write what etcd 3.7 cannot read: each member with data answers
// as 3.6 or higher, in a cluster of that version.
func (o Incarnation) MayMarkLog() bool {
	const least = 6
	return o.pods() != "" && !slices.ContainsFunc(o.withLog(), func(r Replica) bool {
		return !r.IsHealthy(o.Membership) || r.Answer.Version.Minor < least || r.Answer.Versions.Cluster.Minor < least
	})
}

// withLog are the members that have a log: voters, and learners that answered.
func (o Incarnation) withLog() []Replica {
	return Filter(o.Members, func(r Replica) bool { return r.IsVoter() || r.IsLearner() && r.IsRecorded() })
}

// pods are the UIDs of their Pods, in order; empty where one has none, or the list is not known.
func (o Incarnation) pods() string {
	var uids []string
	for _, r := range o.withLog() {
		if r.Pod == nil {
			return ""
		}
		uids = append(uids, r.Pod.UID)
	}
	slices.Sort(uids)
	return strings.Join(uids, ",")
}
