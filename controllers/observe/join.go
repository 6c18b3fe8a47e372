package observe

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// replicas is the one join of members, Pods and volumes, by name. Nothing is ever joined by position.
type replicas struct {
	ours     ownership
	images   resources.ImageDefaults
	unwanted []string
	fenced   []string
	byName   map[string]*facts.Replica
	inPods   map[string]facts.Storage // of members whose Pods are there, by what these were made with
}

func newReplicas(cluster *v1alpha1.EtcdCluster, images resources.ImageDefaults) replicas {
	return replicas{ours: ownershipOf(cluster), images: images, unwanted: cluster.ReplaceAsked(),
		fenced: cluster.FenceAsked(), byName: map[string]*facts.Replica{}, inPods: map[string]facts.Storage{}}
}

// of returns the replica of a name, which is there from now on.
func (r replicas) of(name string) *facts.Replica {
	replica, ok := r.byName[name]
	if !ok {
		ordinal, _ := etcdutil.Ordinal(r.ours.cluster, name)
		replica = &facts.Replica{Name: name, Ordinal: ordinal, IsUnwanted: slices.Contains(r.unwanted, name),
			ToFence: slices.Contains(r.fenced, name)}
		r.byName[name] = replica
	}
	return replica
}

// add joins what Kubernetes holds.
func (r replicas) add(cluster *v1alpha1.EtcdCluster, bootstrap record.Bootstrap, g gathered) error {
	r.addBootstrap(slices.Concat([]string{bootstrap.Promised}, bootstrap.Names, bootstrap.Next.Names))
	if err := r.addVolumes(cluster, g); err != nil {
		return err
	}
	r.addRestores(cluster, g.tasks, g.told)
	r.addDefrags(g.tasks, g.told)
	return r.addPods(cluster, g.pods, g.told)
}

func (r replicas) addBootstrap(names []string) {
	for _, name := range names {
		if r.ours.isMember(name) {
			r.of(name)
		}
	}
}

func (r replicas) addVolumes(cluster *v1alpha1.EtcdCluster, g gathered) error {
	for _, claim := range g.volumes {
		volume, err := volumeOf(cluster, &claim)
		if err != nil {
			return err
		}
		if err := g.addWAL(volume, &claim); err != nil {
			return err
		}
		r.of(claim.Name).Volume = volume
	}
	return nil
}

func (r replicas) addPods(cluster *v1alpha1.EtcdCluster, pods []corev1.Pod, all map[string]told) error {
	for _, pod := range pods {
		p, err := podOf(cluster, &pod)
		if err != nil {
			return err
		}
		if said := all[pod.Name]; said.message != "" {
			p.Waiting, p.Message = said.waiting, said.message
		}
		if p.Terminating && !p.HasEnded() { // what keeps its containers from starting is no news any more
			p.StartsAfter, p.Waiting, p.Message = "", "", ""
		}
		p.OtherImage = facts.AwaitsImage(p.Waiting) && r.images.DifferFrom(cluster, &pod)
		r.of(pod.Name).Pod = p
		if ephemeral, isKnown := resources.DataOf(&pod); ephemeral != nil {
			r.inPods[pod.Name] = inPod(ephemeral)
		} else if isKnown {
			r.inPods[pod.Name] = facts.Storage{}
		}
	}
	return nil
}

// placed lists them, each with where its data is: where its Pod has it, or else by what is there beside Pods. A volume
// under the name of a member that has its data in its Pod is not the member's.
func (r replicas) placed(cluster *v1alpha1.EtcdCluster, bootstrap record.Bootstrap) []facts.Replica {
	for name, replica := range r.byName {
		storage, isSeen := r.inPods[name]
		if !isSeen {
			storage = facts.StorageOf(*replica, bootstrap, askedStorage(cluster))
		}
		if replica.Storage = storage; storage.Ephemeral {
			replica.Volume = nil
		}
	}
	return r.list()
}

// addMembers joins entries of the member list by the peer URL that the operator chose for them. Of two entries under
// one name neither may be taken for it: the second is left to the strangers.
func (r replicas) addMembers(membership *facts.Membership) {
	for _, member := range membership.Members {
		name, ok := r.ours.memberOf(member)
		if !ok {
			continue
		}
		if replica := r.of(name); replica.Member == nil {
			replica.Member = &member
		} else {
			membership.Strangers = append(membership.Strangers, member)
		}
	}
}

// judgeSecrets judges the cluster's own Secrets, and then that of each name that was seen, the promised one among them,
// and what is left of others. Secrets cannot be listed.
func (r replicas) judgeSecrets(ctx context.Context, keys *keyring, left leftovers) ([]facts.Object, error) {
	objects, err := keys.objects(ctx, r.names())
	if err != nil || !keys.cluster.Spec.IsTLS() {
		return objects, err
	}
	for _, name := range r.names() {
		if r.of(name).Secret, err = keys.member(ctx, name); err != nil {
			return nil, err
		}
	}
	keys.askAnew(objects)
	return objects, r.addLeftovers(ctx, keys, left)
}

// addLeftovers looks for members of which nothing may be left but their certificates. Who has none either is not there.
func (r replicas) addLeftovers(ctx context.Context, keys *keyring, left leftovers) error {
	names := slices.DeleteFunc(left.names, func(name string) bool { _, isSeen := r.byName[name]; return isSeen })
	get := keys.reader.Get
	if left.areUnused {
		get = keys.reader.GetLeft
	}
	if err := keys.readAll(ctx, get, secretsOf(names)); err != nil {
		return err
	}
	for _, name := range names {
		secret, err := keys.member(ctx, name)
		if err != nil {
			return err
		}
		switch isPromised := name == left.promised; {
		case secret.State == facts.ObjectCurrent, secret.State == facts.ObjectDrifted,
			isPromised && secret.IsAwaited():
			r.of(name).Secret = secret
		case !isPromised: // it is gone, and nothing waits for its certificates
			keys.asked.unwant(resources.MemberSecret(name))
		}
	}
	return nil
}

// names are the names seen so far, by ordinal.
func (r replicas) names() []string { return sortedNames(r.ours, r.byName) }

func (r replicas) list() []facts.Replica {
	list := make([]facts.Replica, 0, len(r.byName))
	for _, name := range r.names() {
		list = append(list, *r.byName[name])
	}
	return list
}

// podOf reads a Pod of ours.
func podOf(cluster *v1alpha1.EtcdCluster, pod *corev1.Pod) (*facts.Pod, error) {
	member, err := recordOf(pod)
	if err != nil {
		return nil, Unreadable{Kind: resources.KindPod, Name: pod.Name, Annotation: v1alpha1.AnnotationRecord, Err: err}
	}
	p := &facts.Pod{
		UID:         string(pod.UID),
		Created:     pod.CreationTimestamp.Time,
		Flags:       facts.Flags(resources.FlagsOf(cluster, pod.Name, pod.Annotations)),
		Role:        pod.Labels[v1alpha1.LabelRole],
		Incarnation: pod.Labels[v1alpha1.LabelIncarnation],
		Settings:    settingsOf(cluster, pod),
		Record:      member,
	}
	p.Transport = transportOf(pod, p.Settings)
	p.Undressed = !resources.DressingOf(cluster, pod).IsZero()
	fillProcess(p, pod)
	p.Uncompared = isUncompared(cluster, pod, p)
	p.Resize = resizeOf(pod)
	return p, nil
}

// incarnations tells what is of the one that the bootstrap record is of from what is of another one: of the next
// incarnation beside it, and of those that ended. Nobody of these is asked anything: an old member may still serve, and
// is a member of nothing.
type incarnations struct {
	bootstrap record.Bootstrap
	byVolume  map[string]bool // whether the name is of a former incarnation
	byPod     map[string]bool
}

func incarnationsOf(bootstrap record.Bootstrap, g gathered) incarnations {
	l := incarnations{bootstrap: bootstrap, byVolume: map[string]bool{}, byPod: map[string]bool{}}
	for _, task := range g.tasks {
		if member, ok := resources.RestoredMember(task.Name); ok {
			l.byPod[member] = l.hasEnded(&task)
		}
	}
	for _, pod := range g.pods {
		l.byPod[pod.Name] = l.hasEnded(&pod)
	}
	for _, volume := range g.volumes {
		l.byVolume[volume.Name] = l.hasEnded(&volume)
	}
	return l
}

// hasEnded reports whether an object is of a former incarnation: the bootstrap record says so, or what is written on
// the volume, which outlives the record.
func (l incarnations) hasEnded(object metav1.Object) bool {
	incarnation := object.GetLabels()[v1alpha1.LabelIncarnation]
	if incarnation == l.bootstrap.Incarnation && incarnation != "" {
		return false
	}
	isPast := func(p record.Former) bool { return p.Incarnation == incarnation }
	return slices.ContainsFunc(l.bootstrap.Former, isPast) ||
		object.GetAnnotations()[v1alpha1.AnnotationSuperseded] != ""
}

func (l incarnations) isNext(name string) bool { return slices.Contains(l.bootstrap.Next.Names, name) }

// isFormer goes by the volume, since a Pod may be made anew beside it, and without one by what is there.
func (l incarnations) isFormer(name string) bool {
	if l.isNext(name) {
		return false
	}
	if ended, ok := l.byVolume[name]; ok {
		return ended
	}
	return l.byPod[name]
}

// isOurs reports a name of the incarnation that the bootstrap record is of.
func (l incarnations) isOurs(name string) bool { return !l.isNext(name) && !l.isFormer(name) }

// former are the names that may still run from a former incarnation. Once the next one serves nobody asks.
func (l incarnations) former() []string {
	if len(l.bootstrap.Former) == 0 || l.bootstrap.ClusterID != 0 {
		return nil
	}
	names := slices.Clone(l.bootstrap.Former[len(l.bootstrap.Former)-1].Voters)
	for _, named := range []map[string]bool{l.byVolume, l.byPod} {
		for name := range named {
			if l.isFormer(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// members are the Pods that may be asked.
func (g gathered) members(bootstrap record.Bootstrap) []corev1.Pod {
	l := incarnationsOf(bootstrap, g)
	return slices.DeleteFunc(slices.Clone(g.pods), func(pod corev1.Pod) bool { return !l.isOurs(pod.Name) })
}

// part divides replicas among the incarnations.
func (l incarnations) part(all []facts.Replica) (ours, coming []facts.Replica, former []facts.Incarnation) {
	for _, r := range all {
		switch {
		case l.isNext(r.Name):
			coming = append(coming, r)
		case l.isFormer(r.Name):
			former = addFormer(former, r)
		default:
			ours = append(ours, r)
		}
	}
	return ours, coming, former
}

// addFormer puts what is left of a member beside what is left of its incarnation.
func addFormer(all []facts.Incarnation, r facts.Replica) []facts.Incarnation {
	id := r.Incarnation()
	i := slices.IndexFunc(all, func(in facts.Incarnation) bool { return in.Bootstrap.Incarnation == id })
	if i < 0 {
		i, all = len(all), append(all, facts.Incarnation{Bootstrap: record.Bootstrap{Incarnation: id}})
	}
	all[i].Members = append(all[i].Members, r)
	return all
}

// bootstrapOf reads the bootstrap record. A Service of ours without one has lost it. A record that cannot be read is an
// error, and never a cluster that was not bootstrapped.
func bootstrapOf(service *corev1.Service) (record.Bootstrap, error) {
	text, ok := service.Annotations[v1alpha1.AnnotationBootstrap]
	if !ok {
		return record.Bootstrap{}, nil
	}
	bootstrap, err := record.DecodeBootstrap(text)
	if err != nil {
		return record.Bootstrap{}, Unreadable{Kind: resources.KindService, Name: service.Name,
			Annotation: v1alpha1.AnnotationBootstrap, Err: err}
	}
	return bootstrap, nil
}
