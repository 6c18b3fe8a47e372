package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// memberHealth keeps the cluster from being called settled while a member is not well. Of several, it tells of the one
// that needs a person, or that should be well by now.
func memberHealth(o pass) *proposal {
	var gravest *proposal
	for _, r := range o.Members {
		p := ailment(o, r)
		if p != nil && (gravest == nil ||
			gravity(p.Verdict, p.NeedsHuman) > gravity(gravest.Verdict, gravest.NeedsHuman)) {
			gravest = p
		}
	}
	if gravest != nil {
		return gravest.yielding()
	}
	return versionsMoving(o)
}

// versionsMoving waits at a stop for what etcd does by itself once every member runs its minor. Only then is the step
// done, and the next one begun: nothing is called settled on the way.
func versionsMoving(o pass) *proposal {
	at := o.Progress()
	awaited := awaitedAtStop(o, at)
	if awaited == "" || isHeldByWindow(o) {
		return nil
	}
	p := wait(facts.ReasonVersions, "%s", awaited).yielding()
	if !at.Downgrade.IsZero() {
		return p // no Pod changed for it, so nothing says since when
	}
	return p.due(o, o.LastPodChange(), facts.StartDeadline)
}

// awaitedAtStop says what is waited for at a stop, or "". A cluster that was just bootstrapped has another version for
// a moment, which is no step.
func awaitedAtStop(o pass, at etcdutil.Progress) string {
	stop := o.Desired.Settings.Version
	isOnItsWay := o.Desired.Fault == "" && o.Desired.NoWay == "" && !o.Desired.IsAtTarget()
	isBehind := func(v etcdutil.Version) bool { return isOnItsWay || !v.IsZero() && v.Minor+1 == stop.Minor }
	switch {
	case o.Desired.Needs == etcdutil.NeedCluster && isBehind(at.Cluster):
		return versionsAwaited(o, at, "the cluster version")
	case o.Desired.Needs == etcdutil.NeedStorage && isBehind(at.Storage):
		return versionsAwaited(o, at, "the format of each member's data")
	case isOnItsWay:
		return fmt.Sprintf("The members are on their way to etcd %s. They go on once %s.", o.Desired.Target,
			awaitedOfMembers(o, stop))
	}
	return ""
}

// awaitedOfMembers says what the members have to do before they leave a stop, as a part of a sentence.
func awaitedOfMembers(o pass, stop etcdutil.Version) string {
	for _, r := range o.Voters() {
		if r.IsHealthy(o.Membership) && !o.IsCaughtUp(r) {
			return r.Name + " has all that was committed. If it does not catch up, its disk or its network is too " +
				"slow for what is written"
		}
	}
	return fmt.Sprintf("each of them answers with %s", stop)
}

// versionsAwaited says what etcd moves by itself, up or down, and which member holds it up or does not tell of it.
func versionsAwaited(o pass, at etcdutil.Progress, what string) string {
	saysNothing := func(r facts.Replica) bool { return r.Answer != nil && r.Versions().Cluster.IsZero() }
	silent := func(r facts.Replica) bool { return r.Answer == nil }
	mute, away := facts.Filter(o.Voters(), saysNothing), facts.Filter(o.Voters(), silent)
	switch {
	case len(away) > 0:
		return fmt.Sprintf("etcd moves %s only once every member answers, and %s does not.", what, away[0].Name)
	case !at.Downgrade.IsZero():
		return fmt.Sprintf("A downgrade is enabled. etcd lowers %s to %s within seconds%s. %s", what,
			at.Downgrade.MinorString(), holdsUp(o), whereItLasts)
	case len(mute) > 0:
		return fmt.Sprintf("%s does not say of which version its cluster is; it is asked again. Look whether etcd "+
			"answers /version on its client port.", mute[0].Name)
	}
	return fmt.Sprintf("Every member runs etcd %s. etcd moves %s to it within seconds, once every member of its list "+
		"has started and answers%s. %s", o.Desired.Settings.Version.MinorString(), what, holdsUp(o), whereItLasts)
}

// whereItLasts is what a person can do about versions that do not move.
const whereItLasts = "Where it lasts for minutes, look at etcdctl endpoint status --cluster. If spec.version was " +
	"changed, you can put it back."

// holdsUp names a voter whose data has another format than its cluster's version, as a part of a sentence, or "".
func holdsUp(o pass) string {
	for _, r := range o.Voters() {
		v := r.Versions()
		if !v.Storage.IsZero() && !v.Cluster.IsZero() && !v.Storage.SameMinor(v.Cluster) {
			return fmt.Sprintf(". The data of %s is still of %s", r.Name, v.Storage.MinorString())
		}
	}
	return ""
}

// isStuckLeaving reports remains of a member that was removed, on a node that does not answer: they go when it is back
// or deleted, and nothing needs to wait for that.
func isStuckLeaving(o facts.Observation, r facts.Replica) bool {
	return r.Pod != nil && r.Pod.Terminating && !r.Pod.GoneBy.IsZero() &&
		o.Now.Sub(r.Pod.GoneBy) > facts.LeavingDeadline
}

// remainder waits for what is left of a member that was removed.
func remainder(o pass, r facts.Replica) *proposal {
	if !isLeaving(r) || isStuckLeaving(o.Observation, r) {
		return nil
	}
	return wait(facts.ReasonPodLeaving, "%s is no member any more; its remains are being deleted.%s", r.Name,
		heldAmong(r))
}

// ailment says what a member lacks to be well: a volume that stays, a process that serves, and a name that is written
// down.
func ailment(o pass, r facts.Replica) *proposal {
	if r.Member == nil {
		return remainder(o, r)
	}
	if r.IsDoomed() {
		return wait(facts.ReasonDoomed,
			"The volume of %s is being deleted, or its claim is gone, while the member uses it: any stop of its Pod "+
				"loses its data. A successor joins first.", r.Name)
	}
	if p := cmp.Or(startTrouble(o, r), fenced(o, r)); p != nil {
		return p
	}
	if j := o.Judge(r); r.Pod == nil && j.Cure == judge.Person {
		return refuse(facts.ReasonForeignData,
			"%s is a member and no Pod is started for it: %s. Put back what was changed on its "+
				"PersistentVolumeClaim, or delete that, and the member is replaced.",
			r.Name, j.Says).byHuman()
	}
	if isMislabelled(o, r) {
		return refuse(facts.ReasonForeignData,
			"%s runs, and is not restarted: no Pod would be started for it again, since %s. Put back what was changed "+
				"on its PersistentVolumeClaim.", r.Name, judge.WhyNoPod(o.Judged, r)).byHuman()
	}
	if !r.IsHealthy(o.Membership) || r.Pod == nil || !r.Pod.Ready {
		return wait(facts.ReasonNotReady, "Member %s%s is not well: %s.%s%s%s", r.Name, onNode(r), o.Judge(r).Says,
			nodeNotReady(r), unseen(r), untilReplaced(o.Judged, r)).due(o, facts.PodChange(r.Pod), facts.StartDeadline)
	}
	if !r.IsSealed() {
		return wait(facts.ReasonNotRecorded,
			"%s serves, but who lives on its data could not be written down; clients are not led to it.", r.Name).
			due(o, facts.PodChange(r.Pod), facts.StartDeadline)
	}
	return sidecarTrouble(o, r)
}

// goesOn says that a wait goes on by itself, or what a person can do: what is wrong with the member that it waits for.
func goesOn(o pass, waits facts.Waiting) string {
	r := o.Find(waits.Member)
	p := ailment(o, r)
	switch {
	case waits.WayOn != "":
		return waits.WayOn
	case p == nil, p.Verdict == Wait && p.Reason == facts.ReasonNotReady && r.Pod != nil,
		p.Verdict == Wait && p.Reason == facts.ReasonPodLeaving && r.Pod.WhyNotStopped() == "":
		return "It goes on by itself."
	}
	return p.Message
}

// unseen is what a person can do about a member that only the operator does not reach, or "".
func unseen(r facts.Replica) string {
	if r.Answer != nil || r.Pod == nil || !r.Pod.Ready {
		return ""
	}
	return " It stays a member. Look for what keeps the operator from its client port: a NetworkPolicy, or the " +
		"network of its node."
}

// sidecarTrouble tells of a sidecar that is not well beside a member that is. It is never overdue: the member serves.
func sidecarTrouble(o pass, r facts.Replica) *proposal {
	sidecar := r.Pod.Unsteady(o.Now)
	if sidecar == nil {
		return nil
	}
	says := "is not ready"
	if words := strings.TrimSuffix(cmp.Or(sidecar.Says, sidecar.Waiting), "."); words != "" {
		says += ": " + words
	}
	if isTriedInVain(o.Observation, r) {
		says += ". No other member is restarted with the same settings meanwhile"
	}
	return wait(facts.ReasonSidecar, "Sidecar %[1]s of %[2]s %[3]s. The member serves on, and clients reach it. "+
		"Correct or remove the sidecar in spec.pod.sidecars; kubectl logs %[2]s -n %[4]s -c %[1]s shows what it "+
		"prints.",
		sidecar.Name, r.Name, says, o.Cluster.Namespace)
}

// onNode names the node of a member's Pod, as a part of a sentence, or "".
func onNode(r facts.Replica) string {
	if r.Pod == nil || r.Pod.Node == "" {
		return ""
	}
	return " on node " + r.Pod.Node
}

// nodeNotReady says that of the node of a member's Pod, and where to find out more, as a sentence with a space in
// front, or "".
func nodeNotReady(r facts.Replica) string {
	if r.Pod == nil || r.Pod.NodeNotReady == "" {
		return ""
	}
	return fmt.Sprintf(" Node %[1]s is NotReady %[2]s: kubectl describe node %[1]s says more.", r.Pod.Node,
		r.Pod.NodeNotReady)
}

// notStopped says that Kubernetes cannot stop a Pod that is terminating, and the way on, as sentences with a space in
// front, or "".
func notStopped(r facts.Replica) string {
	if why := r.Pod.WhyNotStopped(); why != "" {
		return " " + why + " " + r.Pod.WayOn()
	}
	return ""
}

// startTrouble says what keeps a replica's Pod from serving, or nil when nothing is known to. It is due from the
// creation of the Pod, so a member that stops after a long time is overdue at once.
func startTrouble(o pass, r facts.Replica) *proposal {
	pod := r.Pod
	switch {
	case pod == nil:
		return nil
	case pod.Terminating:
		return wait(facts.ReasonPodLeaving, "The Pod of %s%s is terminating; %s.%s%s%s", r.Name,
			onNode(r), afterLeaving(o, r), cmp.Or(notStopped(r), nodeNotReady(r)), heldMember(o, r),
			untilReplaced(o.Judged, r)+turnWaits(o)).
			due(o, pod.GoneBy, facts.LeavingDeadline)
	case pod.HasEnded():
		return nil
	case r.IsUnmade():
		return wait(facts.ReasonProvisioning, "The volume of %s cannot be made: %s. %s%s", r.Name, r.Volume.Unmade,
			otherClass, untilReplaced(o.Judged, r)).due(o, pod.Created, facts.StartDeadline)
	case pod.StartsAfter != "":
		return wait(facts.ReasonSidecar, "etcd of %[1]s was not started: container %[2]s of its Pod starts first and "+
			"cannot (%[3]s): %[4]s. Correct or remove %[2]s in spec.pod.sidecars, and the operator makes the Pod "+
			"anew; where a webhook added it, correct that.%[5]s", r.Name, pod.StartsAfter, pod.Waiting,
			strings.TrimSuffix(pod.Message, "."), untilReplaced(o.Judged, r)).due(o, pod.Created, facts.StartDeadline)
	case facts.StartReason(pod.Waiting) != "":
		return wait(facts.StartReason(pod.Waiting), "The Pod of %s cannot start (%s): %s%s%s", r.Name, pod.Waiting,
			howToStart(pod.Waiting, pod.Message, r.RunsWith().NodeSelector()), onceCorrected(r),
			untilReplaced(o.Judged, r)).due(o, pod.Created, facts.StartDeadline)
	case !pod.Running && pod.Exit != nil && pod.Exit.Reason != etcdutil.ExitRemoved:
		return wait(facts.ReasonCrashing, "%s. Kubernetes starts it again and again, at most 5 minutes apart. %s%s",
			howStopped(r), afterStop(o, r), untilReplaced(o.Judged, r)).due(o, pod.Created, facts.StartDeadline)
	}
	return nil
}

// howStopped says how etcd stopped, with the reason only where one is known.
func howStopped(r facts.Replica) string {
	if r.Pod.Exit.Reason == etcdutil.ExitUnknown {
		return fmt.Sprintf("etcd of %s stopped: %s", r.Name, r.Pod.Exit.Message)
	}
	return fmt.Sprintf("etcd of %s stopped (%s): %s", r.Name, r.Pod.Exit.Reason, r.Pod.Exit.Message)
}

// afterStop is what a person can do about it.
func afterStop(o pass, r facts.Replica) string {
	switch reason := r.Pod.Exit.Reason; {
	case r.IsOutrun(): // its data is of the next minor
		return fmt.Sprintf("etcd %[1]s ran on its data. Put spec.version to a patch of %[1]s, and go down from there.",
			r.NextMinor().MinorString())
	case reason == etcdutil.ExitOutOfMemory:
		return "Raise spec.pod.resources.limits.memory."
	case reason == etcdutil.ExitBadFlag || reason == etcdutil.ExitAddress:
		return "Correct spec.etcd or spec.image: the operator then restarts the member."
	case reason == etcdutil.ExitDiskFull:
		return whenFull(o, r)
	}
	return fmt.Sprintf("kubectl logs %s -n %s -c etcd --previous shows its whole log.", r.Name, o.Cluster.Namespace)
}

func joinNames[T any](items []T, name func(T) string) string {
	out := make([]string, 0, len(items))
	for _, item := range items {
		out = append(out, name(item))
	}
	return strings.Join(out, ", ")
}
