package resources

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// LostLabels are the labels of ours that an object of the cluster must have and lacks, or has otherwise.
func LostLabels(c *v1alpha1.EtcdCluster, object metav1.Object, birth record.Birth) map[string]string {
	switch o := object.(type) {
	case *corev1.Pod:
		if IsTask(c, o.Name) {
			return lostTaskLabels(c, o)
		}
		return LostPodLabels(c, o)
	case *corev1.PersistentVolumeClaim:
		return LostVolumeLabels(c, o, birth)
	}
	return lacking(object.GetLabels(), Labels(c))
}

// LostPodLabels are the labels that a member's Pod must have and lacks, or has otherwise. Its role is a decision of its
// own.
func LostPodLabels(c *v1alpha1.EtcdCluster, pod *corev1.Pod) map[string]string {
	return lostLabels(c, pod, incarnationOfPod(pod))
}

// LostVolumeLabels are the same of a member's volume. To which incarnation of the cluster a volume belongs the birth
// record says; what it does not say is left open.
func LostVolumeLabels(c *v1alpha1.EtcdCluster, claim *corev1.PersistentVolumeClaim,
	birth record.Birth) map[string]string {
	incarnation := ""
	record, err := record.DecodeMember(claim.Annotations[v1alpha1.AnnotationRecord])
	isRecorded := err == nil && record.ClusterID != 0 && record.ClusterID == birth.ClusterID
	if isRecorded || isBornOn(claim, birth) {
		incarnation = birth.Incarnation
	}
	return lostLabels(c, claim, incarnation)
}

// lostLabels never says another incarnation than an object says itself.
func lostLabels(c *v1alpha1.EtcdCluster, object metav1.Object, incarnation string) map[string]string {
	if object.GetLabels()[v1alpha1.LabelIncarnation] != "" {
		incarnation = ""
	}
	return lacking(object.GetLabels(), MemberLabels(c, object.GetName(), incarnation))
}

// incarnationOfPod is what the Pod's arguments, which cannot change, say of its data directory.
func incarnationOfPod(pod *corev1.Pod) string {
	dir := argOf(pod, Container, "--data-dir=")
	if incarnation := path.Base(path.Dir(dir)); dir == DataDir(incarnation, pod.Name) {
		return incarnation
	}
	return ""
}

// argOf is the value of a flag that a container is called with; empty when it is not.
func argOf(pod *corev1.Pod, container, flag string) string {
	for _, c := range pod.Spec.Containers {
		for _, arg := range c.Args {
			if value, ok := strings.CutPrefix(arg, flag); ok && c.Name == container {
				return value
			}
		}
	}
	return ""
}

// IsProvenVolume reports whether a claim that lost the UID of its cluster is this cluster's all the same: the birth
// record names it by its own UID, or a Pod of ours was made on it. Annotations prove nothing: a copy of a volume has
// them too.
func IsProvenVolume(c *v1alpha1.EtcdCluster, claim *corev1.PersistentVolumeClaim, birth record.Birth,
	pod *corev1.Pod) bool {
	if claim.Labels[v1alpha1.LabelClusterUID] != "" || claim.DeletionTimestamp != nil {
		return false
	}
	return isBornOn(claim, birth) || isMountedBy(c, claim, pod)
}

func isBornOn(claim *corev1.PersistentVolumeClaim, birth record.Birth) bool {
	return claim.UID != "" && birth.Volumes[claim.Name] == string(claim.UID)
}

// isMountedBy: a claim that is older than the Pod is the very one that the Pod found under its name.
func isMountedBy(c *v1alpha1.EtcdCluster, claim *corev1.PersistentVolumeClaim, pod *corev1.Pod) bool {
	return pod != nil && pod.Name == claim.Name && IsControlledBy(pod, c.UID) &&
		claim.CreationTimestamp.Before(&pod.CreationTimestamp) && mountsClaim(pod, claim.Name)
}

func mountsClaim(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}
