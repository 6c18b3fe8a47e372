package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules that bring members that run to what the spec asks for, one at a time.

// podMetadata lets labels and annotations follow the spec in place: no process is stopped for them.
func podMetadata(o pass) *proposal {
	var undressed []facts.PodRef
	for _, r := range o.Members {
		if r.Pod == nil || r.Member == nil || r.Pod.Terminating || r.Pod.HasEnded() {
			continue
		}
		if p := toldAgain(o, r); p != nil && r.Answer != nil {
			return p
		}
		if r.Pod.Undressed {
			undressed = append(undressed, r.PodRef())
		}
	}
	if len(undressed) == 0 || o.Desired.Fault != "" {
		return nil
	}
	return act(changes.DressPods{Pods: undressed},
		"the labels and annotations of the spec are put there, without a restart.")
}

// resizeDeadline is for how long a kubelet may fail before the member is restarted instead, and how long a node may
// have no room before that is overdue.
const resizeDeadline = time.Minute

// resize gives members that run other amounts of CPU and memory, in the order of a roll and as carefully: less memory
// may end a process. Where Kubernetes refuses it, or the kubelet cannot do it, roll restarts the member.
func resize(o pass) *proposal {
	r := o.due.Resize
	for _, other := range o.Voters() {
		if p := resizing(o, other); p != nil && other.Name != r.Name {
			return p
		}
	}
	if r.Member == nil {
		return nil
	}
	if r.Settings() != o.Desired.Settings && r.Volume != nil {
		return act(changes.WriteSettings{Volumes: []facts.VolumeRef{r.VolumeRef()}, Settings: o.Desired.Settings,
			Rehearse: true}, "the spec asks for other CPU or memory.")
	}
	return act(changes.ResizePod{Pod: r.PodRef(), Settings: o.Desired.Settings},
		"it gets the CPU and memory of the spec, without a restart.")
}

// resizing says what a member's kubelet still has to do. What it cannot do, roll does.
func resizing(o pass, r facts.Replica) *proposal {
	if r.Pod == nil || cannotResize(o.Observation, r) {
		return nil
	}
	asked := r.Pod.Resize
	says := strings.TrimSuffix(asked.Message, ".")
	switch asked.State {
	case facts.ResizeInProgress:
		return wait(facts.ReasonResize, "The kubelet changes CPU and memory of %s, which runs on.", r.Name).
			due(o, asked.Since, resizeDeadline).yielding()
	case facts.ResizeDeferred:
		return wait(facts.ReasonResize, "Node %s has no room now for the CPU and memory of %s: %s. The kubelet tries "+
			"again by itself. Free room on the node, or put spec.pod.resources back.", r.Pod.Node, r.Name, says).
			due(o, asked.Since, resizeDeadline).yielding()
	case facts.ResizeFailed:
		return wait(facts.ReasonResize, "The kubelet could not change CPU and memory of %s: %s. It tries again. The "+
			"operator restarts %s with them if that fails for %s. Put spec.pod.resources back to avoid that.",
			r.Name, says, r.Name, resizeDeadline).yielding()
	case facts.ResizeNone, facts.ResizeInfeasible:
	}
	return nil
}

// cannotResize reports a member whose Pod was given the amounts of the spec, and whose kubelet cannot give them to the
// process.
func cannotResize(o facts.Observation, r facts.Replica) bool {
	asked := r.Pod.Resize
	return r.Pod.Settings == o.Desired.Settings && (asked.State == facts.ResizeInfeasible ||
		asked.State == facts.ResizeFailed && o.Now.Sub(asked.Since) > resizeDeadline)
}

// roll restarts one member with the settings of the spec: a sick one first, then followers, the leader last, once it
// has handed over. It goes on only while every other voter is well, so a change that does not work stops at the first
// member.
func roll(o pass) *proposal {
	if o.due.HeldBy != "" {
		return refuse(facts.ReasonNotSupported, "%s", o.due.HeldBy).byHuman().yielding()
	}
	if r := o.due.OtherVersion; r.Member != nil {
		return refuse(facts.ReasonOtherVersion, "%s was made to run etcd %s and answers as etcd %s: its image is "+
			"not what its tag says. No other member is restarted with it. Push the right image, or put spec.version "+
			"right.",
			r.Name, r.Pod.Settings.Version, r.Answer.Version).byHuman()
	}
	r := o.due.Restart
	switch {
	case r.Member == nil:
		return catchingUp(o)
	case o.due.Succeeded.Member != nil:
		return nil // it is succeeded, not restarted
	case isMislabelled(o, r):
		return nil // member-health says so
	}
	if r.Member.ID == o.Membership.Leader && len(o.Voters()) > 1 {
		return handOver(o, r, o.HealthyVoters(), facts.ReasonRoll, "will be restarted to run "+
			difference(o.Desired.Settings, r.RunsWith()))
	}
	if r.Settings() != o.Desired.Settings {
		return act(changes.WriteSettings{Volumes: []facts.VolumeRef{r.VolumeRef()}, Settings: o.Desired.Settings,
			Rehearse: true},
			"the member is to run %s.%s", difference(o.Desired.Settings, r.Settings()), without(o.Desired))
	}
	return act(changes.EvictPod{Pod: r.PodRef(), Successor: restartOf(r), PastBudget: isHeldByBudget(o, r)},
		"it is to run %s.%s%s", difference(r.Settings(), r.Pod.Settings), whyRestarted(o, r), without(o.Desired))
}

// restartOf is the Pod that follows one of a recorded member.
func restartOf(r facts.Replica) changes.Start {
	return changes.Start{Name: r.Name, Flags: facts.FlagsSealed, Settings: r.Settings()}
}

// whyRestarted says why a member is restarted for amounts, as a sentence to follow another one, or "".
func whyRestarted(o pass, r facts.Replica) string {
	if !cannotResize(o.Observation, r) {
		return ""
	}
	return fmt.Sprintf(" Its node cannot change CPU and memory while it runs: %s.",
		strings.TrimSuffix(r.Pod.Resize.Message, "."))
}

// isMislabelled reports a member that runs on its own volume, and could not start on it again by what is written there.
func isMislabelled(o pass, r facts.Replica) bool {
	return r.IsUp() && r.IsRecorded() && r.IsOnOwnVolume() && !r.IsDoomed() && !o.MayRestart(r)
}

// catchingUp waits for a voter that serves and is behind, which is all that is wrong with it, before others are
// restarted.
func catchingUp(o pass) *proposal {
	for _, r := range o.Voters() {
		if len(o.due.Restarts) > 0 && r.IsHealthy(o.Membership) && r.Pod != nil && r.Pod.Ready && !o.IsCaughtUp(r) {
			p := wait(facts.ReasonRoll, "%s will be restarted, once %s has all that was committed. "+
				"If it does not catch up, its disk or its network is too slow for what is written.",
				o.due.Restarts[0].Name, r.Name)
			return p.due(o, facts.LastStart(r.Pod), joinDeadline(o.Incarnation)).yielding()
		}
	}
	return nil
}

// without says what members run without at this stop, as a sentence to follow another one, or "".
func without(d facts.Desired) string {
	if d.LeftOut == "" {
		return ""
	}
	return fmt.Sprintf(" It runs without %s of spec.etcd.extraArgs, which etcd %s does not know.", d.LeftOut,
		d.Settings.Version.MinorString())
}

// difference says in a word what changed between two settings, the first of several by its name.
func difference(c facts.Settings, from facts.Settings) string {
	switch {
	case c.Version != from.Version:
		return "etcd " + c.Version.String()
	case c.RestartedAt != from.RestartedAt:
		return "again, because of etcdsteward.dev/restartedAt"
	case c.Trust != from.Trust:
		return "with trust in other CAs"
	case c.Transport != from.Transport:
		return withTransport(c.Transport, from.Transport)
	}
	switch fields := c.Differing(from); len(fields) {
	case 0:
		return "with new settings"
	case 1:
		return "with another " + fields[0]
	default:
		return fmt.Sprintf("with another %s and %d more changes", fields[0], len(fields)-1)
	}
}

// withTransport says in a word how a member will be reached.
func withTransport(to, from etcdutil.Transport) string {
	switch to {
	case etcdutil.TransportPlain:
		return "without TLS"
	case etcdutil.TransportPrepared:
		if from == etcdutil.TransportPlain {
			return "with certificates, for clients with TLS and without"
		}
		return "without TLS among members"
	case etcdutil.TransportPermissive:
		if from == etcdutil.TransportTLS {
			return "for clients with TLS and without"
		}
		return "with TLS among members"
	case etcdutil.TransportTLS:
	}
	return "with TLS alone"
}

// isHeldByBudget reports a member that no eviction stops, although it may be stopped as far as etcd goes: the budget
// counts Pods that Kubernetes calls ready, and a container beside etcd keeps more of them from that than it can spare.
// It lets no drain pass meanwhile either. That of an only voter is there for drains alone.
func isHeldByBudget(o pass, r facts.Replica) bool {
	ready := facts.Filter(o.Voters(), func(other facts.Replica) bool {
		return other.Name != r.Name && other.Pod != nil && other.Pod.Ready && !other.Pod.HeldUnready
	})
	return (r.Pod.HeldUnready || o.Budget.MinAvailable == 1) && len(ready) < o.Budget.MinAvailable
}

// The way to a lower minor: a downgrade is enabled, etcd lowers the cluster version and each member the format of its
// data, and the roll follows. etcd ends it once every member runs the lower minor.

// enableDowngrade begins it once nothing else is left to do: from then on no new member can join.
func enableDowngrade(o pass) *proposal {
	if o.Desired.Needs != etcdutil.NeedDowngrade || o.due.Join != nil || !isReadyToLeave(o) {
		return nil
	}
	stop := o.Desired.Settings.Version
	minor := etcdutil.Version{Major: stop.Major, Minor: stop.Minor - 1}
	return act(changes.EnableDowngrade{Minor: minor},
		"the spec asks for a lower minor. Members go there one at a time, once the cluster version is lower.")
}

// cancelDowngrade ends one that the spec does not ask for, as one that came with a backup, and one that keeps a new
// member from joining. It is enabled again once that is a voter. While the spec is refused, one that was begun stays:
// members that are told to go down could not be told otherwise. Members of 3.5 do not tell that one is enabled; the
// etcd of a new member does, which ends as one that is too old.
func cancelDowngrade(o pass) *proposal {
	minor := o.Progress().Downgrade
	isAwaited := func(r facts.Replica) bool { return !r.Member.Started() }
	joining := facts.Filter(o.Learners(), isAwaited)
	if minor.IsZero() {
		minor = untoldDowngrade(o, joining)
	}
	switch {
	case minor.IsZero():
		return nil
	case o.Desired.Needs == etcdutil.NeedNoDowngrade && (followsSpec(o) || !hasBegunDown(o, minor)):
		return act(changes.CancelDowngrade{Minor: minor}, "the spec does not ask for it any more.")
	case len(joining) > 0:
		return act(changes.CancelDowngrade{Minor: minor}, "%s cannot join before that.", joining[0].Name)
	}
	return nil
}

// untoldDowngrade is the minor to which a downgrade is enabled although no member tells it, or zero: members of 3.5 do
// not, and one that joins them ends as too old while it is.
func untoldDowngrade(o pass, joining []facts.Replica) etcdutil.Version {
	tells := func(r facts.Replica) bool { return r.Answer != nil && r.Answer.Version.Minor > 5 }
	isKeptOut := func(r facts.Replica) bool { return r.EndedTooOld() && !r.Pod.Running }
	i := slices.IndexFunc(joining, isKeptOut)
	if i < 0 || slices.ContainsFunc(o.Voters(), tells) {
		return etcdutil.Version{}
	}
	kept := joining[i].Pod.Settings.Version
	return etcdutil.Version{Major: kept.Major, Minor: kept.Minor}
}

// hasBegunDown reports a member whose volume asks for the lower minor, or that ran it.
func hasBegunDown(o pass, minor etcdutil.Version) bool {
	return slices.ContainsFunc(o.Members, func(r facts.Replica) bool {
		return r.Member != nil && (r.Settings().Version.SameMinor(minor) || r.Record().Version.SameMinor(minor))
	})
}

// isReadyToLeave reports that every member is a voter that serves as the spec asks, as far as this stop goes, and that
// the next one may be begun now.
func isReadyToLeave(o pass) bool {
	if o.due.HeldBy != "" || o.Desired.Window.IsClosed || len(o.Crowded(o.Desired.Settings)) > 0 {
		return false
	}
	isUnfit := func(r facts.Replica) bool { return isOutdated(o.Judged, r) || !isWell(o.Incarnation, r) }
	return len(o.Learners()) == 0 && len(facts.Filter(o.Voters(), isUnfit)) == 0
}

// checkMinor tells what keeps a cluster at the minor version that it runs. The stop is of that minor until then, so no
// rule knows of the next one, and everything else of the spec is followed. See facts.WhyStay.
func checkMinor(o pass) *proposal {
	held, stays := o.Desired.Held, o.Desired.Settings.Version.MinorString()
	switch {
	case held.Why == "":
		return nil
	case held.Passes:
		reason, helps := helpForHeld(o, held)
		return wait(reason, "%s, so members stay at etcd %s for now. They go %s to %s once every member serves and "+
			"votes, unless spec.version is put back.%s", held.Why, stays, direction(o), wayOf(o), helps).yielding()
	}
	return refuse(facts.ReasonMinorHeld, "Members go on to etcd %s once this is put right: %s. Until then they stay "+
		"at etcd %s.", wayOf(o), held.Why, stays).byHuman().yielding()
}

// helpForHeld is what a person can do about the member that others wait for, as a sentence with a space in front, or
// "", and the reason: that of what it lacks, where that does not pass by itself.
func helpForHeld(o pass, held facts.Hold) (reason, helps string) {
	r := o.Find(held.Member)
	if r.Name == "" || r.IsLearner() { // of which the rule promote tells
		return facts.ReasonMinorHeld, ""
	}
	helps = goesOn(o, facts.Waiting{Member: r.Name})
	if p := ailment(o, r); p != nil && p.Message == helps {
		return p.Reason, " " + helps
	}
	return facts.ReasonMinorHeld, " " + helps
}

// direction is where the version that is asked for lies.
func direction(o pass) string {
	if o.Desired.Target.Compare(o.Desired.Settings.Version) < 0 {
		return "down"
	}
	return "up"
}

// wayOf names the stops on the way to the version that is asked for, as a part of a sentence: etcd goes one minor at a
// time.
func wayOf(o pass) string {
	var stops []string
	for _, v := range etcdutil.Path(o.Progress(), o.Desired.Target) {
		stops = append(stops, v.String())
	}
	if len(stops) == 0 {
		return o.Desired.Target.String()
	}
	return strings.Join(stops, " and then to ")
}
