package resources

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// preflightDeadline is for a store that never answers; the agent gives up a call after a minute.
const preflightDeadline int64 = 900

// PreflightStart names a backup, by its key or as the newest of a cluster, and what is restored from it.
type PreflightStart struct {
	AgentImage  string
	PullPolicy  corev1.PullPolicy
	PullSecrets []corev1.LocalObjectReference

	Store    v1alpha1.BackupStore
	Hash     string // of the source
	Key      string // empty: LatestOf says which
	LatestOf v1alpha1.BackedUpCluster

	Version     string // of etcd that is to run on it
	VolumeBytes int64  // of each member's volume
}

// BuildPreflightPod builds the Pod that says, before anything is made or stopped, whether a backup can be restored. Its
// termination message is the backup's manifest. It mounts nothing of the cluster's.
func BuildPreflightPod(c *v1alpha1.EtcdCluster, s PreflightStart) *corev1.Pod {
	store := mountStore(s.Store, true)
	step := agentTask(StepPreflight, s.AgentImage, s.args(c, store.args))
	step.ImagePullPolicy, step.VolumeMounts = s.PullPolicy, store.mounts
	pod := podOf(c, PreflightPod(c.Name), taskPod(c, v1alpha1.ComponentPreflight, nil, step))
	pod.Annotations[v1alpha1.AnnotationRestoreHash] = s.Hash
	pod.Spec.Volumes = store.volumes
	pod.Spec.ImagePullSecrets = s.PullSecrets
	pod.Spec.ActiveDeadlineSeconds = new(preflightDeadline)
	pod.Spec.TerminationGracePeriodSeconds = new(restoreGraceSeconds)
	return pod
}

// podOf is a Pod of the cluster that no Job makes.
func podOf(c *v1alpha1.EtcdCluster, name string, template corev1.PodTemplateSpec) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: ownedMeta(c, name), Spec: template.Spec}
	pod.Labels, pod.Annotations = template.Labels, template.Annotations
	return pod
}

func (s PreflightStart) args(c *v1alpha1.EtcdCluster, store []string) []string {
	args := append([]string{StepPreflight}, store...)
	if s.Key != "" {
		args = append(args, "--key="+s.Key)
	} else {
		args = append(args, "--latest-of="+cmp.Or(s.LatestOf.Namespace, c.Namespace)+"/"+
			cmp.Or(s.LatestOf.Name, c.Name))
		if s.LatestOf.UID != "" {
			args = append(args, "--latest-uid="+s.LatestOf.UID)
		}
	}
	return append(args, "--etcd-version="+s.Version, "--volume-bytes="+strconv.FormatInt(s.VolumeBytes, 10))
}
