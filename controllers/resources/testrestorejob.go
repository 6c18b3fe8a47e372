package resources

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// ComponentTestRestore is what a Job of a test restore, and its Pods, have as the label of a component.
const ComponentTestRestore = "test-restore"

// TestRestoreStart is what the Job of a test restore is made from beside its schedule and the cluster. It asks no
// member.
type TestRestoreStart struct {
	BackupStart
	At time.Time // that it is made for: part of the Job's name, so that a crash never makes a second one
}

// TestRestoreJob is the name of the Job of a test restore.
func TestRestoreJob(s *v1alpha1.EtcdBackupSchedule, at time.Time) string {
	return scheduledJob(s, "test", at) // the whole word would be too long behind a long name
}

// BuildTestRestoreJob builds the Job that restores the newest backup of a schedule as the store has it, in a scratch
// directory, and compares it with what its manifest says: the proof of a backup, without the members and without
// writing to the store.
func BuildTestRestoreJob(s *v1alpha1.EtcdBackupSchedule, c *v1alpha1.EtcdCluster, t TestRestoreStart) *batchv1.Job {
	store := mountStore(s.Spec.Store, true)
	fetch := slices.Concat([]string{StepFetch}, store.args, []string{"--newest"}, clusterArgs(c),
		[]string{"--schedule=" + s.Name})
	pod := taskPod(c, taskKind{ComponentTestRestore, s.Spec.Tasks, t.PlatformIDs},
		scratchStep(StepFetch, t.BackupStart, fetch, store.mounts), restoreStep(t.BackupStart),
		scratchStep(StepCompare, t.BackupStart, []string{StepCompare, "--proof-only"}, nil),
	)
	pod.Spec.ImagePullSecrets = t.PullSecrets
	pod.Spec.Volumes = append([]corev1.Volume{scratchOf(c)}, store.volumes...)
	job := scheduledJobOf(s, c, ComponentTestRestore, t.Deadline, pod)
	job.Name = TestRestoreJob(s, t.At)
	return job
}
