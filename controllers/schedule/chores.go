package schedule

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
)

const (
	// pruneWindow is how long the list of what is held is believed, from when it was made: what a restore that begins
	// later is to read is in no danger. It is time enough for an image to be pulled, and for the store to be looked
	// through. As far may the clock of the Job's node be behind.
	pruneWindow = 5 * time.Minute
	// pruneDeadline is how long a Job that looks after retention may take; a little longer, so that its Pod says why it
	// gave up.
	pruneDeadline = pruneWindow + time.Minute
)

// doChores makes each change of the chores. One that the platform refuses keeps no other from being made.
func (r *Reconciler) doChores(
	ctx context.Context, s *v1alpha1.EtcdBackupSchedule, d scheduleplan.Decision,
) (decided scheduleplan.Decision, isDone bool, err error) {
	for _, change := range d.Chores {
		log.FromContext(ctx).Info("schedule", "cluster", s.Spec.ClusterRef.Name, "change", fmt.Sprintf("%T", change))
		err := r.applyChore(ctx, s, change)
		if err == nil {
			r.Tell(s, scheduleplan.Made(change))
		}
		refused, err := kit.Answered(ctx, change, err)
		switch {
		case err != nil:
			return d, false, err
		case refused != nil:
			d = d.ChoreRefused(change, refused.Reason, refused.Message, kit.AfterRejected)
		default:
			return d, true, nil // what was seen is not so any more
		}
	}
	return d, false, nil
}

func (r *Reconciler) beginPrune(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, change scheduleplan.BeginPrune) error {
	cluster, start, err := r.startChore(ctx, s)
	if err != nil {
		return err
	}
	now := r.Now()
	held, err := r.held(ctx, cluster)
	if err != nil {
		return err
	}
	return r.createChore(ctx, s, resources.BuildPruneJob(s, cluster, resources.PruneStart{
		AgentImage: start.AgentImage, PullSecrets: start.PullSecrets, At: change.At,
		Held: append(held, change.Held...), KeepAll: change.KeepAll, Ask: change.Ask,
		NotBefore: now.Add(-pruneWindow), NotAfter: now.Add(pruneWindow), Deadline: pruneDeadline,
		PlatformIDs: start.PlatformIDs,
	}))
}

func (r *Reconciler) beginTest(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, change scheduleplan.BeginTest) error {
	cluster, start, err := r.startChore(ctx, s)
	if err != nil {
		return err
	}
	if start.EtcdImage == "" {
		return apply.Later{Reason: backupplan.ReasonNoMembers, Message: fmt.Sprintf(
			"EtcdCluster %s has no member's Pod, whose image restores the backup.", cluster.Name)}
	}
	spec := s.Spec.BackupSpec()
	start.Deadline = spec.DeadlineOrDefault()
	return r.createChore(ctx, s,
		resources.BuildTestRestoreJob(s, cluster, resources.TestRestoreStart{BackupStart: start, At: change.At}))
}

// sameStore reports whether backups lie in the same place, with the same or other credentials.
func sameStore(a, b v1alpha1.BackupStore) bool {
	return placeOf(a) == placeOf(b)
}

// placeOf is the kind of a store, and what in it tells one place from another.
func placeOf(store v1alpha1.BackupStore) [4]string {
	switch {
	case store.S3 != nil:
		return [4]string{"s3", store.S3.Endpoint, store.S3.Bucket, store.S3.Prefix}
	case store.GCS != nil:
		return [4]string{"gcs", store.GCS.Endpoint, store.GCS.Bucket, store.GCS.Prefix}
	case store.Azure != nil:
		return [4]string{"azure", store.Azure.Endpoint, store.Azure.Container, store.Azure.Prefix}
	case store.Volume != nil:
		return [4]string{"volume", store.Volume.ClaimName, store.Volume.Path}
	}
	return [4]string{}
}
