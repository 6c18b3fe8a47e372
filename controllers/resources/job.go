package resources

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Steps of a backup, by the names of their containers, in the order in which they run.
const (
	StepSnapshot = "snapshot"
	StepFetch    = "fetch"
	StepRestore  = "restore"
	StepCompare  = "compare"
)

// ProgressPort is where a step says how far it is.
const ProgressPort = 8099

// BackupRetries is how many further Pods a backup may take. One that is drained away counts as well.
const BackupRetries = 3

const (
	scratchVolume     = "scratch"
	credentialsVolume = "credentials"
	storeCAVolume     = "store-ca"
	backupsVolume     = "backups"

	scratchMount     = "/scratch"
	credentialsMount = "/etc/store/credentials"
	storeCAMount     = "/etc/store/ca"
	backupsMount     = "/backups"
)

// BackupStart is what a backup's Job is made from beside the EtcdBackup and its cluster.
type BackupStart struct {
	AgentImage  string
	EtcdImage   string            // that the members run: its etcdutl restores what they wrote
	PullPolicy  corev1.PullPolicy // of EtcdImage alone
	PullSecrets []corev1.LocalObjectReference
	PlatformIDs bool        // the platform chooses the user and the groups that the spec does not name
	ClusterID   etcdutil.ID // that the members must have
	Incarnation int
	Members     []string      // names of members to choose from
	Deadline    time.Duration // what is left of it
	Schedule    string        // that the backup is of; empty: a person made it by hand
}

// BuildBackupJob builds the Job that makes a backup: snapshot and, to prove it, fetch, restore and compare, one after
// the other in one Pod. Where no proof is wanted, snapshot is all there is.
func BuildBackupJob(b *v1alpha1.EtcdBackup, c *v1alpha1.EtcdCluster, s BackupStart) *batchv1.Job {
	steps := []corev1.Container{snapshotStep(b, c, s)}
	if b.Spec.IsVerified() {
		steps = append(steps, fetchStep(b, s), restoreStep(s), compareStep(b, s))
	}
	pod := taskPod(c, taskKind{v1alpha1.ComponentBackup, b.Spec.Tasks, s.PlatformIDs}, steps...)
	pod.Spec.TerminationGracePeriodSeconds = new(int64(30)) // an upload is called off in it
	pod.Spec.ImagePullSecrets = s.PullSecrets
	pod.Spec.Volumes = []corev1.Volume{scratchOf(c)}
	if c.Spec.IsTLS() {
		pod.Spec.Volumes = append(pod.Spec.Volumes, mountedSecret(tlsVolume, OperatorSecret(c.Name)))
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, mountStore(b.Spec.Store, false).volumes...)
	return taskJob(c, metav1.ObjectMeta{
		Namespace: b.Namespace, Name: BackupJob(b),
		Labels: merged(taskLabels(c, v1alpha1.ComponentBackup),
			map[string]string{v1alpha1.LabelBackup: b.Name}),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b,
			v1alpha1.GroupVersion.WithKind(KindBackup))},
	}, BackupRetries, s.Deadline, pod)
}

func scratchOf(c *v1alpha1.EtcdCluster) corev1.Volume {
	return corev1.Volume{Name: scratchVolume,
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: scratchLimit(c)}}}
}

// scratchLimit ends a backup before it fills its node's disk, which members may share: what it needs is the snapshot
// and the restored copy, and neither is much larger than the quota, or than the database where the quota was lowered
// later. It is no request: a backup that needs a part of it for a minute would not be scheduled on many nodes that have
// the room.
func scratchLimit(c *v1alpha1.EtcdCluster) *resource.Quantity {
	quota := c.Spec.QuotaOrDefault()
	size := quota.Value()
	if known := c.Status.DBSize; known != nil {
		size = max(size, known.Value())
	}
	return resource.NewQuantity(3*size+1<<30, resource.BinarySI)
}
