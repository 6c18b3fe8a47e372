package apply

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// remark gives an object of ours the labels that it lost, without which the cache does not show it, and takes from data
// what others would take it for theirs by. Data says from then on that this install looks after it.
func (s step) remark(ctx context.Context, kind string, object ctrlclient.Object) error {
	change := resources.RemarkingBy(s.Operator, s.cluster, object, s.view.Current.Birth)
	if change.IsZero() {
		return nil
	}
	if _, claims := change.Annotations[v1alpha1.AnnotationOperator]; claims {
		if err := s.stillClaimed(ctx); err != nil { // this is carried out on a look that may be an old one
			return err
		}
	}
	return s.patchMetadata(ctx, kind, object, string(object.GetUID()), metadataPatch(change))
}

// relabelPod gives a Pod that is there its labels back.
func (s step) relabelPod(ctx context.Context, name string) error {
	pod, err := s.podOf(ctx, name)
	if err != nil {
		return err
	}
	if pod == nil {
		return ErrStale
	}
	return s.remark(ctx, resources.KindPod, pod)
}

// relabelVolume does the same for a volume. One that does not even say whose it is has to be proven ours, by what is
// there now.
func (s step) relabelVolume(ctx context.Context, name string) error {
	found, err := s.find(ctx, resources.KindVolume, claimNamed(name))
	if errors.As(err, new(NameTaken)) {
		claim, proofErr := s.prove(ctx, found)
		if proofErr != nil || claim == nil {
			return errors.Join(err, proofErr)
		}
		return s.remark(ctx, resources.KindVolume, claim)
	}
	if err != nil {
		return err
	}
	if found == nil {
		return ErrStale
	}
	return s.remark(ctx, resources.KindVolume, found)
}

// prove returns a claim if it is ours although it does not say so, nil otherwise.
func (s step) prove(ctx context.Context, found ctrlclient.Object) (*corev1.PersistentVolumeClaim, error) {
	claim := found.(*corev1.PersistentVolumeClaim)
	there, err := s.find(ctx, resources.KindPod, podNamed(claim.Name))
	if err != nil && !errors.As(err, new(NameTaken)) {
		return nil, err
	}
	pod, _ := there.(*corev1.Pod)
	if !resources.IsProvenVolume(s.cluster, claim, s.view.Current.Birth, pod) {
		return nil, nil
	}
	return claim, nil
}
