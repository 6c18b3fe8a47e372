package resources

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// ComponentTestRestore is what a Job of a test restore, and its Pods, have as the label of a component.
const ComponentTestRestore = "test-restore"

// TestRestoreStart is what the Job of a test restore is made from beside its schedule and the cluster.
type TestRestoreStart struct {
	AgentImage  string
	EtcdImage   string            // that the members run
	PullPolicy  corev1.PullPolicy // of EtcdImage alone
	PullSecrets []corev1.LocalObjectReference
	At          time.Time     // that it is made for: part of the Job's name, so that there is one whatever crashes
	Deadline    time.Duration // of the whole run
}

// TestRestoreJob is the name of the Job of a test restore.
func TestRestoreJob(s *v1alpha1.EtcdBackupSchedule, at time.Time) string {
	return scheduledJob(s, "test", at) // the whole word would be too long behind a long name
}

// BuildTestRestoreJob builds the Job that restores the newest backup of a schedule as the store has it, in a scratch directory, and
// compares it with what its manifest says: the proof of a backup, without the members and without writing to the store.
func BuildTestRestoreJob(s *v1alpha1.EtcdBackupSchedule, c *v1alpha1.EtcdCluster, t TestRestoreStart) *batchv1.Job {
	start := BackupStart{AgentImage: t.AgentImage, EtcdImage: t.EtcdImage, PullPolicy: t.PullPolicy}
	fetch := agentStep(StepFetch, start, append(append([]string{"fetch"}, storeArgs(s.Spec.Store)...),
		"--newest",
		"--cluster-namespace="+c.Namespace,
		"--cluster-name="+c.Name,
		"--cluster-uid="+string(c.UID),
		"--schedule="+s.Name,
	))
	fetch.VolumeMounts = append(fetch.VolumeMounts, storeMounts(s.Spec.Store, true)...)
	job := scheduledJobOf(s, c, ComponentTestRestore, t.Deadline)
	job.Name = TestRestoreJob(s, t.At)
	pod := &job.Spec.Template.Spec
	pod.ImagePullSecrets = t.PullSecrets
	pod.InitContainers = []corev1.Container{fetch, restoreStep(start)}
	pod.Containers = []corev1.Container{agentStep(StepCompare, start, []string{"compare", "--proof-only"})}
	pod.Volumes = append([]corev1.Volume{scratchOf(c)}, storeVolumes(s.Spec.Store)...)
	return job
}
