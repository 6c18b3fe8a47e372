package cluster

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	etcdfake "github.com/etcdsteward/etcd-steward/pkg/etcdutil/fake"
)

// look is one pass in which nothing else goes on.
func (w *world) look() ctrl.Result {
	w.t.Helper()
	result, err := w.operator.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key})
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

func (w *world) available() metav1.ConditionStatus {
	w.t.Helper()
	return meta.FindStatusCondition(w.status().Conditions, v1alpha1.ConditionAvailable).Status
}

// handOver lets the next look of the operator find a leader that changes: every member refuses one linearizable read.
func (w *world) handOver(members int) {
	for n := range members {
		w.network.Inject(etcdfake.Fault{Method: "MemberList", Nth: n + 1, Err: client.ErrNoLeader})
	}
}

func TestAHandOverOfTheLeaderDoesNotMakeTheClusterUnavailable(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	w.told()
	before, asked := w.status(), w.lists()
	w.handOver(3)
	result := w.look()
	if asked = w.lists() - asked; asked != 3 {
		t.Fatalf("%d members refused the list", asked)
	}
	if result.RequeueAfter > doubtInterval || w.available() != metav1.ConditionTrue {
		t.Errorf("Available is %s, it looks again in %s", w.available(), result.RequeueAfter)
	}
	w.now = w.now.Add(result.RequeueAfter)
	w.look()
	if told := w.told(); len(told) > 0 || *w.status().NextStep != *before.NextStep {
		t.Errorf("it told %q; %+v", told, w.status().NextStep)
	}
}

func TestAnAlarmIsToldByTheFirstLook(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	w.told()
	process := w.processes[w.podOf("demo-0").UID]
	w.network.Raise(process.ClusterID(), process.ID(), "NOSPACE")
	w.look()
	told := meta.FindStatusCondition(w.status().Conditions, v1alpha1.ConditionAvailable)
	if told.Status != metav1.ConditionFalse || told.Reason != "NOSPACE" {
		t.Errorf("after one look Available is %s, %s: %s", told.Status, told.Reason, told.Message)
	}
}

// lists is how often a member was asked for the list.
func (w *world) lists() (times int) {
	for _, call := range w.network.Calls() {
		if call.Method == "MemberList" {
			times++
		}
	}
	return times
}

func TestAQuorumThatIsLostIsToldBySecondLook(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	w.told()
	for _, process := range w.processes {
		process.Cut(true)
	}
	result := w.look()
	if w.available() != metav1.ConditionTrue || result.RequeueAfter > doubtInterval {
		t.Fatalf("after one look Available is %s; again in %s", w.available(), result.RequeueAfter)
	}
	w.now = w.now.Add(100 * time.Millisecond)
	if w.look(); w.available() != metav1.ConditionTrue { // something else began this pass, within the same moment
		t.Fatalf("after two looks within 100 ms Available is %s", w.available())
	}
	w.now = w.now.Add(result.RequeueAfter)
	if w.look(); w.available() != metav1.ConditionFalse {
		t.Errorf("after a second look Available is %s", w.available())
	}
	if told := w.told(); len(told) != 1 || !strings.Contains(told[0], "Unavailable") {
		t.Errorf("it told %q", told)
	}
	w.restart() // another process, which remembers nothing, tells nothing else
	if w.look(); w.available() != metav1.ConditionFalse {
		t.Errorf("after a restart Available is %s", w.available())
	}
}
