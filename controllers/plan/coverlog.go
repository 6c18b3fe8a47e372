package plan

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// entriesPerPass is how many entries one pass adds. etcd writes a snapshot after 10,000 entries, or after
// spec.etcd.snapshotCount.
const entriesPerPass = 1_500

// coverLog adds entries to raft's log until every voter wrote a snapshot past what etcd 3.5 may have left in it. How
// far each one was is written down before, by recordMembers. A roll comes first: a Pod made anew begins this anew.
func coverLog(o judge.View) *proposal {
	leader := o.Leader()
	if o.Desired.Needs != etcdutil.NeedCover || leader.Answer == nil || !isReadyToLeave(o) {
		return nil
	}
	saysNothing := func(r facts.Replica) bool { return r.Answer.Snapshots == nil }
	if mute := facts.Filter(o.Voters(), saysNothing); len(mute) > 0 {
		return wait(facts.ReasonCoverLog, "%s does not say how many snapshots it wrote; it is asked again. Look "+
			"whether etcd answers /metrics on its client port.", mute[0].Name)
	}
	return act(changes.AppendEntries{Until: leader.Answer.Applied + entriesPerPass}, facts.ReasonCoverLog,
		"The operator adds entries that change no key to etcd's log, until every member wrote a snapshot. etcd %s "+
			"cannot read what 3.5 may have left there. Clients are served meanwhile.", o.Desired.Target)
}
