package resources

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// agentProgram is where the image of the operator has the agent.
const agentProgram = "/agent"

func snapshotStep(b *v1alpha1.EtcdBackup, c *v1alpha1.EtcdCluster, s BackupStart) corev1.Container {
	args := append([]string{"snapshot"}, storeArgs(b.Spec.Store)...)
	args = append(args,
		"--endpoints="+backupEndpoints(c, s.Members),
		"--cluster-namespace="+c.Namespace,
		"--cluster-name="+c.Name,
		"--cluster-uid="+string(c.UID),
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
	step := agentStep(StepSnapshot, s, args)
	step.VolumeMounts = append(step.VolumeMounts, storeMounts(b.Spec.Store, false)...)
	if c.Spec.IsTLS() {
		step.VolumeMounts = append(step.VolumeMounts, corev1.VolumeMount{Name: tlsVolume, MountPath: tlsMount, ReadOnly: true})
	}
	return step
}

func fetchStep(b *v1alpha1.EtcdBackup, s BackupStart) corev1.Container {
	step := agentStep(StepFetch, s, append([]string{"fetch"}, storeArgs(b.Spec.Store)...))
	step.VolumeMounts = append(step.VolumeMounts, storeMounts(b.Spec.Store, true)...)
	return step
}

// restoreStep is what a person would run to restore the backup, with the cluster's own etcd.
func restoreStep(s BackupStart) corev1.Container {
	step := backupStep(StepRestore, s.EtcdImage, []string{"etcdutl"}, []string{
		"snapshot", "restore", scratchMount + "/fetched.db", "--data-dir=" + scratchMount + "/restored",
	})
	step.ImagePullPolicy = s.PullPolicy
	return step
}

// compareStep writes the manifest, so that nothing has one that was to be proven and was not.
func compareStep(b *v1alpha1.EtcdBackup, s BackupStart) corev1.Container {
	step := agentStep(StepCompare, s, append([]string{"compare"}, storeArgs(b.Spec.Store)...))
	step.VolumeMounts = append(step.VolumeMounts, storeMounts(b.Spec.Store, false)...)
	return step
}

// agentStep is a step of the agent, which says on a port how far it is.
func agentStep(name string, s BackupStart, args []string) corev1.Container {
	step := backupStep(name, s.AgentImage, []string{agentProgram}, append(args, "--scratch="+scratchMount))
	step.Env = []corev1.EnvVar{{Name: "TMPDIR", Value: scratchMount}} // there is no other place to write to
	step.Ports = []corev1.ContainerPort{containerPort("progress", ProgressPort)}
	return step
}

// backupStep pulls its image as the operator's is pulled by default: what the cluster says of pulling is about etcd's.
func backupStep(name, image string, command, args []string) corev1.Container {
	for i := range args {
		args[i] = literal(args[i])
	}
	return corev1.Container{
		Name:            name,
		Image:           image,
		ImagePullPolicy: DefaultPullPolicy,
		Command:         command,
		Args:            args,
		VolumeMounts:    []corev1.VolumeMount{{Name: scratchVolume, MountPath: scratchMount}},
		SecurityContext: containerSecurity(),
		Resources:       agentResources(),

		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// agentResources have no limits. A limit of memory counts the files that are written as well, and would slow a backup down
// to the speed of the node's disk; a limit of CPU would keep its hashing from using what nobody else wants.
func agentResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
	}}
}

// backupEndpoints name members by what their certificates say.
func backupEndpoints(c *v1alpha1.EtcdCluster, members []string) string {
	endpoints := make([]string, len(members))
	for i, member := range members {
		endpoints[i] = member + "=" + ClientURL(c, member)
	}
	return strings.Join(endpoints, ",")
}

func storeMounts(store v1alpha1.BackupStore, readOnly bool) []corev1.VolumeMount {
	var mounts []corev1.VolumeMount
	credentials, authorities := storeSecrets(store)
	if credentials != "" {
		mounts = append(mounts, corev1.VolumeMount{Name: credentialsVolume, MountPath: credentialsMount, ReadOnly: true})
	}
	if authorities != "" {
		mounts = append(mounts, corev1.VolumeMount{Name: storeCAVolume, MountPath: storeCAMount, ReadOnly: true})
	}
	if store.Volume != nil {
		mounts = append(mounts, corev1.VolumeMount{Name: backupsVolume, MountPath: backupsMount, ReadOnly: readOnly})
	}
	return mounts
}
