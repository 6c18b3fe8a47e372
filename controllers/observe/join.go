package observe

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// replicas is the one join of members, Pods and volumes, by name. Nothing is ever joined by position.
type replicas struct {
	ours      ownership
	images    resources.ImageDefaults
	ephemeral bool // members' data is in their Pods
	byName    map[string]*facts.Replica
}

func newReplicas(cluster *v1alpha1.EtcdCluster, images resources.ImageDefaults) replicas {
	return replicas{ours: ownershipOf(cluster), images: images, ephemeral: cluster.Spec.IsEphemeral(),
		byName: map[string]*facts.Replica{}}
}

// of returns the replica of a name, which is there from now on.
func (r replicas) of(name string) *facts.Replica {
	replica, ok := r.byName[name]
	if !ok {
		ordinal, _ := etcdutil.Ordinal(r.ours.cluster, name)
		replica = &facts.Replica{Name: name, Ordinal: ordinal, Ephemeral: r.ephemeral}
		r.byName[name] = replica
	}
	return replica
}

// add joins what Kubernetes holds.
func (r replicas) add(cluster *v1alpha1.EtcdCluster, birth record.Birth, g gathered) error {
	r.addBirth(slices.Concat([]string{birth.Promised}, birth.Names, birth.Next.Names))
	if err := r.addVolumes(cluster, g.volumes); err != nil {
		return err
	}
	r.addRestores(cluster, g.tasks, g.told)
	return r.addPods(cluster, g.pods, g.told)
}

func (r replicas) addBirth(names []string) {
	for _, name := range names {
		if r.ours.isMember(name) {
			r.of(name)
		}
	}
}

func (r replicas) addVolumes(cluster *v1alpha1.EtcdCluster, claims []corev1.PersistentVolumeClaim) error {
	for _, claim := range claims {
		volume, err := volumeOf(cluster, &claim)
		if err != nil {
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
	}
	return nil
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

func (r replicas) addAnswers(s survey) {
	for name := range s.answers {
		r.of(name).Answer = s.answerOf(name)
	}
}

// judgeSecrets judges the cluster's own Secrets, and then those of members.
func (r replicas) judgeSecrets(ctx context.Context, keys *keyring, bereft []string) ([]facts.Object, error) {
	objects, err := keys.objects(ctx, r.names())
	if err != nil {
		return nil, err
	}
	return objects, r.addSecrets(ctx, keys, bereft)
}

// addSecrets looks for the Secret of each name that was seen, the promised one among them. Secrets cannot be listed.
func (r replicas) addSecrets(ctx context.Context, keys *keyring, bereft []string) error {
	if !keys.cluster.Spec.IsTLS() {
		return nil
	}
	if err := keys.readAll(ctx, secretsOf(r.names())); err != nil {
		return err
	}
	for _, name := range r.names() {
		secret, err := keys.member(ctx, name)
		if err != nil {
			return err
		}
		r.of(name).Secret = secret
	}
	return r.addBereft(ctx, keys, bereft)
}

// addBereft looks for members of which nothing may be left but their certificates. Who has none either is not there.
func (r replicas) addBereft(ctx context.Context, keys *keyring, names []string) error {
	for _, name := range names {
		if _, isSeen := r.byName[name]; isSeen {
			continue
		}
		secret, err := keys.member(ctx, name)
		if err != nil {
			return err
		}
		if secret.State == facts.ObjectCurrent || secret.State == facts.ObjectDrifted {
			r.of(name).Secret = secret
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
		Choices:     choicesOf(cluster, pod),
		Record:      member,
	}
	p.Undressed = !resources.DressingOf(cluster, pod).IsZero()
	fillProcess(p, pod)
	p.Uncompared = isUncompared(cluster, pod, p)
	p.Resize = resizeOf(pod)
	return p, nil
}
