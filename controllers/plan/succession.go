package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// Who is succeeded: a part of Due. Where a restart on its own data does not bring a member to the spec, a new member
// with the settings of the spec joins first, and then the old one goes.

// whyNotInPlace says why a restart on its own data does not bring a member to the spec, as a part of a sentence, or "".
func whyNotInPlace(o judge.Judged, r facts.Replica) string {
	why := r.WhyNotInPlace(o.Desired)
	if why != "" && !r.Ephemeral && goesLater(o, r) {
		return ""
	}
	return why
}

// whyMoved says what of its storage is other than the spec asks for, as a part of a sentence, or "".
func whyMoved(o judge.Judged, r facts.Replica) string {
	why := r.WhyMoved(o.Desired)
	if why != "" && goesLater(o, r) {
		return ""
	}
	return why
}

// isAskedToGo reports a member that has to be replaced now, also while the settings of the spec are held back: a person
// wants it, or its node is drained. While no new member can join it is as the others are.
func isAskedToGo(o judge.Judged, r facts.Replica) bool {
	return (r.IsUnwanted || r.IsDrained()) && !goesLater(o, r)
}

// goesLater reports a member that stays for now, also if the spec asks for another one: a person stopped it, or a
// downgrade is enabled, so that no new member can join until that is done. From a node that is drained it goes first.
// Restarted for the downgrade it would have no node. The downgrade is cancelled for the new member, and enabled anew
// after that.
func goesLater(o judge.Judged, r facts.Replica) bool {
	return isGoingDown(o) && !r.IsDrained() || o.IsFenced(r)
}

// isToMoveAtOnce reports a new member whose volume is other than the spec asks for by now, and without which there are
// voters enough. Otherwise it joins first, and moves afterwards.
func isToMoveAtOnce(o judge.Judged, r facts.Replica) bool {
	return len(o.Voters()) >= o.Desired.Size && whyMoved(o, r) != ""
}

// isGoingDown reports a downgrade that is enabled: no new member can join until it is done.
func isGoingDown(o judge.Judged) bool { return !o.Progress().Downgrade.IsZero() }

// succeeded is the voter that a successor with the settings of the spec is to follow, or an empty replica. It stays
// until the successor votes: its data goes with it.
func (d *Due) succeeded(o judge.Judged) facts.Replica {
	isNext := d.Restart.Member != nil && whyNotInPlace(o, d.Restart) != ""
	if !isNext || len(o.Voters()) <= o.Desired.Size && d.OtherVersion.Member != nil {
		return facts.Replica{}
	}
	return d.Restart
}

// drained is the only voter, where it has to leave its node, or an empty replica. A budget holds that back while a
// successor is on its way. Of a cluster that does not answer it is the only member that there is.
func drained(o judge.Judged) facts.Replica {
	those := o.Voters()
	if !o.Membership.Known {
		isVoter := func(r facts.Replica) bool { return r.Pod == nil || r.Pod.Role != facts.RoleLearner }
		those = facts.Filter(o.Members, func(r facts.Replica) bool { return r.IsRecorded() && isVoter(r) })
	}
	if len(those) == 1 && those[0].IsDrained() {
		return those[0]
	}
	return facts.Replica{}
}

// leavesFirst is that voter where it goes before its successor joins, or an empty replica: the spec asks for that, none
// is on its way that a node has taken, and all others serve on data that stays, and are more than one.
func (d *Due) leavesFirst(o judge.Judged) facts.Replica {
	isJoining := len(o.Learners()) > 0 && d.Unplaced.Member == nil
	if !o.Desired.LeavesFirst || d.Succeeded.Member == nil || isJoining || len(o.Voters()) < o.Desired.Size ||
		!canSpare(o, d.Succeeded) {
		return facts.Replica{}
	}
	return d.Succeeded
}

// leavingBeside are the members with a Pod that do not stay beside a learner: their places become free.
func (d *Due) leavingBeside(o pass) []string {
	return facts.Names(facts.Filter(o.Members, func(r facts.Replica) bool {
		return r.Pod != nil && !r.IsLearner() && !slices.Contains(facts.Names(d.Lasting), r.Name)
	}))
}

// canSpare reports that all other voters serve on data that stays, and are more than one.
func canSpare(o judge.Judged, r facts.Replica) bool {
	return len(o.Voters()) > 2 && servesWithout(o, r)
}

// servesWithout reports that all other voters serve on data that stays.
func servesWithout(o judge.Judged, r facts.Replica) bool {
	return !slices.ContainsFunc(o.Voters(), func(other facts.Replica) bool {
		return other.Name != r.Name && !isWell(o.Incarnation, other)
	})
}

// isSucceeding reports that the successor of such a member is on its way or there: what was begun is gone on with.
func isSucceeding(o judge.Judged, r facts.Replica) bool {
	return whyNotInPlace(o, r) != "" && hasOneMore(o)
}

// isBegun is the same of a member on a volume, which may stop meanwhile and lose nothing by that. Its successor is not
// given up for it.
func isBegun(o judge.Judged, r facts.Replica) bool {
	return !r.Ephemeral && r.IsRecorded() && !r.IsDoomed() && isSucceeding(o, r)
}

// hasOneMore reports a member on its way to its vote, or more voters than the size asks for.
func hasOneMore(o judge.Judged) bool {
	return len(o.Learners()) > 0 || len(o.Voters()) > o.Desired.Size
}

// begunFirst leaves out the members that a restart brings to the spec, while the successor of another one is on its way
// or there. It would be given up for them.
func begunFirst(o judge.Judged, outdated []facts.Replica) []facts.Replica {
	begun := facts.Filter(outdated, func(r facts.Replica) bool { return isSucceeding(o, r) })
	if len(begun) == 0 {
		return outdated
	}
	return begun
}

// whyNoSmaller says that members cannot move to the smaller volumes that the spec asks for, as sentences, or "".
func whyNoSmaller(o judge.Judged, running []facts.Replica) string {
	if o.Desired.HasRoomForQuota() {
		return ""
	}
	for _, r := range running {
		if r.Volume != nil && r.Volume.AskedBytes > o.Desired.StorageBytes {
			asked := facts.FormatBytes(o.Desired.StorageBytes)
			return fmt.Sprintf("Members have a quota of %s by now, and volumes of %s have no room for that. Put "+
				"spec.storage.size back to %s, or lower spec.maintenance.autoGrow.limit.",
				facts.FormatBytes(o.Desired.Settings.QuotaBytes), asked, facts.FormatBytes(r.Volume.AskedBytes))
		}
	}
	return ""
}

// isMisplaced reports a member that would not start again where its volume is, with the settings of the spec. One that
// was found out has none to stay with where the spec was put back before it got those of the others.
func isMisplaced(o pass, r facts.Replica) bool {
	return r.Volume != nil && (r.Volume.Misplaced != "" ||
		r.Volume.RemovedFor == facts.CausePlace && o.IsServedWith(r.Settings()))
}

// leftInPlace has a member that was restarted for the spec, and that no node takes where its volume is, serve on with
// the settings of the others: etcd takes no successor while a member is down. The mark on its volume says that it is
// succeeded instead, and has the volume kept when it goes. It is taken back with the spec.
func leftInPlace(o pass, r facts.Replica) *proposal {
	if r.Volume == nil || r.Volume.Terminating || !r.IsVoter() || !o.Membership.Known || o.Desired.Fault != "" {
		return nil
	}
	if r.Volume.RemovedFor == facts.CausePlace && r.IsRunning() && r.Settings() == o.Desired.Settings {
		return act(changes.MarkVolume{Volume: r.VolumeRef()}, "it runs where its volume is, as the spec asks.")
	}
	former := formerSettings(o, r)
	if former.IsZero() || r.Settings() != o.Desired.Settings || !isTiedForGood(o, r) {
		return nil
	}
	const why = "no node that its volume can be used on takes it as the spec is. It serves on as it was, and a new " +
		"member follows it."
	if r.Volume.RemovedFor != facts.CausePlace {
		return act(changes.MarkVolume{Volume: r.VolumeRef(), For: facts.CausePlace}, why)
	}
	return act(changes.WriteSettings{Volumes: []facts.VolumeRef{r.VolumeRef()}, Settings: former}, why)
}

// isTiedForGood reports a Pod that no node takes for its volume, for as long as it takes to make room for one, or for
// reasons that do not end when a Pod stops.
func isTiedForGood(o pass, r facts.Replica) bool {
	return r.IsRecorded() && r.IsUp() && r.Pod.Settings == o.Desired.Settings && judge.IsTied(r) &&
		(o.HasNoPlace(r.Pod) || !isCrowdedOut(r))
}

// formerSettings are those of the others, which all serve, where these ask other things of nodes than the spec does;
// else none. A node that is only cordoned takes its member back by and by.
func formerSettings(o pass, r facts.Replica) facts.Settings {
	var former facts.Settings
	for _, other := range o.Voters() {
		c := other.RunsWith()
		switch {
		case other.Name == r.Name:
		case !isWell(o.Incarnation, other):
			return facts.Settings{}
		case c.Version == o.Desired.Settings.Version && asksOtherNodes(o.Desired.Settings, c):
			former = c
		}
	}
	return former
}

// asksOtherNodes reports settings by which other nodes may take a Pod.
func asksOtherNodes(c, former facts.Settings) bool {
	return slices.ContainsFunc(c.Differing(former), func(field string) bool {
		return slices.ContainsFunc(ofNodes, func(of string) bool { return strings.HasPrefix(field, of) })
	})
}

// ofNodes are the fields of the spec that say which nodes take a member.
var ofNodes = []string{"spec.pod.nodeSelector", "spec.pod.affinity", "spec.pod.tolerations",
	"spec.pod.topologySpreadConstraints"}
