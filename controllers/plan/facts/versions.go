package facts

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Versions of members and of their cluster, from which the next stop on the way to another version follows.

// Progress is where the cluster is on its way, by what its members say, and of those that are silent by what is written
// down. While no list is known, every recorded member counts, and every first one that started.
func (o Incarnation) Progress() etcdutil.Progress {
	at := etcdutil.Progress{Blind: !o.Membership.Known, Begins: o.Bootstrap.Origin.Version, Covered: o.IsLogCovered(),
		Saved: o.IsLogSaved()}
	isFirst := true
	for _, r := range o.Members {
		versions, says := o.mayRun(r), r.Versions()
		if len(versions) == 0 || o.Membership.Known && r.Member == nil {
			continue
		}
		at.Members = append(at.Members, versions...)
		at.Uneven = at.Uneven || !isFirst && (at.Cluster != says.Cluster || at.Storage != says.Storage)
		at.Cluster = lower(at.Cluster, says.Cluster, isFirst)
		at.Storage = lower(at.Storage, says.Storage, isFirst)
		if at.Downgrade.IsZero() {
			at.Downgrade = says.Downgrade
		}
		isFirst = false
	}
	return at
}

// ProgressAt is Progress, and whether etcd should have moved the cluster version by this time.
func (o Incarnation) ProgressAt(now time.Time) etcdutil.Progress {
	at := o.Progress()
	at.Late = now.Sub(o.LastPodChange()) > StartDeadline
	return at
}

// mayRun are the versions that may have written the member's data: the one that last answered, and that of a silent
// member's volume where etcd may have started with it. A first member of which nothing is written down may have run
// what its Pod says. Where etcd calls itself too old for the data, the next minor ran on it.
func (o Incarnation) mayRun(r Replica) []etcdutil.Version {
	wrote := o.lastRan(r)
	asked := r.Settings()
	switch {
	case wrote.IsZero() && o.Membership.Known:
		return nil
	case wrote.IsZero():
		return r.startedWith()
	case r.IsOutrun():
		return []etcdutil.Version{wrote, r.NextMinor()}
	case r.Answer == nil && !asked.IsZero() && asked.Version != wrote && o.WhyNotOnData(r, asked.Version) == "":
		return []etcdutil.Version{wrote, asked.Version}
	}
	return []etcdutil.Version{wrote}
}

// startedWith is the version of the Pod that was started, if one was.
func (r Replica) startedWith() []etcdutil.Version {
	if r.Pod == nil || !r.Pod.Started || r.Pod.Settings.IsZero() {
		return nil
	}
	return []etcdutil.Version{r.Pod.Settings.Version}
}

// IsOutrun reports a member whose etcd, of the minor that is written down, ended because it is too old for the data.
// The next minor ran on it then, and was not heard: of an only member it raised the cluster version by itself.
func (r Replica) IsOutrun() bool {
	return r.EndedTooOld() && r.Pod.Settings.Version.SameMinor(r.Record().Version)
}

// EndedTooOld reports a member whose etcd ended because it is older than its data or its cluster allows.
func (r Replica) EndedTooOld() bool {
	return r.Answer == nil && r.Pod != nil && r.Pod.Exit != nil && r.Pod.Exit.Reason == etcdutil.ExitVersionTooLow
}

// NextMinor is the minor above the one that is written down.
func (r Replica) NextMinor() etcdutil.Version {
	wrote := r.Record().Version
	return etcdutil.Version{Major: wrote.Major, Minor: wrote.Minor + 1}
}

// RanAtMost is the highest version that may have written the member's data.
func (o Incarnation) RanAtMost(r Replica) etcdutil.Version {
	var highest etcdutil.Version
	for _, v := range o.mayRun(r) {
		if v.Compare(highest) > 0 {
			highest = v
		}
	}
	return highest
}

// lastRan is the version that last wrote the member's data: a silent one ran the version of its cluster, where that is
// higher than what is written down.
func (o Incarnation) lastRan(r Replica) etcdutil.Version {
	wrote, cluster := r.wrote(), o.ClusterVersion()
	if r.Answer != nil || wrote.IsZero() || cluster.SameMinor(wrote) || cluster.Compare(wrote) < 0 {
		return wrote
	}
	return cluster
}

// lower is the lower of two versions, or zero where one of them is not known.
func lower(a, b etcdutil.Version, isFirst bool) etcdutil.Version {
	switch {
	case isFirst:
		return b
	case a.IsZero() || b.IsZero():
		return etcdutil.Version{}
	case b.Compare(a) < 0:
		return b
	}
	return a
}

// wrote is the version of the etcd that last answered on the member's data.
func (r Replica) wrote() etcdutil.Version {
	if r.Answer != nil && !r.Answer.Version.IsZero() {
		return r.Answer.Version
	}
	return r.Record().Version
}

// Versions is what the member says of them, or what is written down.
func (r Replica) Versions() Versions {
	if r.Answer == nil {
		return Versions{Cluster: r.Record().ClusterVersion}
	}
	says := r.Answer.Versions
	if says.Cluster.IsZero() {
		says.Cluster = r.Record().ClusterVersion
	}
	return says
}

// ClusterVersion is the version that the members last agreed on, as far as it was seen; zero when none said one. All of
// them are bound by it, also one whose own record lags: etcd raises it once every voter has run that minor on its data,
// and lowers it for a downgrade. What was seen at the highest index of raft counts, and of equals the higher version.
func (o Incarnation) ClusterVersion() etcdutil.Version {
	var last etcdutil.Version
	var lastAt uint64
	see := func(v etcdutil.Version, at uint64) {
		if !v.IsZero() && (at > lastAt || at == lastAt && v.Compare(last) > 0) {
			last, lastAt = v, at
		}
	}
	for _, r := range o.Members {
		see(r.Record().ClusterVersion, r.Record().ClusterVersionAt)
		if o.IsAnsweringFor(r) {
			see(r.Answer.Versions.Cluster, r.Answer.Applied)
		}
	}
	return last
}

// VersionChangedAt is the highest index of raft at which another cluster version than this is written down.
func (o Incarnation) VersionChangedAt(version etcdutil.Version) (at uint64) {
	for _, r := range o.Members {
		if written := r.Record(); written.ClusterVersion != version {
			at = max(at, written.ClusterVersionAt)
		}
	}
	return at
}

// HasBegun reports a version that was begun: its minor ran on the data of a recorded member, or its volume asks for it.
// A roll wrote that while all others served. Or etcd said as it ended that it ran on the data. A higher one is begun as
// well where the cluster was seen to be of it, since every voter ran it then; a lower one where another member ran it.
func (o Incarnation) HasBegun(r Replica, version etcdutil.Version) bool {
	ran := func(other Replica) bool { return version.SameMinor(other.Record().Version) }
	switch {
	case ran(r), version.SameMinor(r.Settings().Version), r.IsOutrun() && version.SameMinor(r.NextMinor()):
		return true
	case version.Compare(r.Record().Version) > 0:
		return version.SameMinor(o.ClusterVersion())
	}
	return slices.ContainsFunc(o.Members, ran)
}

// WhyNotOnData says why etcd of this version must not start on the member's data, or "".
func (o Incarnation) WhyNotOnData(r Replica, version etcdutil.Version) string {
	return etcdutil.WhyNotOn(version, r.Record().Version, o.ClusterVersion())
}

// WhyNotStart says why a Pod that is made from these settings must not start on the member's data, or "". It starts
// with another minor only where a roll wrote that on its volume.
func (o Incarnation) WhyNotStart(r Replica, c Settings) string {
	if why := o.WhyNotOnData(r, c.Version); why != "" {
		return why
	}
	wrote := r.Record().Version
	if !c.Version.SameMinor(wrote) && c != r.Settings() {
		return fmt.Sprintf("etcd %s wrote it, and its volume does not ask for %s", wrote, c.Version)
	}
	return ""
}

// Hold is what keeps members at the minor version that they run.
type Hold struct {
	Why    string // what has to be put right; empty for nothing
	Passes bool   // it ends by itself
	Member string // whom it waits for, or ""
}

// snapshotAtMost is how many entries are added to raft's log, at most, so that etcd writes a snapshot.
const snapshotAtMost = 100_000

// WhyStay says what has to be put right before members leave the minor version that they run.
func (o Incarnation) WhyStay(d Desired, schedules []Schedule) Hold {
	if raised := o.Raised(); len(raised) > 0 {
		return Hold{Why: fmt.Sprintf("etcd raised %s. %s", raised[0].Name, o.RemedyOf(raised[0], d))}
	}
	for _, r := range o.Voters() {
		if hold := o.whyVoterStays(r, d.Settings.QuotaBytes); hold.Why != "" {
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
	return o.whoIsToVote(d)
}

// whoIsToVote says which member has no vote yet, or moves first. Ephemeral members are succeeded at each stop.
func (o Incarnation) whoIsToVote(d Desired) Hold {
	isFleeting := func(r Replica) bool { return r.Ephemeral && r.Storage == d.Storage }
	for _, r := range o.Learners() {
		if !isFleeting(r) {
			return Hold{Why: r.Name + " has no vote yet", Passes: true, Member: r.Name}
		}
	}
	for _, r := range o.Voters() {
		if why := r.WhyNotInPlace(d); why != "" && !isFleeting(r) {
			return Hold{Why: fmt.Sprintf("%s gets a successor (%s)", r.Name, why), Passes: true}
		}
	}
	return Hold{}
}

// whyVoterStays says what has to be put right of one voter. One that was told to run another version is restarted for
// that, and what was begun goes on.
func (o Incarnation) whyVoterStays(r Replica, quotaBytes int64) Hold {
	isTold := r.Settings().Version != r.Record().Version
	switch hold := r.roomOf(quotaBytes); {
	case hold.Why != "":
		return hold
	case isTold || o.IsServing(r):
		return Hold{}
	case r.Answer == nil && r.Pod != nil && AwaitsImage(r.Pod.Waiting):
		return Hold{Why: fmt.Sprintf("%s cannot pull its image (%s)", r.Name, r.Pod.Waiting), Passes: true,
			Member: r.Name}
	case r.Answer == nil && r.Pod != nil && StartReason(r.Pod.Waiting) != "":
		return Hold{Why: fmt.Sprintf("%s cannot start (%s)", r.Name, r.Pod.Waiting), Passes: true, Member: r.Name}
	case r.Answer == nil:
		return Hold{Why: r.Name + " does not answer", Passes: true, Member: r.Name}
	}
	return Hold{Why: r.Name + " is not ready, or has not caught up", Passes: true, Member: r.Name}
}

// roomOf says what the member's database nearly fills. A silent one does not say so, and a volume that grows may not
// say how large it is.
func (r Replica) roomOf(quotaBytes int64) Hold {
	if r.Answer == nil {
		return Hold{}
	}
	size, room := r.Answer.DBSize, int64(0)
	if r.Volume != nil {
		room = r.Volume.Room()
	}
	switch {
	case quotaBytes > 0 && r.fills(quotaBytes):
		return Hold{Why: fmt.Sprintf("the database of %s takes %d %% of its quota, and %d %% are too much. "+
			"Raise spec.etcd.quotaBackendBytes, or compact and defragment", r.Name, size*100/quotaBytes, RoomPercent)}
	case room > 0 && size*100 >= room*RoomPercent:
		return Hold{Why: fmt.Sprintf("the database of %s takes %d %% of its volume, and %d %% are too much. Compact "+
			"and defragment", r.Name, size*100/room, RoomPercent)}
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
