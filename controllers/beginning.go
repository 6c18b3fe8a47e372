package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/backup"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
)

// beginnings finds the backups that lives of clusters are to begin with.
type beginnings struct {
	reader     client.Reader
	agentImage func(context.Context) (string, error)
}

// named is a backup as a spec names it, with what an EtcdBackup says filled in.
type named struct {
	Restore  string                    `json:"restore,omitempty"` // the UID of the EtcdRestore that names it; empty for spec.bootstrap.restore
	Store    v1alpha1.BackupStore      `json:"store"`
	Key      string                    `json:"key,omitempty"`
	LatestOf *v1alpha1.BackedUpCluster `json:"latestOf,omitempty"`
}

// hash tells one name from another. What is read later, such as a Secret, is no part of it.
func (n named) hash() string {
	text, err := json.Marshal(n)
	if err != nil {
		panic(fmt.Sprintf("encoding the name of a backup: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// notYet ends the sentence about a backup that is still being taken.
const notYet = "is not complete yet"

// find says what the spec names, or why that is nothing that a cluster could begin with. Without a wish both are empty.
func (b beginnings) find(ctx context.Context, cluster *v1alpha1.EtcdCluster) (found *named, fault string, err error) {
	if cluster.Spec.Bootstrap == nil || cluster.Spec.Bootstrap.Restore == nil {
		return nil, "", nil
	}
	return b.findSource(ctx, cluster.Namespace, cluster.Spec.Bootstrap.Restore)
}

func (b beginnings) findSource(ctx context.Context, namespace string, source *v1alpha1.RestoreSource) (found *named, fault string, err error) {
	switch {
	case source.BackupRef != nil:
		return b.findBackup(ctx, namespace, source.BackupRef.Name)
	case source.Store == nil:
		return nil, "what is to be restored is named neither by an EtcdBackup nor by a store", nil
	case source.Latest:
		whose := v1alpha1.BackedUpCluster{}
		if source.LatestOf != nil {
			whose = *source.LatestOf
		}
		return &named{Store: *source.Store, LatestOf: &whose}, "", nil
	}
	return &named{Store: *source.Store, Key: source.Key}, "", nil
}

// findBackup reads what came of an EtcdBackup from its record, from which alone anything is decided.
func (b beginnings) findBackup(ctx context.Context, namespace, name string) (*named, string, error) {
	taken, err := absentAsNil(ctx, b.reader, namespace, name, &v1alpha1.EtcdBackup{})
	switch {
	case err != nil:
		return nil, "", err
	case taken == nil:
		return nil, fmt.Sprintf("there is no EtcdBackup %s in this namespace", name), nil
	}
	record, err := backup.DecodeRecord(taken.Annotations[v1alpha1.AnnotationBackupRecord], namespace, name)
	switch outcome := record.Outcome; {
	case err != nil:
		return nil, fmt.Sprintf("what came of the EtcdBackup %s cannot be read: %v", name, err), nil
	case outcome == nil:
		return nil, fmt.Sprintf("the EtcdBackup %s %s", name, notYet), nil
	case !outcome.Complete || outcome.Facts == nil:
		return nil, fmt.Sprintf("the EtcdBackup %s failed: %s", name, outcome.Message), nil
	}
	return &named{Store: taken.Spec.Store, Key: record.Outcome.Facts.Key}, "", nil
}

// wish is what the planner is told of it.
func (b beginnings) wish(ctx context.Context, cluster *v1alpha1.EtcdCluster) (plan.Wish, error) {
	found, fault, err := b.find(ctx, cluster)
	if err != nil {
		return plan.Wish{}, err
	}
	return b.wished(ctx, cluster.Namespace, found, fault)
}

// wished is what the planner is told of what was found.
func (b beginnings) wished(ctx context.Context, namespace string, found *named, fault string) (plan.Wish, error) {
	if found == nil {
		return plan.Wish{Fault: fault, Later: strings.HasSuffix(fault, notYet)}, nil
	}
	member, err := memberOfClaim(ctx, b.reader, namespace, found.Store)
	if member != "" {
		return plan.Wish{Fault: fmt.Sprintf("the claim %s is the volume of %s, and no store of backups", found.Store.Volume.ClaimName, member)}, err
	}
	return plan.Wish{Hash: found.hash()}, err
}

// source is what Pods that read the backup of that hash are made from: the cluster's own, or one that an EtcdRestore names.
func (b beginnings) source(ctx context.Context, cluster *v1alpha1.EtcdCluster, hash string) (apply.Source, error) {
	found, _, err := b.find(ctx, cluster)
	if err != nil {
		return apply.Source{}, err
	}
	if found == nil || found.hash() != hash {
		if found, err = b.findRequested(ctx, cluster, hash); found == nil || err != nil {
			return apply.Source{}, err
		}
	}
	image, err := b.agentImage(ctx)
	if err != nil {
		return apply.Source{}, err
	}
	source := apply.Source{Hash: hash, Store: found.Store, Key: found.Key, AgentImage: image}
	if found.LatestOf != nil {
		source.LatestOf = *found.LatestOf
	}
	return source, nil
}
