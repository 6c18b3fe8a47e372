// Package observe is the only reader: it looks at Kubernetes and at the members themselves, and joins what it finds by
// name into one facts.Observation. It changes nothing, and works the same on a cached reader and on a live one.
//
// What could not be asked is said to be unknown, never to be absent: a failed read of Kubernetes is an error and ends
// the pass, an etcd that does not answer is part of what was seen.
package observe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
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
	Own      func() time.Time // the clock of this machine; nil: Now is
	Operator string           // namespace/name of this install
	Pinger   *Pinger          // is told what each look saw; nil where nothing is asked between looks

	resources.Platform
	// AsksNoHashes: what the copies of members hold is not asked, nor what is in use of a full one. To tell it costs
	// them work, and one replica of an install asks.
	AsksNoHashes bool

	// WantedBackup tells which backup a cluster is asked to begin with; it is not asked of one that is bootstrapped.
	// Nil where none can be.
	WantedBackup func(ctx context.Context, cluster *v1alpha1.EtcdCluster) (facts.WantedBackup, error)

	// Requests tells which EtcdRestores name a cluster, the oldest first. Nil where none can.
	Requests func(ctx context.Context, cluster *v1alpha1.EtcdCluster) ([]facts.Request, error)

	// Backups reads the EtcdBackups from a cache: the newest proven one is shown, and a restore begins above its
	// revision. Nil where there are none.
	Backups client.Reader

	// Optional reads kinds that may not be there: the CertificateRequests of a cluster whose certificates an issuer
	// signs, and the EvictionRequests of a cluster of one. It is live: no cache holds such a kind. Nil where none are
	// read.
	Optional client.Reader

	// Warning tells what the status of a Pod, or of a claim, does not: the last warning that Kubernetes gave. Progress
	// is what the step of a restore that runs says of itself. Both are for display; nil where no member can be asked.
	Warning  func(ctx context.Context, namespace string, uid types.UID) *corev1.Event
	Progress func(ctx context.Context, address string) *backupplan.Progress

	denied denials
	drains drains
}

// Clients are what the members were asked by, by the name of the member.
type Clients map[string]etcd.Client

// Observe looks at one cluster. Fault says why its spec is refused, empty when it is not. An error means that
// Kubernetes could not be read, or holds a record that cannot be (Unreadable); then the observation tells no more than
// whose cluster it is.
func (o *Observer) Observe(ctx context.Context, cluster *v1alpha1.EtcdCluster,
	fault string) (facts.Observation, Clients, error) {
	seen, clients, err := o.observe(ctx, cluster, fault)
	if err != nil {
		return seen, nil, err
	}
	if seen.BackupLeft, err = o.backupLeft(ctx, cluster, seen.Current.Bootstrap); err != nil {
		return facts.Observation{}, nil, err
	}
	if seen.AccessClients, err = o.accessClients(ctx, cluster, seen.Desired); err != nil {
		return facts.Observation{}, nil, err
	}
	seen.Keeping = o.keepingOf(ctx, seen)
	return seen, clients, nil
}

// observe looks at what is the cluster's own.
func (o *Observer) observe(ctx context.Context, cluster *v1alpha1.EtcdCluster,
	fault string) (facts.Observation, Clients, error) {
	began, ahead := o.clocks() // what is seen is at least as new
	ours := ownershipOf(cluster)
	g, err := o.gather(ctx, cluster)
	if err != nil {
		return facts.Observation{}, nil, err
	}
	bootstrap, claim, err := g.bootstrap(ours)
	if err != nil {
		return o.blind(cluster, claim, g.dataClaim(cluster)), nil, err
	}
	wish, requests, err := o.wishes(ctx, cluster, bootstrap)
	if err != nil {
		return facts.Observation{}, nil, err
	}
	keys := o.keyringOf(o.withCertificates(ctx, cluster, g), g.loadBalancer(ours))
	look := search{observer: o, cluster: cluster, bootstrap: bootstrap, gathered: &g, asked: map[string]bool{}}
	s, membership, err := look.askMembers(ctx)
	if err != nil {
		return facts.Observation{}, nil, err
	}
	data := g.dataClaim(cluster) // as it is: what follows shows objects as they will be
	stripped := look.remark()
	joined := newReplicas(cluster, o.Images)
	if err := joined.add(cluster, bootstrap, g); err != nil {
		return o.blind(cluster, claim, data), nil, err
	}
	joined.addSurvey(s, &membership)
	if err := o.addNodes(ctx, cluster, bootstrap, g, joined); err != nil {
		return facts.Observation{}, nil, err
	}
	secrets, err := joined.judgeSecrets(ctx, keys, leftoversOf(cluster.Name, membership, bootstrap))
	if err != nil {
		return facts.Observation{}, nil, err
	}
	others, left := g.others(ours)
	replicas, next, former := incarnationsOf(bootstrap, g).part(joined.placed(cluster, bootstrap))
	current := facts.Incarnation{Bootstrap: bootstrap, Membership: membership, Members: replicas}
	history := o.history(ctx, s, cluster, current)
	grown := withGrowth(cluster, current, history)
	desired := s.desired(ctx, grown, desiredOfGrown(cluster, grown, fault, wish, began),
		facts.Observation{Current: current, Next: facts.Incarnation{Members: next}, Schedules: g.schedules,
			Objects: secrets})
	seen := facts.Observation{
		Now: began, Ahead: ahead, Cluster: o.identityOf(cluster), Desired: desired,
		ClaimedBy: claim, DataClaim: data, TakenOver: g.takenOver(),
		Preflight: g.preflight(cluster, o.Images),
		Objects: slices.Concat(secrets, g.services(cluster, ours, current.LeadsByRole(began)),
			g.networkPolicy(cluster, ours, o.Operator), others, stripped),
		Budget: g.disruptionBudget(cluster, ours), SelectedByName: g.selectsByName(ours),
		Current: current, Next: facts.Incarnation{Members: next}, Former: former, Kept: g.keptVolumes(ours),
		Astray: astray(cluster, slices.Concat(g.volumes, g.kept, g.halves()), keys.cas), Strays: g.strays(ours),
		Answered: keys.answered(desired.TLS), Requests: requests, Schedules: g.schedules, Proven: g.proven,
		HeldUp: g.heldUp, Failed: g.failed, Streaming: g.streaming, History: history,
		Retained: append(left, keys.retained...), LoadBalancer: keys.addresses,
	}
	o.askMore(ctx, s, &seen)
	return seen, s.clients, nil
}

// askMore asks members for what is seldom needed: how authentication stands, and what their copies hold.
func (o *Observer) askMore(ctx context.Context, s survey, seen *facts.Observation) {
	o.addAuth(ctx, s, seen)
	seen.Hashing = o.hear(ctx, s, *seen)
}

// hear asks the members what their copies hold, where the planner has to know, and says how long that took.
func (o *Observer) hear(ctx context.Context, s survey, seen facts.Observation) time.Duration {
	if o.AsksNoHashes || !plan.AsksForHashes(seen) {
		return 0
	}
	began := o.Now()
	s.addHashes(ctx, seen.Current.Members)
	return o.Now().Sub(began)
}

// history says how far the cluster was a while ago and, while an alarm stands, how far its history was compacted.
func (o *Observer) history(ctx context.Context, s survey, cluster *v1alpha1.EtcdCluster,
	current facts.Incarnation) (known facts.History) {
	leader := current.Leader()
	if leader.Answer == nil {
		return known
	}
	isRead := !o.AsksNoHashes && s.tellInUse(ctx, current, o.Now(), !cluster.DefragmentAsked().IsZero())
	known = o.Pinger.remember(client.ObjectKeyFromObject(cluster), moment{revision: leader.Answer.Revision,
		isFull: len(leader.Answer.Alarms) > 0, inUse: current.InUse()}, cluster.Spec.KeepHistoryOrDefault())
	asked := s.clients[leader.Name]
	if asked == nil || len(leader.Answer.Alarms) == 0 {
		return known
	}
	known.IsRead, known.IsSteady = isRead, known.IsSteady && !isRead
	if compacted, err := asked.Compacted(ctx); err == nil {
		known.Compacted = &compacted
	}
	return known
}

// tellInUse asks members anew what is in use of their databases: the leader where they are full, since all hold the
// same, and each where a person asks that it is defragmented. It reports a leader that sends a snapshot, which keeps
// the room of all that is compacted meanwhile. Of what cannot be asked that stays which its status told. One that is
// being defragmented is left alone: to ask it begins snapshots, and its Pod waits for those. What a leader uses is then
// not known.
func (s survey) tellInUse(ctx context.Context, current facts.Incarnation, now time.Time, isAsked bool) (isRead bool) {
	isFull, leader := current.IsOutOfSpace(), current.Leader()
	for _, r := range current.Voters() {
		isFullLeader := isFull && r.Name == leader.Name
		asked := s.clients[r.Name]
		if asked == nil || r.Answer == nil || !isAsked && !isFullLeader {
			continue
		}
		if r.IsBeingDefragmented(now) {
			isRead = isRead || isFullLeader
			continue
		}
		if isFullLeader {
			isRead, _ = asked.StreamsSnapshot(ctx) // before it is asked for another one
		}
		if inUse, err := asked.SizeInUse(ctx); err == nil {
			r.Answer.DBSizeInUse = inUse
		}
	}
	return isRead
}

// clocks are the time, and how far it is ahead of this machine's clock.
func (o *Observer) clocks() (now time.Time, ahead time.Duration) {
	now = o.Now()
	if o.Own == nil {
		return now, 0
	}
	return now, now.Sub(o.Own()).Round(time.Second)
}

func (o *Observer) identityOf(cluster *v1alpha1.EtcdCluster) facts.Identity {
	return facts.Identity{Namespace: cluster.Namespace, Name: cluster.Name, UID: string(cluster.UID),
		Operator: o.Operator, Created: cluster.CreationTimestamp.Time}
}

// blind is what is known of a cluster of which something cannot be read.
func (o *Observer) blind(cluster *v1alpha1.EtcdCluster, claim, data string) facts.Observation {
	now, ahead := o.clocks()
	return facts.Observation{
		Now: now, Ahead: ahead,
		Cluster:   o.identityOf(cluster),
		Desired:   desiredOf(cluster, "", facts.WantedBackup{}, now),
		ClaimedBy: claim, DataClaim: data,
	}
}

// askMembers asks each member alone, and then one of them for the list.
func (o *Observer) askMembers(ctx context.Context, cluster *v1alpha1.EtcdCluster, g *gathered,
	bootstrap record.Bootstrap) (survey, facts.Membership) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	s := o.ask(ctx, cluster, g.members(bootstrap))
	s.partImpostors(g.recordsWithoutTLS(cluster))
	return s, s.membership(ctx, ownershipOf(cluster), bootstrap.ClusterID)
}

// openshiftSecurity is the group of the API by which OpenShift hands out IDs, a range to each namespace.
const openshiftSecurity = "security.openshift.io"

// GroupLister lists the groups of the API that a server has.
type GroupLister interface {
	ServerGroups() (*metav1.APIGroupList, error)
}

// What may be said of who chooses users and groups.
const (
	PlatformIDsAuto  = "auto"
	PlatformIDsTrue  = "true"
	PlatformIDsFalse = "false"
)

// PlatformIDs tells whether users and groups of Pods are left to the platform: as given or, with "auto", where it is
// known to hand them out. The API server is asked until it answered once.
func PlatformIDs(given string, server GroupLister) func(context.Context) (bool, error) {
	var (
		mu      sync.Mutex
		isKnown = given != PlatformIDsAuto
		isSo    = given == PlatformIDsTrue
	)
	return func(context.Context) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if isKnown {
			return isSo, nil
		}
		groups, err := server.ServerGroups()
		if err != nil {
			return false, fmt.Errorf("asking which APIs there are, which tells who chooses users and groups: %w", err)
		}
		isKnown = true
		isSo = slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == openshiftSecurity })
		return isSo, nil
	}
}

// managerContainer is the operator's own container, as config/manager calls it.
const managerContainer = "manager"

// AgentImage tells which image backups run from: the given one or, without one, the operator's own, as its Pod has it.
// There is nothing to configure then, and an upgrade of the operator is one of the agent. Empty: it is not known.
func AgentImage(given string, reader client.Reader, self types.NamespacedName) func(context.Context) (string, error) {
	var (
		mu    sync.Mutex
		image = given
	)
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if image != "" || self.Name == "" {
			return image, nil
		}
		pod, err := Find[corev1.Pod](ctx, reader, self.Namespace, self.Name)
		if err != nil {
			return "", fmt.Errorf("looking for the operator's own image: %w", err)
		}
		if pod == nil {
			return "", nil
		}
		for _, container := range pod.Spec.Containers {
			if container.Name == managerContainer {
				image = container.Image
			}
		}
		return image, nil
	}
}
