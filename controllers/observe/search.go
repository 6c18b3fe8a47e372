package observe

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// search looks by name for Pods and volumes that should be there and that no list shows. Lists go by labels, which
// anybody can take away, and may come from a cache. A settled cluster lacks nothing, so nothing is looked for.
type search struct {
	observer  *Observer
	cluster   *v1alpha1.EtcdCluster
	bootstrap record.Bootstrap
	gathered  *gathered
	asked     map[string]bool // by kind and name, so that nothing is read twice in a look
}

// askMembers asks the members that are there, and once more when their list names one whose Pod only now is found.
func (s search) askMembers(ctx context.Context) (survey, facts.Membership, error) {
	if _, err := s.find(ctx, s.halves()); err != nil {
		return survey{}, facts.Membership{}, err
	}
	answers, membership := s.observer.askMembers(ctx, s.cluster, s.gathered, s.bootstrap)
	found, err := s.find(ctx, s.members(membership))
	if err == nil && found {
		answers, membership = s.observer.askMembers(ctx, s.cluster, s.gathered, s.bootstrap)
	}
	if err == nil {
		err = s.findWALs(ctx)
	}
	return answers, membership, err
}

// halves are names that were seen as Pod or as volume. While the cluster is not alive, those of its bootstrap have
// neither, and those of the previous incarnation must not run on unseen. What is kept of former incarnations, and what
// is restored, lacks nothing.
func (s search) halves() []string {
	names := map[string]bool{}
	incarnations := incarnationsOf(s.bootstrap, *s.gathered)
	for _, name := range incarnations.former() {
		names[name] = true
	}
	for _, name := range s.seen() {
		if incarnations.isOurs(name) {
			names[name] = true
		}
	}
	if s.bootstrap.Exists() && s.bootstrap.ClusterID == 0 || len(names) == 0 {
		for _, name := range s.bootstrap.Names {
			names[name] = true
		}
	}
	return slices.Collect(maps.Keys(names))
}

func (s search) seen() []string {
	var names []string
	for _, pod := range s.gathered.pods {
		names = append(names, pod.Name)
	}
	for _, volume := range s.gathered.volumes {
		names = append(names, volume.Name)
	}
	for _, wal := range s.gathered.wals {
		if member, _ := resources.WALMember(wal.Name); !s.gathered.has(resources.KindVolume, member) {
			names = append(names, member)
		}
	}
	return names
}

// members are the names in etcd's own list; while nobody tells it, those of whoever remembers.
func (s search) members(membership facts.Membership) []string {
	ours := ownershipOf(s.cluster)
	var names []string
	for _, member := range append(slices.Clone(membership.Members), membership.LastKnown...) {
		if name, ok := ours.memberOf(member); ok {
			names = append(names, name)
		}
	}
	if !membership.Known {
		names = append(names, s.bootstrap.Names...)
		names = append(names, given(s.cluster.Name, s.bootstrap)...)
	}
	return names
}

// mostGiven bounds how many names are looked for that nothing else shows.
const mostGiven = 32

// given are the names that members of this incarnation were last given, whether anything of them is still there or not.
// Each incarnation has names above those of the ones before it.
func given(cluster string, bootstrap record.Bootstrap) []string {
	return namesBelow(cluster, bootstrap.FirstOrdinal(cluster), bootstrap.NextOrdinal)
}

// namesBelow are the last names from the first ordinal on, below the next.
func namesBelow(cluster string, first, next int) []string {
	var names []string
	for ordinal := max(first, next-mostGiven); ordinal < next; ordinal++ {
		names = append(names, etcdutil.MemberName(cluster, ordinal))
	}
	return names
}

// leftovers are names of which nothing may be left but certificates.
type leftovers struct {
	names     []string
	areUnused bool   // who has one of these names and is not seen is no member
	promised  string // the next member, of which there may be nothing yet
}

// leftoversOf are those to look for. While no member tells who the members are, such certificates may be all that tells
// of one. Once that is known they are of members that are gone, whose Pod and volume others deleted, also of the
// incarnations before.
func leftoversOf(cluster string, membership facts.Membership, bootstrap record.Bootstrap) leftovers {
	switch {
	case bootstrap.ClusterID == 0:
		return leftovers{}
	case membership.Known:
		return leftovers{names: namesBelow(cluster, 0, bootstrap.NextOrdinal), areUnused: true,
			promised: bootstrap.Promised}
	}
	return leftovers{names: given(cluster, bootstrap), promised: bootstrap.Promised}
}

// find reads what of the names was not seen, and reports whether a Pod of ours was found.
func (s search) find(ctx context.Context, names []string) (bool, error) {
	var (
		mu      sync.Mutex
		group   errgroup.Group
		pods    []corev1.Pod
		volumes []corev1.PersistentVolumeClaim
	)
	ours := ownershipOf(s.cluster)
	for _, name := range names {
		if !ours.isMember(name) {
			continue
		}
		if s.lacks(resources.KindPod, name) {
			group.Go(func() error { return seek(ctx, s, name, &mu, &pods) })
		}
		if !s.gathered.isInPod(name) && s.lacks(resources.KindVolume, name) {
			group.Go(func() error { return seek(ctx, s, name, &mu, &volumes) })
		}
	}
	if err := group.Wait(); err != nil {
		return false, err
	}
	before := len(s.gathered.pods)
	s.gathered.sort(ours, pods, volumes)
	s.claimProven()
	return len(s.gathered.pods) > before, nil
}

// lacks reports whether nothing of that kind and name was seen or asked for yet, and notes that it is asked for now.
func (s search) lacks(kind, name string) bool {
	id := kind + " " + name
	if s.asked[id] || s.gathered.has(kind, name) {
		return false
	}
	s.asked[id] = true
	return true
}

func (g *gathered) has(kind, name string) bool {
	if kind == resources.KindPod {
		isNamed := func(pod corev1.Pod) bool { return pod.Name == name }
		return slices.ContainsFunc(g.pods, isNamed) || slices.ContainsFunc(g.otherPods, isNamed)
	}
	isNamed := func(volume corev1.PersistentVolumeClaim) bool { return volume.Name == name }
	return slices.ContainsFunc(slices.Concat(g.volumes, g.kept, g.otherVolumes), isNamed)
}

// isInPod reports a member whose data is in its Pod: it has no volume.
func (g *gathered) isInPod(name string) bool {
	return slices.ContainsFunc(g.pods, func(pod corev1.Pod) bool {
		ephemeral, _ := resources.DataOf(&pod)
		return pod.Name == name && ephemeral != nil
	})
}

// seek reads one object past the cache.
func seek[T any, P interface {
	*T
	client.Object
}](ctx context.Context, s search, name string, mu *sync.Mutex, into *[]T) error {
	object, err := Find[T, P](ctx, cmp.Or(s.observer.Live, s.observer.Reader), s.cluster.Namespace, name)
	if object == nil || err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	*into = append(*into, *object)
	return nil
}

// claimProven counts as ours the volumes that do not say so and can be nothing else.
func (s search) claimProven() {
	g := s.gathered
	g.otherVolumes = slices.DeleteFunc(g.otherVolumes, func(volume corev1.PersistentVolumeClaim) bool {
		var pod *corev1.Pod
		if i := slices.IndexFunc(g.pods, func(pod corev1.Pod) bool { return pod.Name == volume.Name }); i >= 0 {
			pod = &g.pods[i]
		}
		if !resources.IsProvenVolume(s.cluster, &volume, s.bootstrap, pod) {
			return false
		}
		g.volumes = append(g.volumes, volume)
		return true
	})
}

// remark returns the Pods and volumes that lack labels of ours, or that others can take for theirs, and shows them as
// they will be once that is put right. Pods are named anew last: what still selects them by name would lose them.
func (s search) remark() []facts.Object {
	objects := s.nameHalves()
	isSelectedByName := s.gathered.selectsByName(ownershipOf(s.cluster))
	put := func(kind string, object client.Object) {
		change := resources.RemarkingBy(s.observer.Operator, s.cluster, object, s.bootstrap)
		if change.IsZero() || object.GetDeletionTimestamp() != nil {
			return
		}
		change.Put(object)
		if kind == resources.KindPod && isSelectedByName {
			return
		}
		objects = append(objects, facts.Object{Kind: kind, Name: object.GetName(), State: facts.ObjectDrifted,
			Detail: "its labels or annotations are not those of the cluster"})
	}
	for i := range s.gathered.pods {
		put(resources.KindPod, &s.gathered.pods[i])
	}
	for i := range s.gathered.volumes {
		put(resources.KindVolume, &s.gathered.volumes[i])
	}
	for i := range s.gathered.kept {
		put(resources.KindVolume, &s.gathered.kept[i])
	}
	for _, half := range s.gathered.halves() {
		put(resources.KindVolume, &half)
	}
	return objects
}
