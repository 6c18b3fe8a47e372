package world

import (
	"cmp"
	"errors"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// errStale says that the world moved since the decision.
var errStale = errors.New("stale")

// Apply carries a change out as the operator would: after a live look where the change must be confirmed, with
// preconditions, and possibly not to its end, because the operator may die between any two effects.
func (w *World) Apply(c plan.Change, refused []plan.Note, diesAfter int) error {
	admitted, refusal := w.admit(c)
	if admitted == nil {
		return refusal
	}
	live := w.Observe()
	live.Refused = refused
	if plan.MustConfirm(c) && !plan.Confirm(live, c) {
		return errStale
	}
	w.remember()
	w.trouble.isRaced = false
	w.meanwhile()
	err := cmp.Or(w.effect(admitted, diesAfter), refusal)
	if err == nil && w.sometimes(w.trouble.LostReplies, 4) {
		err = errLost
	}
	return err
}

// effect carries a change out, and holds what that did to the invariants.
func (w *World) effect(c plan.Change, diesAfter int) error {
	written := w.clusters[w.objects.birth.ClusterID]
	w.ledger.before = w.health()
	before, copies, birth := w.snapshot(), w.countCopies(written), w.objects.birth
	w.ledger.found = before
	life := &budgetOfEffects{left: diesAfter, between: w.meanwhile}
	err := cmp.Or(w.carryOut(c, life), life.err)
	w.forgetAsOlder(birth)
	w.settleClusters()
	w.checkAction(w.ledger.before, c)
	w.checkCopies(written, copies, plan.KindOf(c))
	w.checkInstall(before)
	w.checkLives()
	w.checkMoved(c, before, err)
	return err
}

// budgetOfEffects counts down to the operator's death. It dies of the effect that it cannot make any more.
type budgetOfEffects struct {
	left     int
	err      error  // why it goes no further, where it did not die
	between  func() // what may happen between two effects
	hasBegun bool
}

func (b *budgetOfEffects) spend() bool {
	if b.hasBegun && b.between != nil {
		b.between()
	}
	b.hasBegun = true
	b.left--
	return b.left >= 0
}

func (w *World) carryOut(c plan.Change, life *budgetOfEffects) error {
	switch c := c.(type) {
	case plan.AdoptData:
		w.adopt(c, life)
	case plan.BeginBirth, plan.VoidBirth, plan.NextBirth, plan.RecordBirth:
		return w.carryOutBirth(c)
	case plan.BeginNext, plan.PrepareNext, plan.DropNext, plan.SwitchOver, plan.MarkFormer, plan.MarkFlushed:
		w.carryOutInPlace(c, life)
	case plan.StartPreflight, plan.DeletePreflight, plan.RecordRestored, plan.DeleteRestores:
		return w.carryOutRestore(c, life)
	case plan.Bootstrap:
		w.bootstrap(c, life)
	case plan.ApplyObjects:
		w.makeObjects(c.Objects, c.Secrets, life)
	case plan.SetBudget:
		return w.setBudget(c)
	case plan.FollowPolicy:
		w.followPolicy(c)
	default:
		return w.carryOutMember(c, life)
	}
	return nil
}

// setBudget creates, changes or deletes the disruption budget.
func (w *World) setBudget(c plan.SetBudget) error {
	if err := w.refusalOf(kindBudget, "demo"); err != nil && w.objects.budget == 0 && c.MinAvailable > 0 {
		return err
	}
	w.objects.budget = c.MinAvailable
	return nil
}

func (w *World) carryOutBirth(c plan.Change) error {
	if _, isFirst := c.(plan.BeginBirth); !isFirst && !w.objects.birth.Exists() {
		return errStale // there is no record to change
	}
	switch c := c.(type) {
	case plan.BeginBirth:
		if err := w.refusalOf(kindService, "demo"); err != nil {
			return err
		}
		w.beginBirth(c)
	case plan.VoidBirth:
		w.checkVoid()
		w.objects.birth.Void = true
	case plan.NextBirth:
		w.checkBeginning(c.Origin)
		w.objects.birth = record.Birth(c.BeginBirth)
	case plan.RecordBirth:
		w.objects.birth.ClusterID = c.ClusterID
		w.checkBorn(c.ClusterID)
		w.checkOrigin(c.ClusterID)
		w.checkApproval()
	default:
	}
	return nil
}

func (w *World) carryOutMember(c plan.Change, life *budgetOfEffects) error {
	switch c := c.(type) {
	case plan.RecordMembers:
		w.record(c, life)
	case plan.SetChoices:
		w.setChoices(c, life)
	case plan.DeleteVolumes:
		w.deleteVolumes(c, life)
	case plan.MarkVolume:
		w.editVolume(c.Volume, func(v *volume) { v.RemovedFor = c.For })
	case plan.KeepVolume:
		w.editVolume(c.Volume, func(v *volume) { v.kept, v.keptSince = c.For, w.Now })
	case plan.DeleteSecret:
		delete(w.objects.secrets, c.Name)
	case plan.PrepareMember:
		w.prepare(c, life)
	case plan.SealPods, plan.LabelRole, plan.DressPods, plan.RestoreInputs, plan.StartPods, plan.DeletePods:
		w.carryOutPods(c, life)
	case plan.EvictPod:
		return w.evict(c)
	default:
		return w.carryOutEtcd(c)
	}
	return nil
}

func (w *World) carryOutPods(c plan.Change, life *budgetOfEffects) {
	switch c := c.(type) {
	case plan.SealPods:
		w.seal(c, life)
	case plan.LabelRole:
		w.editPod(c.Pod, func(p *pod) { p.Role = c.Role })
	case plan.RestoreInputs:
		w.editPod(c.Pod, func(p *pod) { p.Choices = c.Choices })
	case plan.DressPods:
		for _, ref := range c.Pods {
			w.editPod(ref, func(p *pod) { p.Undressed = false })
		}
	case plan.StartPods:
		for _, s := range c.Pods {
			if w.admits(kindPod, s.Name, life) {
				w.createPod(s)
			}
		}
	case plan.DeletePods:
		w.deletePods(c, life)
	default:
	}
}

// adopt writes this object's UID on what an earlier one left, one after the other.
func (w *World) adopt(c plan.AdoptData, life *budgetOfEffects) {
	for _, item := range c.Items {
		if !life.spend() {
			return
		}
		if item.Kind == kindSecret {
			w.objects.caOwner = w.Cluster.UID
			continue
		}
		if v, ok := w.objects.volumes[item.Name]; ok && v.UID == item.UID {
			v.owner = w.Cluster.UID
			w.objects.volumes[item.Name] = v
		}
	}
}

const kindSecret = "Secret"

// beginBirth creates and never overwrites: of two operators one wins.
func (w *World) beginBirth(c plan.BeginBirth) {
	if !w.objects.birth.Exists() {
		w.objects.birth, w.objects.claim = record.Birth(c), w.Cluster.Operator
		if c.ClusterID != 0 {
			w.checkBorn(c.ClusterID)
		} else {
			w.checkBeginning(c.Origin)
		}
	}
}

func (w *World) makeObjects(list []plan.Object, secrets []string, life *budgetOfEffects) {
	for _, object := range list {
		if object.Kind == kindVolume {
			w.relabel(object.Name)
			continue
		}
		if !w.admits(object.Kind, object.Name, life) {
			continue
		}
		w.objects.made[object.Name] = true
		if object.Authority && w.objects.caOwner == "" {
			w.objects.caOwner = w.Cluster.UID
		}
	}
	for _, name := range secrets {
		if w.admits(kindSecret, name, life) {
			w.objects.secrets[name] = true
		}
	}
}

// bootstrap creates Pods only when every volume of the birth is there.
func (w *World) bootstrap(c plan.Bootstrap, life *budgetOfEffects) {
	w.makeObjects(c.Objects, c.Secrets, life)
	for _, v := range c.Volumes {
		if !w.admits(kindVolume, v.Name, life) {
			return
		}
		w.createVolume(v, w.objects.birth.Incarnation)
	}
	if !w.objects.birth.Begun && !w.begin(life) {
		return
	}
	for _, l := range c.Restores {
		if !life.spend() {
			return
		}
		w.createRestore(l, w.objects.birth.Incarnation, w.objects.birth.Origin)
	}
	for _, s := range c.Pods {
		if !w.admits(kindPod, s.Name, life) {
			return
		}
		w.createPod(s)
	}
}

// begin writes down which volumes the first members are born on, once all of them are there.
func (w *World) begin(life *budgetOfEffects) bool {
	if !w.objects.birth.Exists() {
		return false
	}
	volumes := map[string]string{}
	for _, name := range w.objects.birth.Names {
		v, ok := w.objects.volumes[name]
		if !ok && !w.Spec.Ephemeral {
			return false
		}
		volumes[name] = v.UID
	}
	if !life.spend() {
		return false
	}
	w.objects.birth.Begun, w.objects.birth.Volumes, w.objects.birth.NextOrdinal = true, volumes, len(volumes)
	return true
}

func (w *World) createVolume(v plan.NewVolume, incarnation string) {
	if _, exists := w.objects.volumes[v.Name]; exists || incarnation == "" {
		return
	}
	uid := w.uid("volume")
	w.disks[uid] = &disk{}
	w.objects.volumes[v.Name] = volume{owner: w.Cluster.UID, isReleased: !w.Spec.Retain, Volume: plan.Volume{UID: uid, Created: w.Now, Phase: plan.VolumePending,
		Incarnation: incarnation, Choices: v.Choices, Bytes: v.Bytes, Backing: uid}}
}

func (w *World) createPod(s plan.Start) {
	if _, exists := w.objects.pods[s.Name]; exists {
		return
	}
	p := pod{initial: s.Initial, seen: s.Flags, made: s.Choices, Pod: plan.Pod{UID: w.uid("pod"), Created: w.Now, Phase: plan.PodPending,
		Flags: s.Flags, Role: s.Role, Incarnation: cmp.Or(w.objects.birth.Incarnation, w.objects.volumes[s.Name].Incarnation), Choices: s.Choices}}
	p.disk = p.UID
	if !w.Spec.Ephemeral {
		p.disk = w.objects.volumes[s.Name].UID
	}
	w.objects.pods[s.Name] = p
}

func (w *World) prepare(c plan.PrepareMember, life *budgetOfEffects) {
	ordinal, _ := etcdutil.Ordinal(w.Cluster.Name, c.Volume.Name)
	if w.objects.birth.Promised != c.Volume.Name {
		if !w.objects.birth.Exists() || ordinal < w.objects.birth.NextOrdinal || !life.spend() {
			return // promised before: whoever decided this was behind
		}
		w.objects.birth.Promised, w.objects.birth.NextOrdinal = c.Volume.Name, ordinal+1
	}
	if c.Secret && w.admits(kindSecret, c.Volume.Name, life) {
		w.objects.secrets[c.Volume.Name] = true
	}
	if !w.Spec.Ephemeral && w.admits(kindVolume, c.Volume.Name, life) {
		w.createVolume(c.Volume, w.objects.birth.Incarnation)
	}
}

func (w *World) record(c plan.RecordMembers, life *budgetOfEffects) {
	for _, m := range c.Members {
		if !life.spend() {
			return
		}
		if ref := (plan.VolumeRef{Name: m.Name, UID: m.VolumeUID}); w.editVolume(ref, func(v *volume) { v.Record = m.Record }) {
			w.checkRecord(m, m.VolumeUID)
		}
		if p, ok := w.objects.pods[m.Name]; ok && m.PodUID != "" && p.UID == m.PodUID {
			p.Record = m.Record
			w.objects.pods[m.Name] = p
			w.checkRecord(m, p.UID)
		}
	}
}

func (w *World) seal(c plan.SealPods, life *budgetOfEffects) {
	for _, s := range c.Pods {
		if life.spend() {
			w.editPod(s.Pod, func(p *pod) {
				p.Flags = s.Flags
				if s.Role != "" || s.Flags == plan.FlagsUncompared {
					p.Role = s.Role
				}
			})
		}
	}
}

func (w *World) setChoices(c plan.SetChoices, life *budgetOfEffects) {
	for _, ref := range c.Volumes {
		if life.spend() {
			w.editVolume(ref, func(v *volume) { v.Choices = c.Choices })
		}
	}
}

// editVolume changes a volume if it is this one and no other. It is I7: the operator touches only what its cluster owns.
func (w *World) editVolume(ref plan.VolumeRef, edit func(*volume)) bool {
	v, ok := w.objects.volumes[ref.Name]
	if !ok || ref.UID == "" || v.UID != ref.UID {
		return false
	}
	if v.owner != w.Cluster.UID && !w.trouble.isRaced {
		w.violate("I7: the volume %s of %s was changed, and this is %s", ref.Name, v.owner, w.Cluster.UID)
	}
	edit(&v)
	w.objects.volumes[ref.Name] = v
	return true
}

func (w *World) editPod(ref plan.PodRef, edit func(*pod)) {
	if p, ok := w.objects.pods[ref.Name]; ok && p.UID == ref.UID {
		edit(&p)
		w.objects.pods[ref.Name] = p
	}
}

func (w *World) deletePods(c plan.DeletePods, life *budgetOfEffects) {
	for _, ref := range c.Pods {
		if life.spend() {
			w.checkPodDeletion(ref)
			w.editPod(ref, func(p *pod) { p.Terminating = true })
		}
	}
}

// evict stops a Pod if the disruption budget allows it: as many voters' Pods as it asks for stay ready.
func (w *World) evict(c plan.EvictPod) error {
	if p, ok := w.objects.pods[c.Pod.Name]; !ok || p.UID != c.Pod.UID {
		return nil
	}
	ready := 0
	for name, p := range w.objects.pods {
		if name != c.Pod.Name && p.Ready && !p.Terminating && p.Role == "voter" {
			ready++
		}
	}
	if ready < w.objects.budget {
		return errors.New("the disruption budget does not allow it")
	}
	w.checkEviction(c.Pod)
	w.editPod(c.Pod, func(p *pod) { p.Terminating = true })
	return nil
}

func (w *World) deleteVolumes(c plan.DeleteVolumes, life *budgetOfEffects) {
	for _, ref := range c.Volumes {
		if life.spend() {
			w.editVolume(ref, func(v *volume) {
				w.checkVolumeDeletion(ref, w.disks[v.UID])
				v.Terminating = true
			})
		}
	}
}
