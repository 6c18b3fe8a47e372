package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules about former incarnations: nothing of them may serve a write once the next one starts, and their volumes are
// kept.

// restoreFence takes a former incarnation out of service: its volumes say so, then nobody is led to its members, then
// their Pods go.
func restoreFence(o view) *proposal {
	if !o.Birth.Exists() {
		return nil // nothing says what took its place
	}
	for _, step := range []func(view) *proposal{fenceMark, fenceBudget, fenceLabels, fencePods, fenceSecrets} {
		if p := step(o); p != nil {
			return p
		}
	}
	if why := o.unfenced(); why != "" {
		return o.fenceWait(why)
	}
	return nil
}

// fenceMark writes on what the ended incarnation lived on that another took its place, so that nobody takes it up again
// by mistake.
func fenceMark(o view) *proposal {
	volumes := o.unmarked()
	if len(volumes) == 0 {
		return nil
	}
	return act(MarkFormer{By: o.Birth.Incarnation, Volumes: volumes}, ReasonFence,
		"The cluster has switched over; that is written on the volumes of %s, which are kept.",
		joinNames(volumes, func(v VolumeRef) string { return v.Name }))
}

func (o Observation) unmarked() []VolumeRef {
	var out []VolumeRef
	for _, r := range o.FormerMembers() {
		if r.Volume != nil && r.Volume.Superseded == "" {
			out = append(out, r.volumeRef())
		}
	}
	return out
}

// fenceBudget lets go of a budget that counts members which are to stop.
func fenceBudget(o view) *proposal {
	isOurs := o.Budget.State == ObjectCurrent || o.Budget.State == ObjectDrifted
	if o.Birth.ClusterID != 0 || !isOurs || o.Budget.MinAvailable == 0 ||
		!slices.ContainsFunc(o.FormerMembers(), Replica.isUp) {
		return nil
	}
	return act(SetBudget{}, ReasonFence,
		"The disruption budget goes while the members of the previous incarnation are stopped.")
}

// isUp reports a Pod that nobody has asked to go.
func (r Replica) isUp() bool { return r.Pod != nil && !r.Pod.Terminating }

func fenceLabels(o view) *proposal {
	for _, r := range o.FormerMembers() {
		if r.isUp() && r.Pod.Role != "" {
			return act(LabelRole{Pod: r.podRef()}, ReasonFence,
				"%s is of the previous incarnation; clients are led elsewhere.", r.Name)
		}
	}
	return nil
}

func fencePods(o view) *proposal {
	var pods, tasks []PodRef
	for _, r := range o.FormerMembers() {
		if r.isUp() {
			pods = append(pods, r.podRef())
		}
		if r.Restoring != nil && !r.Restoring.Terminating {
			tasks = append(tasks, r.restoreRef())
		}
	}
	switch {
	case len(pods) > 0:
		return act(DeletePods{Pods: pods}, ReasonFence,
			"The Pods of %s, of the previous incarnation, are deleted; their volumes are kept.", podNames(pods))
	case len(tasks) > 0:
		return act(DeleteRestores{Pods: tasks}, ReasonFence,
			"The restore Pods of %s, of the previous incarnation, are deleted.", podNames(tasks))
	}
	return nil
}

// fenceSecrets deletes certificates: without them no Pod of the previous incarnation starts again, whoever makes one.
func fenceSecrets(o view) *proposal {
	for _, r := range o.FormerMembers() {
		if p := collectSecret(r); p != nil {
			return act(p.Change, ReasonFence, "%s is of the previous incarnation; its certificates are deleted.",
				r.Name)
		}
	}
	return nil
}

// unfenced says why a former incarnation might still serve a write, or "". Pods that were asked to go and whose nodes
// do not answer are left behind where they are too few for that.
func (o view) unfenced() string {
	if of := o.unmarked(); len(of) > 0 {
		return fmt.Sprintf("nothing on the volume of %s says that the cluster switched over", of[0].Name)
	}
	remaining := map[string]int{}
	for _, r := range o.FormerMembers() {
		if r.Pod == nil {
			continue
		}
		if !o.hasNotLeft(r) {
			return fmt.Sprintf("the Pod of %s, of the previous incarnation, is still there", r.Name)
		}
		remaining[r.Pod.Incarnation]++
	}
	for _, past := range o.Birth.Former {
		if n := remaining[past.Incarnation]; n > 0 && n >= etcdutil.Quorum(len(past.Voters)) {
			return fmt.Sprintf("%d Pods of the previous incarnation do not go (%s), which might be enough "+
				"to serve writes", n, strings.Join(o.notLeft(), ", "))
		}
		delete(remaining, past.Incarnation)
	}
	if len(remaining) > 0 {
		return fmt.Sprintf("Pods of an incarnation of which nothing is known do not go (%s)",
			strings.Join(o.notLeft(), ", "))
	}
	return ""
}

// notLeft names the Pods of former incarnations that do not go, with their nodes.
func (o Observation) notLeft() []string {
	var out []string
	for _, r := range o.FormerMembers() {
		if o.hasNotLeft(r) {
			out = append(out, fmt.Sprintf("%s on node %s", r.Name, r.Pod.Node))
		}
	}
	return out
}

// fenceWait waits for Pods to be gone. Nothing but their absence says that their processes are.
func (o view) fenceWait(why string) *proposal {
	if len(o.notLeft()) > 0 {
		return refuse(ReasonFence,
			"The next members start once nothing of the previous incarnation can serve a write, and %s. Bring the "+
				"nodes back, or taint those that are off with "+
				"node.kubernetes.io/out-of-service, or delete the Pods by force once it is certain that their "+
				"machines are off.", why).byHuman().unlessAlive(o)
	}
	return wait(ReasonFence, "The next members start once nothing of the previous incarnation can serve a write: %s.",
		why).unlessAlive(o)
}

// unlessAlive lets later rules look after an incarnation that serves already.
func (p *proposal) unlessAlive(o view) *proposal {
	p.yields = o.isAlive()
	return p
}

// whyKeepFormer says why the volume of a former incarnation is kept, or "".
func (o view) whyKeepFormer(r Replica) string {
	switch {
	case r.Pod != nil || r.Restoring != nil:
		return "a Pod still uses it"
	case r.Volume.Superseded == "" || r.Volume.Incarnation == o.Birth.Incarnation:
		return "nothing on it says that the cluster switched over"
	case o.Birth.ClusterID == 0 || !o.Membership.Known || o.Membership.ClusterID != o.Birth.ClusterID || o.Margin() < 0:
		return "what took its place does not serve"
	case !slices.ContainsFunc(o.Requests, func(request Request) bool {
		return request.DeletesOld && o.incarnationOfRequest(request.ID) == r.Volume.Superseded
	}):
		return "no EtcdRestore asks to delete it"
	}
	return ""
}

// incarnationOfRequest is the incarnation that came of a request, or "".
func (o Incarnation) incarnationOfRequest(id string) string {
	if id == "" {
		return ""
	}
	if o.Birth.Restore == id {
		return o.Birth.Incarnation
	}
	for _, past := range o.Birth.Former {
		if past.Restore == id {
			return past.Incarnation
		}
	}
	return ""
}
