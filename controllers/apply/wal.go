package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// A member's volume may have two halves, a claim each: see resources.WAL. The claim of the data names the other one, so
// that one is made first and deleted first. Wherever the operator dies, what is left says what is missing.

// createWAL makes the claim of a member's write-ahead log, and returns its UID; empty where the log lies beside the
// data, and where the claim of the data is there already. Only what was made just now is taken: what an earlier one
// left under that name may hold a log.
func (s step) createWAL(ctx context.Context, incarnation string, v changes.NewVolume) (string, error) {
	if resources.AskedWAL(s.cluster) == nil {
		return "", nil
	}
	data, err := s.find(ctx, resources.KindVolume, claimNamed(v.Name))
	if err != nil || data != nil {
		return "", err
	}
	claim := s.walOf(incarnation, v)
	there, err := s.create(ctx, resources.KindVolume, claim)
	switch {
	case err != nil:
		return "", err
	case there == ctrlclient.Object(claim):
		return string(claim.UID), nil
	}
	if err := s.delete(ctx, resources.KindVolume, claimNamed(claim.Name), string(there.GetUID())); err != nil {
		return "", err
	}
	return "", Later{Reason: LaterTerminating, Message: fmt.Sprintf("%s %s was left over without the data of its "+
		"member, and is deleted first", resources.KindVolume, claim.Name)}
}

func (s step) walOf(incarnation string, v changes.NewVolume) *corev1.PersistentVolumeClaim {
	return resources.BuildWAL(s.cluster, resources.Volume{Name: v.Name, Incarnation: incarnation, Operator: s.Operator})
}

// hasWAL reports a member whose write-ahead log lies on a volume of its own. One that has no volume yet gets it as the
// spec asks, and one with its data in its Pod has none.
func (s step) hasWAL(name string) bool {
	if s.emptyDirOf(name) != nil {
		return false
	}
	if claim := s.made[name]; claim != nil {
		wal, err := resources.WALOf(claim)
		return wal != nil && err == nil
	}
	for _, in := range []facts.Incarnation{s.view.Current, s.view.Next} {
		if r, ok := facts.Find(in.Members, name); ok && r.Volume != nil {
			return !r.Volume.WAL.IsZero()
		}
	}
	return resources.AskedWAL(s.cluster) != nil
}

// deleteVolume deletes a claim with the other half of its volume, that one first.
func (s step) deleteVolume(ctx context.Context, volume facts.VolumeRef) error {
	found, err := s.find(ctx, resources.KindVolume, claimNamed(volume.Name))
	if err != nil || found == nil || string(found.GetUID()) != volume.UID {
		return err
	}
	wal, err := resources.WALOf(found.(*corev1.PersistentVolumeClaim))
	if err != nil {
		return err
	}
	if wal != nil && wal.UID != "" {
		name := resources.WALClaim(volume.Name)
		if err := s.delete(ctx, resources.KindVolume, claimNamed(name), wal.UID); err != nil {
			return err
		}
	}
	return s.delete(ctx, resources.KindVolume, claimNamed(volume.Name), volume.UID)
}

// otherHalf is the claim of a member's write-ahead log that the claim of its data names, of which cluster it ever says
// to be; nil where there is none.
func (s step) otherHalf(ctx context.Context, data *corev1.PersistentVolumeClaim) (ctrlclient.Object, error) {
	wal, err := resources.WALOf(data)
	if err != nil || wal == nil || wal.UID == "" {
		return nil, err
	}
	return s.dataOf(ctx, resources.KindVolume, resources.WALClaim(data.Name), wal.UID)
}

// nameHalf has the claim of a member's data name its other half again, by the Pod that runs on both.
func (s step) nameHalf(ctx context.Context, data *corev1.PersistentVolumeClaim) error {
	if _, isSaid := data.Annotations[v1alpha1.AnnotationWAL]; isSaid {
		return nil
	}
	pod, err := s.podOf(ctx, data.Name)
	if err != nil || pod == nil || !resources.MountsWAL(pod) {
		return err
	}
	half, err := s.find(ctx, resources.KindVolume, claimNamed(resources.WALClaim(data.Name)))
	if err != nil || half == nil {
		return err
	}
	change := resources.NamingWAL(s.cluster, data, half.(*corev1.PersistentVolumeClaim), pod)
	if change.IsZero() {
		return nil
	}
	return s.patchMetadata(ctx, resources.KindVolume, data, string(data.UID), metadataPatch(change))
}

// adoptHalf takes over the other half of a volume first. By its name alone nothing would ask for it again.
func (s step) adoptHalf(ctx context.Context, live ctrlclient.Object) error {
	data, isVolume := live.(*corev1.PersistentVolumeClaim)
	if !isVolume {
		return nil
	}
	half, err := s.otherHalf(ctx, data)
	if err != nil || half == nil || half.GetDeletionTimestamp() != nil || resources.IsDataOf(half, s.cluster.UID) {
		return err
	}
	if half.GetLabels() == nil {
		half.SetLabels(map[string]string{})
	}
	return s.takeAsOurs(ctx, resources.KindVolume, half)
}

// isOtherHalf reports a claim of a write-ahead log that a claim of ours names as the other half of its volume.
func (s step) isOtherHalf(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	member, isWAL := resources.WALMember(claim.Name)
	if !isWAL {
		return false, nil
	}
	data, err := s.find(ctx, resources.KindVolume, claimNamed(member))
	if err != nil || data == nil {
		return false, err
	}
	wal, err := resources.WALOf(data.(*corev1.PersistentVolumeClaim))
	return err == nil && wal != nil && wal.IsOn(claim), err
}
