package resources

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// preflightDeadline is for a store that never answers, and for one from which a large snapshot comes slowly. The agent
// gives up a call after a minute, and a transfer that stands still sooner.
const preflightDeadline int64 = 3600

// PreflightStart names a backup, by its key or as the newest of a cluster, and what is restored from it.
type PreflightStart struct {
	AgentImage  string
	PlatformIDs bool // the platform chooses the user and the groups that the spec does not name
	Images      ImageDefaults

	Store    v1alpha1.BackupStore
	Hash     string // of the source
	Key      string // empty: LatestOf says which
	SHA256   string // of the snapshot at the key; empty: not known
	LatestOf v1alpha1.BackedUpCluster

	Version     string // of etcd that is to run on it
	VolumeBytes int64  // of each member's volume
}

// BuildPreflightPod builds the Pod that says, before anything is made or stopped, whether a backup can be restored. Its
// termination message says what it found. It mounts nothing of the cluster's. A snapshot that no manifest speaks of is
// downloaded to be read; only one that is named by its key can be such a one.
func BuildPreflightPod(c *v1alpha1.EtcdCluster, s PreflightStart) *corev1.Pod {
	store := mountStore(s.Store, true)
	step := agentTask(StepPreflight, s.AgentImage, s.args(c, store.args))
	step.ImagePullPolicy, step.VolumeMounts = pullPolicy(Inputs(c)), store.mounts
	pod := podOf(c, PreflightPod(c.Name), taskPod(c,
		taskKind{component: v1alpha1.ComponentPreflight, platformIDs: s.PlatformIDs}, step))
	pod.Annotations[v1alpha1.AnnotationRestoreHash] = s.Hash
	pod.Spec.Volumes = store.volumes
	if s.Key != "" {
		addScratch(&pod.Spec, s.VolumeBytes)
	}
	s.Images.put(pod, c, Inputs(c))
	pod.Spec.ActiveDeadlineSeconds = new(preflightDeadline)
	pod.Spec.TerminationGracePeriodSeconds = new(restoreGraceSeconds)
	return pod
}

// addScratch gives the one step of a preflight a place for a snapshot. What restores on the members' volumes is smaller
// than those, so a limit of their size ends only what has gone wrong.
func addScratch(spec *corev1.PodSpec, volumeBytes int64) {
	directory := &corev1.EmptyDirVolumeSource{}
	if volumeBytes > 0 {
		directory.SizeLimit = resource.NewQuantity(volumeBytes, resource.BinarySI)
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: scratchVolume,
		VolumeSource: corev1.VolumeSource{EmptyDir: directory}})
	step := &spec.Containers[0]
	step.Args = append(step.Args, "--scratch="+scratchMount)
	step.VolumeMounts = append(step.VolumeMounts, corev1.VolumeMount{Name: scratchVolume, MountPath: scratchMount})
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
		if s.SHA256 != "" {
			args = append(args, "--expect-sha256="+s.SHA256)
		}
	} else {
		args = append(args, "--latest-of="+cmp.Or(s.LatestOf.Namespace, c.Namespace)+"/"+
			cmp.Or(s.LatestOf.Name, c.Name))
		if s.LatestOf.UID != "" {
			args = append(args, "--latest-uid="+s.LatestOf.UID)
		}
	}
	return append(args, "--etcd-version="+s.Version, "--volume-bytes="+strconv.FormatInt(s.VolumeBytes, 10))
}
