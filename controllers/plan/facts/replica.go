package facts

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Incarnation is the ID of the incarnation that the data is of, or its Pod where that holds the data; empty when
// nothing says.
func (r Replica) Incarnation() string {
	switch {
	case r.Volume != nil:
		return r.Volume.Incarnation
	case r.Pod != nil:
		return r.Pod.Incarnation
	}
	return ""
}

// IsUp reports a Pod that nobody has asked to go.
func (r Replica) IsUp() bool { return r.Pod != nil && !r.Pod.Terminating }

// isCopy reports a volume in the place of the one that the member lived on, which no process runs on.
func (r Replica) isCopy() bool { return r.IsRecorded() && !r.IsOnOwnVolume() && !r.IsRunning() }

// IsPutBack reports a volume that a backup tool put in the place of the member's own, and that can be read. The member
// promised its peers what may be missing there, so nothing starts on it; a person may begin anew with it.
func (r Replica) IsPutBack() bool {
	return r.Volume != nil && r.Pod == nil && r.isCopy() && r.Volume.isUsable()
}

// IsThere reports a volume that a member can live on, or still lives on.
func (v *Volume) IsThere(isUnused bool) bool {
	return v.Phase != VolumeLost && v.Stranded == "" && !(v.Terminating && isUnused)
}

// HadStartTime reports a process that has been running for longer than a start takes.
func (p *Pod) HadStartTime(now time.Time) bool {
	return !p.RunningSince.IsZero() && now.Sub(p.RunningSince) > StartDeadline
}

// WasReadyLong reports a Pod that has been ready for longer than a start takes.
func (p *Pod) WasReadyLong(now time.Time) bool {
	return p.Ready && now.Sub(p.ReadySince) > StartDeadline
}

// HadItsTime reports a process that should answer by now, and does not.
func (r Replica) HadItsTime(now time.Time) bool {
	return r.Answer == nil && r.Pod.HadStartTime(now) && !r.IsBusy(now)
}

// byServer is a time that the kubelet wrote, by the API server's clock. When the status was last written is known by
// that clock, and the latest time in it is at most as old: a kubelet whose clock is behind cannot make anything seem
// older than that.
func (p *Pod) byServer(stamp time.Time) time.Time {
	latest := p.ReadySince
	if p.RunningSince.After(latest) {
		latest = p.RunningSince
	}
	if p.Exit != nil && p.Exit.At.After(latest) {
		latest = p.Exit.At
	}
	if stamp.IsZero() || !p.StatusAt.After(latest) {
		return stamp
	}
	return stamp.Add(p.StatusAt.Sub(latest))
}

// PodChange is the last time that the Pod came, or its readiness changed. How often its container stops does not count:
// a crash loop must not put a deadline off for ever.
func PodChange(p *Pod) time.Time {
	if p == nil {
		return time.Time{}
	}
	last := p.Created
	if ready := p.byServer(p.ReadySince); ready.After(last) {
		last = ready
	}
	return last
}

// LastStart is the last time that the Pod came, its readiness changed or its process began.
func LastStart(p *Pod) time.Time {
	last := PodChange(p)
	if p == nil {
		return last
	}
	if running := p.byServer(p.RunningSince); running.After(last) {
		last = running
	}
	return last
}

// IsSpoilt reports a volume that nobody can start on again.
func (v *Volume) IsSpoilt() bool { return v.Phase == VolumeLost || v.Stranded != "" }

// IsRestored reports whether a backup was restored on the replica's volume completely, in the incarnation that the
// volume was made for.
func (r Replica) IsRestored() bool {
	return r.Volume != nil && r.Volume.Restored != "" && r.Volume.Restored == r.Volume.Incarnation
}

// madeTogether is how long a first member's Pod comes after its volume, and is still the first one on it.
const madeTogether = 10 * time.Second

// BeganWithPeers reports a process that began as those of all first members did: empty, or with the same backup. One
// whose Pod was made later may have found what an earlier one left, of which nothing was written down.
func (r Replica) BeganWithPeers() bool {
	isFirst := r.Volume == nil || r.IsRestored() || r.Pod.Created.Sub(r.Volume.Created) < madeTogether
	return r.Pod.Flags == FlagsBootstrap && r.Pod.Exit == nil && isFirst
}

// AwaitsRecord reports a first member on whose volume a backup was restored for the incarnation, and that is not
// recorded there yet.
func (r Replica) AwaitsRecord(incarnation string) bool {
	return r.IsRestored() && !r.IsRecorded() && r.Volume.Incarnation == incarnation && r.Volume.Superseded == "" &&
		r.Volume.RemovedFor == "" && !r.Volume.Terminating && r.Volume.Phase != VolumeLost
}

// IsUnbound reports a claim that was never bound to a volume: that happens once, and is never undone.
func (v *Volume) IsUnbound() bool { return v.Phase == VolumePending && v.Backing == "" }

// IsUnmade reports a replica that cannot run because Kubernetes cannot make its volume.
func (r Replica) IsUnmade() bool {
	return r.Volume != nil && r.Volume.Unmade != "" && r.HasNoProcess() && r.CannotStart()
}

// MayHaveRun reports that anything speaks for a process that ran on the replica's volume.
func (r Replica) MayHaveRun() bool {
	return r.Answer != nil || r.IsRecorded() || r.IsRestored() || r.Pod != nil && (r.Pod.Started || r.Pod.Running) ||
		r.Restoring != nil && r.Restoring.Started
}

// isUsable reports a volume that a Pod can start on.
func (v *Volume) isUsable() bool { return !v.Terminating && v.Phase != VolumeLost && v.Stranded == "" }

// CannotRun reports a container that does not run because Kubernetes cannot start it, or because it stops again and
// again.
func (r Replica) CannotRun() bool {
	return r.HasNoProcess() && (r.CannotStart() || r.Pod.Waiting == WaitingForCrash)
}

// HasNoProcess reports a Pod whose container does not run and that nothing is happening to.
func (r Replica) HasNoProcess() bool { return r.IsUp() && !r.Pod.Running && !r.Pod.HasEnded() }

// IsRunning reports a container that runs.
func (r Replica) IsRunning() bool { return r.Pod != nil && r.Pod.Running }

// CannotStart reports that Kubernetes, not etcd, keeps the container from starting.
func (r Replica) CannotStart() bool { return StartProblems[r.Pod.Waiting] != "" }

// IsVoter reports whether the replica is in the member list with a vote.
func (r Replica) IsVoter() bool { return r.Member != nil && !r.Member.Learner }

// IsLearner reports whether the replica is in the member list without a vote.
func (r Replica) IsLearner() bool { return r.Member != nil && r.Member.Learner }

// IsHealthy reports whether the member answered just now, as the member of this cluster that the list says it is.
// Whether its kubelet calls it ready does not count: see IsServing and isWell.
func (r Replica) IsHealthy(m Membership) bool {
	return m.Known && r.Member != nil && r.Answer != nil &&
		r.Answer.ID == r.Member.ID && r.Answer.ClusterID == m.ClusterID && r.Answer.Leader != 0
}

// Record is what is written down about the member that lives on the replica's data.
func (r Replica) Record() record.Member {
	switch {
	case r.Volume != nil:
		return r.Volume.Record
	case r.Pod != nil:
		return r.Pod.Record
	}
	return record.Member{}
}

// IsOnOwnVolume reports whether the claim is the one that the record was written on, or a new claim of the same
// PersistentVolume. A record of an older release does not say.
func (r Replica) IsOnOwnVolume() bool {
	if r.Volume == nil {
		return false
	}
	return r.Volume.Record.IsOn(r.Volume.UID, r.Volume.Backing)
}

// IsRecorded reports whether the identity of the member is written down beside its data.
func (r Replica) IsRecorded() bool { return !r.Record().IsZero() }

// Settings are what the member's Pod is, or is to be, made from.
func (r Replica) Settings() Settings {
	switch {
	case r.Volume != nil && !r.Volume.Settings.IsZero():
		return r.Volume.Settings
	case r.Pod != nil:
		return r.Pod.Settings
	}
	return Settings{}
}

// RunsWith are the settings that a member's process has, as far as anything says.
func (r Replica) RunsWith() Settings {
	if r.Pod != nil && !r.Pod.Settings.IsZero() {
		return r.Pod.Settings
	}
	return r.Settings()
}

// IsCounted reports a Pod that the disruption budget selects, by its role.
func (r Replica) IsCounted() bool {
	return r.Pod != nil && slices.Contains([]string{RoleVoter, RoleLeaving, RoleCounted}, r.Pod.Role)
}

// IsSealed reports whether the member can no longer start from an empty directory.
func (r Replica) IsSealed() bool {
	return r.IsRecorded() && r.Pod != nil && r.Pod.Flags.NeedData()
}

// HasEnded reports whether the kubelet will never start the Pod again.
func (p *Pod) HasEnded() bool {
	return p != nil && (p.Phase == PodSucceeded || p.Phase == PodFailed)
}

// IsDoomed reports whether any stop of the Pod destroys the member's data: its volume is being deleted under it, its
// claim is gone already, or what is behind the claim is.
func (r Replica) IsDoomed() bool {
	if r.Pod == nil || r.Ephemeral {
		return false
	}
	return r.Volume == nil || r.Volume.Terminating || r.Volume.Phase == VolumeLost
}

// HasVolume reports whether the volume is this one and no other.
func (r Replica) HasVolume(ref VolumeRef) bool { return r.Volume != nil && r.Volume.UID == ref.UID }

// PodRef names the Pod, which must be there.
func (r Replica) PodRef() PodRef { return PodRef{Name: r.Name, UID: r.Pod.UID} }

// VolumeRef names the volume, which must be there.
func (r Replica) VolumeRef() VolumeRef {
	if r.Volume.isLog {
		return r.Volume.Half.VolumeRef
	}
	return VolumeRef{Name: r.Name, UID: r.Volume.UID}
}

// HasAnyOf reports whether anything of this incarnation is left of the replica.
func (r Replica) HasAnyOf(incarnation string) bool {
	return r.Pod != nil && r.Pod.Incarnation == incarnation || r.Volume != nil && r.Volume.Incarnation == incarnation ||
		r.Restoring != nil && r.Restoring.Incarnation == incarnation
}

// UnknownBesideCopies is a volume without a member's record among volumes that were put back; "" where there is none.
func (o Observation) UnknownBesideCopies() string {
	isCopy := func(v Retained) bool {
		return v.IsVolume() && !v.Record.IsZero() && !v.Record.IsOn(v.UID, v.Backing)
	}
	i := slices.IndexFunc(o.Retained, func(v Retained) bool { return v.IsVolume() && v.Record.IsZero() })
	if i < 0 || !slices.ContainsFunc(o.Retained, isCopy) {
		return ""
	}
	return o.Retained[i].Name
}

// Retained is a volume, or a CA's Secret, that an earlier cluster of this name left behind.
type Retained struct {
	Kind, Name, UID string
	Owner           string        // the UID of the EtcdCluster that left it
	Incarnation     string        // of a volume
	Record          record.Member // of a volume
	TooNew          string        // of a volume: why only a newer release may read its record; empty otherwise
	Superseded      string        // of a volume: the incarnation that a restore in place put in the place of its own
	GoesBackFrom    string        // of a volume: a person takes it up again, knowing that this incarnation served since
	Backing         string        // of a volume: the PersistentVolume that it is bound to
	Kept            bool          // of a volume: it was put aside when its member was replaced
	TLS             bool          // of a volume: its member had certificates
}

// IsVolume reports a volume of an earlier cluster, and not one of its Secrets.
func (r Retained) IsVolume() bool {
	return !r.Kept && (r.Record != record.Member{} || r.Incarnation != "")
}

// IsCA reports a Secret of an earlier cluster, which holds a CA and no data of etcd.
func (r Retained) IsCA() bool { return r.Kind == "Secret" }

func (r Retained) String() string { return r.Kind + " " + r.Name }

// SaidItsDataIsGone believes "empty" of a sealed member only, recorded or restored: one that is still joining says the
// same when it cannot reach its peers.
func (r Replica) SaidItsDataIsGone() bool {
	if r.Pod.Exit == nil {
		return false
	}
	switch r.Pod.Exit.Reason {
	case etcdutil.ExitDataEmpty:
		return r.IsSealed() || r.IsRestored() && r.Pod.Flags.NeedData()
	case etcdutil.ExitAlreadyBootstrapped:
		return r.Pod.Flags == FlagsBootstrap
	case etcdutil.ExitDataCorrupt, etcdutil.ExitRaftPanic:
		return true
	default:
		return false
	}
}

// NeverReady reports whether the kubelet never called the process ready since it started.
func (p *Pod) NeverReady() bool {
	return p.Running && !p.RunningSince.IsZero() && !p.ReadySince.After(p.RunningSince)
}

// HasLastingData reports a member whose data outlives its Pod, and that can only start from it.
func (r Replica) HasLastingData() bool { return !r.Ephemeral && !r.IsDoomed() && r.IsSealed() }
