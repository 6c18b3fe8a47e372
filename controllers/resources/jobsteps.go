package resources

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

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

func fetchStep(b *v1alpha1.EtcdBackup, s BackupStart) corev1.Container {
	store := mountStore(b.Spec.Store, true)
	return scratchStep(StepFetch, s, append([]string{StepFetch}, store.args...), store.mounts)
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

// compareStep writes the manifest, so that nothing has one that was to be proven and was not.
func compareStep(b *v1alpha1.EtcdBackup, s BackupStart) corev1.Container {
	store := mountStore(b.Spec.Store, false)
	return scratchStep(StepCompare, s, append([]string{StepCompare}, store.args...), store.mounts)
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
