package resources

import (
	"maps"
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

// deadNodeSeconds is how long a backup waits for a node that does not answer: it is cheaper to begin anew elsewhere.
const deadNodeSeconds = 30

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
	ClusterID   etcdutil.ID // that the members must have
	Incarnation int
	Members     []string      // names of members to choose from
	Deadline    time.Duration // what is left of it
	Schedule    string        // that the backup is of; empty: somebody made it by hand
}

// BuildBackupJob builds the Job that makes a backup: snapshot and, to prove it, fetch, restore and compare, one after the
// other in one Pod. Where nothing is to be proven, snapshot is all there is.
func BuildBackupJob(b *v1alpha1.EtcdBackup, c *v1alpha1.EtcdCluster, s BackupStart) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Namespace, Name: BackupJob(b), Labels: BackupLabels(b, c),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b, v1alpha1.GroupVersion.WithKind(KindBackup))},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(int32(BackupRetries)),
			ActiveDeadlineSeconds: new(wholeSeconds(s.Deadline)),
			// A Pod on a node that died stays Terminating for as long as the node is away; another need not wait for it, since
			// no attempt writes what another one writes.
			PodReplacementPolicy: new(batchv1.TerminatingOrFailed),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: BackupLabels(b, c)},
				Spec:       backupPod(b, c, s),
			},
		},
	}
}

func backupPod(b *v1alpha1.EtcdBackup, c *v1alpha1.EtcdCluster, s BackupStart) corev1.PodSpec {
	steps := []corev1.Container{snapshotStep(b, c, s)}
	if b.Spec.IsVerified() {
		steps = append(steps, fetchStep(b, s), restoreStep(s), compareStep(b, s))
	}
	last := len(steps) - 1
	return corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		SecurityContext:               podSecurity(),
		TerminationGracePeriodSeconds: new(int64(30)), // an upload is called off in it
		NodeSelector:                  nodeSelectorOf(c),
		Tolerations:                   backupTolerations(c),
		ImagePullSecrets:              s.PullSecrets,
		InitContainers:                steps[:last:last],
		Containers:                    steps[last:],
		Volumes:                       backupVolumes(b, c),
	}
}

// nodeSelectorOf leads to the nodes of the cluster's members: others may be out of reach of its network and its images.
func nodeSelectorOf(c *v1alpha1.EtcdCluster) map[string]string {
	if c.Spec.Pod == nil {
		return nil
	}
	return maps.Clone(c.Spec.Pod.NodeSelector)
}

// backupTolerations are the members', so that a backup can run where they do, and a short patience with a dead node: of
// several that fit a taint, the shortest time counts (kubernetes/kubernetes:pkg/controller/tainteviction
// getMinTolerationTime).
func backupTolerations(c *v1alpha1.EtcdCluster) []corev1.Toleration {
	tolerations := defaultTolerations()
	for i := range tolerations {
		tolerations[i].TolerationSeconds = new(int64(deadNodeSeconds))
	}
	if c.Spec.Pod == nil {
		return tolerations
	}
	for _, toleration := range c.Spec.Pod.Tolerations {
		tolerations = append(tolerations, *toleration.DeepCopy())
	}
	return tolerations
}

// wholeSeconds rounds up, and is never zero: Kubernetes takes no such deadline.
func wholeSeconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}

func backupVolumes(b *v1alpha1.EtcdBackup, c *v1alpha1.EtcdCluster) []corev1.Volume {
	volumes := []corev1.Volume{scratchOf(c)}
	if c.Spec.IsTLS() {
		volumes = append(volumes, mountedSecret(tlsVolume, OperatorSecret(c.Name)))
	}
	return append(volumes, storeVolumes(b.Spec.Store)...)
}

func scratchOf(c *v1alpha1.EtcdCluster) corev1.Volume {
	return corev1.Volume{Name: scratchVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: scratchLimit(c)}}}
}

// scratchLimit ends a backup before it fills its node's disk, which members may share: what it needs is the snapshot and
// the restored copy, and neither is much larger than the quota, or than the database where the quota was lowered later. It
// is no request: a backup that needs a part of it for a minute would not be scheduled on many nodes that have the room.
func scratchLimit(c *v1alpha1.EtcdCluster) *resource.Quantity {
	quota := c.Spec.QuotaOrDefault()
	size := quota.Value()
	if known := c.Status.DBSize; known != nil {
		size = max(size, known.Value())
	}
	return resource.NewQuantity(3*size+1<<30, resource.BinarySI)
}

func mountedSecret(volume, secret string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: new(int32(0o440))},
	}}
}
