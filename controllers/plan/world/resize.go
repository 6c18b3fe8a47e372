package world

import "github.com/etcdsteward/etcd-steward/controllers/plan/facts"

// CPU and memory of Pods that run: what the user asks for, and what kubelets make of it.

// hugeAmounts are more than any node has.
const hugeAmounts = "huge"

// ChangeAmounts is a user who asks for other amounts of CPU and memory, and for nothing else.
func (w *World) ChangeAmounts() {
	w.Spec.Settings.Inputs = []string{"small", "large", hugeAmounts}[w.chance(3, "amounts", "")]
	w.Spec.Settings.Fixed = "amounts"
	w.logf("spec: amounts %s", w.Spec.Settings.Inputs)
}

// advanceResize is the kubelet that changes amounts, defers that, or never can.
func (w *World) advanceResize(p *pod) {
	switch {
	case p.Resize.State == facts.ResizeNone:
		return
	case p.made.Inputs == hugeAmounts:
		p.Resize.State, p.Resize.Message = facts.ResizeInfeasible, "Node didn't have enough capacity: memory"
	case w.chance(3, "the node has no room now", p.UID) == 0:
		p.Resize.State, p.Resize.Message = facts.ResizeDeferred, "Node didn't have enough resource: memory"
	default:
		p.Resize = facts.Resize{}
	}
	w.logf("kubelet: resize of %s: %q", p.UID, p.Resize.State)
}
