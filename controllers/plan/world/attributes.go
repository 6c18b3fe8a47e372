package world

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// VolumeAttributesClasses: what the operator asks for, and what storage makes of it.

// noSuchSpeed is a class that storage refuses.
const noSuchSpeed = "faster-than-light"

// asking are attributes that a new claim asks for.
func asking(class string) facts.Attributes { return facts.Attributes{Asked: class, For: class} }

// modifyVolume has a claim name another class. It holds the operator to what Kubernetes refuses, and to one at a time.
func (w *World) modifyVolume(c changes.ModifyVolume) {
	name, isLog := c.Volume.Name, c.LogOf != ""
	if isLog {
		name = c.LogOf
	}
	v, ok := w.objects.volumes[name]
	if !ok || isLog && v.Half.VolumeRef != c.Volume || !isLog && v.UID != c.Volume.UID {
		return
	}
	w.editVolume(facts.VolumeRef{Name: name, UID: v.UID}, func(v *volume) {
		has, asked := &v.Attributes, w.Spec.Attributes
		if isLog {
			has, asked = &v.Half.Attributes, w.Spec.WAL.Attributes
		}
		if c.Class == "" && has.Has != "" {
			w.violate("the class %s was to be taken from the volume of %s", has.Has, name)
			return
		}
		if has.Asked == has.Has {
			w.checkModifiesAlone(c.Volume.Name, v.owner)
		}
		*has = facts.Attributes{Asked: c.Class, Has: has.Has, For: asked}
	})
}

// checkModifiesAlone holds such changes to one at a time.
func (w *World) checkModifiesAlone(claim, owner string) {
	for _, name := range sortedKeys(w.objects.volumes) {
		other := w.objects.volumes[name]
		isBusy := name != claim && other.IsModifying() ||
			other.Half.Name != claim && other.Half.Attributes.Asked != other.Half.Attributes.Has
		if other.owner == owner && other.kept == facts.NoCause && isBusy && w.ledger.isFresh && !w.trouble.isRaced {
			w.violate("the volumes of %s and %s are changed at the same time", name, claim)
		}
	}
}

// advanceAttributes is the storage that gives volumes their class, takes its time, or refuses it.
func (w *World) advanceAttributes(name string) {
	v := w.objects.volumes[name]
	for _, has := range []*facts.Attributes{&v.Attributes, &v.Half.Attributes} {
		switch {
		case v.Phase != facts.VolumeBound || has.Asked == has.Has || has.State == facts.AttributesInfeasible:
			continue
		case has.Asked == noSuchSpeed:
			has.State, has.Message = facts.AttributesInfeasible, "nothing is so fast"
		case w.chance(4, "the storage takes its time with a class", v.UID) > 0:
			has.State = facts.AttributesUnderWay
		default:
			has.Has, has.State = has.Asked, facts.AttributesNotBegun
		}
		w.logf("storage: %s of a volume of %s: %q", has.Asked, name, has.State)
	}
	w.objects.volumes[name] = v
}

// ChangeSpeed is a user who asks for another class, for one that storage refuses, or for none.
func (w *World) ChangeSpeed() {
	w.Spec.Attributes = []string{"", "slow", "fast", noSuchSpeed}[w.chance(4, "another class of attributes", "")]
	if !w.Spec.WAL.IsZero() {
		w.Spec.WAL.Attributes = w.Spec.Attributes
	}
	w.logf("spec: the VolumeAttributesClass %q", w.Spec.Attributes)
}
