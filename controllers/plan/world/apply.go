package world

import (
	"cmp"
	"errors"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// errStale says that the world moved since the decision.
var errStale = errors.New("stale")

// Apply carries a change out as the operator would: after a live look where the change must be confirmed, with
// preconditions, and possibly not to its end, because the operator may die between any two effects.
func (w *World) Apply(c changes.Change, refused []facts.Note, diesAfter int) error {
	admitted, refusal := w.admit(c)
	if admitted == nil {
		return refusal
	}
	live := w.Observe()
	live.Refused = refused
	if plan.MustConfirm(c) {
		if !plan.Confirm(live, c) {
			return errStale
		}
		w.ledger.ca = live.Objects[0].Holds
	}
	w.remember()
	w.trouble.isRaced = false
	w.meanwhile()
	err := w.effect(admitted, diesAfter, refusal)
	if err == nil && w.sometimes(w.trouble.LostReplies, 4, "the reply is lost") {
		err = errLost
	}
	return err
}

// effect carries out what Kubernetes did not refuse of a change, and holds what that did to the invariants.
func (w *World) effect(c changes.Change, diesAfter int, refusal error) error {
	written := w.clusters[w.objects.bootstrap.ClusterID]
	w.ledger.before = w.health()
	w.checkWindow(c)
	before, copies := w.snapshot(), w.countCopies(written)
	w.ledger.found = before
	effects := &budgetOfEffects{left: diesAfter, between: w.meanwhile}
	err := cmp.Or(w.carryOut(c, effects), effects.err, refusal)
	w.settleClusters()
	w.checkAction(w.ledger.before, c)
	w.checkCopies(written, copies, changes.KindOf(c))
	w.checkInstall(before)
	w.checkTrust()
	w.checkReached()
	w.checkIncarnations()
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

// carryOut has one case per change and no default: the linter finds one that is missing.
func (w *World) carryOut(c changes.Change, effects *budgetOfEffects) error {
	switch c := c.(type) {
	case changes.AskIssuer, changes.DeleteRequests: // its issuer needs no questions
	case changes.TakeOver:
		w.objects.claim = w.Cluster.Operator
	case changes.AdoptData:
		w.adopt(c, effects)
	case changes.BeginBootstrap, changes.VoidBootstrap, changes.NextBootstrap, changes.RecordBootstrap, changes.OwnAuth:
		return w.carryOutBootstrap(c)
	case changes.FallAsleep:
		return w.fallAsleep()
	case changes.StopMembers:
		w.stopMembers(c, effects)
	case changes.WakeUp:
		return w.wakeUp()
	case changes.BeginNext, changes.PrepareNext, changes.DropNext, changes.SwitchOver, changes.GoBack,
		changes.MarkFormer, changes.MarkCurrent, changes.MarkFlushed:
		w.carryOutInPlace(c, effects)
	case changes.StartPreflight, changes.DeletePreflight, changes.RecordRestored, changes.DeleteRestores:
		return w.carryOutRestore(c, effects)
	case changes.StartDefrag:
		w.startDefrag(c)
	case changes.DeleteDefrag:
		w.deleteDefrag(c)
	case changes.Bootstrap:
		w.bootstrap(c, effects)
	case changes.TurnCA:
		return w.turnCA(c)
	case changes.ApplyObjects:
		w.makeObjects(c.Objects, c.Secrets, effects)
	case changes.SetBudget:
		return w.setBudget(c)
	case changes.FollowPolicy:
		w.followPolicy(c)
	case changes.RecordMembers:
		w.record(c, effects)
	case changes.WriteSettings, changes.ExpandVolume, changes.ModifyVolume, changes.DeleteVolumes, changes.MarkVolume,
		changes.KeepVolume:
		w.carryOutVolumes(c, effects)
	case changes.DeleteSecret:
		delete(w.objects.secrets, c.Name)
	case changes.PrepareMember:
		w.prepare(c, effects)
	case changes.SealPods, changes.LabelRole, changes.DressPods, changes.RestoreInputs, changes.ResizePod,
		changes.StartPods, changes.DeletePods:
		w.carryOutPods(c, effects)
	case changes.EvictPod:
		return w.evict(c)
	case changes.AddLearner, changes.SetPeerScheme, changes.Promote, changes.MoveLeader, changes.DisarmAlarms,
		changes.AppendEntries, changes.EnableDowngrade, changes.CancelDowngrade, changes.RemoveMember,
		changes.Compact, changes.MakeUsers, changes.EnableAuth, changes.DisableAuth:
		return w.carryOutEtcd(c)
	}
	return nil
}

// setBudget creates, changes or deletes the disruption budget.
func (w *World) setBudget(c changes.SetBudget) error {
	if err := w.refusalOf(kindBudget, "demo"); err != nil && w.objects.budget == 0 && c.MinAvailable > 0 {
		return err
	}
	w.objects.budget = c.MinAvailable
	return nil
}

func (w *World) carryOutVolumes(c changes.Change, effects *budgetOfEffects) {
	switch c := c.(type) {
	case changes.WriteSettings:
		w.writeSettings(c, effects)
	case changes.ExpandVolume:
		w.expandVolume(c)
	case changes.ModifyVolume:
		w.modifyVolume(c)
	case changes.DeleteVolumes:
		w.deleteVolumes(c, effects)
	case changes.MarkVolume:
		w.editVolume(c.Volume, func(v *volume) { v.RemovedFor = c.For })
	case changes.KeepVolume:
		w.editVolume(c.Volume, func(v *volume) { v.kept, v.keptSince = c.For, w.Observe().Latest() })
	default:
	}
}

func (w *World) carryOutBootstrap(c changes.Change) error {
	if _, isFirst := c.(changes.BeginBootstrap); !isFirst && !w.objects.bootstrap.Exists() {
		return errStale // there is no record to change
	}
	switch c := c.(type) {
	case changes.BeginBootstrap:
		if err := w.refusalOf(kindService, "demo"); err != nil {
			return err
		}
		w.beginBootstrap(c)
	case changes.VoidBootstrap:
		w.checkVoid()
		w.objects.bootstrap.Void = true
	case changes.NextBootstrap:
		w.checkBeginning(c.Origin)
		w.objects.bootstrap = record.Bootstrap(c.BeginBootstrap)
	case changes.RecordBootstrap:
		w.objects.bootstrap.ClusterID = c.ClusterID
		w.checkBootstrapped(c.ClusterID)
		w.checkOrigin(c.ClusterID)
		w.checkApproval()
	case changes.OwnAuth:
		return w.ownAuth(c)
	default:
	}
	return nil
}

// adopt writes this object's UID on what an earlier one left, one after the other.
func (w *World) adopt(c changes.AdoptData, effects *budgetOfEffects) {
	for _, item := range c.Items {
		if !effects.spend() {
			return
		}
		if item.Kind == kindSecret {
			w.objects.caOwner = w.Cluster.UID
			continue
		}
		v, ok := w.objects.volumes[item.Name]
		if !ok || v.UID != item.UID || v.owner == w.Cluster.UID && v.claim != w.Cluster.Operator {
			return // another install has it
		}
		v.owner, v.claim = w.Cluster.UID, w.Cluster.Operator
		w.objects.volumes[item.Name] = v
	}
}

const kindSecret = "Secret"

// beginBootstrap creates and never overwrites: of two operators one wins.
func (w *World) beginBootstrap(c changes.BeginBootstrap) {
	if !w.objects.bootstrap.Exists() {
		w.objects.bootstrap, w.objects.claim = record.Bootstrap(c), w.Cluster.Operator
		w.goOnWith(c.Incarnation)
		switch {
		case c.ClusterID != 0:
			w.checkBootstrapped(c.ClusterID)
		case !w.isOnVolumes(c.Incarnation):
			w.checkBeginning(c.Origin)
		}
	}
}

// goOnWith has an incarnation go on that a restore had ended: the record of the switch to the next one is lost, and the
// volumes say the one before. That ends a next one in which clients wrote.
func (w *World) goOnWith(incarnation string) {
	if !w.hasEnded(incarnation) {
		return
	}
	for _, c := range w.clusters {
		if c.writes > 0 {
			w.ended[c.incarnation] = true
		}
	}
	w.ended[incarnation] = false
}

// isOnVolumes reports an incarnation that the volumes say the past of: the record that began it is lost.
func (w *World) isOnVolumes(incarnation string) bool {
	for _, v := range w.objects.volumes {
		if v.Incarnation == incarnation && v.Restored == incarnation {
			return true
		}
	}
	return false
}

func (w *World) makeObjects(list []facts.Object, secrets []string, effects *budgetOfEffects) {
	for _, object := range list {
		if object.Kind == kindVolume || object.Kind == kindPod {
			w.relabel(object.Kind, object.Name)
			continue
		}
		if !w.admits(object.Kind, object.Name, effects) {
			continue
		}
		if object.CA {
			w.beginCA()
		}
		w.objects.made[object.Name] = true
		if object.CA {
			w.objects.caOwner = cmp.Or(w.objects.caOwner, w.Cluster.UID)
			w.ledger.ca = w.objects.ca // as it is there by now, also from another replica
		}
	}
	for _, name := range secrets {
		if w.admits(kindSecret, name, effects) {
			w.issue(name)
		}
	}
}

// bootstrap creates Pods only when every volume of the bootstrap is there.
func (w *World) bootstrap(c changes.Bootstrap, effects *budgetOfEffects) {
	w.makeObjects(c.Objects, c.Secrets, effects)
	for _, v := range c.Volumes {
		if !w.admits(kindVolume, v.Name, effects) {
			return
		}
		w.createVolume(v, w.objects.bootstrap.Incarnation)
	}
	if !w.objects.bootstrap.Begun && !w.begin(effects) {
		return
	}
	for _, l := range c.Restores {
		if !effects.spend() {
			return
		}
		w.createRestore(l, w.objects.bootstrap.Incarnation, w.objects.bootstrap.Origin, record.DefaultBump)
	}
	for _, s := range c.Pods {
		if !w.admits(kindPod, s.Name, effects) {
			return
		}
		w.createPod(s)
	}
}

// begin writes down which volumes the first members are bootstrapped on, once all of them are there.
func (w *World) begin(effects *budgetOfEffects) bool {
	if !w.objects.bootstrap.Exists() {
		return false
	}
	volumes := map[string]string{}
	for _, name := range w.objects.bootstrap.Names {
		v, ok := w.objects.volumes[name]
		if !ok && !w.Spec.Ephemeral {
			return false
		}
		volumes[name] = v.UID
	}
	if !effects.spend() {
		return false
	}
	b := &w.objects.bootstrap
	b.Begun, b.Volumes, b.NextOrdinal = true, volumes, len(volumes)
	return true
}

func (w *World) prepare(c changes.PrepareMember, effects *budgetOfEffects) {
	ordinal, _ := etcdutil.Ordinal(w.Cluster.Name, c.Volume.Name)
	if w.objects.bootstrap.Promised != c.Volume.Name {
		if !w.objects.bootstrap.Exists() || ordinal < w.objects.bootstrap.NextOrdinal || !effects.spend() {
			return // promised before: whoever decided this was behind
		}
		w.objects.bootstrap.Promised, w.objects.bootstrap.NextOrdinal = c.Volume.Name, ordinal+1
	}
	if c.Secret && !w.isIssued(c.Volume.Name) && w.admits(kindSecret, c.Volume.Name, effects) {
		w.issue(c.Volume.Name)
	}
	if !w.Spec.Ephemeral && w.admits(kindVolume, c.Volume.Name, effects) {
		w.createVolume(c.Volume, w.objects.bootstrap.Incarnation)
	}
}
