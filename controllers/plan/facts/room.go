package facts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// RoomPercent is how full a database may be. etcd refuses writes at its quota, and raises an alarm that was disarmed
// again.
const RoomPercent = 80

// Crowded are the members whose data would have too little room with these settings, and less than it has. While no
// member answers that is not known, and no quota is lowered.
func (o Incarnation) Crowded(c Settings) []Replica {
	if !o.IsAlive() {
		return nil // it stores nothing yet
	}
	return Filter(o.Members, func(r Replica) bool {
		return r.IsOverQuota(c) || r.IsOverMemory(c) ||
			c.QuotaBytes < r.RunsWith().QuotaBytes && !o.isAnyAnswering()
	})
}

func (o Incarnation) isAnyAnswering() bool {
	return slices.ContainsFunc(o.Members, func(r Replica) bool { return r.Answer != nil })
}

// IsOverQuota reports a database that has room and would have none with the quota of these settings. What counts
// against it is the size of the file (etcd-io/etcd:server/storage/quota.go).
func (r Replica) IsOverQuota(c Settings) bool {
	return c.QuotaBytes < r.RunsWith().QuotaBytes && r.fills(c.QuotaBytes)
}

// IsOverMemory reports a database of which more is in use than the memory limit of these settings, while the process
// has more, or no limit. The kernel takes back what etcd does not use of the file.
func (r Replica) IsOverMemory(c Settings) bool {
	has := r.RunsWith()
	isLess := c.MemoryBytes > 0 && (has.MemoryBytes == 0 && !has.IsZero() || c.MemoryBytes < has.MemoryBytes)
	return isLess && r.Answer != nil && r.Answer.DBSizeInUse >= c.MemoryBytes
}

// fills reports a database that leaves too little of a quota. A silent member does not say so.
func (r Replica) fills(quotaBytes int64) bool {
	return r.Answer != nil && r.Answer.DBSize*100 >= quotaBytes*RoomPercent
}

// Fullest names the database that takes most of its quota, and says how large it is. One member answers at least.
func (o Incarnation) Fullest() string {
	var fullest Replica
	for _, r := range o.Members {
		if r.Member != nil && r.Answer != nil && (fullest.Answer == nil || r.filled() > fullest.filled()) {
			fullest = r
		}
	}
	return fmt.Sprintf("database of %s has %s of %dMi", fullest.Name, InMebi(fullest.Answer.DBSize),
		fullest.RunsWith().QuotaBytes>>20)
}

// QuotaNeeded is the least quota with which the largest database has room, in bytes.
func (o Incarnation) QuotaNeeded() int64 { return QuotaFor(o.largestDB()) }

// largestDB is the size of the largest database of a member that answers.
func (o Incarnation) largestDB() int64 {
	var most int64
	for _, r := range o.Members {
		if r.Member != nil && r.Answer != nil {
			most = max(most, r.Answer.DBSize)
		}
	}
	return most
}

// filled is how much of its quota a database takes.
func (r Replica) filled() float64 {
	return float64(r.Answer.DBSize) / float64(max(r.RunsWith().QuotaBytes, 1))
}

// HasRoom reports whether every member answers and is well below the quota that it runs with.
func (o View) HasRoom() bool {
	return o.Membership.Known && !slices.ContainsFunc(o.Members, func(r Replica) bool {
		return r.Member != nil && (r.Answer == nil || r.IsFull())
	})
}

// QuotaIs says what quota members are to have, as a sentence begins.
func (d Desired) QuotaIs() string {
	if d.GrownFrom == 0 {
		return "spec.etcd.quotaBackendBytes is " + FormatBytes(d.Settings.QuotaBytes)
	}
	return fmt.Sprintf("The quota has grown from %s to %s by spec.maintenance.autoGrow",
		FormatBytes(d.GrownFrom), FormatBytes(d.Settings.QuotaBytes))
}

// WhyNoRoom says why data that members are to begin with would have too little room with these settings, and what would
// be enough; empty where it has room, or where its size is not known.
func (d Desired) WhyNoRoom(origin record.Origin) string {
	return d.whyNoRoom("The backup", origin.SizeBytes, origin.InUseBytes)
}

// HasRoomFor reports settings with which that data has room.
func (c Settings) HasRoomFor(origin record.Origin) bool {
	return Desired{Settings: c}.WhyNoRoom(origin) == ""
}

// WhyNoRoomFor says the same of what a survivor stores, with the settings of the spec.
func (o View) WhyNoRoomFor(survivor Replica) string {
	d, has := o.Desired, survivor.Answer
	if _, isCrowded := Find(o.Crowded(d.Settings), survivor.Name); !isCrowded {
		return ""
	}
	if has == nil {
		return fmt.Sprintf("%s, less than %s has, and nothing says how much it stores. Put it back", d.QuotaIs(),
			survivor.Name)
	}
	return d.whyNoRoom("The database of "+survivor.Name, has.DBSize, has.DBSizeInUse)
}

func (d Desired) whyNoRoom(what string, size, inUse int64) string {
	switch c := d.Settings; {
	case c.QuotaBytes > 0 && size*100 >= c.QuotaBytes*RoomPercent:
		return fmt.Sprintf("%s. %s has %s, and may take %d %% of it. Raise the quota to at least %s", d.QuotaIs(), what,
			InMebi(size), RoomPercent, InMebi(QuotaFor(size)))
	case c.MemoryBytes > 0 && inUse >= c.MemoryBytes:
		return fmt.Sprintf("spec.pod.resources.limits.memory is %s. %s has %s, of which %s are in use. Ask for more "+
			"than %s", FormatBytes(c.MemoryBytes), what, InMebi(size), InMebi(inUse), InMebi(inUse))
	}
	return ""
}

// QuotaFor is the least quota in whole Mi that a database leaves room in. As a reader does, it counts from the size
// that InMebi prints.
func QuotaFor(size int64) int64 { return ((size+1<<20-1)>>20*100/RoomPercent + 1) << 20 }

// InMebi prints a size in whole Mi, rounded up.
func InMebi(bytes int64) string { return fmt.Sprintf("%dMi", (bytes+1<<20-1)>>20) }

// FormatBytes prints a size the way it is written in a spec, where it is a whole number of Gi or Mi.
func FormatBytes(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d%s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprint(n)
}

// How far revisions have come, and how far above that the next incarnation begins.

const (
	// roomToBegin is left above all that was served when an incarnation is prepared. The members that there are serve
	// on until the switch-over, and after it for as long as they are not stopped. 10000 writes a second take 14 hours.
	roomToBegin = record.DefaultBump / 2
	// roomToSwitch is what must be left of it at the switch-over.
	roomToSwitch = record.DefaultBump / 10
)

// Recorded is the highest revision that volumes say was served, of this incarnation and of those that ended. They
// outlive the bootstrap record.
func (o View) Recorded() int64 {
	var highest int64
	for _, r := range o.EveryReplica() {
		highest = max(highest, r.Record().Began)
	}
	return highest
}

// Served is the highest revision that the cluster is known to have served: by its records, and by what members say.
func (o View) Served() int64 {
	highest := max(o.Bootstrap.BeganAt(), o.Recorded())
	for _, r := range o.Members {
		if o.hasSaidRevision(r) {
			highest = max(highest, r.Answer.Revision)
		}
	}
	if o.Proven != nil { // a backup holds what was served
		highest = max(highest, o.Proven.Revision)
	}
	return min(highest, record.LastRevision)
}

func (o View) hasSaidRevision(r Replica) bool {
	return r.Answer != nil && (o.Bootstrap.ClusterID == 0 || r.Answer.ClusterID == o.Bootstrap.ClusterID)
}

// toClear is what the next incarnation must begin above. Where no quorum says how far it is, it may have gone as far
// since its beginning as a restore raises revisions.
func (o View) toClear() int64 {
	if !o.HasQuorum() {
		return o.Served() + record.DefaultBump + roomToBegin
	}
	return o.Served() + roomToBegin
}

// BumpFor is by how much revisions are raised for the next incarnation where the operator may choose. It is a whole
// number of billions, and so the same in two looks between which clients write.
func (o View) BumpFor(n record.Next) int64 {
	n.Bump = record.DefaultBump
	if lacking := o.toClear() - o.Bootstrap.BeginsAt(n); lacking > 0 {
		n.Bump += (lacking + record.DefaultBump - 1) / record.DefaultBump * record.DefaultBump
	}
	return n.Bump
}

// MayBegin reports whether the next incarnation begins so far above all that was served that it may be prepared.
func (o View) MayBegin(n record.Next) bool {
	if n.Source == record.SourceEmpty { // it begins at 1, whatever it is raised by
		return true
	}
	at := o.Bootstrap.BeginsAt(n)
	return at >= o.toClear() && at <= record.LastRevision
}

// IsStillAbove reports whether the next incarnation, which was prepared a while ago, begins above all that was served
// by now.
func (o View) IsStillAbove(n record.Next) bool {
	return n.Source == record.SourceEmpty || o.Bootstrap.BeginsAt(n) >= o.Served()+roomToSwitch
}

// Resumed are the volumes of an earlier cluster from which it is resumed.
func (o Observation) Resumed() []Retained {
	return Filter(o.Retained, func(v Retained) bool { return !v.Record.IsZero() && v.Superseded == "" })
}

// GoesBackFrom is the incarnation that served clients, at higher revisions, after the one that is resumed. It is ""
// where there is none, and where each volume of the resumed one says that a person knows it.
func (o Observation) GoesBackFrom() string {
	resumed, last := o.Resumed(), Retained{}
	for _, v := range o.Retained {
		if !v.Record.IsZero() && v.Superseded != "" && (last.Name == "" || v.counter() > last.counter()) {
			last = v
		}
	}
	isEarlier := func(v Retained) bool { return v.counter() < last.counter() && v.GoesBackFrom != last.Incarnation }
	if last.Name == "" || !slices.ContainsFunc(resumed, isEarlier) {
		return ""
	}
	return last.Incarnation
}

// counter is how many incarnations its cluster had begun before that of the volume; -1 where an even earlier cluster of
// the name had begun it.
func (r Retained) counter() int { return slices.Index(incarnationsOf(r.Owner), r.Incarnation) }

// What etcd 3.5 wrote to raft's log is covered once every member with data wrote a snapshot of raft's state past it.
// etcd 3.7 cannot read it, and reads all that no snapshot covers. See docs/decisions/0021.

// logMargin is how many entries each member applies past its mark. A leader keeps 5,000 of those that its snapshot
// covers, for members that lag (etcd-io/etcd:server/etcdserver/server.go DefaultSnapshotCatchUpEntries).
const logMargin = 5_200

// NextLogMark is the mark to write beside a member's data: the one that stands there, or a new one where the Pods are
// others by now, or where the member's process is.
func (o Incarnation) NextLogMark(r Replica) record.LogMark {
	pods, written := o.pods(), r.Record().LogMark
	switch {
	case pods == "" || !r.IsHealthy(o.Membership) || r.Answer.Snapshots == nil:
		return written
	case written.Pods == pods && written.Snapshots <= *r.Answer.Snapshots:
		return written
	}
	return record.LogMark{Pods: pods, Snapshots: *r.Answer.Snapshots, Applied: r.Answer.Applied}
}

// IsLogCovered reports whether each member with data passed the mark that was written down under the Pods that there
// are. What a new member gets is covered then as well.
func (o Incarnation) IsLogCovered() bool {
	isNot := func(r Replica) bool { return !o.hasCovered(r) }
	return o.pods() != "" && !slices.ContainsFunc(o.withLog(), isNot)
}

func (o Incarnation) hasCovered(r Replica) bool {
	mark := r.Record().LogMark
	return r.IsHealthy(o.Membership) && r.Answer.Snapshots != nil && mark.Pods == o.pods() &&
		mark.IsPassed(*r.Answer.Snapshots, r.Answer.Applied, logMargin)
}

// IsLogSaved reports whether the etcd of each member with data wrote a snapshot of raft's state since it started. On
// the way down that covers what raised the cluster version: etcd writes one as that goes down, and one that started
// later has nothing higher to write. See docs/decisions/0061.
func (o Incarnation) IsLogSaved() bool {
	isNot := func(r Replica) bool {
		return !r.IsHealthy(o.Membership) || r.Answer.Snapshots == nil || *r.Answer.Snapshots == 0
	}
	return o.Membership.Known && !slices.ContainsFunc(o.withLog(), isNot)
}

// MayMarkLog reports whether nothing that runs can still write what etcd 3.7 cannot read: each member with data answers
// as 3.6 or higher, in a cluster of that version.
func (o Incarnation) MayMarkLog() bool {
	const least = 6
	return o.pods() != "" && !slices.ContainsFunc(o.withLog(), func(r Replica) bool {
		return !r.IsHealthy(o.Membership) || r.Answer.Version.Minor < least || r.Answer.Versions.Cluster.Minor < least
	})
}

// withLog are the members that have a log: voters, and learners that answered.
func (o Incarnation) withLog() []Replica {
	return Filter(o.Members, func(r Replica) bool { return r.IsVoter() || r.IsLearner() && r.IsRecorded() })
}

// pods are the UIDs of their Pods, in order; empty where one has none, or the list is not known.
func (o Incarnation) pods() string {
	var uids []string
	for _, r := range o.withLog() {
		if r.Pod == nil {
			return ""
		}
		uids = append(uids, r.Pod.UID)
	}
	slices.Sort(uids)
	return strings.Join(uids, ",")
}
