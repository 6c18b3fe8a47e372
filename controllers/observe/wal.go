package observe

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// Claims of members' write-ahead logs. Each is a half of the volume whose claim names it by its UID, and counts as a
// part of that: see resources.WAL. Its own labels and its owner say nothing.

// isWAL says that the name is one that the claim of a member's write-ahead log may have.
func (o ownership) isWAL(name string) bool {
	member, isIt := resources.WALMember(name)
	return isIt && o.isMember(member)
}

// walOf is what the spec asks for of a write-ahead log.
func walOf(cluster *v1alpha1.EtcdCluster) facts.WAL {
	asked := resources.AskedWAL(cluster)
	if asked == nil {
		return facts.WAL{}
	}
	return facts.WAL{Bytes: asked.Bytes(), StorageClass: asked.StorageClass,
		Attributes: cluster.Spec.WAL().VolumeAttributesClassName}
}

// walOf is the other half of the volume of a claim, where it is there, and what the claim says of it.
func (g gathered) walOf(data *corev1.PersistentVolumeClaim) (half *corev1.PersistentVolumeClaim, said *resources.WAL,
	err error) {
	said, err = resources.WALOf(data)
	if said == nil || err != nil {
		return nil, nil, err
	}
	return g.wal(resources.WALClaim(data.Name)), said, nil
}

// wal is the claim of that name; nil where there is none.
func (g gathered) wal(name string) *corev1.PersistentVolumeClaim {
	return found(g.wals, func(claim corev1.PersistentVolumeClaim) bool { return claim.Name == name })
}

// addWAL adds to a volume how its other half is. What was put back by a backup tool, or by a person, is a copy and
// starts nothing: both of its halves are others than they were.
func (g gathered) addWAL(v *facts.Volume, data *corev1.PersistentVolumeClaim) error {
	half, said, err := g.walOf(data)
	switch {
	case err != nil:
		return Unreadable{Kind: resources.KindVolume, Name: data.Name, Annotation: v1alpha1.AnnotationWAL, Err: err}
	case said == nil:
		return nil
	}
	v.WAL = facts.WAL{Bytes: said.Bytes(), StorageClass: said.StorageClass}
	switch {
	case !v.Record.IsOn(v.UID, v.Backing):
	case half == nil:
		v.Torn, v.Phase = "the volume of its write-ahead log is gone", facts.VolumeLost
	case !said.IsOn(half):
		v.Torn, v.Phase = "another volume has the place of the one of its write-ahead log", facts.VolumeLost
	default:
		addHalf(v, half)
	}
	return nil
}

// halfOf is the other half of a replica's volume; nil where it has none.
func (g gathered) halfOf(data *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	half, said, err := g.walOf(data)
	if err != nil || said == nil || !said.IsOn(half) {
		return nil
	}
	return half
}

// halves are the other halves of all volumes of ours.
func (g gathered) halves() []corev1.PersistentVolumeClaim {
	var halves []corev1.PersistentVolumeClaim
	for _, claims := range [][]corev1.PersistentVolumeClaim{g.volumes, g.kept} {
		for i := range claims {
			if half := g.halfOf(&claims[i]); half != nil {
				halves = append(halves, *half)
			}
		}
	}
	return halves
}

// strays are claims of write-ahead logs that the operator made, and whose member's data is gone.
func (g gathered) strays(ours ownership) []facts.Stray {
	var strays []facts.Stray
	for _, claim := range g.wals {
		member, _ := resources.WALMember(claim.Name)
		isOurs := resources.IsDataOf(&claim, ours.uid) && claim.DeletionTimestamp == nil
		if isOurs && !g.has(resources.KindVolume, member) {
			strays = append(strays, facts.Stray{Member: member,
				VolumeRef: facts.VolumeRef{Name: claim.Name, UID: string(claim.UID)}})
		}
	}
	return strays
}

// findWALs reads the claims that volumes of ours name, and that no list shows.
func (s search) findWALs(ctx context.Context) error {
	var (
		mu    sync.Mutex
		group errgroup.Group
		wals  []corev1.PersistentVolumeClaim
	)
	for _, claims := range [][]corev1.PersistentVolumeClaim{s.gathered.volumes, s.gathered.kept} {
		for i := range claims {
			half, said, _ := s.gathered.walOf(&claims[i])
			name := resources.WALClaim(claims[i].Name)
			if said == nil && !s.gathered.isRunOn(name) || said != nil && said.IsOn(half) {
				continue
			}
			group.Go(func() error { return seek(ctx, s, name, &mu, &wals) })
		}
	}
	err := group.Wait()
	s.gathered.wals = append(wals, s.gathered.wals...) // what was read just now comes before what a list showed
	return err
}

// isRunOn reports a claim of a write-ahead log that no list shows, and that a Pod of ours mounts.
func (g gathered) isRunOn(name string) bool {
	isIt := func(pod corev1.Pod) bool { return resources.WALClaim(pod.Name) == name && resources.MountsWAL(&pod) }
	return g.wal(name) == nil && slices.ContainsFunc(g.pods, isIt)
}

// nameHalves has volumes name their other halves again, where a person took that off, and shows them as they will be.
func (s search) nameHalves() []facts.Object {
	var objects []facts.Object
	for i := range s.gathered.volumes {
		data := &s.gathered.volumes[i]
		pod := found(s.gathered.pods, func(pod corev1.Pod) bool { return pod.Name == data.Name })
		change := resources.NamingWAL(s.cluster, data, s.gathered.wal(resources.WALClaim(data.Name)), pod)
		if change.IsZero() || data.DeletionTimestamp != nil {
			continue
		}
		change.Put(data)
		objects = append(objects, facts.Object{Kind: resources.KindVolume, Name: data.Name, State: facts.ObjectDrifted,
			Detail: "it does not name the claim of its member's write-ahead log"})
	}
	return objects
}

// addHalf lets a volume be as its weaker half is.
func addHalf(v *facts.Volume, half *corev1.PersistentVolumeClaim) {
	v.Terminating = v.Terminating || half.DeletionTimestamp != nil
	v.HeldBy = strings.Trim(v.HeldBy+", "+resources.HeldBy(half), ", ")
	v.WAL.Bytes = cmp.Or(resources.SizeOf(half), v.WAL.Bytes)
	v.Half = facts.Half{VolumeRef: facts.VolumeRef{Name: half.Name, UID: string(half.UID)},
		Bytes: half.Spec.Resources.Requests.Storage().Value(), Capacity: half.Status.Capacity.Storage().Value(),
		Attributes: attributesOf(half), Growth: growthOf(half)}
	if half.Spec.StorageClassName != nil {
		v.Half.Class = *half.Spec.StorageClassName
	}
	if half.Spec.VolumeName == "" {
		v.Backing = "" // it is bound once both of its halves are
	}
	switch phase := volumePhase(half.Status.Phase); {
	case phase == facts.VolumeLost:
		v.Phase = facts.VolumeLost
		v.Torn = cmp.Or(v.Torn, "the volume behind the claim of its write-ahead log is gone")
	case phase == facts.VolumePending && v.Phase == facts.VolumeBound:
		v.Phase = facts.VolumePending
	}
}
