package restore

import (
	"context"
	"fmt"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// admit says what passes would say of an EtcdRestore, before it is stored. It refuses nothing: all that a restore needs
// may come later, and until then it waits.
func (r *Reconciler) admit(ctx context.Context, mayGet kit.MayGet,
	before, now *v1alpha1.EtcdRestore) (kit.Said, error) {
	var said kit.Said
	cluster, err := r.clusterOf(ctx, now)
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
