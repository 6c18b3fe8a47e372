package resources

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// A member's write-ahead log may lie on a claim of its own. That claim and the one of the data are one volume in two
// halves, and have one fate. The claim of the data says so, and names the other one by its UID: nothing else makes two
// claims a volume, neither their names nor their labels.

const (
	walVolume = "wal"
	walMount  = "/var/lib/etcd-wal"
)

// WAL is what the claim of a member's data says of the one of its write-ahead log.
type WAL struct {
	UID          string `json:"uid"`
	Size         string `json:"size"`                   // that the spec asked for
	StorageClass string `json:"storageClass,omitempty"` // that it asked for, as AskedClass gives it
}

// IsOn reports whether this claim is the one that is meant.
func (w WAL) IsOn(claim *corev1.PersistentVolumeClaim) bool {
	return claim != nil && w.UID != "" && string(claim.UID) == w.UID
}

// Bytes is that size.
func (w WAL) Bytes() int64 {
	size, err := resource.ParseQuantity(w.Size)
	if err != nil {
		return 0
	}
	return size.Value()
}

// WALClaim is the name of the claim of a member's write-ahead log. No member has such a name.
func WALClaim(member string) string { return member + "-wal" }

// WALMember is the member whose claim of that kind has this name; false for all other names.
func WALMember(claim string) (string, bool) { return strings.CutSuffix(claim, WALClaim("")) }

// memberOfClaim is the member that a claim is of, by its name.
func memberOfClaim(name string) string {
	member, _ := WALMember(name)
	return member
}

// WALDir is where a member's write-ahead log lies, where it lies on a volume of its own. Like DataDir it names whose
// data it is.
func WALDir(incarnation, member string) string { return path.Join(walMount, incarnation, member) }

// AskedWAL is what the spec asks for of a new volume; nil where the log lies beside the data.
func AskedWAL(c *v1alpha1.EtcdCluster) *WAL {
	asked := c.Spec.WAL()
	if asked == nil {
		return nil
	}
	wal := WAL{Size: asked.Size.String()}
	if asked.StorageClassName != nil {
		wal.StorageClass = cmp.Or(*asked.StorageClassName, noClass)
	}
	return &wal
}

// WALOf is what the claim of a member's data says of its write-ahead log; nil where that lies beside the data. What
// cannot be read is an error: it must not be taken for none.
func WALOf(claim *corev1.PersistentVolumeClaim) (*WAL, error) {
	text, isSaid := claim.Annotations[v1alpha1.AnnotationWAL]
	if !isSaid {
		return nil, nil
	}
	var wal WAL
	if err := json.Unmarshal([]byte(text), &wal); err != nil {
		return nil, fmt.Errorf("reading which claim the write-ahead log is on: %w", err)
	}
	return &wal, nil
}

// BuildWAL builds the claim of a member's write-ahead log. It is made before the one of the data, which names it.
func BuildWAL(c *v1alpha1.EtcdCluster, v Volume) *corev1.PersistentVolumeClaim {
	asked := c.Spec.WAL()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: dataMeta(c, WALClaim(v.Name)),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{AskedMode(c)},
			StorageClassName: asked.StorageClassName,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: asked.Size,
			}},
		},
	}
	claim.Labels = ofMember(claim.Labels, v.Name, v.Incarnation)
	if v.Operator != "" {
		claim.Annotations[v1alpha1.AnnotationOperator] = v.Operator
	}
	AskAttributes(claim, asked.VolumeAttributesClassName, asked.VolumeAttributesClassName)
	return dress(c, claim)
}

// nameWAL has a claim of data name the one of the write-ahead log, as the spec asked for it.
func nameWAL(c *v1alpha1.EtcdCluster, data *corev1.PersistentVolumeClaim, uid string) {
	if wal := AskedWAL(c); wal != nil && uid != "" {
		wal.UID = uid
		data.Annotations[v1alpha1.AnnotationWAL] = record.JSON(*wal)
	}
}

// volumesOfWAL is the volume of the write-ahead log, where that has one of its own.
func (s PodStart) volumesOfWAL() []corev1.Volume {
	if !s.HasWAL {
		return nil
	}
	return []corev1.Volume{claimed(walVolume, WALClaim(s.Name))}
}

// mountsOfWAL is where etcd finds it.
func (s PodStart) mountsOfWAL() []corev1.VolumeMount {
	if !s.HasWAL {
		return nil
	}
	return []corev1.VolumeMount{{Name: walVolume, MountPath: walMount}}
}

// MountsWAL reports a member's Pod whose write-ahead log lies on a claim of its own.
func MountsWAL(pod *corev1.Pod) bool { return mounts(pod, WALClaim(pod.Name)) }

func mounts(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}

// NamingWAL is what has to change on the claim of a member's data that does not name its other half any more, where the
// Pod that was made on both proves that. What the spec asked for is then not known, and what the claim has counts.
func NamingWAL(c *v1alpha1.EtcdCluster, data, half *corev1.PersistentVolumeClaim, pod *corev1.Pod) Dressing {
	_, isSaid := data.Annotations[v1alpha1.AnnotationWAL]
	if isSaid || half == nil || half.Name != WALClaim(data.Name) || !isMountedBy(c, data, pod) || !MountsWAL(pod) ||
		!half.CreationTimestamp.Before(&pod.CreationTimestamp) {
		return Dressing{}
	}
	size := half.Spec.Resources.Requests[corev1.ResourceStorage]
	said := WAL{UID: string(half.UID), Size: size.String()}
	if half.Spec.StorageClassName != nil {
		said.StorageClass = cmp.Or(*half.Spec.StorageClassName, noClass)
	}
	return Dressing{Annotations: map[string]*string{v1alpha1.AnnotationWAL: new(record.JSON(said))}}
}
