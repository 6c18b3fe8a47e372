package facts

import (
	"fmt"
	"slices"
	"time"
)

// etcd keeps the space that deleted keys and old revisions took in its file, which counts against the quota.
// Defragmentation writes the file anew without it. Its member answers nothing meanwhile, for longer than a pass may
// last, so a Pod of the agent asks for it, and each look sees that the member is busy: docs/decisions/0043.

// Upkeep says when members are to be defragmented, beside where that disarms an alarm.
type Upkeep struct {
	Asked       time.Time     // by a person, with an annotation; zero for never
	Scheduled   time.Time     // the newest time of the schedule in the spec; zero where it names none
	Next        time.Time     // the first time of it to come; zero where there is none
	Fault       string        // why the schedule cannot be read, as a sentence; empty where it can
	Compacts    bool          // history, where space ran out
	KeepHistory time.Duration // how much of it stays then
	Reclaimable int64         // from this share of the file on, in percent; zero for none
}

// ScheduledFor is how long after a time of the schedule members may begin to be defragmented.
const ScheduledFor = 2 * time.Hour

// AwaitsSchedule reports a member that is still to begin for a time of the schedule, or that none is known.
func (o Observation) AwaitsSchedule() bool {
	at := o.Desired.Upkeep.Scheduled
	_, isBusy := o.Busy()
	return !at.IsZero() && (!o.Current.Membership.Known && !isBusy || o.isLeft(at))
}

// isLeft reports a member that is still to begin for what was asked at a time.
func (o Observation) isLeft(at time.Time) bool {
	return slices.ContainsFunc(o.Current.Voters(), func(r Replica) bool {
		p := r.Defragmenting
		isBegun := p != nil && !p.Created.Before(at) && !p.HasFailed() && !p.NeverRan(o.Now)
		return r.Answer != nil && r.WouldGive(r.Answer.DBSizeInUse) > 0 && !isBegun
	})
}

// HasDefragmentedAll reports that no member is at it or left of what a person asked for, and that all say so.
func (o Observation) HasDefragmentedAll() bool {
	_, isBusy := o.Busy()
	isSilent := func(r Replica) bool { return r.Answer == nil }
	at := o.Desired.Upkeep.Asked
	return !at.IsZero() && o.Current.Membership.Known && !isBusy && !o.isLeft(at) &&
		!slices.ContainsFunc(o.Current.Voters(), isSilent)
}

// Window says when members that serve may be stopped for the spec: docs/decisions/0044. The zero value is at any time.
type Window struct {
	IsClosed bool
	Until    time.Time // when the one closes that is open; zero while none is
	Next     time.Time // when the next one opens, in the zone of the spec; zero where none is known
}

// Says is when the next window opens, as a part of a sentence.
func (w Window) Says() string {
	return fmt.Sprintf("%s %s", w.Next.Format("Monday 2006-01-02 15:04"), w.Next.Location())
}

// History is what is known of the revisions that members keep.
type History struct {
	Reached int64 // the revision that was reached Upkeep.KeepHistory ago; zero where that is not known
	// IsSteady: what is in use has not fallen for a while, so no compaction is under way, and nothing keeps its room
	IsSteady bool
	// IsRead: the leader sends a snapshot, or is being defragmented. What is compacted counts as in use until that ends
	IsRead bool
	// IsFullSince: an alarm has stood since then. What came after it takes no room: keys were only deleted
	IsFullSince bool
	Compacted   *int64 // the revision that history was compacted to; nil where that was not asked for
}

// DefragPod is the Pod of the agent that has one member defragmented, or had. It stays as the record of that until the
// next one of its member.
type DefragPod struct {
	Task
	Since    time.Time     // when its kubelet took it, or before that when it was created
	Deadline time.Duration // from then on, after which Kubernetes ends it
	Until    int64         // the agent leaves a file of fewer bytes as it is; zero where it was told nothing
	Before   int64         // the size of the file when it began, in bytes; zero while it has not ended well
	After    int64         // the same when it ended well
}

// WasFull reports that it was made of a database that took so much of its quota that etcd may have refused writes.
func (p DefragPod) WasFull(ran Settings) bool { return p.Before*100 >= ran.QuotaBytes*RoomPercent }

// HasHelped reports that the file was small after it, although it may have grown since.
func (p DefragPod) HasHelped() bool { return p.After > 0 && p.After < p.Until }

// kubeletLate is how long a kubelet may take to see a Pod, from when on it counts the Pod's deadline.
const kubeletLate = 30 * time.Second

// Ends is by when the Pod has ended, unless its node is away, or none took it.
func (p DefragPod) Ends() time.Time { return p.Since.Add(p.Deadline + kubeletLate) }

// StartBy is until when the agent in it asks a member, counted from the creation of the Pod.
func (p DefragPod) StartBy() time.Time { return p.Created.Add(p.Deadline) }

// NeverRan reports one that began nothing in its time: no node took it, or it got no image. It stays harmless where it
// begins later, and is the record of that.
func (p DefragPod) NeverRan(now time.Time) bool {
	return !p.Started && (p.HasFailed() || now.After(p.StartBy().Add(kubeletLate)))
}

// HasEnded reports whether it will ask for nothing any more.
func (p DefragPod) HasEnded(now time.Time) bool {
	return p.HasSucceeded() || p.HasFailed() || p.Terminating || p.NeverRan(now)
}

// IsBusy reports a member that may be silent only because it is defragmented. etcd goes on when the Pod that asked for
// it was killed, so that does not end before its deadline (etcd-io/etcd:server/etcdserver/api/v3rpc/maintenance.go).
func (r Replica) IsBusy(now time.Time) bool {
	p := r.Defragmenting
	return p != nil && p.Started && !p.HasSucceeded() && r.Answer == nil && !now.After(p.Ends())
}

// IsDefragmented reports a member that has been defragmented by the Pod that is there. That shows before its kubelet
// tells of the Pod: the file is small, and the agent asks for nothing then.
func (r Replica) IsDefragmented() bool {
	p := r.Defragmenting
	return p != nil && (p.HasSucceeded() || r.Answer != nil && r.Answer.DBSize < p.Until)
}

// Busy is the member whose Pod has it defragmented now, and false where there is none.
func (o Observation) Busy() (Replica, bool) {
	for _, r := range o.Current.Members {
		if r.IsBeingDefragmented(o.Now) {
			return r, true
		}
	}
	return Replica{}, false
}

// IsBeingDefragmented reports a member whose Pod has it defragmented now, or may begin to at any moment.
func (r Replica) IsBeingDefragmented(now time.Time) bool {
	p := r.Defragmenting
	return p != nil && !r.IsDefragmented() && (!p.HasEnded(now) || r.IsBusy(now))
}

// slowDisk is how many bytes a second the slowest disk that etcd can live on reads and writes anew.
const slowDisk = 10 << 20

// DefragDeadline is how long a member may take that uses so many bytes: a Pod's start, and a slow disk.
func DefragDeadline(inUse int64) time.Duration {
	return StartDeadline + time.Duration(inUse/slowDisk)*time.Second
}

// WouldGive is what can be reclaimed of a member, in bytes: a tenth of its file or more, and a mebibyte at least, or
// else nothing.
func (r Replica) WouldGive(inUse int64) int64 {
	const least, tenth = 1 << 20, 10
	if r.Answer == nil {
		return 0
	}
	unused := r.Answer.DBSize - inUse
	if unused < least || unused*tenth < r.Answer.DBSize {
		return 0
	}
	return unused
}

// DefragmentUntil is the size of its file, in bytes, from which on a member need not be defragmented: half of what it
// does not use now has gone then, although it takes writes meanwhile.
func (r Replica) DefragmentUntil(inUse int64) int64 {
	if r.Answer == nil {
		return 0
	}
	return (r.Answer.DBSize + inUse) / 2
}

// HasRoomForCopy reports a volume that takes what is in use a second time, beside the file and the log. Of data in Pods
// nothing says how much room there is.
func (r Replica) HasRoomForCopy() bool {
	const log = 512 << 20
	return r.Volume == nil || r.Volume.Bytes == 0 || r.Answer == nil ||
		r.Answer.DBSize+r.Answer.DBSizeInUse+log <= r.Volume.Room()
}

// IsOutOfSpace reports a cluster of which only that is wrong that a member's database is full of what is in use.
func (o Incarnation) IsOutOfSpace() bool {
	raised := o.Raised()
	isOther := func(a Alarm) bool { return a.Name != AlarmNoSpace }
	return len(raised) > 0 && !slices.ContainsFunc(raised, isOther) &&
		slices.ContainsFunc(o.Voters(), o.FillsByUse)
}

// InUse is what is in use of each member's database: they hold the same. A member that compacted its history says too
// much until it has written twice since, and where space ran out it does not write: so observe has the leader commit
// first. None says too little (etcd-io/bbolt:tx.go FreePageN leaves out pages that may still be read).
func (o Incarnation) InUse() int64 {
	least := int64(-1)
	for _, r := range o.Voters() {
		if r.Answer != nil && (least < 0 || r.Answer.DBSizeInUse < least) {
			least = r.Answer.DBSizeInUse
		}
	}
	return max(0, least)
}

// FillsByUse reports a database that would be full without the room that it does not use, too.
func (o Incarnation) FillsByUse(r Replica) bool {
	return r.Answer != nil && o.InUse()*100 >= r.RunsWith().QuotaBytes*RoomPercent
}

// IsAllCompacted reports that no history is left that takes space. Below a Kubernetes leases end, and delete
// keys, for as long as the alarm stands, so the history is never quite empty.
func (h History) IsAllCompacted(leader Replica) bool {
	if h.Compacted == nil || leader.Answer == nil {
		return false
	}
	return *h.Compacted >= leader.Answer.Revision || h.IsFullSince && *h.Compacted >= h.Reached
}

// QuotaForKeys is the quota with which keys that fill a member leave as much room again, in whole 512 MiB; zero where
// keys do not fill one.
func (o Incarnation) QuotaForKeys(known History, compacts bool) int64 {
	if !o.IsOutOfSpace() || compacts && !(known.IsAllCompacted(o.Leader()) && known.IsSteady) {
		return 0
	}
	const step = 512 << 20
	return (2*o.InUse() + step - 1) / step * step
}

// QuotaWithRoom is the largest quota up to this one that the volumes have room for.
func (o Incarnation) QuotaWithRoom(quota int64) int64 {
	for _, r := range o.Voters() {
		if r.Volume != nil {
			quota = min(quota, (r.Volume.Room()-besideQuota)/2)
		}
	}
	return max(0, quota)
}

// besideQuota is what a volume needs beside a database at its quota and a second file of it, for snapshots.
const besideQuota = 1 << 30

// VolumeFor is the size of a volume that has room for a quota.
func VolumeFor(quota int64) int64 { return 2*quota + besideQuota }

// IsFull reports a database that takes so much of its quota that etcd may refuse writes.
func (r Replica) IsFull() bool { return r.fills(r.RunsWith().QuotaBytes) }
