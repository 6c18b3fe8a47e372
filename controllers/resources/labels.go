// Package resources builds the Kubernetes objects of a cluster: pure functions from the EtcdCluster, and what the
// caller adds to it, to an object as the caller creates it. It also says, by the same names, what is on objects that
// were read back: labels, records, the flags of a Pod, drift.
//
// Nothing here reads or writes anything. A string of the user's never becomes a path, a name of a flag that the
// operator owns, or more than the one argument it was meant for.
package resources

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Labels are on every object that a cluster owns, but its tasks.
func Labels(c *v1alpha1.EtcdCluster) map[string]string {
	labels := MemberSelector(c.Name)
	labels[v1alpha1.LabelName] = v1alpha1.NameValue
	labels[v1alpha1.LabelClusterUID] = string(c.UID)
	return labels
}

// ownLabels say of which cluster data or a task is, by labels that no other tool selects by. No selector of the
// cluster's Services and budget fits them, and none that people keep members apart by.
func ownLabels(c *v1alpha1.EtcdCluster, component string) map[string]string {
	return map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelComponent: component,
		v1alpha1.LabelCluster: c.Name, v1alpha1.LabelClusterUID: string(c.UID),
	}
}

// dataLabels are on volumes and CAs.
func dataLabels(c *v1alpha1.EtcdCluster) map[string]string {
	labels := ownLabels(c, v1alpha1.ComponentMember)
	labels[v1alpha1.LabelName] = v1alpha1.NameValue
	return labels
}

// ofMember adds which member an object is of; one that is of no incarnation, such as a Secret, names none.
func ofMember(labels map[string]string, member, incarnation string) map[string]string {
	labels[v1alpha1.LabelMember] = member
	if incarnation != "" {
		labels[v1alpha1.LabelIncarnation] = incarnation
	}
	return labels
}

// MemberLabels are on a member's Pod.
func MemberLabels(c *v1alpha1.EtcdCluster, member, incarnation string) map[string]string {
	labels := ofMember(Labels(c), member, incarnation)
	labels[v1alpha1.LabelName] = v1alpha1.MemberNameValue
	return labels
}

// SelectorsOf find together what says that it is of a cluster: data and tasks, and members' Pods. Data and tasks of a
// release before there was LabelCluster say it as members' Pods do.
func SelectorsOf(cluster string) []labels.Selector {
	ours := labels.SelectorFromSet(labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})
	named := func(label string) labels.Requirement {
		requirement, err := labels.NewRequirement(label, selection.Equals, []string{cluster})
		if err != nil {
			panic(err) // the name of a cluster is shorter than a label may be
		}
		return *requirement
	}
	unnamed, err := labels.NewRequirement(v1alpha1.LabelCluster, selection.DoesNotExist, nil)
	if err != nil {
		panic(err)
	}
	return []labels.Selector{ours.Add(named(v1alpha1.LabelCluster)), ours.Add(named(v1alpha1.LabelInstance), *unnamed)}
}

// MemberSelector selects members' Pods: learners, and Pods that are not sealed yet, too. It leaves out LabelName, which
// has another value on the Pods of earlier releases.
func MemberSelector(cluster string) map[string]string {
	return map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
		v1alpha1.LabelInstance:  cluster,
		v1alpha1.LabelComponent: v1alpha1.ComponentMember,
	}
}

// VoterSelector selects the Pods of voters that are recorded and sealed: what clients reach.
func VoterSelector(cluster string) map[string]string {
	selector := MemberSelector(cluster)
	selector[v1alpha1.LabelRole] = v1alpha1.RoleVoter
	return selector
}

// OwnerReference makes the cluster the controller of an object, so that it goes with the cluster and drain accepts it.
func OwnerReference(c *v1alpha1.EtcdCluster) metav1.OwnerReference {
	return *metav1.NewControllerRef(c, v1alpha1.GroupVersion.WithKind(KindCluster))
}

// DataOwnerReference makes data, a volume or a CA, go with the cluster under deletionPolicy Delete. The cluster
// is not its controller: nothing is derived from it, and it can be taken off again.
func DataOwnerReference(c *v1alpha1.EtcdCluster) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: KindCluster, Name: c.Name, UID: c.UID,
	}
}

// IsControlledBy reports whether an object that goes with its cluster is this cluster's.
func IsControlledBy(object metav1.Object, uid types.UID) bool {
	ref := metav1.GetControllerOf(object)
	return ref != nil && ref.UID == uid
}

// IsDataOf reports whether data is this cluster's. Labels alone never make anything ours, but this one is a UID that
// only the operator writes.
func IsDataOf(object metav1.Object, uid types.UID) bool {
	return object.GetLabels()[v1alpha1.LabelClusterUID] == string(uid)
}

// FollowsPolicy reports whether the ownership of data is as deletionPolicy says.
func FollowsPolicy(object metav1.Object, uid types.UID, retain bool) bool {
	for _, ref := range object.GetOwnerReferences() {
		if ref.UID == uid {
			return !retain
		}
	}
	return retain
}

// merged restores maps over one another; the last one wins.
func merged[V any](layers ...map[string]V) map[string]V {
	all := map[string]V{}
	for _, layer := range layers {
		maps.Copy(all, layer)
	}
	return all
}

// Kinds of the objects that a cluster needs, as they are written in observations, errors and events.
const (
	KindService = "Service"
	KindSecret  = "Secret"
	KindBudget  = "PodDisruptionBudget"
	KindPolicy  = "NetworkPolicy"
	KindPod     = "Pod"
	KindVolume  = "PersistentVolumeClaim"
	KindCluster = "EtcdCluster"
	KindBackup  = "EtcdBackup"
)

// PeerService is the name of the headless Service that gives members their DNS names and carries the bootstrap record.
// It is part of each member's peer URL (etcdutil.PeerHost), so it can never change.
func PeerService(cluster string) string { return cluster + "-peers" }

// ClientService is the name of the Service that clients connect to.
func ClientService(cluster string) string { return cluster }

// Budget is the name of the PodDisruptionBudget.
func Budget(cluster string) string { return cluster }

// NetworkPolicy is the name of the NetworkPolicy that says who may connect to members.
func NetworkPolicy(cluster string) string { return cluster + "-members" }

// CASecret is the name of the Secret with the CA for the client port.
func CASecret(cluster string) string { return cluster + "-ca" }

// PeerCASecret is the name of the Secret with the CA for the peer port.
func PeerCASecret(cluster string) string { return cluster + "-ca-peer" }

// ClientSecret is the name of the Secret that clients connect with.
func ClientSecret(cluster string) string { return cluster + "-client-tls" }

// OperatorSecret is the name of the Secret that the operator connects with.
func OperatorSecret(cluster string) string { return cluster + "-operator-tls" }

// RecordsSecret is the name of the Secret with the key for the records of backups, where a cluster has no CA.
func RecordsSecret(cluster string) string { return cluster + "-records-tls" }

// RecordKeySecret is the name of the Secret that the key for the records of a cluster's backups is derived from. Of a
// cluster that is gone (nil), only the CA may have stayed.
func RecordKeySecret(name string, c *v1alpha1.EtcdCluster) string {
	if c != nil && !c.Spec.IsTLS() {
		return RecordsSecret(name)
	}
	return CASecret(name)
}

// MemberSecret is the name of the Secret with a member's certificates.
func MemberSecret(member string) string { return member + "-tls" }

// BackupJob is the name of a backup's Job: by the cluster, so that people see what it works on, and by the backup's
// UID, so that a backup of the same name that was deleted has another one. Its Pods' names begin so and are no
// member's.
func BackupJob(b *v1alpha1.EtcdBackup) string {
	uid := strings.ReplaceAll(string(b.UID), "-", "")
	return b.Spec.ClusterRef.Name + "-backup-" + uid[:min(len(uid), 8)]
}

// ClusterObjects lists what a cluster needs beside its members, by kind and name, in the order in which it is made: the
// CAs first, since certificates are issued from them. The peer Service is not among them: it is made by the
// bootstrap, and never anew.
func ClusterObjects(c *v1alpha1.EtcdCluster) []ObjectName {
	var objects []ObjectName
	if c.Spec.IsTLS() {
		for _, name := range []string{CASecret(c.Name), PeerCASecret(c.Name), ClientSecret(c.Name),
			OperatorSecret(c.Name)} {
			objects = append(objects, ObjectName{Kind: KindSecret, Name: name})
		}
	}
	return append(objects, ObjectName{Kind: KindService, Name: ClientService(c.Name)})
}

// ObjectName is the kind and the name of an object in the cluster's namespace.
type ObjectName struct{ Kind, Name string }

// IsCA reports whether a Secret's name is that of one of the cluster's CAs. They are data: kept with the
// volumes, and told to be ours by label instead of by owner.
func IsCA(c *v1alpha1.EtcdCluster, name string) bool {
	return name == CASecret(c.Name) || name == PeerCASecret(c.Name)
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
