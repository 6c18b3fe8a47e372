package resources

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Volume is a volume to make, for one named member of one incarnation.
type Volume struct {
	Name        string
	Incarnation string
	Bytes       int64
	Inputs      string // canonical: what the member's Pod is made from
	Operator    string // namespace/name of the install that looks after the cluster
	Request     string // the EtcdRestore that it is made for; empty for none
}

// BuildVolume builds the PersistentVolumeClaim of a member. It has an owner only under deletionPolicy Delete: what must
// be kept must not be in reach of the garbage collector.
func BuildVolume(c *v1alpha1.EtcdCluster, v Volume) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: dataMeta(c, v.Name),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: *resource.NewQuantity(v.Bytes, resource.BinarySI),
			}},
		},
	}
	claim.Labels = ofMember(claim.Labels, v.Name, v.Incarnation)
	claim.Annotations[v1alpha1.AnnotationInputs] = v.Inputs
	if v.Operator != "" {
		claim.Annotations[v1alpha1.AnnotationOperator] = v.Operator
	}
	if asked := AskedClass(c); asked != "" {
		claim.Annotations[v1alpha1.AnnotationStorageClass] = asked
	}
	if v.Request != "" {
		claim.Annotations[v1alpha1.AnnotationRequest] = v.Request
	}
	if storage := c.Spec.Storage; storage != nil {
		claim.Spec.StorageClassName = storage.StorageClassName
		if storage.AccessMode != "" {
			claim.Spec.AccessModes[0] = storage.AccessMode
		}
	}
	return dress(c, claim)
}

// noClass is how AskedClass tells "no class" from "the default one"; no StorageClass can have this name.
const noClass = "(none)"

// AskedClass is the StorageClass that the spec asks for, as a volume says what it was made for; empty for the default
// one. What the claim itself says may be Kubernetes' or a webhook's choice.
func AskedClass(c *v1alpha1.EtcdCluster) string {
	if c.Spec.Storage == nil || c.Spec.Storage.StorageClassName == nil {
		return ""
	}
	return cmp.Or(*c.Spec.Storage.StorageClassName, noClass)
}

// ClassOf is the StorageClass that a volume was made for, as AskedClass gives it. One that was made for the default
// class, or by an older release, does not say it: what its claim has counts, where the spec names a class at all.
func ClassOf(c *v1alpha1.EtcdCluster, claim *corev1.PersistentVolumeClaim) string {
	asked, isSaid := claim.Annotations[v1alpha1.AnnotationStorageClass]
	switch now := AskedClass(c); {
	case isSaid:
		return asked
	case now == "" || claim.Spec.StorageClassName == nil:
		return ""
	}
	return cmp.Or(*claim.Spec.StorageClassName, noClass)
}

// dataMeta is the metadata of volumes and CAs.
func dataMeta(c *v1alpha1.EtcdCluster, name string) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Namespace: c.Namespace, Name: name, Labels: dataLabels(c),
		Annotations: v1alpha1.LeftAlone()}
	if c.Spec.DeletionPolicyOrDefault() == v1alpha1.DeletionDelete {
		meta.OwnerReferences = []metav1.OwnerReference{DataOwnerReference(c)}
	}
	return meta
}

// claimInUse is taken from a claim by Kubernetes itself, once no Pod uses that.
const claimInUse = "kubernetes.io/pvc-protection"

// HeldBy names the finalizers that keep an object which is being deleted; empty where none does.
func HeldBy(object metav1.Object) string {
	if object.GetDeletionTimestamp() == nil {
		return ""
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(name string) bool {
		return name == claimInUse
	}), ", ")
}

// PodHeldBy names those of a Pod that is there for them alone: nothing runs in it any more, by its kubelet's word, or
// no kubelet ever had it. Others may call a Pod failed whose kubelet is not heard of; what that said of its containers
// they leave as it is (kubernetes/kubernetes:pkg/controller/podgc).
func PodHeldBy(pod *corev1.Pod) string {
	runs := func(c corev1.ContainerStatus) bool { return c.State.Running != nil }
	hasEnded := (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed) &&
		!slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), runs)
	if hasEnded || pod.Spec.NodeName == "" {
		return HeldBy(pod)
	}
	return ""
}
