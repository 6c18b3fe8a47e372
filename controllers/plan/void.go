package plan

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// voidBootstrap gives a bootstrap up and begins the next: mark, Pods, volumes, new record. The mark makes the intent
// readable by whoever comes next; it is set only while nothing can be lost.
func voidBootstrap(o pass) *proposal {
	if o.HasSwitchedOver() {
		if p := lostAfterMove(o); p != nil {
			return p
		}
		return otherIncarnation(o)
	}
	if !o.Bootstrap.Void {
		if why := voidable(o); why != "" {
			return act(changes.VoidBootstrap{Incarnation: o.Bootstrap.Incarnation},
				"%s. No data was written yet, and the operator begins anew.", why)
		}
		return otherIncarnation(o)
	}
	for _, step := range []func(pass) *proposal{voidPods, voidRestores, voidVolumes} {
		if p := step(o); p != nil {
			return p
		}
	}
	next := newBootstrap(o, o.Bootstrap.Counter+1, firstNames(o))
	next.Origin, _ = sourceOf(o.Observation)
	return act(changes.NextBootstrap{Voided: o.Bootstrap.Incarnation, BeginBootstrap: next},
		"the last attempt was abandoned, and nothing of it is left.")
}

const abandoned = "left from the bootstrap that was abandoned."

func voidPods(o pass) *proposal {
	var pods []facts.PodRef
	leaving := false
	for _, r := range o.Members {
		if r.Pod == nil || r.Pod.Incarnation != o.Bootstrap.Incarnation {
			continue
		}
		leaving = leaving || r.Pod.Terminating
		if !r.Pod.Terminating {
			pods = append(pods, r.PodRef())
		}
	}
	if len(pods) > 0 {
		return act(changes.DeletePods{Pods: pods}, abandoned)
	}
	if leaving {
		return wait(facts.ReasonVoidBootstrap, "Pods of the abandoned bootstrap are terminating.%s",
			heldAmong(o.Members...)).due(o, lastGoneBy(o), facts.LeavingDeadline)
	}
	return nil
}

func voidRestores(o pass) *proposal {
	var pods []facts.PodRef
	leaving := false
	for _, r := range o.Members {
		if r.Restoring == nil || r.Restoring.Incarnation != o.Bootstrap.Incarnation {
			continue
		}
		leaving = leaving || r.Restoring.Terminating
		if !r.Restoring.Terminating {
			pods = append(pods, restoreRef(r))
		}
	}
	if len(pods) > 0 {
		return act(changes.DeleteRestores{Pods: pods}, abandoned)
	}
	if leaving {
		return wait(facts.ReasonVoidBootstrap, "Restore Pods of the abandoned bootstrap are terminating.%s",
			heldAmong(o.Members...)).due(o, lastGoneBy(o), facts.LeavingDeadline)
	}
	return nil
}

func voidVolumes(o pass) *proposal {
	var volumes []facts.VolumeRef
	leaving := false
	for _, r := range o.Members {
		if r.Volume == nil || r.Volume.Incarnation != o.Bootstrap.Incarnation {
			continue
		}
		leaving = leaving || r.Volume.Terminating
		if !r.Volume.Terminating {
			volumes = append(volumes, r.VolumeRef())
		}
	}
	if len(volumes) > 0 {
		return act(changes.DeleteVolumes{Volumes: volumes}, abandoned)
	}
	if leaving {
		return wait(facts.ReasonVoidBootstrap, "Volumes of the abandoned bootstrap are being deleted.%s",
			heldAmong(o.Members...))
	}
	return nil
}

// voidable says why the bootstrap must be begun anew, or "". Nothing can be lost while no member that answers is past
// revision 1: no key was ever written.
func voidable(o pass) string {
	if o.IsAlive() || o.HasSwitchedOver() || slices.ContainsFunc(o.Members, facts.HasWrites) {
		return ""
	}
	if why := bootstrapVolumeLost(o); why != "" {
		return why
	}
	if len(started(o)) >= etcdutil.Quorum(len(o.Bootstrap.Names)) {
		return ""
	}
	return unwanted(o)
}

// unwanted says what of a bootstrap the spec does not ask for any more, or "".
func unwanted(o pass) string {
	switch {
	case o.Desired.Fault != "":
		return ""
	case !isOfWantedNames(o):
		return "the spec asks for other first members, and too few of these have started"
	case slices.ContainsFunc(o.BootstrapReplicas(), o.IsMadeForOther):
		return "the spec asks for another StorageClass or a smaller volume, and too few first members have started"
	case o.Bootstrap.Origin.Hash != o.Desired.Restore.Hash && o.Desired.Restore.Fault == "":
		return "the spec asks to begin with another backup, or with none, and too few first members have started"
	case !o.Desired.Settings.HasRoomFor(o.Bootstrap.Origin):
		return "the spec leaves the backup too little room, and too few first members have started"
	case (len(started(o)) > 0 || !o.Bootstrap.Origin.IsZero()) && !mayTake(o, o.Desired.Settings):
		return "the spec asks for another version, and too few first members have started"
	}
	return ""
}

// isOfWantedNames reports a bootstrap of the first members that the spec asks for. One that begins with a backup may
// have begun with the first of them alone, which the others join: see facts.WantedBackup.OneNode. Such a bootstrap goes
// on when nothing says any more that the store is of one node.
func isOfWantedNames(o pass) bool {
	wanted := firstNames(o)
	return slices.Equal(o.Bootstrap.Names, wanted) ||
		!o.Bootstrap.Origin.IsZero() && slices.Equal(o.Bootstrap.Names, wanted[:min(1, len(wanted))])
}

// lastGoneBy is when the last terminating Pod should be gone.
func lastGoneBy(o pass) time.Time {
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
func started(o pass) []facts.Replica {
	return facts.Filter(o.BootstrapReplicas(), func(r facts.Replica) bool { return r.Pod != nil && r.Pod.Started })
}

// bootstrapVolumeLost says whose data is gone. Before the first Pod is made every volume is there, and the bootstrap
// record says which: from then on a volume that is missing, or is another one, is a lost one. A first member whose data
// was in its Pod is simply started again: nothing but its own word says that it had data.
func bootstrapVolumeLost(o pass) string {
	for _, r := range o.BootstrapReplicas() {
		if j := o.Judge(r); j.IsOwnWord() {
			return r.Name + " cannot go on: " + j.Says
		}
		if o.HasLostVolume(r) {
			return "the volume of " + r.Name + " is gone"
		}
	}
	return ""
}

const leftFromEarlier = "it is left from an earlier bootstrap."

// Rules between the first Pod and the moment when the cluster's identity is written down.

// newSettings lets first members that have no Pod follow a spec that changed since their volumes were made: what keeps
// Kubernetes from admitting their Pods is put right there.
func newSettings(o pass) *proposal {
	var stale []facts.VolumeRef
	for _, r := range firstMembers(o) {
		isUntouched := r.Restoring == nil || r.Restoring.Holds
		hasOnlyVolume := r.Pod == nil && isUntouched && r.Volume != nil && !r.Volume.Terminating
		if !hasOnlyVolume || r.Volume.Settings == o.Desired.Settings {
			continue
		}
		if mayHoldOther(o, r.Volume) {
			return nil
		}
		stale = append(stale, r.VolumeRef())
	}
	if len(stale) == 0 || !mayTake(o, o.Desired.Settings) {
		return nil
	}
	return act(changes.WriteSettings{Volumes: stale, Settings: o.Desired.Settings},
		"the members have not started yet, and the spec has changed.")
}

// mayHoldOther reports a first volume on which a member of another minor version may have lived, whose Pod is gone.
func mayHoldOther(o pass, v *facts.Volume) bool {
	return o.Bootstrap.Begun && v.Phase != facts.VolumePending && !v.Settings.IsZero() &&
		!v.Settings.Version.SameMinor(o.Desired.Settings.Version)
}

// mayTake reports whether first members that do not run may take these settings: none of another version has started.
// With the version it has, a first member starts on its volume again as it did before. No member takes what is refused,
// nor settings without room for what was restored: see checkRoom.
func mayTake(o pass, c facts.Settings) bool {
	if o.Desired.Fault != "" {
		return false
	}
	origin := o.Bootstrap.Origin
	if !origin.IsZero() && !origin.Version.SameMinor(c.Version) || !c.HasRoomFor(origin) {
		return false
	}
	return !slices.ContainsFunc(o.BootstrapReplicas(), func(r facts.Replica) bool {
		return r.Pod != nil && r.Pod.Started && r.Settings().Version != c.Version
	})
}

// otherIncarnation deletes what a bootstrap that was given up left under the first members' names, such as a Pod that
// another operator made a moment too late. Nothing of such an incarnation was ever recorded.
func otherIncarnation(o pass) *proposal {
	return inTurn(o, o.Members, clearRestore, clearData)
}

// clearData deletes a Pod, then a volume.
func clearData(o pass, r facts.Replica) *proposal {
	switch {
	case r.Incarnation() == "" || r.Incarnation() == o.Bootstrap.Incarnation && !isMixed(o.Incarnation, r):
		return nil
	case o.IsRelabelled(r):
		return refuse(facts.ReasonForeignData, "The label of the volume of %s says that it is of another incarnation, "+
			"and it was made for this one. It is kept, and the cluster begins once the label is back: kubectl label "+
			"pvc %s -n %s --overwrite etcdsteward.dev/incarnation=%s", r.Name, r.Name, o.Cluster.Namespace,
			o.Bootstrap.Incarnation).byHuman()
	case r.Pod != nil && r.Pod.Terminating, r.Volume != nil && r.Volume.Terminating && r.Pod == nil:
		return waitForName(r, o)
	case r.Pod != nil:
		return act(changes.DeletePods{Pods: []facts.PodRef{r.PodRef()}}, leftFromEarlier)
	}
	return act(changes.DeleteVolumes{Volumes: []facts.VolumeRef{r.VolumeRef()}}, leftFromEarlier)
}

// clearRestore deletes a restore Pod of a bootstrap that was given up.
func clearRestore(o pass, r facts.Replica) *proposal {
	if r.Restoring == nil || r.Restoring.Incarnation == o.Bootstrap.Incarnation {
		return nil
	}
	if r.Restoring.Terminating {
		return taskLeaving(r.Restoring.Task, o, facts.ReasonPodLeaving,
			"The restore Pod of %s, of an earlier attempt, is terminating.", r.Name)
	}
	return act(changes.DeleteRestores{Pods: []facts.PodRef{restoreRef(r)}}, leftFromEarlier)
}

// isMixed reports a Pod of another incarnation than its volume's.
func isMixed(o facts.Incarnation, r facts.Replica) bool {
	return r.Pod != nil && r.Pod.Incarnation != o.Bootstrap.Incarnation
}
