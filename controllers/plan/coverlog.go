package plan

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// How raft's log is covered. etcd writes a snapshot after 10,000 entries, or after spec.etcd.snapshotCount.
const (
	entriesPerPass = 1_500
	snapshotAtMost = 100_000 // more entries than this are not added for one snapshot
)

// coverLog adds entries to raft's log until every voter wrote a snapshot past what etcd 3.5 may have left in it. How
// far each one was is written down before, by recordMembers. A roll comes first: a Pod made anew begins this anew.
func coverLog(o judge.View) *proposal {
	leader := facts.Filter(o.Voters(), func(r facts.Replica) bool { return r.Member.ID == o.Membership.Leader })
	switch {
	case o.Desired.Needs != etcdutil.NeedCover || len(leader) != 1 || !isReadyToLeave(o):
		return nil
	case o.Desired.SnapshotEach > snapshotAtMost:
		return refuse(facts.ReasonCoverLog, "etcd 3.7 cannot read what 3.5 may have left in raft's log, and with "+
			"spec.etcd.snapshotCount: %d no snapshot covers it soon. Set it to at most %d; members are restarted "+
			"with it one at a time, and then go on to etcd %s.", o.Desired.SnapshotEach, snapshotAtMost,
			o.Desired.Target).byHuman().yielding()
	}
	saysNothing := func(r facts.Replica) bool { return r.Answer.Snapshots == nil }
	if mute := facts.Filter(o.Voters(), saysNothing); len(mute) > 0 {
		return wait(facts.ReasonCoverLog, "%s does not say how many snapshots it wrote; it is asked again. Look "+
			"whether etcd answers /metrics on its client port.", mute[0].Name)
	}
	return act(changes.CoverLog{Until: leader[0].Answer.Applied + entriesPerPass}, facts.ReasonCoverLog,
		"Entries that change no key are added to raft's log until every member wrote a snapshot past what etcd 3.5 "+
			"may have left in it. etcd %s could not read that.", o.Desired.Target)
}
