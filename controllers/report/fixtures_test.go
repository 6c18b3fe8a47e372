package report

import (
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var wanted = facts.Settings{Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16}, Inputs: "{}"}

const (
	clusterID   = etcdutil.ID(0xcdf818194e3a8c32)
	incarnation = "7f3a9c21"
	mebibyte    = 1 << 20
)

func ids(ordinal int) etcdutil.ID {
	return 0x8211f1d0f64f3269 + etcdutil.ID(ordinal)*0x0919a3b0c0ffee11
}

// scene is an observation that is written down as a phrase: demo(3).settled().without("demo-1").
type scene struct {
	cluster *v1alpha1.EtcdCluster
	o       facts.Observation
	warn    []string
}

// demo is the smallest sample, just applied: nothing of it exists yet.
func demo(size int, at time.Time) *scene {
	w := &scene{
		cluster: &v1alpha1.EtcdCluster{
			TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "EtcdCluster"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "demo", UID: types.UID("3f1c"), Generation: 1,
				CreationTimestamp: seconds(at),
			},
			Spec:   v1alpha1.EtcdClusterSpec{Size: int32(size), Version: "3.6.16"},
			Status: v1alpha1.EtcdClusterStatus{ObservedGeneration: -1},
		},
		o: facts.Observation{
			Now: at,
			Cluster: facts.Identity{Namespace: "default", Name: "demo", UID: "3f1c",
				Operator: "etcd-steward-system/etcd-steward", Created: at},
			Desired: facts.Desired{Size: size, Settings: wanted, StorageBytes: 8 << 30, TLS: true, Retain: true,
				HasBudget: true},
			Schedules: []facts.Schedule{{Name: "hourly", New: true}},
			Budget: facts.Budget{Object: facts.Object{Kind: "PodDisruptionBudget", Name: "demo",
				State: facts.ObjectAbsent}},
			Current: facts.Incarnation{Membership: facts.Membership{
				Why: "no member runs",
			}},
		},
	}
	return w.objects(facts.ObjectAbsent)
}

func (w *scene) objects(state facts.ObjectState) *scene {
	w.o.Objects = nil
	for _, name := range []string{"demo-ca", "demo-ca-peer", "demo-client-tls", "demo-operator-tls"} {
		w.o.Objects = append(w.o.Objects, facts.Object{Kind: "Secret", Name: name, State: state,
			CA: name == "demo-ca" || name == "demo-ca-peer"})
	}
	w.o.Objects = append(w.o.Objects, facts.Object{Kind: "Service", Name: "demo", State: state})
	return w
}

// outside asks for a load balancer, which has these addresses.
func (w *scene) outside(addresses ...string) *scene {
	w.cluster.Spec.Service = &v1alpha1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}
	w.o.LoadBalancer = addresses
	return w
}

// recorded is a bootstrap that is written down, with nothing made of it yet.
func (w *scene) recorded() *scene {
	w.o.ClaimedBy = w.o.Cluster.Operator
	w.o.Current.Bootstrap = record.Bootstrap{Incarnation: incarnation, Token: "3f1c-" + incarnation}
	for i := range w.o.Desired.Size {
		w.o.Current.Bootstrap.Names = append(w.o.Current.Bootstrap.Names, etcdutil.MemberName("demo", i))
	}
	w.o.Current.Bootstrap.NextOrdinal = w.o.Desired.Size
	return w
}

// starting has everything made, and no container that has run yet.
func (w *scene) starting() *scene {
	w.recorded().objects(facts.ObjectCurrent)
	w.o.Current.Bootstrap.Begun, w.o.Current.Bootstrap.Volumes = true, map[string]string{}
	for i, name := range w.o.Current.Bootstrap.Names {
		w.o.Current.Bootstrap.Volumes[name] = w.volume(i).UID
	}
	w.o.Current.Members = nil
	for i := range w.o.Desired.Size {
		w.o.Current.Members = append(w.o.Current.Members, facts.Replica{
			Name: etcdutil.MemberName("demo", i), Ordinal: i, Pod: w.pod(i), Volume: w.volume(i), Secret: w.secret(i),
		})
	}
	return w
}

func (w *scene) pod(i int) *facts.Pod {
	return &facts.Pod{
		UID: "pod-" + etcdutil.MemberName("", i), Created: w.o.Now, Phase: facts.PodPending, Scheduled: true,
		Node: []string{"node-a", "node-b", "node-c"}[i%3], Flags: facts.FlagsBootstrap, Incarnation: incarnation,
		Settings: wanted,
		Waiting:  "ContainerCreating",
	}
}

func (w *scene) volume(i int) *facts.Volume {
	return &facts.Volume{
		UID: "volume-" + etcdutil.MemberName("", i), Created: w.o.Now, Phase: facts.VolumeBound,
		Incarnation: incarnation, Settings: wanted, Bytes: 8 << 30,
	}
}

func (w *scene) secret(i int) facts.Object {
	return facts.Object{
		Kind: "Secret", Name: etcdutil.MemberName("demo", i) + "-tls", State: facts.ObjectCurrent,
		NotAfter: w.cluster.CreationTimestamp.AddDate(0, 3, 0),
	}
}

// answering has every member started and answering; nothing is written down of it yet.
func (w *scene) answering() *scene {
	w.o.Current.Membership = facts.Membership{Known: true, ClusterID: clusterID, Leader: ids(0)}
	for i := range w.o.Current.Members {
		w.serve(&w.o.Current.Members[i], false)
	}
	return w
}

func (w *scene) serve(r *facts.Replica, learner bool) {
	r.Member = &etcdutil.Member{
		ID: ids(r.Ordinal), Name: r.Name, Learner: learner, ClientURLs: []string{"https://" + r.Name +
			".demo-peers.default.svc:2379"},
		PeerURLs: []string{etcdutil.PeerURL("https", r.Name, "demo", "default")},
	}
	r.Answer = &facts.Answer{
		ID: ids(r.Ordinal), ClusterID: clusterID, Leader: ids(0), Version: wanted.Version, Revision: 1, Applied: 100,
		Learner: learner,
		DBSize:  20 << 10, DBSizeInUse: 16 << 10,
	}
	r.Pod.Phase, r.Pod.Started, r.Pod.Running, r.Pod.Ready, r.Pod.Waiting = facts.PodRunning, true, true, true, ""
	r.Pod.ReadySince = w.o.Now
	w.o.Current.Membership.Members = append(w.o.Current.Membership.Members, *r.Member)
}

// identified has answers, and the members' identities written on their volumes.
func (w *scene) identified() *scene {
	w.answering()
	for i := range w.o.Current.Members {
		r := &w.o.Current.Members[i]
		r.Volume.Record = record.Member{ClusterID: clusterID, MemberID: r.Member.ID, Version: wanted.Version,
			VolumeUID: r.Volume.UID}
	}
	return w
}

// settled has everything written down and sealed, a budget, and some data.
func (w *scene) settled() *scene {
	w.starting().answering()
	w.o.Current.Bootstrap.ClusterID = clusterID
	w.o.Budget.State, w.o.Budget.MinAvailable = facts.ObjectCurrent, etcdutil.Quorum(w.o.Desired.Size)
	if w.o.Desired.Size == 1 {
		w.o.Budget = facts.Budget{Object: facts.Object{Kind: "PodDisruptionBudget", Name: "demo",
			State: facts.ObjectAbsent}}
	}
	for i := range w.o.Current.Members {
		w.write(&w.o.Current.Members[i])
		w.o.Current.Members[i].Answer.DBSize, w.o.Current.Members[i].Answer.DBSizeInUse = 25*mebibyte, 21*mebibyte
	}
	return w
}

// write records and seals a member, with the label of its role.
func (w *scene) write(r *facts.Replica) {
	r.Volume.Record = record.Member{ClusterID: clusterID, MemberID: r.Member.ID, Version: wanted.Version,
		VolumeUID: r.Volume.UID}
	r.Pod.Flags, r.Pod.Role = facts.FlagsSealed, v1alpha1.RoleVoter
	if r.Member.Learner {
		r.Pod.Role = v1alpha1.RoleLearner
	}
}

func (w *scene) find(name string) *facts.Replica {
	for i := range w.o.Current.Members {
		if w.o.Current.Members[i].Name == name {
			return &w.o.Current.Members[i]
		}
	}
	panic("no replica " + name)
}

// podGone takes the Pod of a member away, and with it the answer.
func (w *scene) podGone(name string) *scene {
	r := w.find(name)
	r.Pod, r.Answer = nil, nil
	return w
}

// dataGone takes Pod and volume of a member away.
func (w *scene) dataGone(name string) *scene {
	w.podGone(name).find(name).Volume = nil
	return w
}

// silent makes a member run without answering.
func (w *scene) silent(name string) *scene {
	w.find(name).Answer = nil
	return w
}

// without takes a member off the list, and its last traces with it.
func (w *scene) without(name string) *scene {
	var rest []facts.Replica
	w.o.Current.Membership.Members = nil
	for _, r := range w.o.Current.Members {
		if r.Name != name {
			rest = append(rest, r)
			if r.Member != nil {
				w.o.Current.Membership.Members = append(w.o.Current.Membership.Members, *r.Member)
			}
		}
	}
	w.o.Current.Members = rest
	return w
}

// promised has the volume of a member that is to be added.
func (w *scene) promised(ordinal int) *scene {
	w.o.Current.Bootstrap.Promised, w.o.Current.Bootstrap.NextOrdinal = etcdutil.MemberName("demo", ordinal), ordinal+1
	w.o.Current.Members = append(w.o.Current.Members, facts.Replica{
		Name: etcdutil.MemberName("demo", ordinal), Ordinal: ordinal, Volume: w.volume(ordinal),
		Secret: w.secret(ordinal),
	})
	return w
}

// learning has a learner of that ordinal whose Pod starts; it was promised before.
func (w *scene) learning(ordinal int) *scene {
	r := w.find(etcdutil.MemberName("demo", ordinal))
	r.Pod = w.pod(ordinal)
	r.Pod.Flags = facts.FlagsJoin
	r.Member = &etcdutil.Member{
		ID: ids(ordinal), Learner: true, PeerURLs: []string{etcdutil.PeerURL("https", r.Name, "demo", "default")},
	}
	w.o.Current.Membership.Members = append(w.o.Current.Membership.Members, *r.Member)
	return w
}

// unreadable makes the member list unknown; those that still run answer without a leader.
func (w *scene) unreadable(why string) *scene {
	known := w.o.Current.Membership.Members
	w.o.Current.Membership = facts.Membership{Why: why, LastKnown: known}
	for i := range w.o.Current.Members {
		w.o.Current.Members[i].Member = nil
		if w.o.Current.Members[i].Answer != nil {
			w.o.Current.Members[i].Answer.Leader = 0
		}
	}
	return w
}

// input is the pass that sees this world, decided by the planner; a change that it wants is made.
func (w *scene) input() Input {
	in := Input{Cluster: w.cluster, Observation: w.o, Decision: plan.Decide(w.o), Warnings: w.warn}
	if in.Decision.Change != nil && !w.cluster.Spec.IsDryRun() {
		in.Outcome = Outcome{Change: in.Decision.Change, Applied: true}
	}
	return in
}
