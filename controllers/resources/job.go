package resources

import (
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
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
	Platform
	EtcdImage   string            // that the members run: its etcdutl restores what they wrote
	PullPolicy  corev1.PullPolicy // of EtcdImage alone
	PullSecrets []corev1.LocalObjectReference
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
		read, write := mountStore(b.Spec.Store, true), mountStore(b.Spec.Store, false)
		// compare writes the manifest, so that nothing has one that was to be proven and was not
		steps = append(steps, scratchStep(StepFetch, s, append([]string{StepFetch}, read.args...), read.mounts),
			restoreStep(s), scratchStep(StepCompare, s, append([]string{StepCompare}, write.args...), write.mounts))
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
		Labels: merged(ownLabels(c, v1alpha1.ComponentBackup),
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

func snapshotStep(b *v1alpha1.EtcdBackup, c *v1alpha1.EtcdCluster, s BackupStart) corev1.Container {
	store := mountStore(b.Spec.Store, false)
	args := append([]string{StepSnapshot}, store.args...)
	args = append(args, "--endpoints="+backupEndpoints(c, s.Members))
	args = append(append(args, clusterArgs(c)...),
		"--cluster-id="+s.ClusterID.String(),
		"--incarnation="+strconv.Itoa(s.Incarnation),
		"--backup-uid="+string(b.UID),
		"--verify="+strconv.FormatBool(b.Spec.IsVerified()),
	)
	if s.Schedule != "" {
		args = append(args, "--schedule="+s.Schedule)
	}
	if c.Spec.IsTLS() {
		args = append(args, "--tls-dir="+tlsMount)
	}
	step := scratchStep(StepSnapshot, s, args, store.mounts)
	if c.Spec.IsTLS() {
		step.VolumeMounts = append(step.VolumeMounts,
			corev1.VolumeMount{Name: tlsVolume, MountPath: tlsMount, ReadOnly: true})
	}
	return step
}

// Names that the agent gives to what it hands to etcdutl in the scratch directory, and looks for after it.
const (
	scratchFetched  = "fetched.db"
	scratchRestored = "restored"
)

// restoreStep is what a person would run to restore the backup, with the cluster's own etcd. Who writes the cluster's
// spec chooses its image. It sees the snapshot, and writes the copy. It reaches nothing else that the agent's steps
// hand on to each other, such as the manifest by which the copy is judged.
func restoreStep(s BackupStart) corev1.Container {
	fetched := corev1.VolumeMount{Name: scratchVolume, MountPath: scratchMount + "/" + scratchFetched,
		SubPath: scratchFetched, ReadOnly: true}
	restored := corev1.VolumeMount{Name: scratchVolume, MountPath: scratchMount + "/" + scratchRestored,
		SubPath: scratchRestored}
	step := task(StepRestore, s.EtcdImage, []string{"etcdutl"}, []string{
		"snapshot", "restore", fetched.MountPath, "--data-dir=" + restored.MountPath,
	})
	step.ImagePullPolicy, step.VolumeMounts = s.PullPolicy, []corev1.VolumeMount{fetched, restored}
	return step
}

// scratchStep is a step of the agent that works in the scratch directory, and says on a port how far it is.
func scratchStep(name string, s BackupStart, args []string, mounts []corev1.VolumeMount) corev1.Container {
	step := agentTask(name, s.AgentImage, append(args, "--scratch="+scratchMount))
	step.Env = []corev1.EnvVar{{Name: "TMPDIR", Value: scratchMount}} // there is no other place to write to
	step.Ports = []corev1.ContainerPort{containerPort("progress", ProgressPort)}
	step.VolumeMounts = append([]corev1.VolumeMount{{Name: scratchVolume, MountPath: scratchMount}}, mounts...)
	return step
}

// clusterArgs are the agent's flags for whose backups are meant.
func clusterArgs(c *v1alpha1.EtcdCluster) []string {
	return []string{"--cluster-namespace=" + c.Namespace, "--cluster-name=" + c.Name, "--cluster-uid=" + string(c.UID)}
}

// backupEndpoints name members by what their certificates say.
func backupEndpoints(c *v1alpha1.EtcdCluster, members []string) string {
	endpoints := make([]string, len(members))
	for i, member := range members {
		endpoints[i] = member + "=" + ClientURL(c, member)
	}
	return strings.Join(endpoints, ",")
}

// mountedStore is how the agent reaches a store: its flags, and what is mounted for it.
type mountedStore struct {
	args    []string
	mounts  []corev1.VolumeMount
	volumes []corev1.Volume
}

func mountStore(store v1alpha1.BackupStore, readOnly bool) mountedStore {
	m := mountedStore{args: []string{"--store=" + storeJSON(store)}}
	add := func(volume corev1.Volume, path string, readOnly bool, arg string) {
		m.args, m.volumes = append(m.args, arg), append(m.volumes, volume)
		m.mounts = append(m.mounts, corev1.VolumeMount{Name: volume.Name, MountPath: path, ReadOnly: readOnly})
	}
	credentials, cas := storeSecrets(store)
	if credentials != "" {
		add(mountedSecret(credentialsVolume, credentials), credentialsMount, true, "--credentials-dir="+
			credentialsMount)
	}
	if cas != "" {
		add(mountedSecret(storeCAVolume, cas), storeCAMount, true, "--store-ca="+storeCAMount+"/"+KeyCA)
	}
	if store.Volume != nil {
		add(claimed(backupsVolume, store.Volume.ClaimName), backupsMount, readOnly, "--volume-root="+backupsMount)
	}
	return m
}

// storeJSON is a store as the agent reads it: as the API has it. Secrets and claims are not in it: they are mounted.
func storeJSON(store v1alpha1.BackupStore) string {
	shown := store.DeepCopy()
	switch {
	case shown.S3 != nil:
		shown.S3.CredentialsSecretRef, shown.S3.CASecretRef = nil, nil
	case shown.GCS != nil:
		shown.GCS.CredentialsSecretRef, shown.GCS.CASecretRef = nil, nil
	case shown.Azure != nil:
		shown.Azure.CredentialsSecretRef, shown.Azure.CASecretRef = nil, nil
	case shown.Volume != nil:
		volume := map[string]string{}
		if shown.Volume.Path != "" {
			volume["path"] = shown.Volume.Path
		}
		return record.JSON(map[string]any{"volume": volume})
	}
	return record.JSON(shown)
}

// storeSecrets are the names of the Secrets that a store is reached with; empty for none.
func storeSecrets(store v1alpha1.BackupStore) (credentials, cas string) {
	name := func(ref *v1alpha1.StoreSecretReference) string {
		if ref == nil {
			return ""
		}
		return ref.Name
	}
	switch {
	case store.S3 != nil:
		return name(store.S3.CredentialsSecretRef), name(store.S3.CASecretRef)
	case store.GCS != nil:
		return name(store.GCS.CredentialsSecretRef), name(store.GCS.CASecretRef)
	case store.Azure != nil:
		return name(store.Azure.CredentialsSecretRef), name(store.Azure.CASecretRef)
	case store.Volume != nil:
		return name(store.Volume.CredentialsSecretRef), ""
	}
	return "", ""
}
