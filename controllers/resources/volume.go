package resources

import (
	"cmp"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// Volume is a volume to make, for one named member of one incarnation.
type Volume struct {
	Name        string
	Incarnation string
	Bytes       int64
	Inputs      string // canonical: what the member's Pod is made from
	Operator    string // namespace/name of the install that looks after the cluster
	Request     string // the EtcdRestore that it is made for; empty for none
	WAL         string // the UID of the claim of the member's write-ahead log; empty where that lies beside the data
}

// BuildVolume builds the PersistentVolumeClaim of a member. It has an owner only under deletionPolicy Delete: what must
// be kept must not be in reach of the garbage collector.
func BuildVolume(c *v1alpha1.EtcdCluster, v Volume) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: dataMeta(c, v.Name),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{AskedMode(c)},
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
	claim.Annotations[v1alpha1.AnnotationAccessMode] = string(AskedMode(c))
	asked := c.Spec.StorageSizeOrDefault()
	claim.Annotations[v1alpha1.AnnotationStorageSize] = asked.String()
	if v.Request != "" {
		claim.Annotations[v1alpha1.AnnotationRequest] = v.Request
	}
	nameWAL(c, claim, v.WAL)
	AskAttributes(claim, c.Spec.VolumeAttributesClass(), c.Spec.VolumeAttributesClass())
	if storage := c.Spec.Storage; storage != nil {
		claim.Spec.StorageClassName = storage.StorageClassName
	}
	return dress(c, claim)
}

// noClass is how AskedClass tells "no class" from "the default one"; no StorageClass can have this name.
const noClass = "(none)"

// AskedMode is the access mode that the spec asks for.
func AskedMode(c *v1alpha1.EtcdCluster) corev1.PersistentVolumeAccessMode {
	if c.Spec.Storage == nil {
		return corev1.ReadWriteOnce
	}
	return cmp.Or(c.Spec.Storage.AccessMode, corev1.ReadWriteOnce)
}

// ModeOf is the access mode that a volume was made for. What the claim itself says may be a webhook's choice, and
// counts where nothing else is written.
func ModeOf(claim *corev1.PersistentVolumeClaim) corev1.PersistentVolumeAccessMode {
	asked, isSaid := claim.Annotations[v1alpha1.AnnotationAccessMode]
	if isSaid || len(claim.Spec.AccessModes) == 0 {
		return corev1.PersistentVolumeAccessMode(asked)
	}
	return claim.Spec.AccessModes[0]
}

// SizeOf is the size in bytes that the spec asked for when a volume was made; zero where that is not written. The claim
// may ask for more by now.
func SizeOf(claim *corev1.PersistentVolumeClaim) int64 {
	asked, err := resource.ParseQuantity(claim.Annotations[v1alpha1.AnnotationStorageSize])
	if err != nil {
		return 0
	}
	return asked.Value()
}

// AskAttributes has a claim ask for a VolumeAttributesClass, and say which one the spec asks for; empty for none.
func AskAttributes(claim *corev1.PersistentVolumeClaim, class, asked string) {
	claim.Spec.VolumeAttributesClassName = nil
	if class != "" {
		claim.Spec.VolumeAttributesClassName = &class
	}
	if asked == "" {
		delete(claim.Annotations, v1alpha1.AnnotationAttributesClass)
		return
	}
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[v1alpha1.AnnotationAttributesClass] = asked
}

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

// Remarking is what has to change on an object of the cluster for the operator to find it, for others not to take it
// for theirs, and for it to be dressed as the spec asks. A Pod's role and its dressing are decisions of their own.
func Remarking(c *v1alpha1.EtcdCluster, object metav1.Object, bootstrap record.Bootstrap) Dressing {
	marks := marksOf(c, object, bootstrap)
	if _, isPod := object.(*corev1.Pod); isPod {
		return marks
	}
	return DressingOf(c, object).and(marks)
}

// RemarkingBy is the same by the install that looks after the cluster, which claims the data as well.
func RemarkingBy(operator string, c *v1alpha1.EtcdCluster, object metav1.Object, bootstrap record.Bootstrap) Dressing {
	change := Remarking(c, object, bootstrap)
	if operator == "" || !holdsData(c, object) || object.GetAnnotations()[v1alpha1.AnnotationOperator] == operator {
		return change
	}
	return change.and(Dressing{Annotations: map[string]*string{v1alpha1.AnnotationOperator: &operator}})
}

// DataClaim is the install that the data of a cluster names; empty where it names none. Where it names two, as in the
// middle of a take-over, the first object by name counts, so that each install reads the same.
func DataClaim[T any, P interface {
	*T
	metav1.Object
}](c *v1alpha1.EtcdCluster, objects []T) string {
	var name, claim string
	for i := range objects {
		object := P(&objects[i])
		said := object.GetAnnotations()[v1alpha1.AnnotationOperator]
		if said != "" && holdsData(c, object) && (claim == "" || object.GetName() < name) {
			name, claim = object.GetName(), said
		}
	}
	return claim
}

// holdsData reports a volume, or the Pod of a member whose data is in it.
func holdsData(c *v1alpha1.EtcdCluster, object metav1.Object) bool {
	switch o := object.(type) {
	case *corev1.PersistentVolumeClaim:
		return true
	case *corev1.Pod:
		ephemeral, _ := DataOf(o)
		return ephemeral != nil && !IsTask(c, o.Name)
	}
	return false
}

func marksOf(c *v1alpha1.EtcdCluster, object metav1.Object, bootstrap record.Bootstrap) Dressing {
	switch o := object.(type) {
	case *corev1.Pod:
		if IsTask(c, o.Name) {
			return relabelled(o, ownLabels(c, taskOf(o.Name)))
		}
		return relabelled(o, MemberLabels(c, o.Name, unsaid(o, incarnationOfPod(o))))
	case *corev1.PersistentVolumeClaim:
		return LeftAlone(o, ofMember(dataLabels(c), memberOfClaim(o.Name), unsaid(o, incarnationOfVolume(o,
			bootstrap))))
	case *corev1.Secret:
		if IsCA(c, o.Name) {
			return LeftAlone(o, dataLabels(c))
		}
	}
	return relabelled(object, Labels(c))
}

func relabelled(object metav1.Object, want map[string]string) Dressing {
	return Dressing{Labels: changesOf(object.GetLabels(), want, nil, v1alpha1.IsOperatorLabel)}
}

// LeftAlone is the same of what nothing owns. What a person says to Argo CD stays.
func LeftAlone(object metav1.Object, want map[string]string) Dressing {
	d := relabelled(object, want)
	if _, ok := object.GetLabels()[v1alpha1.LabelInstance]; ok {
		d.Labels[v1alpha1.LabelInstance] = nil
	}
	d.Annotations = map[string]*string{}
	for key, value := range v1alpha1.LeftAlone() {
		if _, ok := object.GetAnnotations()[key]; !ok {
			d.Annotations[key] = &value
		}
	}
	return d
}

// unsaid is an incarnation, unless the object itself names one, which is never changed.
func unsaid(object metav1.Object, incarnation string) string {
	if object.GetLabels()[v1alpha1.LabelIncarnation] != "" {
		return ""
	}
	return incarnation
}

// incarnationOfVolume is what the bootstrap record says of a volume; what it does not say is left open.
func incarnationOfVolume(claim *corev1.PersistentVolumeClaim, bootstrap record.Bootstrap) string {
	record, err := record.DecodeMember(claim.Annotations[v1alpha1.AnnotationRecord])
	isRecorded := err == nil && record.ClusterID != 0 && record.ClusterID == bootstrap.ClusterID
	if isRecorded || isBootstrappedOn(claim, bootstrap) {
		return bootstrap.Incarnation
	}
	return ""
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

// IsProvenVolume reports whether a claim that lost the UID of its cluster is this cluster's all the same: the bootstrap
// record names it by its own UID, or a Pod of ours was made on it. Annotations prove nothing: a copy of a volume has
// them too.
func IsProvenVolume(c *v1alpha1.EtcdCluster, claim *corev1.PersistentVolumeClaim, bootstrap record.Bootstrap,
	pod *corev1.Pod) bool {
	if claim.Labels[v1alpha1.LabelClusterUID] != "" || claim.DeletionTimestamp != nil {
		return false
	}
	return isBootstrappedOn(claim, bootstrap) || isMountedBy(c, claim, pod)
}

func isBootstrappedOn(claim *corev1.PersistentVolumeClaim, bootstrap record.Bootstrap) bool {
	return claim.UID != "" && bootstrap.Volumes[claim.Name] == string(claim.UID)
}

// isMountedBy: a claim that is older than the Pod is the very one that the Pod found under its name.
func isMountedBy(c *v1alpha1.EtcdCluster, claim *corev1.PersistentVolumeClaim, pod *corev1.Pod) bool {
	return pod != nil && pod.Name == claim.Name && IsControlledBy(pod, c.UID) &&
		claim.CreationTimestamp.Before(&pod.CreationTimestamp) && mounts(pod, claim.Name)
}

// mountStore is how the agent reaches a store.
func mountStore(store v1alpha1.BackupStore, readOnly bool) reach {
	m := reach{args: []string{"--store=" + storeJSON(store)}}
	add := func(volume corev1.Volume, path string, readOnly bool, arg string) {
		one := mount(volume, path, readOnly)
		m = reach{append(m.args, arg), append(m.mounts, one.mounts...), append(m.volumes, one.volumes...)}
	}
	credentials, cas := StoreSecrets(store)
	if credentials != "" {
		add(mountedSecret(credentialsVolume, credentials), credentialsMount, true, "--credentials-dir="+
			credentialsMount)
		m.args = append(m.args, "--credentials-secret="+credentials)
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

// StoreSecrets are the names of the Secrets that a store is reached with; empty for none.
func StoreSecrets(store v1alpha1.BackupStore) (credentials, cas string) {
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
