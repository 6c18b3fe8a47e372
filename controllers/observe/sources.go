package observe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

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

// hash tells one name from another. What is read later, such as a Secret, is no part of it.
func (n Source) hash() string {
	return shortHash(n)
}

// shortHash tells one plain value from another.
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
		return facts.WantedBackup{Hash: found.hash()}, nil
	}
	name := found.Store.Volume.ClaimName
	claim, err := Find[corev1.PersistentVolumeClaim](ctx, s.Reader, namespace, name)
	if member := memberOf(claim); member != "" {
		return facts.WantedBackup{Fault: fmt.Sprintf("the claim %s is the volume of %s, and no store of backups",
			name, member)}, err
	}
	return facts.WantedBackup{Hash: found.hash(), OneNode: isOfOneNode(claim)}, err
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
	if err != nil || found != nil && found.hash() == hash {
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
