package plan

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

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

// isReadyToLeave reports that every member is a voter that serves as the spec asks, as far as this stop goes.
func isReadyToLeave(o pass) bool {
	if o.due.HeldBy != "" || len(o.Crowded(o.Desired.Settings)) > 0 {
		return false
	}
	isUnfit := func(r facts.Replica) bool { return isOutdated(o.Observation, r) || !isWell(o.Incarnation, r) }
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
		return wait(facts.ReasonMinorHeld, "Members stay at etcd %s for now: %s. They go on to %s once every "+
			"member serves and votes.", stays, held.Why, o.Desired.Target).yielding()
	}
	return refuse(facts.ReasonMinorHeld, "Members go on to etcd %s once this is put right: %s. Until then they stay "+
		"at etcd %s.", o.Desired.Target, held.Why, stays).byHuman().yielding()
}
