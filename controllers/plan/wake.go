package plan

import (
	"fmt"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// countsLate is the first version of etcd that counts what it got as a snapshot only once another entry follows. Above
// 5,000 entries it refuses all requests until then, its own to publish itself among them
// (etcd-io/etcd:server/etcdserver/server.go applySnapshot, v3_server.go processInternalRaftRequestOnce).
var countsLate = etcdutil.Version{Major: 3, Minor: 7}

// wakeFor is for how long entries are added each time that a member may be waiting for one.
const wakeFor = 2 * time.Second

// wakeMember adds one entry to raft's log for a member that may be waiting for it. Where clients write that happens by
// itself.
func wakeMember(o judge.View) *proposal {
	leader := o.Leader()
	if leader.Answer == nil {
		return nil
	}
	for _, r := range o.Members {
		if r.Member == nil || !r.IsUp() || r.Pod.Choices.Version.Compare(countsLate) < 0 {
			continue
		}
		what := ""
		switch {
		case mayAwaitEntry(o, r):
			what = "runs and does not answer yet"
		case isStuckBehind(o, r, leader):
			behind := leader.Answer.Applied - r.Answer.Applied
			what = fmt.Sprintf("answers, and is %d entries behind %s", behind, leader.Name)
		default:
			continue
		}
		return act(changes.AppendEntries{}, facts.ReasonWake,
			"%s %s. An entry that changes no key is added to raft's log: without one, etcd %s may not serve on data "+
				"that it copied.", r.Name, what, countsLate.MinorString())
	}
	return nil
}

// mayAwaitEntry reports a member whose process began 2, 4, 8, … seconds ago and does not answer, for as long as a new
// one may take to join. Copying the data may take long, so an entry is added again, each time after twice as long.
func mayAwaitEntry(o judge.View, r facts.Replica) bool {
	if r.Answer != nil || !r.Pod.Running || r.Pod.RunningSince.IsZero() {
		return false
	}
	began := 2 * time.Second
	ran := o.Now.Sub(r.Pod.RunningSince)
	for 2*began <= ran {
		began *= 2
	}
	return ran >= began && ran < began+wakeFor && ran <= joinDeadline(o.Incarnation)
}

// isStuckBehind reports a member that goes on after a pause in which the others wrote. It holds what they hold, reads
// of it are answered, and the index that it reports stays behind until something is written (tried on 3.7.3: 516 of
// 25,009). An entry per pass does no harm to one that is still copying.
func isStuckBehind(o judge.View, r, leader facts.Replica) bool {
	return r.IsHealthy(o.Membership) && r.Answer.Leader == leader.Member.ID && !o.IsCaughtUp(r)
}
