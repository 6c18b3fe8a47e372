package world

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Drains of nodes: a person cordons a node, and Kubernetes is asked again and again to evict what
// is on it.

// Drain is a person who drains the node of a member that is no learner, or lets all nodes take Pods again.
func (w *World) Drain() {
	if len(w.drained) > 0 && w.chance(3, "are nodes uncordoned", "") == 0 {
		w.Uncordon()
		return
	}
	var there []string
	for _, name := range sortedKeys(w.objects.pods) {
		if w.objects.pods[name].Role != facts.RoleLearner {
			there = append(there, name)
		}
	}
	if len(there) == 0 {
		return
	}
	name := there[w.chance(len(there), "drained", "")]
	w.drained = append(w.drained, w.objects.pods[name].UID)
	w.logf("the node of %s is drained", name)
}

// Uncordon lets all nodes take Pods again.
func (w *World) Uncordon() {
	w.drained = nil
	w.logf("no node is drained any more")
}

// TryDrain asks to evict each Pod of a drained node.
func (w *World) TryDrain() {
	for _, name := range sortedKeys(w.objects.pods) {
		p := w.objects.pods[name]
		if !slices.Contains(w.drained, p.UID) || p.Terminating || !w.mayEvict(name) {
			continue
		}
		w.checkDrain(name)
		w.logf("a drain evicts %s", name)
		w.editPod(facts.PodRef{Name: name, UID: p.UID}, func(p *pod) { p.Terminating = true })
	}
}

// isCounted reports a Pod that the budget selects.
func (p pod) isCounted() bool { return facts.Replica{Pod: &p.Pod}.IsCounted() }

// mayEvict is what the API server asks (kubernetes/kubernetes:pkg/registry/core/pod/storage/eviction.go): a Pod that no
// budget selects may always go. One that is not ready may go where enough others are, as a ready one may.
func (w *World) mayEvict(name string) bool {
	if w.objects.budget == 0 || !w.objects.pods[name].isCounted() {
		return true
	}
	ready := 0
	for other, p := range w.objects.pods {
		if other != name && p.Ready && !p.Terminating && p.isCounted() {
			ready++
		}
	}
	return ready >= w.objects.budget
}

// isAnyDrained reports a voter that a drain waits for.
func (w *World) isAnyDrained(c *cluster) bool {
	return slices.ContainsFunc(c.voters(), func(m etcdutil.Member) bool {
		return slices.Contains(w.drained, w.objects.pods[c.nameOf(m.ID)].UID)
	})
}

// checkDrain holds the operator to its budget: while there is one, no drain takes the quorum. No client is led to an
// only member without a label, and it starts again on its volume.
func (w *World) checkDrain(name string) {
	c := w.written()
	if c == nil || w.objects.budget == 0 || !c.hasVoter(name) || !w.hasQuorum(c) ||
		len(c.voters()) == 1 && !w.objects.pods[name].isCounted() {
		return
	}
	left := slices.DeleteFunc(w.runningVoters(c), func(p *process) bool { return p.pod == name })
	if voters := len(c.voters()); len(left) < etcdutil.Quorum(voters) {
		w.violate("I1: a drain takes %s (%q), one of %d voters, beside a budget of %d", name,
			w.objects.pods[name].Role, voters, w.objects.budget)
	}
}

// drainOf is what the operator reads of the node of a Pod: it asks where there is one voter, or will be. In some worlds
// nodes may not be read.
func (w *World) drainOf(p pod) facts.Drain {
	c := w.clusters[w.objects.bootstrap.ClusterID]
	isAsked := w.Spec.Size == 1 || c != nil && len(c.voters()) == 1
	if !w.trouble.Drains || !isAsked || w.seed%9 == 0 {
		return facts.Drain{}
	}
	if slices.Contains(w.drained, p.UID) {
		return facts.Drain{IsKnown: true, Why: "its node is cordoned"}
	}
	return facts.Drain{IsKnown: true}
}
