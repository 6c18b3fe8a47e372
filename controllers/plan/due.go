package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// Which members are due for what, and because of what: found once for each view, from facts and judgement. Rules read
// the answers. Who leaves and who joins is in joining.go.

// pass is what rules read: the facts of one incarnation, how each of its members is, and what is due.
type pass struct {
	judge.Judged
	due        *Due
	rebuilding *proposal // what the rules that carry out a restore in place said first, or nil
}

// passOf is the view of one incarnation with all that rules read of it.
func passOf(v facts.View) pass {
	judged := judge.Of(v)
	return pass{Judged: judged, due: dueOf(judged)}
}

// Due is what the spec and the judgement ask of members. An empty replica is none.
type Due struct {
	HeldBy       string          // a change of the spec that no member can follow: none is restarted or resized; or ""
	Waiting      []facts.Replica // the voters that serve, and get the settings of the spec once a window opens
	OtherVersion facts.Replica   // it runs another version than it was made for: no other one is restarted with that

	Restarts  []facts.Replica // the voters that get the settings of the spec by a restart
	Restart   facts.Replica   // the next of them, where all others are well
	Resize    facts.Replica   // the next voter that gets its CPU and memory while it runs
	Succeeded facts.Replica   // the voter that a new member follows, before it goes: see succession.go
	Drained   facts.Replica   // the only voter, where its node is drained; the only member, where no list is known

	Expand facts.Replica // the voter whose claim asks for the size of the spec next: see growth.go
	Modify facts.Replica // the same of its VolumeAttributesClass: see attributes.go

	Unplaced    facts.Replica // a learner that no node takes
	Dispensable facts.Replica // the doomed voter that the others can do without
	InTheWay    facts.Replica // the same one, where its own Pod keeps Unplaced from every node

	Replace []Replacing     // the voters whose place a new member is to take
	Lasting []facts.Replica // the voters that are to stay
	Leave   Leaving

	Compact        int64 // up to this revision history is taken away; zero for none
	IsHistoryYoung bool  // history fills members, and is too young for that

	Defragment    facts.Replica // the voter that is defragmented next
	DefragBecause string

	Settings    facts.Settings    // what a new member is made from
	NextOrdinal int               // of the next name that was never used
	Promised    string            // the name that was promised to the member to be added, or ""
	Next        changes.NewVolume // the next new member, whether one is added or not
	Join        *Joining          // nil: none is added
}

// Leaving is the voter that goes next.
type Leaving struct {
	facts.Replica
	Because string
	IsFirst bool // it goes before its successor joins
}

// Joining says of the member to be added whether it has all that it needs, what it is for, and what may hold it up.
type Joining struct {
	IsPrepared bool
	Because    string
	Sick       facts.Replica // a voter that is not healthy
	SickUntil  string        // what becomes of it, as a sentence with a space in front, or ""
}

// dueOf fills in Due from the top: each answer may read those before it.
func dueOf(o judge.Judged) *Due {
	d := &Due{HeldBy: whyHeld(o), Unplaced: unplaced(o), Dispensable: dispensable(o)}
	d.InTheWay = d.inTheWay(o)
	outdated := d.outdated(o)
	d.Waiting = facts.Filter(outdated, func(r facts.Replica) bool { return awaitsWindow(o, r) })
	d.Restarts = facts.Filter(outdated, func(r facts.Replica) bool { return !isResizable(o, r) && !awaitsWindow(o, r) })
	d.Restart = d.nextOf(o, d.Restarts)
	d.Resize = d.nextOf(o, toResize(o, outdated))
	d.OtherVersion = d.otherVersion(o)
	d.Expand, d.Modify = toExpand(o), toModify(o)
	d.Succeeded = d.succeeded(o)
	d.Drained = drained(o)
	d.Replace = toReplace(o)
	d.Lasting = d.lastingVoters(o)
	d.Leave = d.leaving(o)
	d.Settings = d.memberSettings(o)
	d.NextOrdinal = nextOrdinal(o)
	d.Promised = d.promise(o)
	d.Next = d.newMember(o)
	d.Join = d.joining(o)
	d.Compact, d.IsHistoryYoung = dueForCompaction(o)
	d.Defragment, d.DefragBecause = dueForDefrag(o)
	return d
}

// whyHeld says which change of the spec this release cannot make to running members, as sentences, or "".
func whyHeld(o judge.Judged) string {
	running := facts.Filter(o.Members, func(r facts.Replica) bool {
		return r.Member != nil && r.IsRecorded() && !r.Settings().IsZero()
	})
	if len(running) > 0 && o.Desired.NoWay != "" {
		version := running[0].Settings().Version
		return fmt.Sprintf("Members run %s and the spec asks for %s. %s; put spec.version back to %s.x.",
			version, o.Desired.Target, o.Desired.NoWay, version.MinorString())
	}
	if why := o.WhyKeepTLS(); why != "" {
		return why
	}
	if o.Desired.Ephemeral {
		return "" // members leave their volumes, large and small ones
	}
	return whyNoSmaller(o, running)
}

// outdated are the voters that are brought to the settings of the spec, or that a person wants replaced. While the
// settings are not supported or would stop the cluster, there are the latter alone.
func (d *Due) outdated(o judge.Judged) []facts.Replica {
	isHeld := d.HeldBy != "" || len(o.Crowded(o.Desired.Settings)) > 0 || awaitsRoom(o)
	return facts.Filter(o.Voters(), func(r facts.Replica) bool {
		return (isOutdated(o, r) || isStuck(o, r)) && !isHeldByAlarm(o, r) && (!isHeld || isAskedToGo(o, r))
	})
}

// isOutdated reports whether a recorded member runs, or will run, with other settings than the spec asks for. A stop of
// a doomed one would be its end. One that does not say what it was made from is not restarted for that, but for the
// version that it answers with. While a CA is replaced, or the mode of TLS changes, it is: nothing says what it read.
func isOutdated(o judge.Judged, r facts.Replica) bool {
	switch {
	case isBegun(o, r):
		return true
	case r.Pod == nil || !r.Pod.Running || r.Pod.Terminating || !r.IsSealed() || r.IsDoomed():
		return false
	case whyMoved(o, r) != "":
		return true
	case r.Pod.Settings.IsZero():
		return answersOther(r, o.Desired.Settings.Version) || o.IsRollingCA() || o.IsTurningTLS()
	}
	return r.Settings() != o.Desired.Settings || isBehindVolume(r)
}

// isBehindVolume reports a Pod that was made from other settings than its volume says by now.
func isBehindVolume(r facts.Replica) bool { return r.Pod.Settings != r.Settings() }

// isHeldByAlarm reports a member that is not restarted for the spec while an alarm stands: the roll would go on through
// a cluster that takes no writes. A larger quota is the cure, and other settings may be that of a sick member.
func isHeldByAlarm(o judge.Judged, r facts.Replica) bool {
	return len(o.Raised()) > 0 && r.IsHealthy(o.Membership) &&
		o.Desired.Settings.QuotaBytes <= r.RunsWith().QuotaBytes
}

// isStuck reports a member that says it was made from the settings of the spec, and does not have their amounts.
func isStuck(o judge.Judged, r facts.Replica) bool {
	return r.Pod != nil && r.Pod.Running && !r.Pod.Terminating && r.IsSealed() && !r.IsDoomed() &&
		cannotResize(o.Observation, r)
}

// isResizable reports a member that gets the settings of the spec with no restart. A sick one is restarted: that may be
// its cure.
func isResizable(o judge.Judged, r facts.Replica) bool {
	wanted := o.Desired.Settings
	return r.IsHealthy(o.Membership) && wanted.IsLike(r.Pod.Settings) && wanted.IsLike(r.Settings()) &&
		!cannotResize(o.Observation, r) && !isRejected(o.Observation, nameResize) && whyMoved(o, r) == ""
}

// toResize are the voters that lack nothing of the spec but CPU and memory, and can get these while they run. There are
// none while a member has to be restarted for them: only its restart shows whether a member can live with them.
func toResize(o judge.Judged, outdated []facts.Replica) []facts.Replica {
	if slices.ContainsFunc(outdated, func(r facts.Replica) bool { return isStuck(o, r) }) {
		return nil
	}
	return facts.Filter(outdated, func(r facts.Replica) bool { return isResizable(o, r) && !awaitsWindow(o, r) })
}

// nextOf is the voter of these that is brought to the settings of the spec next, or an empty replica: there is none, or
// another member is not well.
func (d *Due) nextOf(o judge.Judged, outdated []facts.Replica) facts.Replica {
	outdated = begunFirst(o, outdated)
	if len(outdated) == 0 {
		return facts.Replica{}
	}
	r := slices.MinFunc(outdated, func(a, b facts.Replica) int {
		return cmp.Or(cmp.Compare(rollRank(o.Incarnation, a), rollRank(o.Incarnation, b)),
			cmp.Compare(b.Ordinal, a.Ordinal))
	})
	for _, other := range o.Voters() {
		if other.Name != r.Name && !isWell(o.Incarnation, other) && !isSucceeding(o, r) &&
			!d.mayChangeBeside(o, r, other) {
			return facts.Replica{}
		}
		if other.Name != r.Name && isTriedInVain(o.Observation, other) {
			return facts.Replica{}
		}
	}
	return r
}

// rollRank is the order in which outdated members are restarted.
func rollRank(o facts.Incarnation, r facts.Replica) int {
	switch {
	case !r.IsHealthy(o.Membership):
		return 0
	case !r.IsDialled():
		return 1 // also if it leads: until it listens as its peers dial it, no other one can be dialled otherwise
	case r.Pod.HeldUnready:
		return 2 // as long as Kubernetes does not call it ready, the budget lets no other one be stopped
	case r.Member.ID == o.Membership.Leader:
		return 5
	case isBehindVolume(r):
		return 3 // begun already
	}
	return 4
}

// isWell reports whether a voter can be relied on while another one is away: it serves, on data that stays.
func isWell(o facts.Incarnation, r facts.Replica) bool { return !r.IsDoomed() && o.IsServing(r) }

// isTriedInVain reports a member with the settings of the spec whose sidecar does not run, or stopped a moment ago:
// what the spec asks for does not work there, so no other member gets it.
func isTriedInVain(o facts.Observation, r facts.Replica) bool {
	return r.Pod.Unsteady(o.Now) != nil && r.Pod.Settings == o.Desired.Settings
}

// mayChangeBeside lets a member be changed beside one that serves on a volume that is going, where to wait for the
// successor of that one is in vain: it could not join for a sick member, or no node takes it. One that would take the
// room of a member that is restarted lets others be changed only where they run on.
func (d *Due) mayChangeBeside(o judge.Judged, r, other facts.Replica) bool {
	isInVain := !r.IsHealthy(o.Membership) ||
		d.Unplaced.Member != nil && (!isCrowdedOut(d.Unplaced) || isResizable(o, r))
	return isInVain && whyNotInPlace(o, r) == "" && other.IsDoomed() && o.IsServing(other)
}

// otherVersion is a member that runs the settings of the spec, at this stop or at the end of the way, and answers with
// another version, or an empty replica. An image says its version only when it runs.
func (d *Due) otherVersion(o judge.Judged) facts.Replica {
	if d.Restart.Member != nil && !d.Restart.IsHealthy(o.Membership) {
		return facts.Replica{} // its restart may be its cure
	}
	for _, r := range o.Voters() {
		if !r.IsRunning() || r.Pod.Settings.IsZero() {
			continue
		}
		isAsked := r.Pod.Settings == o.Desired.Settings || r.Pod.Settings == o.Desired.AtTarget
		if isAsked && answersOther(r, r.Pod.Settings.Version) {
			return r
		}
	}
	return facts.Replica{}
}
