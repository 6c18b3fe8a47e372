package plan

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// voidBirth gives a birth up and begins the next: mark, Pods, volumes, new record. The mark makes the intent readable by
// whoever comes next; it is set only while nothing can be lost.
func voidBirth(o view) *proposal {
	if o.hasSwitchedOver() {
		if p := o.lostAfterMove(); p != nil {
			return p
		}
		return otherIncarnation(o)
	}
	if !o.Birth.Void {
		if why := voidable(o); why != "" {
			return act(VoidBirth{Incarnation: o.Birth.Incarnation}, ReasonVoidBirth, "The birth is begun anew, with nothing lost: %s.", why)
		}
		return otherIncarnation(o)
	}
	for _, step := range []func(view) *proposal{voidPods, voidRestores, voidVolumes} {
		if p := step(o); p != nil {
			return p
		}
	}
	next := newBirth(o, o.Birth.Counter+1, firstNames(o))
	next.Origin, _ = o.source()
	return act(NextBirth{Voided: o.Birth.Incarnation, BeginBirth: next}, ReasonVoidBirth, "A cluster of %d members begins anew.", o.Desired.Size)
}

func voidPods(o view) *proposal {
	var pods []PodRef
	leaving := false
	for _, r := range o.Members {
		if r.Pod == nil || r.Pod.Incarnation != o.Birth.Incarnation {
			continue
		}
		leaving = leaving || r.Pod.Terminating
		if !r.Pod.Terminating {
			pods = append(pods, r.podRef())
		}
	}
	if len(pods) > 0 {
		return act(DeletePods{Pods: pods}, ReasonVoidBirth, "%d Pods of the birth that was given up are deleted.", len(pods))
	}
	if leaving {
		return wait(ReasonVoidBirth, "Pods of the birth that was given up are terminating.").due(o, lastGoneBy(o), leavingDeadline)
	}
	return nil
}

func voidRestores(o view) *proposal {
	var pods []PodRef
	leaving := false
	for _, r := range o.Members {
		if r.Restoring == nil || r.Restoring.Incarnation != o.Birth.Incarnation {
			continue
		}
		leaving = leaving || r.Restoring.Terminating
		if !r.Restoring.Terminating {
			pods = append(pods, r.restoreRef())
		}
	}
	if len(pods) > 0 {
		return act(DeleteRestores{Pods: pods}, ReasonVoidBirth, "%d restore Pods of the birth that was given up are deleted.", len(pods))
	}
	if leaving {
		return wait(ReasonVoidBirth, "Restore Pods of the birth that was given up are terminating.").due(o, lastGoneBy(o), leavingDeadline)
	}
	return nil
}

func voidVolumes(o view) *proposal {
	var volumes []VolumeRef
	leaving := false
	for _, r := range o.Members {
		if r.Volume == nil || r.Volume.Incarnation != o.Birth.Incarnation {
			continue
		}
		leaving = leaving || r.Volume.Terminating
		if !r.Volume.Terminating {
			volumes = append(volumes, r.volumeRef())
		}
	}
	if len(volumes) > 0 {
		return act(DeleteVolumes{Volumes: volumes}, ReasonVoidBirth, "%d volumes of the birth that was given up are deleted.", len(volumes))
	}
	if leaving {
		return wait(ReasonVoidBirth, "Volumes of the birth that was given up are being deleted.")
	}
	return nil
}

// voidable says why the birth must be begun anew, or "". Nothing can be lost while no member that answers is past
// revision 1: no key was ever written.
func voidable(o view) string {
	if o.isAlive() || o.hasSwitchedOver() || slices.ContainsFunc(o.Members, hasWrites) {
		return ""
	}
	if why := birthVolumeLost(o); why != "" {
		return why
	}
	if len(started(o)) >= etcdutil.Quorum(len(o.Birth.Names)) {
		return ""
	}
	return o.unwanted()
}

// unwanted says what of a birth the spec does not ask for any more, or "".
func (o view) unwanted() string {
	switch {
	case o.Desired.Fault != "":
		return ""
	case !slices.Equal(o.Birth.Names, firstNames(o)):
		return "the spec asks for other first members, and too few of these have started"
	case o.Birth.Origin.Hash != o.Desired.Restore.Hash && o.Desired.Restore.Fault == "":
		return "the spec asks to begin with another backup, or with none, and too few first members have started"
	case (len(started(o)) > 0 || !o.Birth.Origin.IsZero()) && !mayTake(o, o.Desired.Choices):
		return "the spec asks for another version, and too few first members have started"
	}
	return ""
}

func hasWrites(r Replica) bool { return r.Answer != nil && r.Answer.Revision > 1 }

// lastGoneBy is when the last terminating Pod should be gone.
func lastGoneBy(o view) time.Time {
	var last time.Time
	for _, r := range o.Members {
		if r.Pod != nil && r.Pod.GoneBy.After(last) {
			last = r.Pod.GoneBy
		}
		if r.Restoring != nil && r.Restoring.GoneBy.After(last) {
			last = r.Restoring.GoneBy
		}
	}
	return last
}

// started are the first members whose container has run.
func started(o view) []Replica {
	return filter(o.birthReplicas(), func(r Replica) bool { return r.Pod != nil && r.Pod.Started })
}

// birthVolumeLost says whose data is gone. Before the first Pod is made every volume is there, and the birth record says
// which: from then on a volume that is missing, or is another one, is a lost one. A first member whose data was in its Pod
// is simply started again: nothing but its own word says that it had data.
func birthVolumeLost(o view) string {
	for _, r := range o.birthReplicas() {
		if j := o.Judge(r); j.isOwnWord() {
			return r.Name + " cannot go on: " + j.Says
		}
		if o.hasLostVolume(r) {
			return "the volume of " + r.Name + " is gone"
		}
	}
	return ""
}

func (o view) hasLostVolume(r Replica) bool {
	if o.Desired.Ephemeral || !o.Birth.Begun {
		return false
	}
	v := r.Volume
	return v == nil || v.Phase == VolumeLost || v.Terminating || v.Stranded != "" || o.Birth.Volumes[r.Name] != v.UID
}
