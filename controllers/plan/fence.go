package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules about lives that ended: nothing of them may serve a write once the next one starts, and their volumes are kept.

// restoreFence takes a life that ended out of service: its volumes say so, then nobody is led to its members, then their Pods go.
func restoreFence(o Observation) *proposal {
	if !o.Birth.Exists {
		return nil // nothing says what took its place
	}
	for _, step := range []func(Observation) *proposal{fenceMark, fenceBudget, fenceLabels, fencePods, fenceSecrets} {
		if p := step(o); p != nil {
			return p
		}
	}
	if why := o.unfenced(); why != "" {
		return o.fenceWait(why)
	}
	return nil
}

// fenceMark writes on what the ended life lived on that another took its place, so that nobody takes it up again by mistake.
func fenceMark(o Observation) *proposal {
	volumes := o.unmarked()
	if len(volumes) == 0 {
		return nil
	}
	return act(MarkFormer{By: o.Birth.Incarnation, Volumes: volumes}, ReasonFence, "The cluster has moved on; that is written on the volumes of %s, which are kept.",
		joinNames(volumes, func(v VolumeRef) string { return v.Name }))
}

func (o Observation) unmarked() []VolumeRef {
	var out []VolumeRef
	for _, r := range o.Former {
		if r.Volume != nil && r.Volume.Superseded == "" {
			out = append(out, r.volumeRef())
		}
	}
	return out
}

// fenceBudget lets go of a budget that counts members which are to stop.
func fenceBudget(o Observation) *proposal {
	isOurs := o.Budget.State == ObjectCurrent || o.Budget.State == ObjectDrifted
	if o.Birth.ClusterID != 0 || !isOurs || o.Budget.MinAvailable == 0 || !slices.ContainsFunc(o.Former, Replica.isUp) {
		return nil
	}
	return act(SetBudget{}, ReasonFence, "The disruption budget goes while the members of the life before are stopped.")
}

// isUp reports a Pod that nobody has asked to go.
func (r Replica) isUp() bool { return r.Pod != nil && !r.Pod.Terminating }

func fenceLabels(o Observation) *proposal {
	for _, r := range o.Former {
		if r.isUp() && r.Pod.Role != "" {
			return act(LabelRole{Pod: r.podRef()}, ReasonFence, "%s is of the life before; clients are led elsewhere.", r.Name)
		}
	}
	return nil
}

func fencePods(o Observation) *proposal {
	var pods, tasks []PodRef
	for _, r := range o.Former {
		if r.isUp() {
			pods = append(pods, r.podRef())
		}
		if r.Restoring != nil && !r.Restoring.Terminating {
			tasks = append(tasks, r.restoreRef())
		}
	}
	switch {
	case len(pods) > 0:
		return act(DeletePods{Pods: pods}, ReasonFence, "The Pods of %s, of the life before, are deleted; their volumes are kept.", podNames(pods))
	case len(tasks) > 0:
		return act(DeleteRestores{Pods: tasks}, ReasonFence, "The restore Pods of %s, of the life before, are deleted.", podNames(tasks))
	}
	return nil
}

// fenceSecrets deletes certificates: without them no Pod of the life before starts again, whoever makes one.
func fenceSecrets(o Observation) *proposal {
	for _, r := range o.Former {
		if p := leftoverSecret(r); p != nil {
			return act(p.Change, ReasonFence, "%s is of the life before; its certificates are deleted.", r.Name)
		}
	}
	return nil
}

// unfenced says why a life that ended might still serve a write, or "". Pods that were asked to go and whose nodes do not answer are
// left behind where they are too few for that.
func (o Observation) unfenced() string {
	if of := o.unmarked(); len(of) > 0 {
		return fmt.Sprintf("nothing on the volume of %s says that the cluster moved on", of[0].Name)
	}
	stuck := map[string]int{}
	for _, r := range o.Former {
		if r.Pod == nil {
			continue
		}
		if !o.isStuck(r) {
			return fmt.Sprintf("the Pod of %s, of the life before, is still there", r.Name)
		}
		stuck[r.Pod.Incarnation]++
	}
	for _, past := range o.Birth.Past {
		if n := stuck[past.Incarnation]; n > 0 && n >= etcdutil.Quorum(len(past.Voters)) {
			return fmt.Sprintf("%d Pods of the life before do not go (%s), which might be enough to serve writes", n, strings.Join(o.stuckOn(), ", "))
		}
		delete(stuck, past.Incarnation)
	}
	if len(stuck) > 0 {
		return fmt.Sprintf("Pods of a life of which nothing is known do not go (%s)", strings.Join(o.stuckOn(), ", "))
	}
	return ""
}

// guardFence lets no member start while a life that ended might serve a write.
func (o Observation) guardFence() string {
	if why := o.unfenced(); why != "" {
		return why + "."
	}
	return ""
}

// stuckOn names the Pods of ended lives that do not go, with their nodes.
func (o Observation) stuckOn() []string {
	var out []string
	for _, r := range o.Former {
		if o.isStuck(r) {
			out = append(out, fmt.Sprintf("%s on node %s", r.Name, r.Pod.Node))
		}
	}
	return out
}

// fenceWait waits for Pods to be gone. Nothing but their absence says that their processes are.
func (o Observation) fenceWait(why string) *proposal {
	if stuck := o.stuckOn(); len(stuck) > 0 {
		return refuse(ReasonFence, "The next members start once nothing of the life before can serve a write, and %s. Bring the nodes back, or taint those that are off with "+
			"node.kubernetes.io/out-of-service, or delete the Pods by force once it is certain that their machines are off.", why).byHuman().unlessAlive(o)
	}
	return wait(ReasonFence, "The next members start once nothing of the life before can serve a write: %s.", why).unlessAlive(o)
}

// unlessAlive lets later rules look after a life that serves already.
func (p *proposal) unlessAlive(o Observation) *proposal {
	p.yields = o.isAlive()
	return p
}

// formerLeftover deletes the volumes of a life that a restore ended, once its EtcdRestore says so and what took its place serves.
func formerLeftover(o Observation) *proposal {
	var volumes []VolumeRef
	for _, r := range o.Former {
		if r.Volume != nil && !r.Volume.Terminating && o.whyKeepFormer(r) == "" {
			volumes = append(volumes, r.volumeRef())
		}
	}
	if len(volumes) == 0 {
		return nil
	}
	return act(DeleteVolumes{Volumes: volumes}, ReasonLeftover, "The restore asks to give up what was there before it; the volumes of %s are deleted.",
		joinNames(volumes, func(v VolumeRef) string { return v.Name }))
}

// whyKeepFormer says why the volume of a life that ended is kept, or "".
func (o Observation) whyKeepFormer(r Replica) string {
	switch {
	case r.Pod != nil || r.Restoring != nil:
		return "a Pod still uses it"
	case r.Volume.Superseded == "" || r.Volume.Incarnation == o.Birth.Incarnation:
		return "nothing on it says that the cluster moved on"
	case o.Birth.ClusterID == 0 || !o.Membership.Known || o.Membership.ClusterID != o.Birth.ClusterID || o.Margin() < 0:
		return "what took its place does not serve"
	case !slices.ContainsFunc(o.Requests, func(request Request) bool {
		return request.DeletesOld && o.lifeOfRequest(request.ID) == r.Volume.Superseded
	}):
		return "nobody asked to give it up"
	}
	return ""
}

// lifeOfRequest is the incarnation that came of a request, or "".
func (o Observation) lifeOfRequest(id string) string {
	if id == "" {
		return ""
	}
	if o.Birth.Restore == id {
		return o.Birth.Incarnation
	}
	for _, past := range o.Birth.Past {
		if past.Restore == id {
			return past.Incarnation
		}
	}
	return ""
}
