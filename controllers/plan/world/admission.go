package world

import (
	"errors"
	"fmt"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
)

// errRefused says that Kubernetes admits no such Pod.
var errRefused = errors.New("refused")

// admit is what is left of a change that makes Pods while Kubernetes admits none: where others make them first, all
// that comes before.
func (w *World) admit(c changes.Change) (changes.Change, error) {
	switch c := c.(type) {
	case changes.Bootstrap:
		if w.refusing && len(c.Restores)+len(c.Pods) > 0 {
			c.Restores, c.Pods = nil, nil
			return c, errRefused
		}
	case changes.PrepareNext:
		if w.refusing && len(c.Restores) > 0 {
			c.Restores = nil
			return c, errRefused
		}
	default:
		_, isRemoval := c.(changes.RemoveMember)
		if (w.refusing || isRemoval && w.refusesMembers()) && needsAdmission(c) {
			return nil, errRefused
		}
	}
	return c, nil
}

// needsAdmission reports a change that makes Pods, or makes sure first that they could be made.
func needsAdmission(c changes.Change) bool {
	switch c := c.(type) {
	case changes.EvictPod:
		return !c.Fences
	case changes.StartPods, changes.StartPreflight, changes.SwitchOver:
		return true
	case changes.WriteSettings:
		return c.Rehearse
	case changes.RemoveMember:
		return c.Successor.Name != ""
	default:
		return false
	}
}

// refusesMembers reports that Kubernetes would admit no volume, or no Pod, of a new member.
func (w *World) refusesMembers() bool {
	return w.refusing || w.trouble.refused[kindPod] || w.trouble.refused[kindVolume] && !w.Spec.Ephemeral
}

// admits reports whether an object can be created: Kubernetes refuses none of its kind, its name is free, and the
// operator is alive to ask for it.
func (w *World) admits(kind, name string, effects *budgetOfEffects) bool {
	if err := w.refusalOf(kind, name); err != nil {
		effects.err, effects.left = err, 0
		return false
	}
	return effects.spend()
}

// refusalOf says why an object cannot be created, or nil.
func (w *World) refusalOf(kind, name string) error {
	switch {
	case w.trouble.refused[kind]:
		return fmt.Errorf("%s %s is %w", kind, name, errRefused)
	case w.objects.collected[kind+" "+name]:
		return errTaken(kind, name)
	}
	return nil
}

// Refuse has Kubernetes refuse every new object of a kind, or admit it again.
func (w *World) Refuse(kind string, isRefused bool) {
	if w.trouble.refused == nil {
		w.trouble.refused = map[string]bool{}
	}
	w.trouble.refused[kind] = isRefused
	w.logf("fault: new objects of kind %s are refused: %v", kind, isRefused)
}

// refuseAny does it for a kind that the seed chooses.
func (w *World) refuseAny(string) {
	kinds := []string{kindVolume, kindSecret, kindService, kindBudget, kindPod}
	kind := w.oneOf("kind that is refused", kinds)
	w.Refuse(kind, !w.trouble.refused[kind])
}
