package report

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/world"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// player reports the passes of an operator over a simulated world.
type player struct {
	t       *testing.T
	sim     *world.World
	cluster *v1alpha1.EtcdCluster
	writes  int
}

func play(t *testing.T, seed uint64) *player {
	spec := facts.Desired{
		Size: []int{1, 3, 5}[seed%3], Settings: facts.Settings{Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16},
			Inputs: "a"},
		StorageBytes: 8 << 30, TLS: seed%2 == 0, Storage: facts.Storage{Ephemeral: seed%5 == 0}, Retain: true, HasBudget: true,
	}
	sim := world.New(seed, spec)
	identity := sim.Observe().Cluster
	return &player{t: t, sim: sim, cluster: &v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: identity.Namespace, Name: identity.Name, Generation: 1},
		Status:     v1alpha1.EtcdClusterStatus{ObservedGeneration: -1},
	}}
}

// pass is one pass with its report, and checks what must hold of every report.
func (p *player) pass() Input {
	in := Input{Cluster: p.cluster, Observation: p.sim.Observe()}
	in.Decision = plan.Decide(in.Observation)
	if in.Decision.Change != nil {
		in.Outcome = Outcome{Change: in.Decision.Change}
		in.Outcome.Applied = p.sim.Apply(in.Decision.Change, nil, 1<<20) == nil
	}
	old := p.cluster.Status
	status := stored(p.t, Status(in))
	p.check(in, status)
	p.checkEvents(Events(in, status))
	if !reflect.DeepEqual(status, old) {
		p.writes++
	}
	p.cluster.Status = status
	if again := Status(in); !reflect.DeepEqual(again, status) {
		p.t.Fatalf("the same pass, reported again, is written again\nfirst:  %+v\nsecond: %+v", status, again)
	}
	in.Outcome = Outcome{}
	if again := Events(in, Status(in)); in.Decision.Change == nil && len(again) > 0 {
		p.t.Fatalf("a pass that changed nothing tells again: %+v", again)
	}
	return in
}

func (p *player) check(in Input, s v1alpha1.EtcdClusterStatus) {
	isTrue := func(kind string) bool { return meta.IsStatusConditionTrue(s.Conditions, kind) }
	o := in.Observation
	switch {
	case isTrue(v1alpha1.ConditionAvailable) != o.Current.Membership.Known:
		p.t.Fatalf("a linearizable read succeeded: %v; %s", o.Current.Membership.Known, brief(s))
	case isTrue(v1alpha1.ConditionReconciling) && isTrue(v1alpha1.ConditionStalled):
		p.t.Fatalf("both reconciling and stalled: %s", brief(s))
	case isTrue(v1alpha1.ConditionReady) && !isComplete(o):
		p.t.Fatalf("ready, and not as the spec asks: %s", brief(s))
	case isTrue(v1alpha1.ConditionReady) &&
		(isTrue(v1alpha1.ConditionDegraded) || !isTrue(v1alpha1.ConditionUpToDate) ||
			s.ReadyMembers != int32(o.Desired.Size)):
		p.t.Fatalf("ready and in trouble at once: %s", brief(s))
	case !isTrue(v1alpha1.ConditionReady) && !isTrue(v1alpha1.ConditionReconciling) &&
		!isTrue(v1alpha1.ConditionStalled) && !o.Desired.Paused:
		p.t.Fatalf("not ready, and nobody is at it: %s", brief(s))
	case s.NextStep.Reason == "" || s.NextStep.Message == "":
		p.t.Fatalf("a step without a reason or a sentence: %+v", s.NextStep)
	}
}

func (p *player) checkEvents(events []words.Event) {
	if len(events) > 6 {
		p.t.Fatalf("one pass tells %d things", len(events))
	}
	for _, e := range events {
		if e.Reason == "" || e.Action == "" || e.Note == "" || len(e.Note) > noteLimit {
			p.t.Fatalf("the API server would not take %+v", e)
		}
	}
}

// comesToRest reports whether the status is not written any more. Passes are a second apart, and what waits is called
// overdue after two minutes: so long nothing is written, and then once more.
func (p *player) comesToRest() bool {
	quiet := 0
	for range 1500 {
		before := p.writes
		p.sim.Advance()
		p.pass()
		if quiet++; p.writes != before {
			quiet = 0
		}
		if quiet > 200 {
			return true
		}
	}
	return false
}

func TestEveryReportOfAnyHistoryIsConsistentAndAClusterAtRestIsNotWritten(t *testing.T) {
	verdicts, stride := map[string]int{}, needs.Stride(4)
	for seed := 0; seed < 40; seed += stride {
		p := play(t, uint64(seed))
		for step := range 120 {
			if p.sim.Advance(); step%13 == 12 {
				p.sim.Fault()
			}
			p.pass()
		}
		p.sim.Spec.Paused = false
		if !p.comesToRest() {
			t.Errorf("seed %d: with no faults any more it is written for ever; it reads %s", seed, brief(p.cluster.Status))
		}
		verdicts[p.cluster.Status.NextStep.Verdict]++
	}
	if verdicts[v1alpha1.VerdictSettled] < 5/stride || verdicts[v1alpha1.VerdictStalled] < 5/stride {
		t.Errorf("the histories end with %v: the test is not about what it is called", verdicts)
	}
}
