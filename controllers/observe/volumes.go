package observe

import (
	"context"
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
		Choices:      choicesOf(cluster, claim),
		Bytes:        size.Value(),
		Class:        class,
		MadeFor:      resources.ClassOf(cluster, claim),
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
		kept = append(kept, facts.KeptVolume{
			Name: claim.Name, UID: string(claim.UID), Ordinal: ordinal,
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
	case corev1.ClaimPending:
		return facts.VolumePending
	}
	return facts.VolumePending // the status is not written yet
}

func recordOf(object metav1.Object) (record.Member, error) {
	return record.DecodeMember(object.GetAnnotations()[v1alpha1.AnnotationRecord])
}

// choicesOf are the choices written on a volume or a Pod. Choices that cannot be read are none: they differ from all
// that can be wanted, and nothing is lost by that. Where the cluster asks for no restart, no member differs by the one
// that it had: to take the annotation away restarts no member.
func choicesOf(cluster *v1alpha1.EtcdCluster, object metav1.Object) facts.Choices {
	in, err := resources.DecodeInputs(object.GetAnnotations()[v1alpha1.AnnotationInputs])
	if err != nil {
		return facts.Choices{}
	}
	version, err := etcdutil.ParseVersion(in.Version)
	if err != nil {
		return facts.Choices{}
	}
	if cluster.RestartedAt() == "" {
		in.RestartedAt = ""
	}
	return choicesIn(in, version)
}
