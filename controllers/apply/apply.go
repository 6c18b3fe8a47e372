// Package apply is the only writer: one function per change of the planner, one file per concern.
//
// Each change may have been decided on a cache, may be carried out twice, and may have been cut off half way. So what
// can hurt is decided again on what is read live (Look and plan.Confirm); deletes carry the UID and resource version of
// a live read, patches the UID or the resource version; creates use deterministic names, and an object that is already
// there counts as created when it is ours. "Ours" is the UID of the owner, or for data the cluster UID in a label,
// never a name.
//
// An error that needs no other treatment than looking again has a type of its own: see below. Anything else means
// that a call failed.
package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// FieldOwner is the name by which the API server knows our fields.
const FieldOwner = ctrlclient.FieldOwner("etcd-steward")

// lookLasts is how long a live look is believed, from its beginning. etcd's calls carry no precondition: a process that
// was held up between its look and its call must look again. It is more than a look over dead members and large
// databases takes, but for the hashes of these: how long they take goes by their size. That another replica leads
// meanwhile is found out by the Lease.
const lookLasts = 9 * time.Second

// Seen is what was seen: the planner's observation, and the clients of the members that answered, by replica name.
type Seen struct {
	facts.Observation
	Clients map[string]client.Client
}

// Look observes with the live reader.
type Look func(ctx context.Context) (Seen, error)

// Applier carries changes out.
type Applier struct {
	Client   ctrlclient.Client // writes only, so that no cache is asked for a kind that it does not hold
	Live     ctrlclient.Reader // reads past the cache
	Now      func() time.Time
	Operator string // namespace/name of this install

	Platform

	// Source tells where the backup of that hash is, which the cluster or an EtcdRestore of it asks for; one without a
	// hash when neither does. Nil where none can be asked for.
	Source func(ctx context.Context, cluster *v1alpha1.EtcdCluster, hash string) (Source, error)

	// Leads fails unless this process holds the Lease of its install just now, and says until when. Kubernetes refuses
	// a write that rests on an older state; etcd does not. Nil where no leader is elected.
	Leads func(ctx context.Context) (until time.Time, err error)
}

// Apply carries out one change. A change that can hurt is decided again on a live look, and carried out only if that
// still asks for it; otherwise the error is ErrStale. Carrying out what is already so succeeds. A change that stops
// members for others is rehearsed before that look, since webhooks may take their time.
func (a *Applier) Apply(ctx context.Context, cluster *v1alpha1.EtcdCluster, seen Seen, change changes.Change,
	look Look) error {
	return step{Applier: a, cluster: cluster, view: seen}.withRemedy(a.apply(ctx, cluster, seen, change, look))
}

func (a *Applier) apply(ctx context.Context, cluster *v1alpha1.EtcdCluster, seen Seen, change changes.Change,
	look Look) error {
	if err := (step{Applier: a, cluster: cluster, view: seen}).rehearse(ctx, change); err != nil {
		return withNothingStopped(err, seen, change)
	}
	if plan.MustConfirm(change) {
		live, err := look(ctx)
		if err != nil {
			return fmt.Errorf("looking again before %s: %w", changes.KindOf(change), err)
		}
		if !plan.Confirm(live.Observation, change) || a.Now().Sub(live.Now) > lookLasts+live.Hashing {
			return ErrStale
		}
		seen = live
	}
	return step{Applier: a, cluster: cluster, view: seen}.carryOut(ctx, change)
}

// step is one change of one cluster in the making.
type step struct {
	*Applier
	cluster *v1alpha1.EtcdCluster
	view    Seen
	made    map[string]*corev1.PersistentVolumeClaim // by name: what members' data lies on, where this step made it
}

// carryOut has one case per change, in the order of the planner's list.
func (s step) carryOut(ctx context.Context, change changes.Change) error {
	if edit := s.bootstrapEdit(change); edit != nil {
		return s.editBootstrap(ctx, edit)
	}
	switch c := change.(type) {
	case changes.TakeOver:
		return s.takeOver(ctx, c)
	case changes.FollowPolicy:
		return s.followPolicy(ctx, c)
	case changes.AdoptData:
		return s.adoptData(ctx, c)
	case changes.BeginBootstrap:
		return s.beginBootstrap(ctx, c)
	case changes.StartPreflight, changes.DeletePreflight, changes.DeleteRestores, changes.StartDefrag,
		changes.DeleteDefrag:
		return s.carryOutTask(ctx, c)
	case changes.Bootstrap:
		return s.bootstrap(ctx, c)
	case changes.VoidBootstrap, changes.NextBootstrap, changes.RecordBootstrap, changes.BeginNext, changes.DropNext,
		changes.SwitchOver, changes.GoBack, changes.FallAsleep, changes.WakeUp, changes.OwnAuth: // see bootstrapEdit
	case changes.PrepareNext:
		return s.prepareNext(ctx, c)
	case changes.RecordMembers:
		return s.recordMembers(ctx, c)
	case changes.SealPods:
		return s.sealPods(ctx, c)
	case changes.LabelRole:
		return s.labelRole(ctx, c)
	case changes.ApplyObjects:
		return s.applyObjects(ctx, c)
	case changes.TurnCA, changes.AskIssuer, changes.DeleteRequests:
		return s.carryOutTrust(ctx, c)
	case changes.MarkVolume, changes.KeepVolume, changes.WriteSettings, changes.RecordRestored, changes.MarkFlushed,
		changes.MarkFormer, changes.MarkCurrent:
		return s.writeOnVolumes(ctx, c)
	case changes.SetBudget:
		return s.setBudget(ctx, c)
	case changes.StartPods:
		return s.startPods(ctx, c)
	case changes.DressPods, changes.RestoreInputs, changes.ResizePod:
		return s.changePods(ctx, c)
	case changes.EvictPod, changes.DeletePods, changes.StopMembers:
		return s.stopPods(ctx, c)
	case changes.ExpandVolume:
		return s.expandVolume(ctx, c)
	case changes.ModifyVolume:
		return s.modifyVolume(ctx, c)
	case changes.DeleteVolumes:
		return s.deleteVolumes(ctx, c)
	case changes.DeleteSecret:
		return s.deleteSecret(ctx, c)
	case changes.PrepareMember:
		return s.prepareMember(ctx, c)
	case changes.AddLearner, changes.SetPeerScheme, changes.Promote, changes.MoveLeader, changes.DisarmAlarms,
		changes.AppendEntries, changes.EnableDowngrade, changes.CancelDowngrade, changes.RemoveMember,
		changes.Compact, changes.MakeUsers, changes.EnableAuth, changes.DisableAuth:
		return s.carryOutInEtcd(ctx, c)
	}
	return fmt.Errorf("carrying out %s: no such change", changes.KindOf(change))
}

// changePods writes on Pods that run.
func (s step) changePods(ctx context.Context, change changes.Change) error {
	switch c := change.(type) {
	case changes.DressPods:
		return s.dressPods(ctx, c)
	case changes.RestoreInputs:
		return s.restoreInputs(ctx, c)
	case changes.ResizePod:
		return s.resizePod(ctx, c)
	default:
		return fmt.Errorf("carrying out %s: no such change of Pods", changes.KindOf(change))
	}
}

// stopPods stops members.
func (s step) stopPods(ctx context.Context, change changes.Change) error {
	switch c := change.(type) {
	case changes.EvictPod:
		return s.evictPod(ctx, c)
	case changes.DeletePods:
		return s.deletePods(ctx, c.Pods, podNamed)
	case changes.StopMembers:
		return s.deletePods(ctx, c.Pods, podNamed)
	default:
		return fmt.Errorf("carrying out %s: no such stop of Pods", changes.KindOf(change))
	}
}

// carryOutTask makes and deletes Pods that run to their end once.
func (s step) carryOutTask(ctx context.Context, change changes.Change) error {
	switch c := change.(type) {
	case changes.StartPreflight:
		return s.startPreflight(ctx, c)
	case changes.DeletePreflight:
		return s.delete(ctx, resources.KindPod, podNamed(resources.PreflightPod(s.cluster.Name)), c.UID)
	case changes.DeleteRestores:
		return s.deletePods(ctx, c.Pods, restoreNamed)
	case changes.StartDefrag:
		return s.startDefrag(ctx, c)
	case changes.DeleteDefrag:
		return s.delete(ctx, resources.KindPod, podNamed(resources.DefragPod(c.Name)), c.UID)
	default:
		return fmt.Errorf("carrying out %s: no such task", changes.KindOf(change))
	}
}

// ErrStale says that the world is no longer what the change was decided on. Nothing was done; look again.
var ErrStale = errors.New("the cluster changed since this was decided")

// Later says that Kubernetes or etcd cannot do it now, and may soon, with nothing changed but time.
type Later struct {
	Reason  string // one of the Later… constants
	Message string // a sentence for people
}

func (e Later) Error() string { return e.Message }

// Reasons of Later.
const (
	LaterConflict    = "Conflict"         // the object changed under us
	LaterBusy        = "Busy"             // the API server asks for patience
	LaterTerminating = "Terminating"      // the namespace, or an old object of that name, is being deleted
	LaterMissing     = "Missing"          // something that this builds on is not there yet
	LaterUnknown     = "OutcomeUnknown"   // etcd did not answer in time: it may have been done
	LaterNotReady    = "EtcdNotReady"     // etcd refuses until members are connected, started or caught up
	LaterNoLeader    = "NoLeader"         // no member answers that could decide
	LaterBudget      = "DisruptionBudget" // the disruption budget lets no Pod be evicted now
	LaterSigning     = "AwaitsIssuer"     // a certificate was asked for that an issuer signs
	LaterNotLeading  = "NotLeading"       // this process cannot prove that it still holds the Lease
)

// Rejected says that Kubernetes or etcd refuses, and that time alone does not change it.
type Rejected struct {
	Reason  string // one of the Rejected… constants
	Message string // the first sentence of who refused
}

func (e Rejected) Error() string { return e.Message }

// and adds a sentence.
func (e Rejected) and(sentence string) Rejected {
	e.Message = strings.TrimSuffix(e.Message, ".") + ". " + sentence
	return e
}

// Reasons of Rejected.
const (
	RejectedQuota       = "QuotaExceeded"
	RejectedPodSecurity = "PodSecurity"
	RejectedExpansion   = "VolumeNotExpandable"
	RejectedModifying   = "VolumeNotModifiable"
	RejectedAdmission   = "AdmissionRefused" // by a webhook or a policy
	RejectedForbidden   = "Forbidden"
	RejectedInvalid     = "Invalid"
	RejectedEtcd        = "EtcdRefused"
	// more than one disruption budget covers the Pod, and so it cannot be evicted
	RejectedBudgets    = "SeveralBudgets"
	RejectedUnreadable = "Unreadable"   // something of ours is there and cannot be read
	RejectedTooNew     = "RecordTooNew" // a newer release wrote it, in a form that this one would misread
)

// NameTaken says that an object of that name exists and is not ours. It is never adopted.
type NameTaken struct {
	Kind, Name string
	Owner      string // who it belongs to, as far as it says; empty when it has no owner
}

func (e NameTaken) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("%s %s exists and does not belong to this cluster", e.Kind, e.Name)
	}
	return fmt.Sprintf("%s %s exists and belongs to %s", e.Kind, e.Name, e.Owner)
}

// Platform is the Kubernetes of this install: what is known from the start, and what tells the rest once it is needed.
type Platform struct {
	resources.Platform
	AskImage func(context.Context) (string, error)
	AskIDs   func(context.Context) (bool, error) // nil: the platform chooses none
}

// ForMembers is what members' Pods are made with.
func (p Platform) ForMembers(ctx context.Context) (known resources.Platform, err error) {
	known = p.Platform
	if p.AskIDs != nil {
		known.PlatformIDs, err = p.AskIDs(ctx)
	}
	return known, err
}

// ForTasks is what Pods of the agent are made with.
func (p Platform) ForTasks(ctx context.Context) (resources.Platform, error) {
	known, err := p.ForMembers(ctx)
	if err == nil {
		known.AgentImage, err = p.AskImage(ctx)
	}
	return known, err
}
