package world

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
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
	before := w.health()
	err := w.carryOut(admitted, &budgetOfEffects{left: diesAfter})
	w.settleClusters()
	w.checkAction(before, admitted)
	w.checkLives()
	return cmp.Or(err, refusal)
}

// budgetOfEffects counts down to the operator's death. It dies of the effect that it cannot make any more.
type budgetOfEffects struct{ left int }

func (b *budgetOfEffects) spend() bool {
	b.left--
	return b.left >= 0
}

func (w *World) carryOut(c plan.Change, life *budgetOfEffects) error {
	switch c := c.(type) {
	case plan.AdoptData:
		w.adopt(c, life)
	case plan.BeginBirth, plan.VoidBirth, plan.NextBirth, plan.RecordBirth:
		w.carryOutBirth(c)
	case plan.BeginNext, plan.LayNext, plan.DropNext, plan.MoveLife, plan.MarkFormer, plan.MarkFlushed:
		w.carryOutInPlace(c, life)
	case plan.StartPreflight, plan.DeletePreflight, plan.RecordRestored, plan.DeleteRestores:
		return w.carryOutRestore(c, life)
	case plan.Bootstrap:
		w.bootstrap(c, life)
	case plan.ApplyObjects:
		w.makeObjects(c.Objects, c.Secrets, life)
	case plan.SetBudget:
		w.objects.budget = c.MinAvailable
	case plan.FollowPolicy:
		w.Spec.ReleasePending = false
	default:
		return w.carryOutMember(c, life)
	}
	return nil
}

func (w *World) carryOutBirth(c plan.Change) {
	switch c := c.(type) {
	case plan.BeginBirth:
		w.beginBirth(c)
	case plan.VoidBirth:
		w.checkVoid()
		w.objects.birth.Void = true
	case plan.NextBirth:
		w.checkBeginning(c.Origin)
		w.objects.birth = birthOf(c.BeginBirth, w.Cluster.Operator)
	case plan.RecordBirth:
		w.objects.birth.ClusterID = c.ClusterID
		w.checkBorn(c.ClusterID)
		w.checkOrigin(c.ClusterID)
		w.checkApproval()
	default:
	}
}

func (w *World) carryOutMember(c plan.Change, life *budgetOfEffects) error {
	switch c := c.(type) {
	case plan.RecordMembers:
		w.record(c, life)
	case plan.SetChoices:
		w.setChoices(c, life)
	case plan.DeleteVolumes:
		w.deleteVolumes(c, life)
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
			if life.spend() {
				w.createPod(s)
			}
		}
	case plan.DeletePods:
		w.deletePods(c, life)
	default:
	}
}

func (w *World) carryOutEtcd(c plan.Change) error {
	cl := w.clusters[w.objects.birth.ClusterID]
	if cl == nil || !w.hasQuorum(cl) {
		return errors.New("no quorum")
	}
	switch c := c.(type) {
	case plan.AddLearner:
		w.serial++
		cl.members = append(cl.members, etcdutil.Member{ID: hash(cl.id, c.Name, w.serial), PeerURLs: []string{w.url(c.Name)}, Learner: true})
	case plan.Promote:
		cl.members[cl.find(c.ID)].Learner = false
	case plan.RemoveMember:
		if w.objects.birth.Promised == c.Name {
			w.objects.birth.Promised = ""
		}
		if i := cl.find(c.ID); i >= 0 {
			cl.members = slices.Delete(cl.members, i, i+1)
			cl.removed[c.ID] = true
		}
	case plan.MoveLeader:
		cl.leader = c.ToID
	case plan.DisarmAlarms:
		w.disarm(cl)
	default:
		return fmt.Errorf("%T is not a change that the world knows", c)
	}
	return nil
}

func birthOf(c plan.BeginBirth, operator string) plan.Birth {
	return plan.Birth{Exists: true, Operator: operator, Incarnation: c.Incarnation, Counter: c.Counter, Token: c.Token,
		Names: slices.Clone(c.Names), ClusterID: c.ClusterID, Origin: c.Origin}
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
	if !w.objects.birth.Exists {
		w.objects.birth = birthOf(c, w.Cluster.Operator)
		if c.ClusterID != 0 {
			w.checkBorn(c.ClusterID)
		} else {
			w.checkBeginning(c.Origin)
		}
	}
}

func (w *World) makeObjects(list []plan.Object, secrets []string, life *budgetOfEffects) {
	for _, object := range list {
		if !life.spend() {
			continue
		}
		w.objects.made[object.Name] = true
		if object.Authority && w.objects.caOwner == "" {
			w.objects.caOwner = w.Cluster.UID
		}
	}
	for _, name := range secrets {
		if life.spend() {
			w.objects.secrets[name] = true
		}
	}
}

// bootstrap creates Pods only when every volume of the birth is there.
func (w *World) bootstrap(c plan.Bootstrap, life *budgetOfEffects) {
	w.makeObjects(c.Objects, c.Secrets, life)
	for _, v := range c.Volumes {
		if !life.spend() {
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
		if !life.spend() {
			return
		}
		w.createPod(s)
	}
}

// begin writes down which volumes the first members are born on, once all of them are there.
func (w *World) begin(life *budgetOfEffects) bool {
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
	w.objects.birth.Begun, w.objects.birth.Volumes, w.objects.birth.Next = true, volumes, len(volumes)
	return true
}

func (w *World) createVolume(v plan.NewVolume, incarnation string) {
	if _, exists := w.objects.volumes[v.Name]; exists {
		return
	}
	uid := w.uid("volume")
	w.disks[uid] = &disk{}
	w.objects.volumes[v.Name] = volume{owner: w.Cluster.UID, Volume: plan.Volume{UID: uid, Created: w.Now, Phase: plan.VolumePending,
		Incarnation: incarnation, Choices: v.Choices, Bytes: v.Bytes}}
}

func (w *World) createPod(s plan.Start) {
	if _, exists := w.objects.pods[s.Name]; exists {
		return
	}
	p := pod{initial: s.Initial, seen: s.Flags, made: s.Choices, Pod: plan.Pod{UID: w.uid("pod"), Created: w.Now, Phase: plan.PodPending,
		Flags: s.Flags, Role: s.Role, Incarnation: w.objects.birth.Incarnation, Choices: s.Choices}}
	p.disk = p.UID
	if !w.Spec.Ephemeral {
		p.disk = w.objects.volumes[s.Name].UID
	}
	w.objects.pods[s.Name] = p
}

func (w *World) prepare(c plan.PrepareMember, life *budgetOfEffects) {
	ordinal, _ := etcdutil.Ordinal(w.Cluster.Name, c.Volume.Name)
	if w.objects.birth.Promised != c.Volume.Name {
		if ordinal < w.objects.birth.Next || !life.spend() {
			return // promised before: whoever decided this was behind
		}
		w.objects.birth.Promised, w.objects.birth.Next = c.Volume.Name, ordinal+1
	}
	if c.Secret && life.spend() {
		w.objects.secrets[c.Volume.Name] = true
	}
	if !w.Spec.Ephemeral && life.spend() {
		w.createVolume(c.Volume, w.objects.birth.Incarnation)
	}
}

func (w *World) record(c plan.RecordMembers, life *budgetOfEffects) {
	for _, m := range c.Members {
		if !life.spend() {
			return
		}
		if v, ok := w.objects.volumes[m.Name]; ok && m.VolumeUID != "" && v.UID == m.VolumeUID {
			v.Record = m.Record
			w.objects.volumes[m.Name] = v
			w.checkRecord(m, v.UID)
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
			w.editPod(s.Pod, func(p *pod) { p.Flags, p.Role = plan.FlagsSealed, s.Role })
		}
	}
}

func (w *World) setChoices(c plan.SetChoices, life *budgetOfEffects) {
	for _, ref := range c.Volumes {
		if v, ok := w.objects.volumes[ref.Name]; ok && v.UID == ref.UID && life.spend() {
			v.Choices = c.Choices
			w.objects.volumes[ref.Name] = v
		}
	}
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
		v, ok := w.objects.volumes[ref.Name]
		if !ok || v.UID != ref.UID || !life.spend() {
			continue
		}
		w.checkVolumeDeletion(ref, w.disks[v.UID])
		v.Terminating = true
		w.objects.volumes[ref.Name] = v
	}
}
