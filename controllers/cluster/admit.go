package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/admission"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/report"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// admit says what the next pass would say of a cluster, before it is stored: by the same validation, and for a new one
// by the same look and the same decision. What another install looks after is that one's to speak of.
func (r *Reconciler) admit(ctx context.Context, mayGet kit.MayGet,
	before, now *v1alpha1.EtcdCluster) (kit.Said, error) {
	isAnothers, err := r.isAnothers(ctx, now)
	if isAnothers || err != nil {
		return kit.Said{}, err
	}
	said := kit.Said{Warnings: admission.Warnings(r.Images.WithDigests(now))}
	if before == nil {
		said.Refusals = admission.Validate(now)
	} else {
		said.Refusals = kit.NewRefusals(admission.ValidateExisting(before), admission.ValidateExisting(now))
		said.Warn(whatRestarts(before, now))
		said.Warn(whatReplacesCAs(before, now))
		said.Warn(whatSleeps(before, now))
		said.Warn(whatHolds(now))
	}
	if len(said.Refusals) > 0 {
		return said, nil
	}
	if before == nil {
		if isThere, err := r.isThere(ctx, now); isThere || err != nil {
			return kit.Said{}, err
		}
		if err := r.sayAhead(ctx, mayGet, now, &said); err != nil {
			return said, err
		}
	}
	absent, err := observe.Absent(ctx, r.Live, mayGet, now.Namespace, newReferences(before, now))
	said.Warnings = append(said.Warnings, absent...)
	return said, err
}

// admitScale says what admit does of a new size that comes by the subresource: from kubectl scale or an autoscaler.
func (r *Reconciler) admitScale(ctx context.Context, mayGet kit.MayGet,
	_, scale *autoscalingv1.Scale) (kit.Said, error) {
	before, now, err := r.resized(ctx, scale)
	if before == nil || err != nil {
		return kit.Said{}, err
	}
	return r.admit(ctx, mayGet, before, now)
}

// sayAhead says what the first pass will, to who may get the Secrets and volumes that it may speak of.
func (r *Reconciler) sayAhead(ctx context.Context, mayGet kit.MayGet, now *v1alpha1.EtcdCluster, said *kit.Said) error {
	isTold, err := mayGet(ctx, corev1.ResourceSecrets, corev1.ResourcePersistentVolumeClaims)
	if !isTold || err != nil {
		return err
	}
	seen, err := r.lookAhead(ctx, now)
	if err == nil {
		sayFirst(said, now.Name, seen)
	}
	return err
}

// sayFirst says what the first decision means for who creates the cluster. Only volumes that are not to be resumed are
// refused. All else that is in the way may be put right later, by a tool that creates objects one after the other.
func sayFirst(said *kit.Said, name string, seen facts.Observation) {
	decision := plan.Decide(seen)
	_, isResumed := decision.Change.(changes.AdoptData)
	hasVolumes := slices.ContainsFunc(seen.Retained, facts.Retained.IsVolume)
	switch {
	case decision.Reason == facts.ReasonRetainedData && hasVolumes:
		said.Refusals = append(said.Refusals, field.Invalid(field.NewPath("metadata", "name"), name, decision.Message))
	case isResumed, decision.Verdict == plan.Wait, decision.Verdict == plan.Refuse:
		said.Warn(decision.Message)
	}
}

// newReferences are the objects that the spec names since it was changed.
func newReferences(before, now *v1alpha1.EtcdCluster) []observe.Reference {
	refs := observe.ReferencesOfCluster(now)
	if before == nil {
		return refs
	}
	known := observe.ReferencesOfCluster(before)
	return slices.DeleteFunc(refs, func(r observe.Reference) bool { return slices.Contains(known, r) })
}

// whatSleeps says that a change stops all members, or "".
func whatSleeps(before, now *v1alpha1.EtcdCluster) string {
	if before.Spec.Size == 0 || now.Spec.Size > 0 {
		return ""
	}
	return fmt.Sprintf("With spec.size 0 the cluster sleeps: all members stop, and clients are not served. Volumes, "+
		"certificates and Services stay. To wake it, set spec.size to the number of members that it is to have; it "+
		"was %d.", before.Spec.Size)
}

// whatRestarts says that a change restarts every member, or "". What is asked for by etcdsteward.dev/restartedAt is
// known to who asks for it, and amounts of CPU and memory follow in place.
func whatRestarts(before, now *v1alpha1.EtcdCluster) string {
	old, in := resources.Inputs(before), resources.Inputs(now)
	old.RestartedAt = in.RestartedAt
	if old.Fixed() == in.Fixed() || before.Status.Size == 0 || now.Spec.Size == 0 {
		return ""
	}
	each := "once"
	if way := wayOf(before, now); len(way) > 1 {
		each = fmt.Sprintf("%d times, for etcd %s", len(way), strings.Join(way, ", then "))
	}
	const onlyWhile = " The operator goes on only while the others are healthy. To %s none, put the former settings " +
		"back."
	if now.Spec.Maintenance != nil && now.Spec.Maintenance.Window != nil {
		each += " while a window of spec.maintenance.window is open"
	}
	switch {
	case now.Spec.IsEphemeral() || before.Spec.IsEphemeral():
		return fmt.Sprintf("This change replaces each of the %d members %s, one member at a time, because ephemeral "+
			"data ends with its Pod."+onlyWhile, before.Status.Size, each, "replace")
	case before.Status.Size == 1:
		return fmt.Sprintf("This change restarts the only member %s. Until it serves again, clients are not served. "+
			"To restart it at another time, put the former settings back until then.", each)
	}
	return fmt.Sprintf("This change restarts each of the %d members %s, one member at a time."+onlyWhile,
		before.Status.Size, each, "restart")
}

// whatReplacesCAs says that a change replaces CAs, or "".
func whatReplacesCAs(before, now *v1alpha1.EtcdCluster) string {
	clients, peers := before.Spec.CASources()
	nextClients, nextPeers := now.Spec.CASources()
	if clients.String() == nextClients.String() && peers.String() == nextPeers.String() || before.Status.Size == 0 {
		return ""
	}
	read := ""
	if clients.String() != nextClients.String() {
		read = fmt.Sprintf(" Clients get 24 hours for each step after which they have to read Secret %s again.",
			resources.ClientSecret(now.Name))
	}
	return fmt.Sprintf("This change replaces a CA, and restarts each of the %d members twice, one member at a time.",
		before.Status.Size) + read + " To replace none, put the former settings back."
}

// wayOf are the versions that members run one after the other to get to that of the spec.
func wayOf(before, now *v1alpha1.EtcdCluster) []string {
	from, err := etcdutil.ParseVersion(before.Status.Version)
	if err != nil {
		return nil
	}
	to, err := etcdutil.ParseVersion(now.Spec.Version)
	if err != nil {
		return nil
	}
	minor := etcdutil.Version{Major: from.Major, Minor: from.Minor}
	at := etcdutil.Progress{Members: []etcdutil.Version{from}, Cluster: minor, Storage: minor, Covered: true,
		Saved: true}
	var way []string
	for _, stop := range etcdutil.Path(at, to) {
		way = append(way, stop.String())
	}
	return way
}

// whatHolds says what keeps the operator from following a change, or "".
func whatHolds(now *v1alpha1.EtcdCluster) string {
	switch {
	case now.Spec.Paused:
		return "spec.paused is true: the operator follows this change once you set it to false."
	case now.Spec.IsDryRun():
		return "spec.mode is DryRun: the operator shows the next step in status.nextStep and takes none. To have it " +
			"follow this change, take spec.mode out."
	}
	return ""
}

// admitRestore says what passes would say of an EtcdRestore, before it is stored. It refuses nothing: all that a
// restore needs may come later, and until then it waits.
func (r *Reconciler) admitRestore(ctx context.Context, mayGet kit.MayGet,
	before, now *v1alpha1.EtcdRestore) (kit.Said, error) {
	var said kit.Said
	key := types.NamespacedName{Namespace: now.Namespace, Name: now.Spec.ClusterRef.Name}
	cluster, err := find(ctx, r.Observer, key)
	if err != nil {
		return said, err
	}
	if cluster == nil {
		said.Warn(report.NoCluster(now))
	} else if before == nil || before.Spec.Approval != now.Spec.Approval {
		said.Warn(whyOutdated(now, cluster))
	}
	source := now.Spec.Source.Backup()
	if before != nil || source == nil {
		return said, nil // the source cannot change
	}
	_, fault, err := observe.Sources{Reader: r.Client}.Named(ctx, now.Namespace, source)
	if err != nil {
		return said, err
	}
	if fault != "" {
		said.Warn(fmt.Sprintf("spec.source names a backup that cannot be restored: %s. The restore waits until it can "+
			"be. To restore another backup, create another EtcdRestore.", fault))
	}
	absent, err := observe.Absent(ctx, r.Live, mayGet, now.Namespace,
		observe.ReferencesOfStore("spec.source.store", now.Spec.Source.Store, "the restore does not start"))
	said.Warnings = append(said.Warnings, absent...)
	return said, err
}

// whyOutdated says that an approval is not of the evidence that the cluster shows, or "".
func whyOutdated(restore *v1alpha1.EtcdRestore, cluster *v1alpha1.EtcdCluster) string {
	approval, evidence := restore.Spec.Approval, cluster.Status.Evidence
	switch {
	case approval == "" || evidence != nil && evidence.Digest == approval:
		return ""
	case evidence == nil:
		return fmt.Sprintf("spec.approval is %s, and EtcdCluster %s shows no evidence yet. Wait for its "+
			"status.evidence, review it and approve again.", approval, cluster.Name)
	}
	return fmt.Sprintf("spec.approval is %s, and status.evidence.digest of EtcdCluster %s is %s now. If the members "+
		"changed since you looked, review the evidence and approve again.", approval, cluster.Name, evidence.Digest)
}
