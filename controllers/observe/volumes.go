package observe

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// volumeOf reads a volume of ours. A record that cannot be read is an error: it must not be taken for none.
func volumeOf(cluster *v1alpha1.EtcdCluster, claim *corev1.PersistentVolumeClaim) (*facts.Volume, error) {
	member, err := recordOf(claim)
	if err != nil {
		return nil, Unreadable{Kind: resources.KindVolume, Name: claim.Name, Annotation: v1alpha1.AnnotationRecord,
			Err: err}
	}
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	var class string
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	return &facts.Volume{
		UID:          string(claim.UID),
		Created:      claim.CreationTimestamp.Time,
		Phase:        volumePhase(claim.Status.Phase),
		Terminating:  claim.DeletionTimestamp != nil,
		HeldBy:       resources.HeldBy(claim),
		Incarnation:  claim.Labels[v1alpha1.LabelIncarnation],
		Settings:     settingsOf(cluster, claim),
		Bytes:        size.Value(),
		Capacity:     claim.Status.Capacity.Storage().Value(),
		Growth:       growthOf(claim),
		Attributes:   attributesOf(claim),
		AskedBytes:   resources.SizeOf(claim),
		Class:        class,
		MadeFor:      resources.ClassOf(cluster, claim),
		AccessMode:   string(resources.ModeOf(claim)),
		Backing:      claim.Spec.VolumeName,
		Record:       member,
		Request:      claim.Annotations[v1alpha1.AnnotationRequest],
		Restored:     claim.Annotations[v1alpha1.AnnotationRestored],
		Flushed:      claim.Annotations[v1alpha1.AnnotationFlushed],
		Superseded:   claim.Annotations[v1alpha1.AnnotationSuperseded],
		GoesBackFrom: claim.Annotations[v1alpha1.AnnotationGoesBack],
		RemovedFor:   facts.Cause(claim.Annotations[v1alpha1.AnnotationRemovedFor]),
	}, nil
}

// addProvisioning says why Kubernetes cannot make a volume, such as that its StorageClass is gone, where it tells that.
func (o *Observer) addProvisioning(ctx context.Context, claim *corev1.PersistentVolumeClaim, r *facts.Replica) {
	if o.Warning == nil {
		return
	}
	last := o.Warning(ctx, claim.Namespace, claim.UID)
	if last == nil || last.Reason != facts.ReasonProvisioning {
		return
	}
	r.Volume.Unmade = strings.TrimRight(last.Message, ". \n")
	if r.Restoring != nil {
		r.Restoring.Waiting, r.Restoring.Message = last.Reason, r.Volume.Unmade
	}
}

// isKept reports a volume that was put aside when its member was replaced.
func isKept(claim *corev1.PersistentVolumeClaim) bool { return claim.Labels[v1alpha1.LabelKept] != "" }

// keptVolumes are the volumes that were put aside, by ordinal.
func (g gathered) keptVolumes(ours ownership) []facts.KeptVolume {
	var kept []facts.KeptVolume
	for _, claim := range g.kept {
		if claim.DeletionTimestamp != nil {
			continue
		}
		since, err := time.Parse(time.RFC3339, claim.Annotations[v1alpha1.AnnotationKeptSince])
		if err != nil {
			since = time.Time{}
		}
		ordinal, _ := etcdutil.Ordinal(ours.cluster, claim.Name)
		member, _ := recordOf(&claim)
		kept = append(kept, facts.KeptVolume{
			Name: claim.Name, UID: string(claim.UID), Ordinal: ordinal, ClusterID: member.ClusterID,
			For: facts.Cause(claim.Labels[v1alpha1.LabelKept]), Since: since,
		})
	}
	slices.SortFunc(kept, func(a, b facts.KeptVolume) int { return a.Ordinal - b.Ordinal })
	return kept
}

func volumePhase(phase corev1.PersistentVolumeClaimPhase) facts.VolumePhase {
	switch phase {
	case corev1.ClaimBound:
		return facts.VolumeBound
	case corev1.ClaimLost:
		return facts.VolumeLost
	default: // pending, or the status is not written yet
		return facts.VolumePending
	}
}

func recordOf(object metav1.Object) (record.Member, error) {
	return record.DecodeMember(object.GetAnnotations()[v1alpha1.AnnotationRecord])
}

// settingsOf are the settings written on a volume or a Pod. Settings that cannot be read are none: they differ from all
// that can be wanted, and nothing is lost by that. Where the cluster asks for no restart, no member differs by the one
// that it had: to take the annotation away restarts no member.
func settingsOf(cluster *v1alpha1.EtcdCluster, object metav1.Object) facts.Settings {
	in, err := resources.DecodeInputs(object.GetAnnotations()[v1alpha1.AnnotationInputs])
	if err != nil {
		return facts.Settings{}
	}
	version, err := etcdutil.ParseVersion(in.Version)
	if err != nil {
		return facts.Settings{}
	}
	if cluster.RestartedAt() == "" {
		in.RestartedAt = ""
	}
	return settingsIn(in, version)
}

// annotationSelectedNode is where the scheduler says for which node a volume was made (kubernetes/kubernetes:
// staging/src/k8s.io/component-helpers/storage/volume/helpers.go).
const annotationSelectedNode = "volume.kubernetes.io/selected-node"

// backing is what a claim is bound to; nil where that is not known.
func (s *nodeSearch) backing(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolume,
	error) {
	if claim.Spec.VolumeName == "" {
		return nil, nil
	}
	volume, _, err := readOutside[corev1.PersistentVolume](ctx, s, claim.Spec.VolumeName)
	if err != nil || volume == nil || volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID != claim.UID {
		return nil, err
	}
	return volume, nil
}

// directory is that of a node which a volume is, or "".
func directory(volume *corev1.PersistentVolume) string {
	switch source := volume.Spec.PersistentVolumeSource; {
	case source.HostPath != nil:
		return source.HostPath.Path
	case source.Local != nil:
		return source.Local.Path
	}
	return ""
}

// stranded says why the only node that can use a volume will not come back; empty when it may, when others can use it,
// and when it is not certain which node it is.
func (s *nodeSearch) stranded(ctx context.Context, volume *corev1.PersistentVolume, scheduled string) (string, error) {
	if name := pinned(volume, nodeName); name != "" {
		return s.fateOf(ctx, name)
	}
	host := pinned(volume, hostName)
	if host == "" {
		return "", nil
	}
	return s.fateOfHost(ctx, host, scheduled)
}

// fateOfHost is the fate of the node with a host name. A host name need not be the name of a node, so that there is
// none of that name proves nothing; the name is what the scheduler wrote down, empty when that is not known.
func (s *nodeSearch) fateOfHost(ctx context.Context, host, name string) (string, error) {
	answer, err := s.node(ctx, cmp.Or(name, host))
	switch {
	case err != nil || !answer.isKnown:
		return "", err
	case answer.node != nil && answer.node.Labels[corev1.LabelHostname] == host:
		return fate(answer.node.Name, answer.node), nil
	case answer.node != nil || name == "":
		return "", nil
	}
	namesake, err := s.node(ctx, host)
	if err != nil || !namesake.isKnown || namesake.node != nil {
		return "", err
	}
	return fate(name, nil), nil
}

// scheduledTo is the name of the node that a volume was made for, or that its Pod was bound to; empty when neither is
// known.
func scheduledTo(claim *corev1.PersistentVolumeClaim, pod *facts.Pod) string {
	if pod != nil && pod.Node != "" {
		return pod.Node
	}
	return claim.Annotations[annotationSelectedNode]
}

// pinned is the one value that every term of a volume's node affinity requires; empty when there is none, or more than
// one.
func pinned(volume *corev1.PersistentVolume, required func(corev1.NodeSelectorTerm) string) string {
	affinity := volume.Spec.NodeAffinity
	if affinity == nil || affinity.Required == nil {
		return ""
	}
	only := ""
	for i, term := range affinity.Required.NodeSelectorTerms {
		value := required(term)
		if value == "" || i > 0 && value != only {
			return ""
		}
		only = value
	}
	return only
}

func hostName(term corev1.NodeSelectorTerm) string {
	return onlyValue(term.MatchExpressions, corev1.LabelHostname)
}

func nodeName(term corev1.NodeSelectorTerm) string {
	return onlyValue(term.MatchFields, metav1.ObjectNameField)
}

func onlyValue(requirements []corev1.NodeSelectorRequirement, key string) string {
	for _, r := range requirements {
		if r.Key == key && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
			return r.Values[0]
		}
	}
	return ""
}

// isRetained says that an object was made for an earlier cluster of this name, and says for which. The object of that
// UID is gone: there is only one of a name, and that is ours.
func (o ownership) isRetained(data metav1.Object) bool {
	labels := data.GetLabels()
	return labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue && v1alpha1.ClusterOf(labels) == o.cluster &&
		labels[v1alpha1.LabelClusterUID] != ""
}

// retained names what an earlier cluster of this name left.
func retained(kind string, object metav1.Object) facts.Retained {
	return facts.Retained{Kind: kind, Name: object.GetName(), UID: string(object.GetUID()),
		Owner: object.GetLabels()[v1alpha1.LabelClusterUID]}
}

// retainedVolume is a volume that an earlier cluster left, with what it says of the member that lived there. A record
// that is damaged says nothing. Where nothing says otherwise, its member had TLS.
func retainedVolume(claim *corev1.PersistentVolumeClaim) facts.Retained {
	r := retained(resources.KindVolume, claim)
	r.Backing, r.Kept = claim.Spec.VolumeName, isKept(claim)
	r.Incarnation = claim.Labels[v1alpha1.LabelIncarnation]
	r.Superseded = claim.Annotations[v1alpha1.AnnotationSuperseded]
	r.GoesBackFrom = claim.Annotations[v1alpha1.AnnotationGoesBack]
	var err error
	if r.Record, err = recordOf(claim); errors.As(err, new(record.TooNew)) {
		r.TooNew = err.Error()
	}
	inputs, _ := resources.DecodeInputs(claim.Annotations[v1alpha1.AnnotationInputs])
	r.TLS = inputs.TLS.HasCertificates()
	return r
}
