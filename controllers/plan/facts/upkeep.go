package facts

import "time"

// etcd keeps the room that deleted keys and old revisions took in its file, which counts against the quota.
// Defragmentation writes the file anew without it. Its member answers nothing meanwhile, for longer than a pass may
// last, so a Pod of the agent asks for it, and whoever looks sees that the member is busy: docs/decisions/0043.

// Upkeep says when members are to be defragmented, beside where that takes an alarm back.
type Upkeep struct {
	Asked       time.Time // by a person, with an annotation; zero for never
	Scheduled   time.Time // the newest time of the schedule in the spec; zero where it names none
	Fault       string    // why the schedule cannot be read, as a sentence; empty where it can
	Reclaimable int64     // from this share of the file on, in percent; zero for none
}

// DefragPod is the Pod of the agent that has one member defragmented, or had. It stays as the record of that until the
// next one of its member.
type DefragPod struct {
	Task
	Deadline time.Duration // from when it was created, after which Kubernetes ends it
}

// kubeletLate is how long a kubelet may take to see a Pod, from when on it counts the Pod's deadline.
const kubeletLate = 30 * time.Second

// Ends is by when the Pod has ended, unless its node is away.
func (p DefragPod) Ends() time.Time { return p.Created.Add(p.Deadline + kubeletLate) }

// HasEnded reports whether it will ask for nothing any more.
func (p DefragPod) HasEnded() bool { return p.HasSucceeded() || p.HasFailed() || p.Terminating }

// IsBusy reports a member that may be silent only because it is defragmented. etcd goes on when the Pod that asked for
// it was killed, so that does not end before its deadline (etcd-io/etcd:server/etcdserver/api/v3rpc/maintenance.go).
func (r Replica) IsBusy(now time.Time) bool {
	p := r.Defragmenting
	return p != nil && p.Started && !p.HasSucceeded() && r.Answer == nil && !now.After(p.Ends())
}

// Busy is the member whose Pod has it defragmented now, and false where there is none.
func (o Observation) Busy() (Replica, bool) {
	for _, r := range o.Current.Members {
		if r.Defragmenting != nil && (!r.Defragmenting.HasEnded() || r.IsBusy(o.Now)) {
			return r, true
		}
	}
	return Replica{}, false
}

// slowDisk is how many bytes a second the slowest disk that etcd can live on reads and writes anew.
const slowDisk = 10 << 20

// DefragDeadline is how long a member may take that uses so many bytes: a Pod's start, and a slow disk.
func DefragDeadline(inUse int64) time.Duration {
	return StartDeadline + time.Duration(inUse/slowDisk)*time.Second
}

// Unused is what a member would give back, in bytes.
func (r Replica) Unused() int64 {
	if r.Answer == nil {
		return 0
	}
	return r.Answer.DBSize - r.Answer.DBSizeInUse
}

// HasWorth reports a file of which a tenth or more would be given back, and a mebibyte at least.
func (r Replica) HasWorth() bool {
	const least, tenth = 1 << 20, 10
	return r.Answer != nil && r.Unused() >= least && r.Unused()*tenth >= r.Answer.DBSize
}

// HasRoomForCopy reports a volume that takes what is in use a second time, beside the file and the log. Of data in Pods
// nothing says how much room there is.
func (r Replica) HasRoomForCopy() bool {
	const log = 512 << 20
	return r.Volume == nil || r.Volume.Bytes == 0 || r.Answer == nil ||
		r.Answer.DBSize+r.Answer.DBSizeInUse+log <= r.Volume.Bytes
}

// IsFull reports a database that takes so much of its quota that etcd may refuse writes.
func (r Replica) IsFull() bool { return r.fills(r.RunsWith().QuotaBytes) }

// FillsByUse reports a database that would be full without the room that it does not use, too.
func (r Replica) FillsByUse() bool {
	return r.Answer != nil && r.Answer.DBSizeInUse*100 >= r.RunsWith().QuotaBytes*RoomPercent
}
