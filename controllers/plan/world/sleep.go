package world

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Hibernation: spec.size 0, and what must hold while a cluster sleeps.

// Sleep is a user who asks for no member. The API refuses that where the spec asks for data in Pods. So a user who
// moves members asks for volumes by the same edit.
func (w *World) Sleep() {
	if w.trouble.Moves {
		w.Spec.Storage = facts.Storage{}
	}
	if !w.Spec.Ephemeral {
		w.Spec.Size = 0
		w.logf("spec: size 0")
	}
}

// Wake is a user who asks for members again.
func (w *World) Wake() {
	if w.Spec.Size == 0 {
		w.Spec.Size = []int{1, 3, 5}[w.chance(3, "size to wake with", "")]
		w.logf("spec: size %d", w.Spec.Size)
	}
}

// wantedOf is how many voters the cluster is to have: while it is to sleep, those that can, or one more where that
// makes them odd. Of three or more at least three stay.
func (w *World) wantedOf(c *cluster) int {
	if w.Spec.Size > 0 {
		return w.Spec.Size
	}
	staying := 0
	for _, m := range c.voters() {
		if name := c.nameOf(m.ID); !w.isDoomed(name) && !w.isInPod(name) {
			staying++
		}
	}
	if n := len(c.voters()); staying < n {
		staying |= 1
		if n >= 3 {
			staying = max(staying, 3)
		}
	}
	return staying
}

// isToSleep reports that a user asks for no member, and that this is written down.
func (w *World) isToSleep() bool { return w.Spec.Size == 0 && w.objects.bootstrap.Asleep }

func (w *World) fallAsleep() error {
	if !w.objects.bootstrap.FallAsleep(w.objects.bootstrap.Incarnation) {
		return errStale
	}
	if w.Spec.Size > 0 && !w.trouble.isRaced {
		w.violate("I20: the cluster falls asleep, and the spec asks for %d members", w.Spec.Size)
	}
	return nil
}

func (w *World) wakeUp() error {
	if !w.objects.bootstrap.WakeUp(w.objects.bootstrap.Incarnation) {
		return errStale
	}
	return nil
}

// stopMembers is I20: members stop at once, where their user asks for that, and on volumes that they start from again.
func (w *World) stopMembers(c changes.StopMembers, effects *budgetOfEffects) {
	for _, ref := range c.Pods {
		if !effects.spend() {
			return
		}
		p, isThere := w.objects.pods[ref.Name]
		if !isThere || p.UID != ref.UID {
			continue
		}
		v := w.objects.volumes[ref.Name]
		isKept := p.disk == v.UID && !v.Terminating && !v.Record.IsZero() && p.Flags.NeedData()
		if !w.trouble.isRaced && (!w.isToSleep() || !isKept) {
			w.violate("I20: %s was stopped to sleep: spec.size %d, volume %v", ref.Name, w.Spec.Size, isKept)
		}
		w.editPod(ref, func(p *pod) { p.Terminating = true })
	}
}

// checkAsleep is I20 as well: no member starts while the cluster is to sleep.
func (w *World) checkAsleep(s changes.Start) {
	if w.isToSleep() && !w.trouble.isRaced {
		w.violate("I20: %s is started, and the cluster is to sleep", s.Name)
	}
}

// isLeftAlone reports a cluster that sleeps, or of which a member is fenced, by what the operator says.
func isLeftAlone(reason string) bool {
	return reason == facts.ReasonAsleep || reason == facts.ReasonFenced
}
