package facts

import (
	"fmt"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Hold is what keeps members at the minor version that they run.
type Hold struct {
	Why    string // what has to be put right; empty for nothing
	Passes bool   // it ends by itself
}

// snapshotAtMost is how many entries are added to raft's log, at most, so that etcd writes a snapshot.
const snapshotAtMost = 100_000

// WhyStay says what has to be put right before members leave the minor version that they run.
func (o Incarnation) WhyStay(d Desired, schedules []Schedule) Hold {
	if raised := o.Raised(); len(raised) > 0 {
		return Hold{Why: fmt.Sprintf("etcd raised %s. %s", raised[0].Name, RemedyOf(raised[0]))}
	}
	for _, r := range o.Voters() {
		if hold := o.whyVoterStays(r, d.Choices.QuotaBytes); hold.Why != "" {
			return hold
		}
	}
	if d.SnapshotEach > snapshotAtMost && d.Target.AtLeast(etcdutil.FirstBlind) {
		return Hold{Why: fmt.Sprintf("etcd 3.7 cannot read what 3.5 may have left in raft's log, and with "+
			"spec.etcd.snapshotCount: %d no snapshot covers it soon. Set it to at most %d", d.SnapshotEach,
			snapshotAtMost)}
	}
	for _, s := range schedules {
		if !s.UpToDate {
			return Hold{Why: fmt.Sprintf("the EtcdBackupSchedule %s has no good backup of its last two runs. Its "+
				"next good one ends this. Or suspend the schedule (spec.suspend: true)", s.Name)}
		}
	}
	if learners := o.Learners(); len(learners) > 0 && !d.Ephemeral {
		return Hold{Why: learners[0].Name + " has no vote yet", Passes: true}
	}
	return Hold{}
}

// whyVoterStays says what has to be put right of one voter. One that was told to run another version is restarted for
// that, and what was begun goes on.
func (o Incarnation) whyVoterStays(r Replica, quotaBytes int64) Hold {
	isTold := r.Choices().Version != r.Record().Version
	switch hold := r.roomOf(quotaBytes); {
	case hold.Why != "":
		return hold
	case isTold || o.IsServing(r):
		return Hold{}
	case r.Answer == nil:
		return Hold{Why: r.Name + " does not answer", Passes: true}
	}
	return Hold{Why: r.Name + " is not ready, or has not caught up", Passes: true}
}

// roomOf says what the member's database nearly fills. A silent one does not say so.
func (r Replica) roomOf(quotaBytes int64) Hold {
	if r.Answer == nil {
		return Hold{}
	}
	size := r.Answer.DBSize
	switch {
	case quotaBytes > 0 && r.fills(quotaBytes):
		return Hold{Why: fmt.Sprintf("the database of %s takes %d %% of spec.etcd.quotaBackendBytes, and %d %% are "+
			"too much. Raise that, or compact and defragment", r.Name, size*100/quotaBytes, RoomPercent)}
	case r.Volume != nil && r.Volume.Bytes > 0 && size*100 >= r.Volume.Bytes*RoomPercent:
		return Hold{Why: fmt.Sprintf("the database of %s takes %d %% of its volume, and %d %% are too much. Compact "+
			"and defragment", r.Name, size*100/r.Volume.Bytes, RoomPercent)}
	}
	return Hold{}
}

// StopAt is the next stop on the way to a version, and what holds the cluster before it. Where that changes nothing, or
// a step was begun, that is nothing.
func StopAt(at etcdutil.Progress, target etcdutil.Version, hold Hold) (etcdutil.Stop, Hold, error) {
	stop, err := etcdutil.NextStop(at, target)
	if hold.Why == "" || err != nil {
		return stop, Hold{}, err
	}
	at.Held = true
	stay, err := etcdutil.NextStop(at, target)
	if stay == stop {
		hold = Hold{}
	}
	return stay, hold, err
}
