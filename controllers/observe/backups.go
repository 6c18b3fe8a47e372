package observe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
)

// schedulesOf are the EtcdBackupSchedules that back the cluster up, by name. One that is suspended, or on its way out,
// promises nothing.
func schedulesOf(ctx context.Context, reader client.Reader, cluster *v1alpha1.EtcdCluster,
	now time.Time) ([]facts.Schedule, error) {
	var list v1alpha1.EtcdBackupScheduleList
	if err := reader.List(ctx, &list, client.InNamespace(cluster.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the EtcdBackupSchedules of %s: %w", cluster.Namespace, err)
	}
	var out []facts.Schedule
	for i := range list.Items {
		s := &list.Items[i]
		if s.Spec.ClusterRef.Name == cluster.Name && !s.Spec.IsSuspended() && s.DeletionTimestamp == nil {
			out = append(out, facts.Schedule{Name: s.Name, UpToDate: scheduleplan.IsUpToDate(s, now),
				New: scheduleplan.IsNew(s, now), Never: s.Status.LastSuccessfulTime == nil,
				Failed: scheduleplan.WhyFailed(s)})
		}
	}
	slices.SortFunc(out, func(a, b facts.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// addBackups adds what is known of the cluster's backups: which one is proven, and which one does not get on.
func (o *Observer) addBackups(ctx context.Context, cluster *v1alpha1.EtcdCluster, g *gathered) error {
	if o.Backups == nil {
		return nil
	}
	var backups v1alpha1.EtcdBackupList
	// Nothing of what is listed is changed, and a namespace may have thousands.
	err := o.Backups.List(ctx, &backups, client.InNamespace(cluster.Namespace), client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing the EtcdBackups of %s: %w", cluster.Namespace, err)
	}
	g.heldUp, g.failed = heldUpOf(cluster, backups.Items), failedOf(cluster, backups.Items)
	g.proven, err = o.provenOf(ctx, cluster, backups.Items)
	return err
}

// heldUpOf is the newest backup of the cluster that does not get on, as its own status says; nil where there is none.
func heldUpOf(cluster *v1alpha1.EtcdCluster, backups []v1alpha1.EtcdBackup) *facts.HeldUp {
	var newest *facts.HeldUp
	for i := range backups {
		b := &backups[i]
		_, why := backupplan.Waits(b)
		isNewer := newest == nil || newest.Created.Before(b.CreationTimestamp.Time)
		if why != "" && isNewer && b.Spec.ClusterRef.Name == cluster.Name {
			newest = &facts.HeldUp{Name: b.Name, Created: b.CreationTimestamp.Time, Why: why}
		}
	}
	return newest
}

// failedOf is the newest backup of the cluster where that failed, as its own status says; nil otherwise.
func failedOf(cluster *v1alpha1.EtcdCluster, backups []v1alpha1.EtcdBackup) *facts.FailedBackup {
	var newest *v1alpha1.EtcdBackup
	for i := range backups {
		b := &backups[i]
		isNewer := newest == nil || newest.CreationTimestamp.Before(&b.CreationTimestamp)
		if isNewer && b.Spec.ClusterRef.Name == cluster.Name {
			newest = b
		}
	}
	if newest == nil {
		return nil
	}
	failed := meta.FindStatusCondition(newest.Status.Conditions, v1alpha1.BackupFailed)
	if failed == nil || failed.Status != metav1.ConditionTrue {
		return nil
	}
	return &facts.FailedBackup{Name: newest.Name, Created: newest.CreationTimestamp.Time, Reason: failed.Reason}
}

// provenOf is the newest backup of the cluster that was proven; nil when none is known. The signed record of its
// EtcdBackup says so, or that of the last test restore on its schedule. What a status says counts for nothing.
func (o *Observer) provenOf(ctx context.Context, cluster *v1alpha1.EtcdCluster,
	backups []v1alpha1.EtcdBackup) (*facts.Backup, error) {
	var (
		schedules v1alpha1.EtcdBackupScheduleList
		newest    = newestProven{created: cluster.CreationTimestamp.Time, now: o.Now()}
	)
	err := o.Backups.List(ctx, &schedules, client.InNamespace(cluster.Namespace), client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing the EtcdBackupSchedules of %s: %w", cluster.Namespace, err)
	}
	tests := those(schedules.Items, func(s *v1alpha1.EtcdBackupSchedule) bool {
		return s.Spec.ClusterRef.Name == cluster.Name && s.Annotations[v1alpha1.AnnotationTestSignature] != ""
	})
	signed := signedOf(cluster, backups)
	if len(tests)+len(signed) == 0 {
		return nil, nil
	}
	key, err := RecordKey(ctx, o.Secrets, client.ObjectKeyFromObject(cluster), cluster)
	if err != nil {
		return nil, err
	}
	for _, s := range tests {
		if at := scheduleplan.ProvenBy(s, key); at != nil {
			newest.add(facts.Backup{Key: at.Key, Revision: at.Revision, Time: at.StartedAt})
		}
	}
	newest.addSigned(signed, key)
	return newest.backup, nil
}

// signedOf are those of the cluster that have a signature.
func signedOf(cluster *v1alpha1.EtcdCluster, backups []v1alpha1.EtcdBackup) []*v1alpha1.EtcdBackup {
	return those(backups, func(b *v1alpha1.EtcdBackup) bool {
		return b.Spec.ClusterRef.Name == cluster.Name && b.Annotations[v1alpha1.AnnotationBackupSignature] != ""
	})
}

// Weighed is what a backup says of the clients of its cluster.
type Weighed struct {
	Backup  string // the EtcdBackup
	Time    time.Time
	Clients []v1alpha1.ClientUsage // that take most, the largest first
	Others  int64                  // how many there were besides
}

// NewestWeighed is what the newest of these EtcdBackups says that is of a cluster and proven by its signed record; nil
// when none is known. The record says it: what a status says counts for nothing.
func NewestWeighed(ctx context.Context, backups []v1alpha1.EtcdBackup, secrets SecretReader,
	cluster *v1alpha1.EtcdCluster, now time.Time) (*Weighed, error) {
	signed := signedOf(cluster, backups)
	if len(signed) == 0 {
		return nil, nil
	}
	key, err := RecordKey(ctx, secrets, client.ObjectKeyFromObject(cluster), cluster)
	if err != nil {
		return nil, err
	}
	newest := newestProven{created: cluster.CreationTimestamp.Time, now: now}
	newest.addSigned(signed, key)
	return newest.weighed, nil
}

// those are the items that are so, where they lie.
func those[T any](items []T, are func(*T) bool) []*T {
	var out []*T
	for i := range items {
		if are(&items[i]) {
			out = append(out, &items[i])
		}
	}
	return out
}

// backupLeft names a complete EtcdBackup of a cluster of this name while that is not bootstrapped; "" where there is
// none. One whose record cannot be read may be complete.
func (o *Observer) backupLeft(
	ctx context.Context, cluster *v1alpha1.EtcdCluster, bootstrap record.Bootstrap,
) (string, error) {
	if bootstrap.Exists() {
		return "", nil
	}
	var backups v1alpha1.EtcdBackupList
	if err := o.Reader.List(ctx, &backups, client.InNamespace(cluster.Namespace)); err != nil {
		return "", fmt.Errorf("listing the EtcdBackups of %s: %w", cluster.Namespace, err)
	}
	for i := range backups.Items {
		b := &backups.Items[i]
		if b.Spec.ClusterRef.Name == cluster.Name && mayBeComplete(b) {
			return "EtcdBackup " + b.Name, nil
		}
	}
	return "", nil
}

func mayBeComplete(b *v1alpha1.EtcdBackup) bool {
	r, err := backupplan.RecordOf(b)
	return err != nil || r.Outcome != nil && r.Outcome.Complete
}

// newestProven is the newest of backups; nil when there is none. One from before the cluster was created is of an
// earlier cluster of its name. A time that is still to come was said by a wrong clock.
type newestProven struct {
	created, now time.Time
	backup       *facts.Backup
	weighed      *Weighed // what the newest EtcdBackup says of clients
}

func (n *newestProven) add(b facts.Backup) (isNewest bool) {
	if !b.Time.Before(n.created) && !b.Time.After(n.now) && n.isBefore(b.Time) {
		n.backup = &b
		return true
	}
	return false
}

// addSigned adds what signed records call proven. The newest EtcdBackups come first, so that of thousands only those
// are checked that could be newer.
func (n *newestProven) addSigned(backups []*v1alpha1.EtcdBackup, key backupplan.Key) {
	slices.SortFunc(backups, func(a, b *v1alpha1.EtcdBackup) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	for _, b := range backups {
		if !n.isBefore(b.CreationTimestamp.Add(b.Spec.DeadlineOrDefault())) {
			continue // it began within its deadline
		}
		outcome := key.Proven(b)
		if outcome == nil {
			continue
		}
		said := outcome.Facts
		isNewest := n.add(facts.Backup{Key: said.Key, ClusterID: said.ClusterID, Revision: said.Revision,
			Time: said.StartedAt, Largest: largestOf(b)})
		if isNewest {
			n.weighed = &Weighed{Backup: b.Name, Time: said.StartedAt, Clients: said.Clients, Others: said.OtherClients}
		}
	}
}

// largestOf names the prefixes that take most of a backup's database, as a part of a sentence. It is for display: a
// status may say anything.
func largestOf(b *v1alpha1.EtcdBackup) string {
	const shown = 3
	var says []string
	for _, p := range b.Status.Largest[:min(shown, len(b.Status.Largest))] {
		says = append(says, fmt.Sprintf("%s in %s", facts.InMebi(p.Bytes), cmp.Or(p.Prefix, "keys without a prefix")))
	}
	return strings.Join(says, ", ")
}

// isBefore reports whether a backup of that time would be newer.
func (n *newestProven) isBefore(at time.Time) bool {
	return n.backup == nil || n.backup.Time.Before(at)
}

// Sources finds the backups that clusters begin with, or go back to.
type Sources struct {
	Reader client.Reader
}

// Source is a backup as a spec names it, with what an EtcdBackup says filled in.
type Source struct {
	// the UID of the EtcdRestore that names it; empty for spec.bootstrap.restore
	Restore  string                    `json:"restore,omitempty"`
	Store    v1alpha1.BackupStore      `json:"store"`
	Key      string                    `json:"key,omitempty"`
	LatestOf *v1alpha1.BackedUpCluster `json:"latestOf,omitempty"`

	// SHA256 of the snapshot, where an EtcdBackup is named. It follows from the key, and is no part of the name.
	SHA256 string `json:"-"`
}

// shortHash tells one plain value from another. Of a Source, what is read later, such as a Secret, is no part of it.
func shortHash(value any) string {
	sum := sha256.Sum256([]byte(record.JSON(value)))
	return hex.EncodeToString(sum[:8])
}

// notYet ends the sentence about a backup that is still being taken.
const notYet = "is not complete yet"

// find says what the spec names, or why that is nothing that a cluster could begin with. Without a wish both are empty.
func (s Sources) find(ctx context.Context, cluster *v1alpha1.EtcdCluster) (found *Source, fault string, err error) {
	if cluster.Spec.Bootstrap == nil || cluster.Spec.Bootstrap.Restore == nil {
		return nil, "", nil
	}
	return s.Named(ctx, cluster.Namespace, cluster.Spec.Bootstrap.Restore)
}

// Named says what is named, or why that is nothing that a cluster could begin with.
func (s Sources) Named(ctx context.Context, namespace string,
	source *v1alpha1.RestoreSource) (found *Source, fault string, err error) {
	switch {
	case source.BackupRef != nil:
		return s.findBackup(ctx, namespace, source.BackupRef.Name)
	case source.Store == nil:
		return nil, "the source names neither an EtcdBackup nor a store", nil
	case source.Latest:
		whose := v1alpha1.BackedUpCluster{}
		if source.LatestOf != nil {
			whose = *source.LatestOf
		}
		return &Source{Store: *source.Store, LatestOf: &whose}, "", nil
	}
	return &Source{Store: *source.Store, Key: source.Key}, "", nil
}

// findBackup reads what came of an EtcdBackup from its record, signed or not: an account that may write it chose its
// store as well. What the store's manifest says of the snapshot is checked before it is restored.
func (s Sources) findBackup(ctx context.Context, namespace, name string) (*Source, string, error) {
	taken, err := Find[v1alpha1.EtcdBackup](ctx, s.Reader, namespace, name)
	switch {
	case err != nil:
		return nil, "", err
	case taken == nil:
		return nil, fmt.Sprintf("there is no EtcdBackup %s in this namespace", name), nil
	}
	written, err := backupplan.RecordOf(taken)
	switch outcome := written.Outcome; {
	case err != nil:
		return nil, fmt.Sprintf("what came of the EtcdBackup %s cannot be read: %v", name, err), nil
	case outcome == nil:
		return nil, fmt.Sprintf("the EtcdBackup %s %s", name, notYet), nil
	case !outcome.Complete || outcome.Facts == nil:
		return nil, fmt.Sprintf("the EtcdBackup %s failed: %s", name, outcome.Message), nil
	}
	said := written.Outcome.Facts
	return &Source{Store: taken.Spec.Store, Key: said.Key, SHA256: said.SHA256}, "", nil
}

// WantedBackup is what the planner is told of the backup that a cluster is to begin with.
func (s Sources) WantedBackup(ctx context.Context, cluster *v1alpha1.EtcdCluster) (facts.WantedBackup, error) {
	found, fault, err := s.find(ctx, cluster)
	if err != nil {
		return facts.WantedBackup{}, err
	}
	return s.wished(ctx, cluster.Namespace, found, fault)
}

// wished is what the planner is told of what was found.
func (s Sources) wished(ctx context.Context, namespace string, found *Source, fault string) (facts.WantedBackup,
	error) {
	if found == nil {
		return facts.WantedBackup{Fault: fault, Later: strings.HasSuffix(fault, notYet)}, nil
	}
	if found.Store.Volume == nil {
		return facts.WantedBackup{Hash: shortHash(found)}, nil
	}
	name := found.Store.Volume.ClaimName
	claim, err := Find[corev1.PersistentVolumeClaim](ctx, s.Reader, namespace, name)
	if member := memberOf(claim); member != "" {
		return facts.WantedBackup{Fault: fmt.Sprintf("the claim %s is the volume of %s, and no store of backups",
			name, member)}, err
	}
	return facts.WantedBackup{Hash: shortHash(found), OneNode: isOfOneNode(claim)}, err
}

// isOfOneNode reports a claim that no two nodes can mount at a time.
func isOfOneNode(claim *corev1.PersistentVolumeClaim) bool {
	return claim != nil && !slices.ContainsFunc(claim.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool {
		return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
	})
}

// OfHash is the backup of that hash, which the cluster itself or an EtcdRestore of it names; nil when neither does.
func (s Sources) OfHash(ctx context.Context, cluster *v1alpha1.EtcdCluster, hash string) (*Source, error) {
	found, _, err := s.find(ctx, cluster)
	if err != nil || found != nil && shortHash(found) == hash {
		return found, err
	}
	return s.findRequested(ctx, cluster, hash)
}

// MemberOfClaim is the member whose own volume a store is; empty when it has no owner.
func MemberOfClaim(ctx context.Context, reader client.Reader, namespace string,
	store v1alpha1.BackupStore) (string, error) {
	if store.Volume == nil {
		return "", nil
	}
	claim, err := Find[corev1.PersistentVolumeClaim](ctx, reader, namespace, store.Volume.ClaimName)
	return memberOf(claim), err
}

func memberOf(claim *corev1.PersistentVolumeClaim) string {
	if claim == nil || claim.Labels[v1alpha1.LabelManagedBy] != v1alpha1.ManagedByValue ||
		claim.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentMember {
		return ""
	}
	return fmt.Sprintf("member %s of EtcdCluster %s", claim.Labels[v1alpha1.LabelMember],
		v1alpha1.ClusterOf(claim.Labels))
}
