package plan

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// replace removes a voter whose place a new member is to take, which growth then adds under a new name: with one of three down etcd
// accepts no addition before the removal. Data that is certainly gone goes first. A member that is only believed to be dead gets as
// long as the user allows; after an outage that counts from when the others became a quorum again, since what brought them back may
// bring this one.
func replace(o view) *proposal {
	if o.Desired.Fault != "" {
		return o.replacementWaits(ReasonSpecRefused, "the spec is put right")
	}
	if o.whyNoCertificates() != "" {
		return o.replacementWaits(ReasonAuthorityLost, "the Secret "+o.lostAuthority()+" is put back: a new member would get no certificates")
	}
	for _, isDue := range []func(Judgement) bool{Judgement.mustGo, o.isOverdue} {
		for _, r := range o.Voters() {
			if j := o.Judge(r); isDue(j) && !r.IsHealthy(o.Membership) {
				return o.remove(r, j)
			}
		}
	}
	return nil
}

// replacementWaits says that no member is removed while none can take its place: nothing says how many are wanted, or it could not start.
func (o view) replacementWaits(reason, until string) *proposal {
	for _, r := range o.Voters() {
		if j := o.Judge(r); (j.mustGo() || o.isOverdue(j)) && !r.IsHealthy(o.Membership) {
			return wait(reason, "%s will be replaced (%s). That waits until %s.", r.Name, j.Says, until).byHuman().yielding()
		}
	}
	return nil
}

func (o view) remove(r Replica, j Judgement) *proposal {
	reason, says := ReasonRepair, "%s has lost its data: %s. It is removed, and a new member takes its place."
	args := []any{r.Name, j.Says}
	if !j.Certain {
		reason, says = ReasonReplaceDead, "%s was not reached for %s: %s. It is removed, and a new member takes its place."
		args = []any{r.Name, o.Now.Sub(j.Since).Round(time.Second), j.Says}
	}
	if p := o.learnerFirst(r, reason); p != nil {
		return p
	}
	if r.Volume != nil && !r.Volume.Terminating && r.Volume.RemovedFor != j.Cause && o.keeps(j.Cause) {
		return act(MarkVolume{Volume: r.volumeRef(), For: j.Cause}, reason, "%s will be replaced: %s. Its volume is marked, to be kept.", r.Name, j.Says)
	}
	return act(RemoveMember{Name: r.Name, ID: r.Member.ID}, reason, says, args...)
}

// isOverdue reports a member that nothing says has lost its data, and that two witnesses have called dead for as long
// as the user allows. The table sees to the two: each of its rows with a time names them. The time is that of the row
// which fits now. So a Pod that Kubernetes evicts from a node that stopped answering begins a new wait, at its GoneBy.
func (o view) isOverdue(j Judgement) bool {
	if j.Cure != Replace || j.Certain || j.Since.IsZero() || o.Desired.ReplaceAfter == 0 {
		return false
	}
	return o.Now.Sub(j.Since) >= o.deadline() && o.Now.Sub(o.quorumSince()) >= o.deadline()
}

// quorumSince is when the healthy voters became enough for a quorum, by the readiness of their Pods; zero while they are not.
func (o Incarnation) quorumSince() time.Time {
	var ready []time.Time
	for _, r := range o.HealthyVoters() {
		ready = append(ready, podChange(r.Pod))
	}
	quorum := etcdutil.Quorum(len(o.Voters()))
	if len(ready) < quorum {
		return time.Time{}
	}
	slices.SortFunc(ready, time.Time.Compare)
	return ready[quorum-1]
}

// deadline is how long a member may be dead, and what a process may need to read its database before it can answer.
func (o view) deadline() time.Duration {
	const slowest = 32 << 20 // bytes per second
	return o.Desired.ReplaceAfter + time.Duration(o.largestDatabase()/slowest)*time.Second
}

// keeps reports whether the volume of a member that is removed for this cause is put aside. A copy that differs always is.
func (o Observation) keeps(c Cause) bool { return c == CauseCorruption || o.Desired.KeepVolumes > 0 }
