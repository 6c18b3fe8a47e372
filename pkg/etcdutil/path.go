package etcdutil

import (
	"cmp"
	"fmt"
	"slices"
)

// The way from one version to another. etcd goes one minor at a time, up or down, and a cluster serves all the while. A
// stop is the version that members are to run next. Everything here follows from what members say now, so that the
// target may change at any moment: the next stop is then another one, and nothing has to be remembered.

// Progress is where a cluster is on its way, by what its members and their records say.
type Progress struct {
	// Members are the versions of the etcd that last answered on the data of each voter.
	Members []Version
	// Begins is the version of the etcd that wrote what a cluster without members begins with; zero where it begins
	// empty.
	Begins Version
	// Cluster is the cluster version that members agreed on, of which the patch says nothing; zero when it is not
	// known. It moves up once every member runs the higher minor, and down when a downgrade is enabled
	// (etcd-io/etcd:server/etcdserver/version/monitor.go).
	Cluster Version
	// Storage is the lowest version of the format that any member's data is in; zero when it is not known. Members of
	// 3.5 do not say it (etcd-io/etcd:server/storage/schema/schema.go).
	Storage Version
	// Uneven: members do not say the same of the cluster version, or of the format of their data.
	Uneven bool
	// Downgrade is the minor to which a downgrade is enabled; zero when none is.
	Downgrade Version
	// Blind: nothing says who is a member. Then no member goes to another minor, and what else changed of its settings
	// is all that it may take.
	Blind bool
	// Held: something has to be put right before members leave the minor that they run. What was begun goes on.
	Held bool
	// Late: no Pod changed for longer than etcd takes to move the cluster version.
	Late bool
	// Covered: what etcd 3.5 wrote lies behind a snapshot of raft's state on every voter.
	Covered bool
	// Saved: the etcd that each voter runs wrote a snapshot of raft's state to a file since it started.
	Saved bool
}

// Need is what has to be done, or waited for, before a cluster leaves a stop.
type Need string

// The needs.
const (
	NeedNothing     Need = ""
	NeedCluster     Need = "ClusterVersion" // that etcd moves the cluster version to the members' minor
	NeedStorage     Need = "StorageVersion" // that every member moves the format of its data
	NeedCover       Need = "CoverLog"       // that what 3.5 wrote goes behind a snapshot, since 3.7 cannot read it
	NeedSave        Need = "SaveLog"        // that a snapshot in a file covers what 3.6 cannot read, on the way down
	NeedDowngrade   Need = "Downgrade"      // that a downgrade is enabled
	NeedNoDowngrade Need = "NoDowngrade"    // that a downgrade ends, or is cancelled where it leads elsewhere
)

// CountsSnapshots reports a need that is met by snapshots that members write.
func (n Need) CountsSnapshots() bool { return n == NeedCover || n == NeedSave }

// Stop is the next stop of a cluster.
type Stop struct {
	Version Version
	Needs   Need // what keeps the cluster at it; NeedNothing while members are still brought to it, and at the target
}

// Path are the versions that members have yet to run on their way to the target, the next one first: none once all of
// them run it, and as far as etcd supports the steps.
func Path(at Progress, target Version) []Version {
	var path []Version
	for range 2 * len(knownMinors) {
		stop, err := NextStop(at, target)
		if err != nil || len(at.Members) == 0 {
			return path
		}
		if slices.ContainsFunc(at.Members, func(v Version) bool { return v != stop.Version }) {
			path = append(path, stop.Version)
		}
		if stop.Version == target {
			return path
		}
		at = arrived(stop.Version, target)
	}
	return path
}

// arrived is a cluster that runs one version, and of which nothing is left to be done before it goes on to a target.
func arrived(at, target Version) Progress {
	minor := release(at.Major, at.Minor, 0)
	done := Progress{Members: []Version{at}, Cluster: minor, Storage: minor, Covered: true, Saved: true}
	if target.Minor < at.Minor {
		lower := release(at.Major, at.Minor-1, 0)
		done.Cluster, done.Storage, done.Downgrade = lower, lower, lower
	}
	return done
}

// minorFloor is the least patch of a minor for something, and where that is said.
type minorFloor struct {
	version Version
	source  string
}

// leaveFrom are the least patches from which a minor may be left for the next one.
var leaveFrom = []minorFloor{
	{release(3, 5, 32), "etcd-io/website:content/en/docs/v3.6/upgrades/upgrade_3_6.md"},
	{release(3, 6, 11), "etcd-io/website:content/en/docs/v3.7/upgrades/upgrade_3_7.md"},
	// a member that comes back finds no snapshot in a file, and 3.7.1 reads its log from there
	{release(3, 7, 2), "etcd-io/etcd#22201"},
}

// NextStop names the version that the members of a cluster are to run next on the way to the target. Without members
// that is the target, or the minor that wrote what the cluster begins with. It is an error when the members are so far
// apart that etcd supports no step, or when a minor on the way is not known.
func NextStop(at Progress, target Version) (Stop, error) {
	if len(at.Members) == 0 {
		return at.begin(target)
	}
	low, high := slices.MinFunc(at.Members, Version.Compare), slices.MaxFunc(at.Members, Version.Compare)
	switch {
	case low.Major != target.Major || high.Major != target.Major:
		return Stop{}, fmt.Errorf("members run %s, and no etcd goes from there to %s", high, target)
	case high.Minor-low.Minor > 1:
		return meet(low, high, target)
	case low.Minor != high.Minor:
		return at.mixed(low, high, target)
	case target.SameMinor(high):
		return Stop{Version: target, Needs: at.unmoved(target)}, nil
	case at.Blind, at.Held && at.Downgrade.IsZero():
		return Stop{Version: high}, nil
	case target.Minor > low.Minor:
		return at.up(low, high, target)
	}
	return at.down(high, target)
}

// begin is the stop of a cluster without members.
func (at Progress) begin(target Version) (Stop, error) {
	if _, isKnown := findMinor(at.Begins); !isKnown {
		return Stop{Version: target}, nil
	}
	return enter(at.Begins, target)
}

// WhyNotBegin says why a cluster that is to run a version cannot begin with a backup that was taken from another one,
// or "". It begins with the minor that wrote it, and goes up from there. It could go down as well: but who asks for a
// version and a backup of a newer one has one of them wrong.
func WhyNotBegin(wrote, target Version) string {
	_, isKnown := findMinor(wrote)
	switch {
	case wrote.SameMinor(target):
		return ""
	case wrote.Compare(target) > 0:
		return fmt.Sprintf("etcd %s wrote it, and %s is older", wrote, target)
	case wrote.Major != target.Major || !isKnown:
		return fmt.Sprintf("etcd %s wrote it, and this operator knows no way from there to %s", wrote, target)
	}
	return ""
}

// meet is the stop of members that a wrong image took two minors apart: etcd of the minor between starts on both.
func meet(low, high, target Version) (Stop, error) {
	if high.Minor-low.Minor > 2 || !mayLeave(low) {
		return Stop{}, fmt.Errorf("members run %s and %s, which are more than one minor apart", low, high)
	}
	return enter(release(low.Major, low.Minor+1, 0), target)
}

// mixed is the stop of members of two minors: the higher one where that leads to the target, else the lower one. A
// downgrade that the target does not ask for any more is cancelled on the way.
func (at Progress) mixed(low, high, target Version) (stop Stop, err error) {
	switch {
	case target.SameMinor(low):
		stop = Stop{Version: target}
	case target.Minor < low.Minor:
		stop = Stop{Version: low}
	case !mayLeave(low): // one that went down too far to go up again at once: the others come back for it
		stop, err = enter(low, target)
	case target.SameMinor(high):
		stop = Stop{Version: target}
	default:
		stop, err = passThrough(high, target)
	}
	if !at.Downgrade.IsZero() && compareMinors(at.Downgrade, target) < 0 {
		stop.Needs = NeedNoDowngrade
	}
	return stop, err
}

// FirstBlind is the first minor that cannot read what 3.5 wrote to raft's log: it fails on kinds of entries that it
// does not know (etcd-io/etcd:server/etcdserver/apply/apply.go).
var FirstBlind = release(3, 7, 0)

// lastFiled is the last minor that starts from a snapshot in a file. What lies past it in raft's log must not have
// raised the cluster version above that minor: etcd panics on it (etcd-io/etcd:server/etcdserver/version/downgrade.go).
// Where the cluster version goes down, 3.7 writes such a file at once. 3.8 writes none (etcd-io/etcd#22263).
var lastFiled = release(3, 6, 0)

// up is the next stop of members of one minor below that of the target.
func (at Progress) up(low, high, target Version) (Stop, error) {
	if !mayLeave(low) {
		return passThrough(high, target)
	}
	if need := at.unmoved(high); need != NeedNothing {
		return Stop{Version: high, Needs: need}, nil
	}
	next := release(high.Major, high.Minor+1, 0)
	if next.SameMinor(FirstBlind) && !at.Covered {
		return Stop{Version: high, Needs: NeedCover}, nil
	}
	return enter(next, target)
}

// mayLeave reports whether members of this version may go to the next minor.
func mayLeave(v Version) bool {
	return !slices.ContainsFunc(leaveFrom, func(least minorFloor) bool {
		return v.SameMinor(least.version) && !v.AtLeast(least.version)
	})
}

// passThrough is the version of a minor that members only pass through on their way up, where some run this one. Any
// patch that may be left will do: a newer operator, with a newer waypoint, restarts no member for it.
func passThrough(entered, target Version) (Stop, error) {
	if mayLeave(entered) {
		return Stop{Version: entered}, nil
	}
	return enter(entered, target)
}

// down is the next stop of members of one minor above that of the target.
func (at Progress) down(high, target Version) (Stop, error) {
	next := release(high.Major, high.Minor-1, 0)
	switch {
	case at.Late && !at.Uneven && at.Downgrade.IsZero() && at.Cluster.SameMinor(next):
		return enter(next, target) // all say that etcd did not move the cluster version: the lower minor still starts
	case !at.Downgrade.SameMinor(next):
		if need := at.unmoved(high); need != NeedNothing {
			return Stop{Version: high, Needs: need}, nil
		}
		return Stop{Version: high, Needs: NeedDowngrade}, nil
	case !at.Cluster.SameMinor(next):
		return Stop{Version: high, Needs: NeedCluster}, nil
	case !at.Storage.SameMinor(next), at.Uneven:
		return Stop{Version: high, Needs: NeedStorage}, nil
	case next == lastFiled && !at.Saved:
		return Stop{Version: high, Needs: NeedSave}, nil
	}
	return enter(next, target)
}

// unmoved is what members that all run one minor have yet to do before they leave it.
func (at Progress) unmoved(members Version) Need {
	switch {
	case !at.Downgrade.IsZero():
		return NeedNoDowngrade
	case !at.Cluster.SameMinor(members):
		return NeedCluster
	case members.Minor >= 6 && !at.Storage.SameMinor(members):
		return NeedStorage
	}
	return NeedNothing
}

// enter is the version of this minor at which members enter it: the target where it is of that minor, else the
// waypoint.
func enter(minor, target Version) (Stop, error) {
	if minor.SameMinor(target) {
		return Stop{Version: target}, nil
	}
	known, isKnown := findMinor(minor)
	if !isKnown {
		return Stop{}, fmt.Errorf("the way to %s leads through etcd %s, which this operator does not know", target,
			minor.MinorString())
	}
	return Stop{Version: known.waypoint}, nil
}

// WhyNotOn says why etcd of this version must not start on data on which another version last answered, in a cluster
// whose version was last seen to be that, or "". A zero cluster version is not known, and counts as that of the data.
//
// etcd refuses to start below the cluster version, and to read a newer format. It does not refuse to skip a minor, and
// fails on what it reads then (etcd-io/etcd:server/etcdserver/version/downgrade.go). Nor does it refuse a higher minor
// on what a patch wrote that must not be left.
func WhyNotOn(start, wrote, cluster Version) string {
	if cluster.IsZero() {
		cluster = wrote
	}
	lowest := slices.MinFunc([]Version{wrote, cluster}, compareMinors)
	switch {
	case start.Major != wrote.Major:
		return fmt.Sprintf("etcd %s wrote it, and nothing says that %s may start on it", wrote, start)
	case start.Minor-lowest.Minor > 1:
		return fmt.Sprintf("etcd %s wrote it, in a cluster of version %s, and %s would skip a minor", wrote,
			cluster.MinorString(), start)
	case compareMinors(start, wrote) > 0 && !mayLeave(wrote):
		return fmt.Sprintf("etcd %s wrote it, and only a later patch of %s may be left for %s", wrote,
			wrote.MinorString(), start)
	case compareMinors(start, cluster) < 0:
		return fmt.Sprintf("the cluster is of version %s, and %s is older", cluster.MinorString(), start)
	case wrote.Minor-start.Minor > 1:
		return fmt.Sprintf("etcd %s wrote it, and %s would skip a minor", wrote, start)
	}
	return ""
}

func compareMinors(v, w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor))
}
