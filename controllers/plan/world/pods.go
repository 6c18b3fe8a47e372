package world

import (
	"cmp"
	"errors"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func (w *World) carryOutPods(c changes.Change, effects *budgetOfEffects) {
	switch c := c.(type) {
	case changes.SealPods:
		w.seal(c, effects)
	case changes.LabelRole:
		w.editPod(c.Pod, func(p *pod) { p.Role = c.Role })
	case changes.RestoreInputs:
		w.editPod(c.Pod, func(p *pod) { p.Settings = c.Settings })
	case changes.ResizePod:
		w.editPod(c.Pod, func(p *pod) {
			p.Settings, p.made = c.Settings, c.Settings
			p.Resize = facts.Resize{State: facts.ResizeInProgress, Since: w.Now}
		})
	case changes.DressPods:
		for _, ref := range c.Pods {
			w.editPod(ref, func(p *pod) { p.Undressed = false })
		}
	case changes.StartPods:
		w.startPods(c, effects)
	case changes.DeletePods:
		w.deletePods(c, effects)
	default:
	}
}

func (w *World) startPods(c changes.StartPods, effects *budgetOfEffects) {
	for _, s := range c.Pods {
		if w.admits(kindPod, s.Name, effects) {
			w.createPod(s)
		}
	}
}

func (w *World) createPod(s changes.Start) {
	if _, exists := w.objects.pods[s.Name]; exists {
		return
	}
	w.checkAsleep(s)
	w.checkKeptDown(s.Name)
	p := pod{initial: s.Initial, seen: s.Flags, made: s.Settings, Pod: facts.Pod{UID: w.uid("pod"), Created: w.Now,
		Phase: facts.PodPending,
		Flags: s.Flags, Role: s.Role, Incarnation: cmp.Or(w.objects.bootstrap.Incarnation,
			w.objects.volumes[s.Name].Incarnation), Settings: s.Settings, Transport: s.Settings.Transport}}
	p.storage = w.storageOf(w.objects, w.onVolume(s.Name))
	p.disk, p.claim = p.UID, w.Cluster.Operator
	if !p.storage.Ephemeral {
		p.claim, p.disk = "", w.objects.volumes[s.Name].UID
	}
	w.objects.pods[s.Name] = p
}

// storageOf is where a member has its data.
func (w *World) storageOf(from objects, r facts.Replica) facts.Storage {
	if p, ok := from.pods[r.Name]; ok {
		return p.storage
	}
	return facts.StorageOf(r, from.bootstrap, w.Spec.Storage)
}

// isInPod reports a member whose data is in its Pod.
func (w *World) isInPod(name string) bool {
	return w.storageOf(w.objects, w.onVolume(name)).Ephemeral
}

func (w *World) onVolume(name string) facts.Replica {
	r := facts.Replica{Name: name}
	if v, ok := w.objects.volumes[name]; ok {
		r.Volume = &v.Volume
	}
	return r
}

func (w *World) seal(c changes.SealPods, effects *budgetOfEffects) {
	for _, s := range c.Pods {
		if effects.spend() {
			w.checkLed(s.Pod.Name, s.Process)
			w.editPod(s.Pod, func(p *pod) {
				p.Flags, p.compared = facts.FlagsSealed, cmp.Or(s.Process, p.compared)
				if s.Role != "" || s.LeadAway {
					p.Role = s.Role
				}
			})
		}
	}
}

func (w *World) editPod(ref facts.PodRef, edit func(*pod)) {
	if p, ok := w.objects.pods[ref.Name]; ok && p.UID == ref.UID {
		edit(&p)
		w.objects.pods[ref.Name] = p
	}
}

func (w *World) deletePods(c changes.DeletePods, effects *budgetOfEffects) {
	for _, ref := range c.Pods {
		if effects.spend() {
			w.checkPodDeletion(ref)
			w.editPod(ref, func(p *pod) { p.Terminating = true })
		}
	}
}

// evict stops a Pod if the disruption budget allows it: as many voters' Pods as it asks for stay ready.
func (w *World) evict(c changes.EvictPod) error {
	if p, ok := w.objects.pods[c.Pod.Name]; !ok || p.UID != c.Pod.UID {
		return nil
	}
	ready := 0
	for name, p := range w.objects.pods {
		if name != c.Pod.Name && p.Ready && !p.Terminating && p.isCounted() {
			ready++
		}
	}
	if !c.PastBudget && ready < w.objects.budget {
		return errors.New("the disruption budget does not allow it")
	}
	w.checkEviction(c)
	w.editPod(c.Pod, func(p *pod) { p.Terminating = true })
	return nil
}
