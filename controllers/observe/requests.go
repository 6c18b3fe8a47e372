package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// RestoresOf are the EtcdRestores that name a cluster, the oldest first. One that is being deleted asks for nothing.
func RestoresOf(ctx context.Context, reader client.Reader,
	cluster *v1alpha1.EtcdCluster) ([]v1alpha1.EtcdRestore, error) {
	var list v1alpha1.EtcdRestoreList
	if err := reader.List(ctx, &list, client.InNamespace(cluster.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the EtcdRestores of %s: %w", cluster.Namespace, err)
	}
	restores := slices.DeleteFunc(list.Items, func(r v1alpha1.EtcdRestore) bool {
		return r.Spec.ClusterRef.Name != cluster.Name || r.DeletionTimestamp != nil
	})
	slices.SortFunc(restores, func(a, b v1alpha1.EtcdRestore) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return restores, nil
}

// Requests tells the planner of them.
func (s Sources) Requests(ctx context.Context, cluster *v1alpha1.EtcdCluster) ([]facts.Request, error) {
	restores, err := RestoresOf(ctx, s.Reader, cluster)
	if err != nil {
		return nil, err
	}
	var requests []facts.Request
	for i := range restores {
		request, err := s.request(ctx, &restores[i])
		if err != nil {
			return nil, err
		}
		requests = append(requests, request)
	}
	return requests, nil
}

func (s Sources) request(ctx context.Context, r *v1alpha1.EtcdRestore) (facts.Request, error) {
	request := facts.Request{
		Name: r.Name, ID: RequestID(r), Created: r.CreationTimestamp.Time, Bump: r.Spec.BumpRevisionOrDefault(),
		IsBumpFixed: r.Spec.BumpRevision != nil,
		Approval:    r.Spec.Approval, DeletesOld: r.Spec.OldVolumes == v1alpha1.OldVolumesDelete,
	}
	source := &r.Spec.Source
	switch {
	case source.Survivor != nil:
		request.Source, request.Survivor = record.SourceSurvivor, source.Survivor.Member
	case source.Empty != nil:
		request.Source = record.SourceEmpty
	case source.Previous != nil:
		request.Source = record.SourcePrevious
	case source.Backup() != nil:
		request.Source = record.SourceBackup
		found, fault, err := s.findRestored(ctx, r)
		if err != nil {
			return facts.Request{}, err
		}
		if request.WantedBackup, err = s.wished(ctx, r.Namespace, found, fault); err != nil {
			return facts.Request{}, err
		}
	default: // the schema lets none of these by
		request.Source, request.WantedBackup.Fault = record.SourceBackup, "spec.source names nothing"
	}
	return request, nil
}

// RequestID names a restore by itself and by what it asks for: whatever came of it says so for good.
func RequestID(r *v1alpha1.EtcdRestore) string {
	return string(r.UID) + "-" + shortHash(struct {
		Source v1alpha1.EtcdRestoreSource `json:"source"`
		Bump   int64                      `json:"bump"`
	}{r.Spec.Source, r.Spec.BumpRevisionOrDefault()})
}

// findRestored is what a restore names. It is told from what others name, even where that is the same backup.
func (s Sources) findRestored(ctx context.Context, r *v1alpha1.EtcdRestore) (*Source, string, error) {
	found, fault, err := s.Named(ctx, r.Namespace, r.Spec.Source.Backup())
	if found != nil {
		found.Restore = string(r.UID)
	}
	return found, fault, err
}

// findRequested finds what an EtcdRestore of the cluster names by that hash; nil when none does. A survivor has no
// store: what is read of it, its own Pod gives.
func (s Sources) findRequested(ctx context.Context, cluster *v1alpha1.EtcdCluster, hash string) (*Source, error) {
	restores, err := RestoresOf(ctx, s.Reader, cluster)
	if err != nil {
		return nil, err
	}
	for i := range restores {
		r := &restores[i]
		if r.Spec.Source.Survivor != nil && RequestID(r) == hash {
			return &Source{}, nil
		}
		if r.Spec.Source.Backup() == nil {
			continue
		}
		found, _, err := s.findRestored(ctx, r)
		if err != nil || found != nil && found.hash() == hash {
			return found, err
		}
	}
	return nil, nil
}
