package world

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Labels and annotations that people edit, ownership, and the garbage collector.

const (
	kindVolume  = "PersistentVolumeClaim"
	kindPod     = "Pod"
	kindService = "Service"
	kindBudget  = "PodDisruptionBudget"
)

// StripLabels takes the label off a claim that says of which cluster it is. The operator still knows it by the UID of
// its owner, and a list by label does not show it.
func (w *World) StripLabels(name string) {
	if v, ok := w.objects.volumes[name]; ok && !v.Terminating {
		v.isUnlabelled = true
		w.objects.volumes[name] = v
		w.logf("fault: the labels of the volume of %s are taken off", name)
	}
}

// EditIncarnation changes the label of a claim that says of which incarnation its data is.
func (w *World) EditIncarnation(name string) {
	if v, ok := w.objects.volumes[name]; ok && !v.Terminating && v.Superseded == "" {
		v.Incarnation = edited
		w.objects.volumes[name] = v
		w.logf("fault: the incarnation of the volume of %s is edited", name)
	}
}

// ChangePolicy is a user who changes deletionPolicy.
func (w *World) ChangePolicy(string) {
	w.Spec.Retain = !w.Spec.Retain
	w.logf("spec: volumes are kept: %v", w.Spec.Retain)
}

// observeMetadata says which claims lost their labels, and whether ownership follows the policy.
func (w *World) observeMetadata(from objects, o *facts.Observation) {
	for _, name := range sortedKeys(from.volumes) {
		v := from.volumes[name]
		if v.owner != w.Cluster.UID || v.Terminating {
			continue
		}
		if v.isUnlabelled || v.claim != w.Cluster.Operator {
			o.Objects = append(o.Objects, facts.Object{Kind: kindVolume, Name: name, State: facts.ObjectDrifted,
				Detail: "its labels were stripped"})
		}
		if v.isReleased == w.Spec.Retain {
			o.Astray = append(o.Astray, facts.DataRef{Kind: kindVolume, Name: name, UID: v.UID})
		}
	}
	w.observeClaims(from, o)
	if from.collected[kindService+" demo"] {
		o.Objects[1].State = facts.ObjectTerminating
	}
	if from.collected[kindBudget+" demo"] {
		o.Budget.State = facts.ObjectTerminating
	}
}

// observeClaims says which Pods with data in them name another install.
func (w *World) observeClaims(from objects, o *facts.Observation) {
	for _, name := range sortedKeys(from.pods) {
		if p := from.pods[name]; p.storage.Ephemeral && !p.Terminating && p.claim != w.Cluster.Operator {
			o.Objects = append(o.Objects, facts.Object{Kind: kindPod, Name: name, State: facts.ObjectDrifted,
				Detail: "it names another install"})
		}
	}
}

// followPolicy finds claims by their names and UIDs.
func (w *World) followPolicy(c changes.FollowPolicy) {
	for _, item := range c.Items {
		if v, ok := w.objects.volumes[item.Name]; ok && v.UID == item.UID && !v.Terminating {
			v.isReleased = !c.Retain
			w.objects.volumes[item.Name] = v
		}
	}
	isHarmless := c.Retain && w.trouble.StaleSpecs // to keep what may go waits for no second look
	if c.Retain != w.Spec.Retain && !w.trouble.isRaced && !isHarmless {
		w.violate("the policy Retain=%v is followed, and the spec asks for Retain=%v", c.Retain, w.Spec.Retain)
	}
}

// relabel puts the labels of a claim back, and has it, or a Pod with the data in it, name the install that looks after
// the cluster. One that lost the cluster to another writes nothing there.
func (w *World) relabel(kind, name string) {
	if w.objects.claim != "" && w.objects.claim != w.Cluster.Operator {
		return
	}
	if v, ok := w.objects.volumes[name]; ok && kind == kindVolume {
		v.isUnlabelled, v.claim = false, w.Cluster.Operator
		w.objects.volumes[name] = v
	}
	if p, ok := w.objects.pods[name]; ok && kind == kindPod {
		p.claim = w.Cluster.Operator
		w.objects.pods[name] = p
	}
}

// dataClaim is the install that the data says looks after the cluster: the first that says so, by name.
func (w *World) dataClaim(from objects) string {
	for _, name := range sortedKeys(from.volumes) {
		if v := from.volumes[name]; v.owner == w.Cluster.UID && v.claim != "" {
			return v.claim
		}
	}
	for _, name := range sortedKeys(from.pods) {
		if p := from.pods[name]; p.claim != "" {
			return p.claim
		}
	}
	return ""
}

// keeper is the install that looks after the cluster, by what is there.
func (w *World) keeper(from objects) string { return cmp.Or(from.claim, w.dataClaim(from)) }

// Collect deletes the cluster and creates it again, as Recreate does. The garbage collector takes the old objects one
// by one; until then their names are not free.
func (w *World) Collect() {
	before, uid := w.objects.clone(), w.Cluster.UID
	w.Recreate()
	if w.Cluster.UID == uid {
		return
	}
	w.objects.collected = map[string]bool{kindService + " demo": before.bootstrap.Exists(), kindBudget +
		" demo": before.budget > 0}
	w.logf("fault: the garbage collector takes %s apart", uid)
	for name := range before.pods {
		w.objects.collected[kindPod+" "+name] = true
	}
	for name := range before.secrets {
		w.objects.collected[kindSecret+" "+name] = true
	}
}

func (w *World) collect(string) { w.Collect() }

// advanceTrouble lets happen by itself what hazards make possible.
func (w *World) advanceTrouble() {
	if names := sortedKeys(w.objects.collected); len(names) > 0 && w.chance(3, "the garbage collector", "") == 0 {
		delete(w.objects.collected, w.oneOf("object that is collected", names))
	}
	if w.trouble.Corruption {
		w.compareHashes()
	}
	if w.trouble.date != 0 && w.chance(3, "answers are dated right again", "") == 0 {
		w.trouble.date = 0
	}
	if len(w.trouble.late) > 0 && w.chance(3, "what is late happens", "") == 0 {
		late := w.trouble.late
		w.trouble.late = nil
		for _, happen := range late {
			happen()
		}
	}
}

// errTaken says that an object of that name is still there.
func errTaken(kind, name string) error { return fmt.Errorf("%s %s is being deleted", kind, name) }

// hasEdited reports a claim that says it is of an incarnation that never was.
func (w *World) hasEdited() bool {
	return slices.ContainsFunc(sortedKeys(w.objects.volumes),
		func(name string) bool { return w.objects.volumes[name].Incarnation == edited })
}

const edited = "edited"
