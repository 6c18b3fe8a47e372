// Package observe is the only reader: it looks at Kubernetes and at the members themselves, and joins what it finds by
// name into one plan.Observation. It changes nothing, and works the same on a cached reader and on a live one.
//
// What could not be asked is said to be unknown, never to be absent: a failed read of Kubernetes is an error and ends the
// pass, an etcd that does not answer is part of what was seen.
package observe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// lookPatience bounds everything that is asked of etcd in one look.
const lookPatience = 5 * time.Second

// Observer looks at clusters. It keeps nothing between two looks but that it may not read nodes.
type Observer struct {
	Reader   client.Reader // of Pods, volumes, Services and budgets: cached or live
	Live     client.Reader // asked before something is called absent that should be there; nil is Reader
	Secrets  SecretReader
	Dial     MemberDialer
	Now      func() time.Time
	Operator string // namespace/name of this install

	// Wish tells which backup a cluster is asked to begin with; it is not asked of one that is born. Nil where none can be.
	Wish func(ctx context.Context, cluster *v1alpha1.EtcdCluster) (plan.Wish, error)

	// Requests tells which EtcdRestores name a cluster, the oldest first. Nil where none can.
	Requests func(ctx context.Context, cluster *v1alpha1.EtcdCluster) ([]plan.Request, error)

	Tasks TaskAsker // asked about Pods of restores; nil where nobody can be

	denied denials
}

// View is one look: what the planner may know, and the clients that it was learned by, by the name of the member.
type View struct {
	plan.Observation
	Clients map[string]etcd.Client
}

// Observe looks at one cluster. Fault says why its spec is refused, empty when it is not. An error means that Kubernetes
// could not be read, or holds a record that cannot be (Unreadable); then the view tells no more than whose cluster it is.
func (o *Observer) Observe(ctx context.Context, cluster *v1alpha1.EtcdCluster, fault string) (View, error) {
	ours := ownershipOf(cluster)
	g, err := o.gather(ctx, cluster)
	if err != nil {
		return View{}, err
	}
	birth, err := g.birth(ours)
	if err != nil {
		return o.blind(cluster, birth), err
	}
	wish, requests, err := o.wishes(ctx, cluster, birth)
	if err != nil {
		return View{}, err
	}
	keys := o.keyringOf(cluster)
	secrets, err := keys.objects(ctx)
	if err != nil {
		return View{}, err
	}
	look := search{observer: o, cluster: cluster, birth: birth, gathered: &g, asked: map[string]bool{}}
	s, membership, err := look.askMembers(ctx)
	if err != nil {
		return View{}, err
	}
	stripped := look.relabel()

	joined := newReplicas(cluster)
	if err := joined.add(cluster, birth, g); err != nil {
		return o.blind(cluster, birth), err
	}
	joined.addMembers(&membership)
	joined.addAnswers(s)
	if err := o.addNodes(ctx, birth, g, joined); err != nil {
		return View{}, err
	}
	if err := joined.addSecrets(ctx, keys, bereft(cluster, membership, birth)); err != nil {
		return View{}, err
	}
	others, left := g.others(ours)
	others = append(others, stripped...)
	desired := desiredOf(cluster, fault)
	desired.Restore = wish
	desired.ReleasePending = isReleasePending(cluster, g.volumes, keys.authorities)
	replicas, coming, former := livesOf(birth, g).part(joined.list())
	return View{Clients: s.clients, Observation: plan.Observation{
		Now:        o.Now(),
		Cluster:    o.identityOf(cluster),
		Desired:    desired,
		Birth:      birth,
		Preflight:  g.preflight(cluster.Name),
		Objects:    append(append(secrets, g.services(cluster, ours)...), others...),
		Budget:     g.disruptionBudget(cluster, ours),
		Membership: membership,
		Replicas:   replicas,
		Coming:     coming,
		Former:     former,
		Requests:   requests,
		Retained:   append(left, keys.retained...),
	}}, nil
}

func (o *Observer) identityOf(cluster *v1alpha1.EtcdCluster) plan.Identity {
	return plan.Identity{Namespace: cluster.Namespace, Name: cluster.Name, UID: string(cluster.UID), Operator: o.Operator, Created: cluster.CreationTimestamp.Time}
}

// blind is the view of a cluster of which something cannot be read.
func (o *Observer) blind(cluster *v1alpha1.EtcdCluster, birth plan.Birth) View {
	return View{Observation: plan.Observation{
		Now:     o.Now(),
		Cluster: o.identityOf(cluster),
		Desired: desiredOf(cluster, ""),
		Birth:   birth,
	}}
}

// askMembers asks each member alone, and then one of them for the list.
func (o *Observer) askMembers(ctx context.Context, cluster *v1alpha1.EtcdCluster, pods []corev1.Pod, born etcdutil.ID) (survey, plan.Membership) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	s := o.ask(ctx, cluster, pods)
	return s, s.membership(ctx, ownershipOf(cluster), born)
}
