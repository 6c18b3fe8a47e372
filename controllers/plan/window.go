package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Windows of maintenance: who waits for one. Due asks, and isReadyToLeave, and the defragmentation that no person asked
// for; no other rule does. See docs/decisions/0044.

// awaitsWindow reports a member that follows the spec once the next window of maintenance opens, and no sooner: it
// serves, and would stop. What was begun ends: a member that stopped starts, and a successor that is there takes the
// place of its ephemeral one. While an alarm stands, members are restarted to end it. Who wants a member replaced asks
// for it now, and so does who wants a cluster to sleep whose data is in Pods.
func awaitsWindow(o judge.Judged, r facts.Replica) bool {
	isAskedNow := isAskedToGo(o, r) || o.Desired.Sleep && r.Ephemeral
	return o.Desired.Window.IsClosed && !isFailing(o.Observation, r) && !isSucceeding(o, r) && !isAskedNow &&
		len(o.Raised()) == 0 && (!isResizable(o, r) || getsLessMemory(o, r))
}

// isFailing reports a member that takes what the spec asks for at any time. It has been silent for longer than a start
// takes. Or a sidecar cannot run, which keeps the member unready, and the spec asks for other sidecars.
func isFailing(o facts.Observation, r facts.Replica) bool {
	if r.Pod == nil {
		return true // nothing is stopped
	}
	return isSilentForLong(o, r) ||
		r.Pod.HeldUnready && r.Pod.Settings.Sidecars != o.Desired.Settings.Sidecars &&
			slices.ContainsFunc(r.Pod.Sidecars, func(s facts.Sidecar) bool { return s.Waiting != "" })
}

// isSilentForLong reports a member that has not served for longer than a start takes, by its kubelet's word as well.
func isSilentForLong(o facts.Observation, r facts.Replica) bool {
	isSilent := r.Answer == nil && !r.Pod.Ready && !r.IsBusy(o.Now)
	return isSilent && o.Now.Sub(facts.PodChange(r.Pod)) > facts.StartDeadline
}

// getsLessMemory reports a member whose process may end although it gets the amounts of the spec while it runs.
func getsLessMemory(o judge.Judged, r facts.Replica) bool {
	has, gets := r.Pod.Settings.MemoryBytes, o.Desired.Settings.MemoryBytes
	return gets != 0 && (has == 0 || gets < has)
}

// isHeldByWindow reports that the spec asks for what no member is stopped for before the next window opens.
func isHeldByWindow(o pass) bool {
	isNext := o.Desired.Needs == etcdutil.NeedDowngrade || o.Desired.Needs.CountsSnapshots()
	return o.Desired.Window.IsClosed && (len(o.due.Waiting) > 0 || isNext)
}

// maintenanceWindow says when that is, where nothing else is left to do. Until then the cluster is looked at like one
// that is settled.
func maintenanceWindow(o pass) *proposal {
	if !isHeldByWindow(o) {
		return nil
	}
	who := strings.Join(facts.Names(o.due.Waiting), ", ")
	p := wait(facts.ReasonWindow, "Members that serve follow the spec once the next window of maintenance opens, %s: "+
		"%s. To open one now, set the annotation etcdsteward.dev/maintenance to the time.", o.Desired.Window.Says(),
		cmp.Or(who, "on the way to etcd "+o.Desired.Target.String()))
	p.Recheck = max(recheckWait, min(recheckSettled, o.Desired.Window.Next.Sub(o.Now)))
	return p.yielding()
}
