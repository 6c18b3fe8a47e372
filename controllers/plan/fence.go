package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules about former incarnations: nothing of them may serve a write once the next one starts, and their volumes are
// kept.

// restoreFence takes a former incarnation out of service: its volumes say so, then nobody is led to its members, then
// their Pods go.
func restoreFence(o pass) *proposal {
	if !o.Bootstrap.Exists() {
		return nil // nothing says what took its place
	}
	for _, step := range []func(pass) *proposal{fenceMark, unmark, fenceBudget, fenceLabels, fenceWords,
		fencePods, fenceSecrets} {
		if p := step(o); p != nil {
			return p
		}
	}
	if why := unfenced(o); why != "" {
		return fenceWait(o, why)
	}
	return nil
}

// fenceMark writes on what the ended incarnation lived on that another took its place, so that nobody takes it up again
// by mistake.
func fenceMark(o pass) *proposal {
	volumes := o.Unmarked()
	if len(volumes) == 0 {
		return nil
	}
	return act(changes.MarkFormer{By: o.Bootstrap.Incarnation, Volumes: volumes},
		"the restored members have taken their place. The volumes are kept.")
}

// unmark takes that off again where the cluster went back, once what it went back from says so itself.
func unmark(o pass) *proposal {
	volumes := o.StillMarked()
	if len(volumes) == 0 {
		return nil
	}
	after := o.Find(volumes[0].Name).Volume.Superseded
	volumes = slices.DeleteFunc(volumes, func(v facts.VolumeRef) bool {
		return o.Find(v.Name).Volume.Superseded != after
	})
	return act(changes.MarkCurrent{After: after, Volumes: volumes}, "the cluster went back to this incarnation.")
}

// fenceBudget lets go of a budget that counts members which are to stop.
func fenceBudget(o pass) *proposal {
	isOurs := o.Budget.State == facts.ObjectCurrent || o.Budget.State == facts.ObjectDrifted
	if o.Bootstrap.ClusterID != 0 || !isOurs || o.Budget.MinAvailable == 0 ||
		!slices.ContainsFunc(o.FormerMembers(), facts.Replica.IsUp) {
		return nil
	}
	return act(changes.SetBudget{}, "the previous members are stopped.")
}

func fenceLabels(o pass) *proposal {
	for _, r := range o.FormerMembers() {
		if r.IsUp() && r.Pod.Role != "" {
			return act(changes.LabelRole{Pod: r.PodRef()}, "it is a previous member, and restored ones take over.")
		}
	}
	return nil
}

// fenceWords writes down whose data is gone, by etcd's last words, before the Pods go that alone say so: the cluster
// does not go back to that.
func fenceWords(o pass) *proposal {
	for _, r := range o.FormerMembers() {
		j := o.Judge(r)
		if j.IsLost() && j.Cause == facts.CauseDisk && r.Volume != nil && r.Volume.RemovedFor != j.Cause {
			return act(changes.MarkVolume{Volume: r.VolumeRef(), For: j.Cause},
				"%s. The cluster does not go back to it, and its Pod goes next.", j.Says)
		}
	}
	return nil
}

func fencePods(o pass) *proposal {
	var pods, tasks []facts.PodRef
	for _, r := range o.FormerMembers() {
		if r.IsUp() {
			pods = append(pods, r.PodRef())
		}
		if r.Restoring != nil && !r.Restoring.Terminating {
			tasks = append(tasks, restoreRef(r))
		}
	}
	switch places := heldPlaces(o.BootstrapReplicas()); {
	case len(pods) > 0:
		return act(changes.DeletePods{Pods: pods},
			"the previous members must not serve any more. Their volumes are kept.")
	case len(tasks) > 0:
		return act(changes.DeleteRestores{Pods: tasks}, "left from the previous members.")
	case len(places) > 0 && !o.IsAlive():
		return act(changes.DeleteRestores{Pods: places}, "the members take the places that were held.")
	}
	return nil
}

// fenceSecrets deletes certificates: without them no Pod of the previous incarnation starts again, whoever makes one.
func fenceSecrets(o pass) *proposal {
	for _, r := range o.FormerMembers() {
		if p := collectSecret(r); p != nil {
			return act(p.Change, "the member is a previous one.")
		}
	}
	return nil
}

// unfenced says why a former incarnation might still serve a write, or "". Pods that were asked to go and whose nodes
// do not answer are left behind where they are too few for that.
func unfenced(o pass) string {
	if unmarked := append(o.Unmarked(), o.StillMarked()...); len(unmarked) > 0 {
		return fmt.Sprintf("the volume of %s does not say which incarnation is the current one", unmarked[0].Name)
	}
	remaining := map[string]int{}
	for _, r := range o.FormerMembers() {
		if r.Pod == nil {
			continue
		}
		if !isStuckLeaving(o.Observation, r) {
			return fmt.Sprintf("the Pod of %s, a previous member, is still there", r.Name)
		}
		remaining[r.Pod.Incarnation]++
	}
	for _, past := range o.Bootstrap.Former {
		if n := remaining[past.Incarnation]; n > 0 && n >= etcdutil.Quorum(len(past.Voters)) {
			return fmt.Sprintf(
				"%d Pods of previous members do not go (%s), which might be enough to serve writes", n,
				strings.Join(notLeft(o.Observation), ", "))
		}
		delete(remaining, past.Incarnation)
	}
	if len(remaining) > 0 {
		return fmt.Sprintf("Pods of an incarnation of which nothing is known do not go (%s)",
			strings.Join(notLeft(o.Observation), ", "))
	}
	return ""
}

// notLeft names the Pods of former incarnations that do not go, with their nodes.
func notLeft(o facts.Observation) []string {
	var out []string
	for _, r := range o.FormerMembers() {
		if isStuckLeaving(o, r) {
			out = append(out, fmt.Sprintf("%s on node %s", r.Name, r.Pod.Node))
		}
	}
	return out
}

// fenceWait waits for Pods to be gone. Nothing but their absence says that their processes are.
func fenceWait(o pass, why string) *proposal {
	kept := heldAmong(o.FormerMembers()...)
	if len(notLeft(o.Observation)) > 0 {
		return refuse(facts.ReasonFence,
			"The next members start once no previous member can serve a write, and %s.%s", why,
			cmp.Or(kept, " Bring the nodes back. Or taint those that are off for good: "+facts.TaintOff("NODE")+
				". Or delete the Pods by force, once their machines are certainly off.")).
			byHuman().unlessAlive(o)
	}
	return wait(facts.ReasonFence,
		"The next members start once no previous member can serve a write: %s.%s", why,
		kept).unlessAlive(o)
}

// unlessAlive lets later rules look after an incarnation that serves already. Where none of its members is there, as
// when the cluster just went back to it, none could be started.
func (p *proposal) unlessAlive(o pass) *proposal {
	p.yields = o.IsAlive() && slices.ContainsFunc(o.Members, facts.Replica.IsUp)
	return p
}

// flushSurvivor stops a survivor that does not answer, once it ran for long enough. It returns nil when its data can be
// had.
func flushSurvivor(o pass) *proposal {
	r := o.Survivor()
	if r.Name == "" || o.IsBeingRead() || !o.IsFlushed(r) && r.Answer != nil {
		return nil
	}
	if why := whyNotSurvivor(o, r); why != "" {
		return refuse(facts.ReasonRestoreHeld, "What %s holds cannot be restored: %s.", r.Name, why).byHuman()
	}
	if o.IsFlushed(r) {
		return stopSurvivor(o, r)
	}
	if r.IsPutBack() {
		return act(changes.MarkFlushed{Incarnation: o.Bootstrap.Next.Incarnation, Volume: r.VolumeRef()},
			"the volume was put back by other means. It is read as it is, and the member is not started.")
	}
	return flush(o, r)
}

// flush has a survivor run for long enough to write out all that it has.
func flush(o pass, r facts.Replica) *proposal {
	pod := r.Pod
	switch {
	case pod != nil && pod.Running && !pod.NeverReady():
		return refuse(facts.ReasonRestoreHeld, "%s runs and has served since it started, and does not answer. Let "+
			"the operator reach it; or, if that cannot be, delete its Pod: it is then started once more, and read on "+
			"its volume.", r.Name).byHuman()
	case o.HasFlushed(r):
		return act(changes.MarkFlushed{Incarnation: o.Bootstrap.Next.Incarnation, Volume: r.VolumeRef()},
			"the member ran long enough to write out all that it had.")
	}
	p := wait(facts.ReasonInPlace, "%s does not answer. It runs for %s without the others, to write out all that it "+
		"has, and is then read.", r.Name, facts.FlushTime)
	return p.due(o, facts.PodChange(pod), facts.StartDeadline)
}

// clearUnread gives up the volumes that were made to be written to from afar: whoever reads the survivor's volume
// mounts both, and one that was bound somewhere else could not be mounted beside it.
func clearUnread(o pass) *proposal {
	const read = "what %s holds is read on its volume, and "
	survivor := o.Bootstrap.Next.Survivor
	for _, r := range facts.Filter(o.Next.Members, o.IsUnread) {
		switch {
		case r.Restoring != nil && r.Restoring.Terminating:
			return taskLeaving(r.Restoring.Task, o, facts.ReasonInPlace, "The restore Pod of %s is terminating.",
				r.Name)
		case r.Restoring != nil:
			return act(changes.DeleteRestores{Pods: []facts.PodRef{restoreRef(r)}}, read+
				"the Pod that asked the member did not get it.", survivor)
		case !r.Volume.Terminating:
			return act(changes.DeleteVolumes{Volumes: []facts.VolumeRef{r.VolumeRef()}}, read+
				"the new volume, which no member ever used, is made anew beside it.", survivor)
		}
	}
	return nil
}

// stopSurvivor lets a member go that has written out all it had.
func stopSurvivor(o pass, r facts.Replica) *proposal {
	switch {
	case r.Pod == nil:
		return nil
	case r.Pod.Terminating:
		return wait(facts.ReasonInPlace, "%s is stopping; then its volume is read.%s", r.Name, heldAmong(r)).due(o,
			r.Pod.GoneBy, facts.LeavingDeadline)
	}
	return act(changes.DeletePods{Pods: []facts.PodRef{r.PodRef()}},
		"it cannot serve without the others, and its volume is read next.")
}

// readFrom is how a restore Pod gets what the survivor holds: from its volume, or else by asking it.
func readFrom(o facts.Incarnation, l changes.Restoring) changes.Restoring {
	l.Survivor = o.Bootstrap.Next.Survivor
	if r := o.Survivor(); o.IsFlushed(r) {
		l.Mounts = r.Name
	}
	return l
}

// whyNotSurvivor says why a member cannot be rebuilt from, or "".
func whyNotSurvivor(o pass, r facts.Replica) string {
	record := r.Record()
	switch {
	case o.WhyNoRoomFor(r) != "":
		return o.WhyNoRoomFor(r)
	case record.IsZero():
		return fmt.Sprintf("nothing says that %q was ever a member of this cluster", r.Name)
	case r.Ephemeral:
		return fmt.Sprintf("%s has its data in its Pod, and only what is on a volume can be read", r.Name)
	case r.Incarnation() != o.Bootstrap.Incarnation || record.ClusterID != o.Bootstrap.ClusterID:
		return fmt.Sprintf("%s holds the data of cluster %s (incarnation %s), and this is %s (incarnation %s)", r.Name,
			record.ClusterID, r.Incarnation(), o.Bootstrap.ClusterID, o.Bootstrap.Incarnation)
	case r.IsPutBack():
		return ""
	}
	return whyNotRead(o, r)
}

// whyNotRead says why what a member of this incarnation holds cannot be had, or "".
func whyNotRead(o pass, r facts.Replica) string {
	record := r.Record()
	switch {
	case o.Judge(r).IsLost():
		return fmt.Sprintf("the data of %s is lost: %s", r.Name, o.Judge(r).Says)
	case r.Answer != nil && !record.IsOf(r.Answer.ClusterID, r.Answer.ID):
		return fmt.Sprintf("%s answers as member %s of cluster %s, and its volume is recorded as member %s of %s",
			r.Name, r.Answer.ID, r.Answer.ClusterID, record.MemberID, record.ClusterID)
	case r.Answer == nil && !o.MayRestart(r) || r.Pod != nil && r.CannotRun():
		return fmt.Sprintf("%s neither answers nor can be started once more to be read; restore from a backup", r.Name)
	}
	return ""
}
