package observe_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	etcdfake "github.com/etcdsteward/etcd-steward/pkg/etcdutil/fake"
)

func TestMembership(t *testing.T) {
	for _, row := range []struct {
		name  string
		given func(*world)
		holds func(facts.Membership, *world) bool
	}{
		{"is known when a quorum answers", func(*world) {}, func(m facts.Membership, w *world) bool {
			leader := w.network.Leader(w.processes["demo-0"].ClusterID())
			return m.Known && len(m.Members) == 3 && m.ClusterID == w.processes["demo-0"].ClusterID() &&
				m.Leader == leader.ID() && m.Why == "" && m.Conflict == "" && len(m.Strangers) == 0
		}},
		{"is known while one of three is dead", func(w *world) { w.stop("demo-1") },
			func(m facts.Membership, _ *world) bool {
				return m.Known && len(m.Members) == 3
			}},
		{"is not known without a quorum, and a survivor's memory is kept apart", func(w *world) {
			w.stop("demo-0")
			w.stop("demo-1")
		}, func(m facts.Membership, _ *world) bool {
			return !m.Known && m.Members == nil && len(m.LastKnown) == 3 &&
				strings.Contains(m.Why, "know no leader: demo-2")
		}},
		{"is not known when no member answers, with the first error", func(w *world) {
			for name := range w.processes {
				w.stop(name)
			}
		}, func(m facts.Membership, _ *world) bool {
			return !m.Known && m.LastKnown == nil && strings.HasPrefix(m.Why, "demo-0: ") &&
				strings.Contains(m.Why, "connection refused")
		}},
		{"is not known where authentication keeps the operator out", func(w *world) {
			for n := range 3 {
				w.network.Inject(etcdfake.Fault{Method: "Status", Nth: n + 1, Err: rpctypes.ErrUserEmpty})
			}
		}, func(m facts.Membership, _ *world) bool {
			return !m.Known && m.Denied && strings.Contains(m.Why, "user name is empty")
		}},
		{"nor where it lets the operator see members, and not their list", func(w *world) {
			for n := range 3 {
				w.network.Inject(etcdfake.Fault{Method: "MemberList", Nth: n + 1, Err: rpctypes.ErrPermissionDenied})
			}
		}, func(m facts.Membership, _ *world) bool { return !m.Known && m.Denied }},
		{"is not known when no Pod runs", func(w *world) {
			for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
				w.remove(w.pod(name, resources.StartSealed))
			}
		}, func(m facts.Membership, _ *world) bool { return !m.Known && m.Why == "no member runs" }},
		{"is not known when the operator has no certificate to dial with", func(w *world) {
			w.dialErr = errors.New("no certificate")
		}, func(m facts.Membership, _ *world) bool { return !m.Known && m.Why == "no certificate" }},
		{"is that of the others when one answers as another cluster and no certificate proves who that is",
			func(w *world) {
				w.stop("demo-2")
				w.network.WipeDir("demo-2")
				w.start("demo-2", etcdutil.StateNew, "demo-2")
			}, func(m facts.Membership, _ *world) bool { return m.Known && len(m.Members) == 3 && m.Conflict == "" }},
		{"is not known when one of which nothing is recorded answers as another cluster", func(w *world) {
			w.stop("demo-2")
			w.network.WipeDir("demo-2")
			w.start("demo-2", etcdutil.StateNew, "demo-2")
			delete(w.objects["*v1.PersistentVolumeClaim demo-2"].GetAnnotations(), v1alpha1.AnnotationRecord)
		}, func(m facts.Membership, _ *world) bool {
			return !m.Known && m.Members == nil && strings.Contains(m.Conflict, "demo-2 as ") &&
				strings.Contains(m.Conflict, "demo-0 as ")
		}},
		{"is that of the cluster that was written down, whoever else answers as another", func(w *world) {
			record := bootstrapRecord("demo-0", "demo-1", "demo-2")
			record.ClusterID = w.processes["demo-0"].ClusterID()
			w.put(resources.BuildPeerService(w.cluster, record, "ops/etcd-steward"))
			w.stop("demo-2")
			w.network.WipeDir("demo-2")
			w.start("demo-2", etcdutil.StateNew, "demo-2")
		}, func(m facts.Membership, w *world) bool {
			return m.Known && len(m.Members) == 3 && m.ClusterID == w.processes["demo-0"].ClusterID() &&
				m.Conflict == ""
		}},
		{"is asked of another voter when the leader does not give it", func(w *world) {
			w.network.Inject(etcdfake.Fault{Method: "MemberList", Nth: 1})
		}, func(m facts.Membership, _ *world) bool { return m.Known }},
		{"is not known when no voter gives it", func(w *world) {
			for n := 1; n <= 3; n++ {
				w.network.Inject(etcdfake.Fault{Method: "MemberList", Nth: n, Err: errors.New("slow")})
			}
		}, func(m facts.Membership, _ *world) bool { return !m.Known && strings.Contains(m.Why, "slow") }},
		{"tells members apart that the operator did not add", func(w *world) { w.addLearner("http://elsewhere:2380") },
			func(m facts.Membership, _ *world) bool {
				return m.Known && len(m.Strangers) == 1 && slices.Contains(m.Strangers[0].PeerURLs,
					"http://elsewhere:2380")
			}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newBootstrappedWorld(t)
			row.given(w)
			if m := w.look().Current.Membership; !row.holds(m, w) {
				t.Errorf("the membership is %+v", m)
			}
		})
	}
}

func (w *world) addLearner(peerURL string) {
	w.t.Helper()
	w.now = w.now.Add(etcdConnects)
	c, err := w.network.Dialer().Dial(etcd.Endpoint{Address: "ip-of-demo-0:2379"})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := c.AddLearner(w.t.Context(), peerURL); err != nil {
		w.t.Fatal(err)
	}
}

func TestALearnerIsJoinedByItsPeerURLWhileItHasNoName(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.addLearner(w.peerURL("demo-3"))
	r := w.replica("demo-3")
	if r.Member == nil || !r.Member.Learner || r.Member.Name != "" || r.Ordinal != 3 || r.Pod != nil ||
		r.Volume != nil {
		t.Errorf("the replica is %+v with member %+v", r, r.Member)
	}
}

func TestTheListIsAskedOfTheLeaderFirst(t *testing.T) {
	w := newBootstrappedWorld(t)
	leader := w.network.Leader(w.processes["demo-0"].ClusterID())
	w.look()
	for _, call := range w.network.Calls() {
		if call.Method != "MemberList" {
			continue
		}
		for name, process := range w.processes {
			if process == leader && call.Address != "ip-of-"+name+":2379" {
				t.Errorf("asked %s while %s leads", call.Address, name)
			}
		}
		return
	}
	t.Error("no list was asked for")
}

func TestAPodThatIsNotOursIsNeverAsked(t *testing.T) {
	w := newBootstrappedWorld(t)
	pod := w.pod("demo-1", resources.StartSealed)
	pod.OwnerReferences[0].UID = "uid-of-an-earlier-demo"
	w.put(pod)
	view := w.look()
	for _, call := range w.network.Calls() {
		if call.Address == "ip-of-demo-1:2379" {
			t.Errorf("%s was asked of it", call.Method)
		}
	}
	if r := w.replica("demo-1"); r.Pod != nil || r.Answer != nil {
		t.Errorf("it was joined: %+v", r)
	}
	want := facts.Object{Kind: "Pod", Name: "demo-1", State: facts.ObjectTerminating,
		Detail: "it goes with an earlier cluster of this name"}
	if !slices.Contains(view.Objects, want) {
		t.Errorf("the objects lack %+v: %+v", want, view.Objects)
	}
}

func TestAPodWhoseContainerDoesNotRunIsNotAsked(t *testing.T) {
	w := newBootstrappedWorld(t)
	pod := w.pod("demo-1", resources.StartSealed)
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	w.put(pod)
	if r := w.replica("demo-1"); r.Answer != nil {
		t.Errorf("it answered: %+v", r.Answer)
	}
}

func TestAFailedHandshakeIsHeldAgainstTheCertificates(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.network.Inject(etcdfake.Fault{Method: "Status", Nth: 1,
		Err: errors.New("authentication handshake failed: x509: unknown authority")})
	w.look()
	if w.distrust != 1 {
		t.Errorf("the certificates were distrusted %d times", w.distrust)
	}
}

func TestAnAnswerSaysWhatTheMemberSays(t *testing.T) {
	w := newBootstrappedWorld(t)
	process := w.processes["demo-0"]
	if err := process.Put(); err != nil {
		t.Fatal(err)
	}
	a := w.replica("demo-0").Answer
	if a == nil || a.ID != process.ID() || a.ClusterID != process.ClusterID() || a.Leader == 0 || a.Revision != 2 ||
		a.Version != (etcdutil.Version{Major: 3, Minor: 6, Patch: 16}) || a.Applied == 0 || a.DBSize == 0 || a.Learner {
		t.Errorf("the answer is %+v", a)
	}
}
