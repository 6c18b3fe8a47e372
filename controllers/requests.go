package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
)

// restoresOf are the EtcdRestores that name a cluster, the oldest first. One that is being deleted asks for nothing.
func restoresOf(ctx context.Context, reader client.Reader, cluster *v1alpha1.EtcdCluster) ([]v1alpha1.EtcdRestore, error) {
	var list v1alpha1.EtcdRestoreList
	if err := reader.List(ctx, &list, client.InNamespace(cluster.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the EtcdRestores of %s: %w", cluster.Namespace, err)
	}
	restores := slices.DeleteFunc(list.Items, func(r v1alpha1.EtcdRestore) bool {
		return r.Spec.ClusterRef.Name != cluster.Name || r.DeletionTimestamp != nil
	})
	slices.SortFunc(restores, func(a, b v1alpha1.EtcdRestore) int {
		if order := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); order != 0 {
			return order
		}
		return strings.Compare(a.Name, b.Name)
	})
	return restores, nil
}

// requests tells the planner of them.
func (b beginnings) requests(ctx context.Context, cluster *v1alpha1.EtcdCluster) ([]plan.Request, error) {
	restores, err := restoresOf(ctx, b.reader, cluster)
	if err != nil {
		return nil, err
	}
	var requests []plan.Request
	for i := range restores {
		request, err := b.request(ctx, &restores[i])
		if err != nil {
			return nil, err
		}
		requests = append(requests, request)
	}
	return requests, nil
}

func (b beginnings) request(ctx context.Context, r *v1alpha1.EtcdRestore) (plan.Request, error) {
	request := plan.Request{
		Name: r.Name, ID: requestID(r), Created: r.CreationTimestamp.Time, Bump: r.Spec.BumpRevisionOrDefault(),
		Approval: r.Spec.Approval, DeletesOld: r.Spec.OldVolumes == v1alpha1.OldVolumesDelete,
	}
	source := &r.Spec.Source
	switch {
	case source.Survivor != nil:
		request.Source, request.Survivor = plan.SourceSurvivor, source.Survivor.Member
	case source.Empty != nil:
		request.Source = plan.SourceEmpty
	case source.Backup() != nil:
		request.Source = plan.SourceBackup
		found, fault, err := b.findRestored(ctx, r)
		if err != nil {
			return plan.Request{}, err
		}
		if request.Wish, err = b.wished(ctx, r.Namespace, found, fault); err != nil {
			return plan.Request{}, err
		}
	default: // the schema lets none of these by
		request.Source, request.Wish.Fault = plan.SourceBackup, "spec.source names nothing"
	}
	return request, nil
}

// requestID names a restore by itself and by what it asks for: whatever came of it says so for good.
func requestID(r *v1alpha1.EtcdRestore) string {
	text, err := json.Marshal(struct {
		Source v1alpha1.EtcdRestoreSource `json:"source"`
		Bump   int64                      `json:"bump"`
	}{r.Spec.Source, r.Spec.BumpRevisionOrDefault()})
	if err != nil {
		panic(fmt.Sprintf("encoding the source of a restore: %v", err))
	}
	sum := sha256.Sum256(text)
	return string(r.UID) + "-" + hex.EncodeToString(sum[:8])
}

// findRestored is what a restore names. It is told from what others name, even where that is the same backup.
func (b beginnings) findRestored(ctx context.Context, r *v1alpha1.EtcdRestore) (*named, string, error) {
	found, fault, err := b.findSource(ctx, r.Namespace, r.Spec.Source.Backup())
	if found != nil {
		found.Restore = string(r.UID)
	}
	return found, fault, err
}

// findRequested finds what an EtcdRestore of the cluster names by that hash; nil when none does. A survivor has no store: what
// is read of it, its own Pod gives.
func (b beginnings) findRequested(ctx context.Context, cluster *v1alpha1.EtcdCluster, hash string) (*named, error) {
	restores, err := restoresOf(ctx, b.reader, cluster)
	if err != nil {
		return nil, err
	}
	for i := range restores {
		r := &restores[i]
		if r.Spec.Source.Survivor != nil && requestID(r) == hash {
			return &named{}, nil
		}
		if r.Spec.Source.Backup() == nil {
			continue
		}
		found, _, err := b.findRestored(ctx, r)
		if err != nil || found != nil && found.hash() == hash {
			return found, err
		}
	}
	return nil, nil
}
