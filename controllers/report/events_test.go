package report

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// heard are the events of the pass, as "Warning Degraded", and stores the pass' status.
func (w *scene) heard(t *testing.T) []string {
	t.Helper()
	return hear(t, w, w.input())
}

func hear(t *testing.T, w *scene, in Input) []string {
	t.Helper()
	status := Status(in)
	events, heard := Events(in, status), []string{}
	w.cluster.Status = stored(t, status)
	for _, e := range events {
		heard = append(heard, e.Type()+" "+e.Reason)
		if e.Action == "" || e.Note == "" || len(e.Note) > noteLimit {
			t.Errorf("the API server would not take %+v", e)
		}
	}
	return heard
}

func TestWhatBecameDifferentIsTold(t *testing.T) {
	pause := func(w *scene, paused bool) { w.o.Desired.Paused = paused }
	for _, row := range []struct {
		name   string
		change func(*scene)
		want   []string
	}{
		{"nothing", func(*scene) {}, []string{}},
		{"a Pod is gone", func(w *scene) { w.podGone("demo-1") }, []string{"Warning Degraded", "Normal PodStarted"}},
		{"data is gone", func(w *scene) { w.dataGone("demo-1") }, []string{"Warning Degraded", "Normal MemberRemoved"}},
		{"a member is silent", func(w *scene) { w.silent("demo-1") },
			[]string{"Warning Degraded", "Normal PodLabelled"}},
		{"nobody answers", func(w *scene) { w.unreadable("no answer") }, []string{"Warning Unavailable"}},
		{
			"the data of most is gone",
			func(w *scene) { w.dataGone("demo-1").dataGone("demo-2").unreadable("no leader") },
			[]string{"Warning Unavailable", "Warning QuorumLost"},
		},
		{"etcd takes no more keys, and the operator makes room", func(w *scene) { w.full(10 << 20).asFull() },
			[]string{"Warning AlarmRaised", "Normal PodLabelled"}},
		{"etcd takes no more keys, and keys fill it", func(w *scene) { w.full(2000 << 20).asFull() }, []string{"Warning AlarmRaised"}},
		{"it is paused", func(w *scene) { pause(w, true) }, []string{"Normal Paused"}},
		{
			"a version that cannot be had", func(w *scene) { w.o.Desired.NoWay = "No step leads there" },
			[]string{"Warning ChangeNotSupported"},
		},
		{"a warning", func(w *scene) { w.warn = []string{"etcd 3.6.10 has known defects."} },
			[]string{"Warning SpecWarning"}},
		{"certificates are due", func(w *scene) {
			w.o.Current.Members[1].Secret.State = facts.ObjectDrifted
			w.o.Current.Members[1].Secret.Detail = "tls.crt: expired"
		}, []string{"Normal CertificatesRenewed"}},
		{"those of clients and the operator are due", func(w *scene) {
			for i := range w.o.Objects {
				if name := w.o.Objects[i].Name; name == "demo-client-tls" || name == "demo-operator-tls" {
					w.o.Objects[i].State, w.o.Objects[i].Detail = facts.ObjectDrifted, "tls.crt: expired"
				}
			}
		}, []string{"Normal CertificatesRenewed"}},
		{"a Secret is gone", func(w *scene) { w.o.Current.Members[1].Secret.State = facts.ObjectAbsent },
			[]string{"Normal ObjectsApplied"}},
		{"a member is off the list", func(w *scene) { w.without("demo-2").promised(3) },
			[]string{"Warning Degraded", "Normal MemberAdded"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := demo(3, begin).settled()
			w.heard(t)
			w.later(time.Second)
			row.change(w)
			if got := w.heard(t); !reflect.DeepEqual(got, row.want) {
				t.Errorf("heard %q, want %q", got, row.want)
			}
		})
	}
}

// A step of another kind comes between an alarm and what is said of it.
func TestAnAlarmIsToldOnceAndOnceMoreWhereAPersonHasToAct(t *testing.T) {
	const raised = "Warning AlarmRaised"
	alarms := func(heard []string) []string {
		return slices.DeleteFunc(heard, func(e string) bool { return e != raised })
	}
	for _, row := range []struct {
		name   string
		passes []func(*scene)
		want   []string
	}{
		{"keys fill a quota while a member is silent", []func(*scene){
			func(w *scene) { w.full(2000 << 20).asFull(); w.silent("demo-1") },
			func(w *scene) { w.find("demo-1").Pod.Role = "" }}, []string{raised}},
		{"keys fill it after room was made", []func(*scene){
			func(w *scene) { w.full(10 << 20).asFull() },
			func(w *scene) { w.full(11 << 20).asFull() },
			func(w *scene) { w.full(2000 << 20).asFull() },
			func(w *scene) { w.full(2001 << 20).asFull() }}, []string{raised, raised}},
		{"it is paused meanwhile", []func(*scene){
			func(w *scene) { w.full(10 << 20).asFull() },
			func(w *scene) { w.o.Desired.Paused = true },
			func(w *scene) { w.o.Desired.Paused = false }}, []string{raised}},
	} {
		w := demo(3, begin).settled()
		w.heard(t)
		var told []string
		for _, change := range row.passes {
			w.later(time.Second)
			change(w)
			told = append(told, alarms(w.heard(t))...)
		}
		if !slices.Equal(told, row.want) {
			t.Errorf("%s: %q, want %q", row.name, told, row.want)
		}
	}
}

func TestTheEndOfADefragmentationIsToldOnceWithWhatItGaveBackOrWhyItFailed(t *testing.T) {
	for name, row := range map[string]struct {
		phase  facts.Phase
		reason string
		note   string
	}{
		"it went well": {facts.PodSucceeded, "Normal Defragmented",
			"demo-1 was defragmented in 12s. Its database file had 300Mi, and has 20Mi."},
		"it failed": {facts.PodFailed, "Warning DefragmentationFailed",
			"demo-1 could not be defragmented: the disk is full."},
	} {
		t.Run(name, func(t *testing.T) {
			w := demo(3, begin).settled()
			w.find("demo-1").Answer.DBSize = 300 << 20
			pod := &facts.DefragPod{Task: facts.Task{Created: begin, Started: true, Phase: facts.PodRunning}, Since: begin,
				Deadline: facts.StartDeadline}
			w.find("demo-1").Defragmenting = pod
			w.heard(t)
			w.later(12 * time.Second)
			pod.Phase, pod.Finished, pod.Before, pod.After = row.phase, w.o.Now, 300<<20, 20<<20
			pod.Failure = "the disk is full"
			in := w.input()
			events := Events(in, Status(in))
			told := events[len(events)-1]
			if told.Type()+" "+told.Reason != row.reason || told.Note != row.note || told.Member != "demo-1" {
				t.Errorf("told %+v", events)
			}
			w.heard(t)
			if again := w.later(time.Minute).heard(t); len(again) > 0 {
				t.Errorf("told again: %q", again)
			}
		})
	}
}

func TestALoadBalancerWithoutAnAddressIsAWarningOnceTheClusterHasWaitedForIt(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*scene)
		after  time.Duration
		want   []string
	}{
		"waited":       {func(*scene) {}, 4 * time.Minute, []string{"Warning SpecWarning"}},
		"not for long": {func(*scene) {}, 2 * time.Minute, []string{}},
		"has one":      {func(w *scene) { w.o.LoadBalancer = []string{"192.0.2.7"} }, 4 * time.Minute, []string{}},
		"paused": {func(w *scene) { w.o.Desired.Paused = true }, 4 * time.Minute,
			[]string{"Normal Paused"}},
		"not applied": {func(w *scene) { w.o.Objects[4].State = facts.ObjectDrifted }, 4 * time.Minute,
			[]string{"Normal ObjectsApplied"}},
		"deleting": {func(w *scene) { w.o.Desired.Deleting = true }, 4 * time.Minute, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := demo(3, begin).settled().outside()
			w.heard(t)
			w.later(row.after)
			row.change(w)
			if got := w.heard(t); !reflect.DeepEqual(got, row.want) {
				t.Errorf("heard %q, want %q", got, row.want)
			}
		})
	}
}

func TestVolumesThatAreAllLargerThanTheSpecAreAWarningAndNothingElse(t *testing.T) {
	for larger, want := range map[int][]string{2: {}, 3: {"Warning SpecWarning"}} {
		w := demo(3, begin).settled()
		w.heard(t)
		for i := range larger {
			w.o.Current.Members[i].Volume.Bytes = 12 << 30
		}
		if got := w.heard(t); !reflect.DeepEqual(got, want) {
			t.Errorf("%d of 3 are larger: heard %q, want %q", larger, got, want)
		}
		upToDate, ready := w.input().oldCondition(v1alpha1.ConditionUpToDate), w.input().oldCondition(v1alpha1.ConditionReady)
		if upToDate.Status != metav1.ConditionTrue || ready.Status != metav1.ConditionTrue {
			t.Errorf("%d of 3 are larger: %+v, %+v", larger, upToDate, ready)
		}
	}
}

// on puts voters on one node, by their ordinals.
func on(node string, members ...int) func(*scene) {
	return func(w *scene) {
		for _, i := range members {
			w.o.Current.Members[i].Pod.Node = node
		}
	}
}

func TestMembersOnOneNodeThatTheOthersAreNoQuorumWithoutAreAWarning(t *testing.T) {
	const all = "The members demo-0, demo-1, demo-2 all run on node node-a, so"
	for name, row := range map[string]struct {
		size   int
		change func(*scene)
		want   string
	}{
		"all of three":  {3, on("node-a", 0, 1, 2), all},
		"none of three": {3, func(*scene) {}, ""},
		"two of three":  {3, on("node-a", 0, 1), "2 of 3 voting members (demo-0, demo-1) run on node node-a, so"},
		"two of five":   {5, on("node-a", 0, 1), ""},
		"three of five": {5, on("node-a", 0, 2, 4), "3 of 5 voting members (demo-0, demo-2, demo-4) run on node node-a, so"},
		"two of four, of which one is about to go": {4, func(w *scene) { on("node-a", 0, 1)(w); w.o.Desired.Size = 3 }, ""},
		"the only one":    {1, on("node-a", 0), ""},
		"one of two each": {2, func(*scene) {}, ""},
		"one has no node yet": {3, func(w *scene) {
			on("node-a", 0, 1, 2)(w)
			on("", 2)(w)
		}, ""},
	} {
		w := demo(row.size, begin).settled()
		for i := range row.size {
			on(fmt.Sprint("node-", i), i)(w)
		}
		w.heard(t)
		row.change(w)
		want := []string{}
		if row.want != "" {
			want = []string{"Warning SpecWarning"}
		}
		isNormal := func(event string) bool { return strings.HasPrefix(event, "Normal") }
		if got := slices.DeleteFunc(w.heard(t), isNormal); !slices.Equal(got, want) {
			t.Errorf("%s: heard %q, want %q", name, got, want)
		}
		told := w.input().oldCondition(v1alpha1.ConditionUpToDate)
		if !strings.Contains(told.Message, row.want) || strings.Contains(told.Message, "stops serving") != (row.want != "") ||
			told.Status != metav1.ConditionTrue {
			t.Errorf("%s: %+v", name, told)
		}
	}
}

func TestAMemberThatIsRestartedDoesNotEndAWarningOfMembersOnOneNode(t *testing.T) {
	for name, together := range map[string][]int{"all": {0, 1, 2}, "two of three": {0, 2}} {
		w := demo(3, begin).settled()
		on("node-b", 1)(w)
		on("node-a", together...)(w)
		w.heard(t)
		for i := range 3 {
			node := w.o.Current.Members[i].Pod.Node
			on("", i)(w)
			if got := w.heard(t); len(got) > 0 {
				t.Errorf("%s: demo-%d is restarted: heard %q", name, i, got)
			}
			if told := w.input().oldCondition(v1alpha1.ConditionUpToDate); !strings.Contains(told.Message, "run on node node-a") {
				t.Errorf("%s: demo-%d is restarted: %+v", name, i, told)
			}
			on(node, i)(w)
			if got := w.heard(t); len(got) > 0 {
				t.Errorf("%s: demo-%d is back: heard %q", name, i, got)
			}
		}
		on("node-c", 2)(w)
		w.heard(t)
		told := w.input().oldCondition(v1alpha1.ConditionUpToDate)
		if strings.Contains(told.Message, "node-a") != (name == "all") {
			t.Errorf("%s: demo-2 was moved: %+v", name, told)
		}
	}
}

func TestAllMembersInOneZoneAreAWarningWhereTheSpecSpreadsThemOverZones(t *testing.T) {
	in := func(node, zone string, members ...int) func(*scene) {
		return func(w *scene) {
			for _, i := range members {
				pod := w.o.Current.Members[i].Pod
				pod.Node, pod.Zone = fmt.Sprint(node, i), zone
			}
		}
	}
	const told = "demo-0, demo-1, demo-2 all run in zone a,"
	for name, row := range map[string]struct {
		spreads bool
		change  func(*scene)
		want    string
	}{
		"all of three": {true, in("node-", "a", 0, 1, 2), told},
		"two of three": {true, func(w *scene) {
			in("node-", "a", 0, 1)(w)
			in("node-", "b", 2)(w)
		}, "2 of 3 voting members (demo-0, demo-1) run in zone a,"},
		"one in each": {true, func(w *scene) {
			for i, zone := range []string{"a", "b", "c"} {
				in("node-", zone, i)(w)
			}
		}, ""},
		"where the spec asks for no zones": {false, in("node-", "a", 0, 1, 2), ""},
		"where Kubernetes names no zones":  {true, in("node-", "", 0, 1, 2), ""},
		"where it names that of two": {true, func(w *scene) {
			in("node-", "a", 0, 1)(w)
			in("node-", "", 2)(w)
		}, ""},
		"and on one node": {true, func(w *scene) {
			in("node-", "a", 0, 1, 2)(w)
			for i := range w.o.Current.Members {
				w.o.Current.Members[i].Pod.Node = "node-a"
			}
		}, "demo-0, demo-1, demo-2 all run on node node-a,"},
	} {
		w := demo(3, begin).settled()
		w.o.Desired.SpreadsOverZones = row.spreads
		row.change(w)
		w.heard(t)
		got := w.input().oldCondition(v1alpha1.ConditionUpToDate)
		warnings := strings.Count(got.Message, "stops serving")
		if !strings.Contains(got.Message, row.want) || (warnings == 1) != (row.want != "") || warnings > 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	w := demo(3, begin).settled()
	w.o.Desired.SpreadsOverZones = true
	in("node-", "a", 0, 1, 2)(w)
	w.heard(t)
	in("", "", 2)(w)
	if got := w.heard(t); len(got) > 0 {
		t.Errorf("one is restarted: heard %q", got)
	}
}

func TestAWarningAboutALoadBalancerStaysThroughOtherSteps(t *testing.T) {
	w := demo(3, begin).settled().outside()
	w.heard(t)
	w.later(4 * time.Minute).heard(t)
	w.podGone("demo-1")
	if got := w.heard(t); !reflect.DeepEqual(got, []string{"Warning Degraded", "Normal PodStarted"}) {
		t.Errorf("a Pod is gone: heard %q", got)
	}
	w.settled()
	if got := w.heard(t); !reflect.DeepEqual(got, []string{"Normal Ready"}) {
		t.Errorf("it is back: heard %q", got)
	}
	w.outside("192.0.2.7")
	if got := Status(w.input()).Conditions; strings.Contains(fmt.Sprint(got), "load balancer") {
		t.Errorf("there is an address: %v", got)
	}
}

func TestWhatStaysAsItIsIsToldOnce(t *testing.T) {
	for name, w := range everyWorld() {
		t.Run(name, func(t *testing.T) {
			in := w.input()
			hear(t, w, in)
			again := w.later(time.Minute).input()
			again.Outcome = Outcome{} // nothing more was done
			if got := hear(t, w, again); len(got) > 0 {
				t.Errorf("the second pass tells again: %q", got)
			}
		})
	}
}

// asFull has volumes and the spec say what the Pods of a full cluster run with.
func (w *scene) asFull() {
	for i := range w.o.Current.Members {
		r := &w.o.Current.Members[i]
		r.Volume.Settings, w.o.Desired.Settings = r.Pod.Settings, r.Pod.Settings
	}
}

func TestTheEndOfTroubleIsTold(t *testing.T) {
	w := demo(3, begin).settled()
	w.heard(t)
	w.o.Desired.Paused = true
	w.heard(t)
	w.o.Desired.Paused = false
	if got := w.heard(t); !reflect.DeepEqual(got, []string{"Normal Resumed"}) {
		t.Errorf("after a pause heard %q", got)
	}
	known := w.o.Current.Membership
	w.unreadable("no answer").heard(t)
	w.settled()
	w.o.Current.Membership = known
	if got := w.heard(t); !reflect.DeepEqual(got, []string{"Normal AvailableAgain", "Normal Ready"}) {
		t.Errorf("after an outage heard %q", got)
	}
}

func TestAPausedClusterThatRecoversByItselfIsNotToldAsReady(t *testing.T) {
	w := demo(3, begin).settled().podGone("demo-1")
	w.o.Desired.Paused = true
	w.heard(t)
	w.settled()
	if got := w.heard(t); len(got) > 0 {
		t.Errorf("heard %q", got)
	}
}

func TestEachStepOfABootstrapIsToldOnce(t *testing.T) {
	w := demo(3, begin)
	var heard []string
	for _, next := range []func() *scene{w.recorded, w.starting, w.answering, w.identified, w.settled,
		func() *scene { return w }} {
		heard = append(heard, w.heard(t)...)
		next()
	}
	if want := []string{"Normal CreatingCluster", "Normal ObjectsApplied", "Normal Recorded",
		"Normal ClusterCreated", "Normal Ready"}; !reflect.DeepEqual(heard,
		want) {
		t.Errorf("a bootstrap tells %q, want %q", heard, want)
	}
}

func TestWhatWasDoneIsToldOnlyWhenItWasDone(t *testing.T) {
	for name, row := range map[string]struct {
		outcome Outcome
		want    []string
	}{
		"applied": {Outcome{Applied: true}, []string{"Warning Degraded", "Normal PodStarted"}},
		"failed": {Outcome{Err: errors.New("connection refused")},
			[]string{"Warning Degraded", "Warning ApplyFailed"}},
		"deferred":     {Outcome{Reason: "Busy", Message: "too many requests"}, []string{"Warning Degraded"}},
		"simply stale": {Outcome{}, []string{"Warning Degraded"}},
		"refused": {Outcome{Rejected: true, Reason: "PodSecurity", Message: "violates PodSecurity"},
			[]string{"Warning Degraded", "Warning PodSecurity"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := demo(3, begin).settled()
			w.heard(t)
			in := w.podGone("demo-1").input()
			row.outcome.Change = in.Decision.Change
			in.Outcome = row.outcome
			if got := hear(t, w, in); !reflect.DeepEqual(got, row.want) {
				t.Errorf("heard %q, want %q", got, row.want)
			}
		})
	}
}

func TestEachChangeIsToldByOneEvent(t *testing.T) {
	pods := []facts.PodRef{{Name: "demo-1", UID: "1"}}
	for _, row := range []struct {
		change changes.Change
		want   string // reason and member
	}{
		{changes.BeginBootstrap{Names: []string{"demo-0"}}, "CreatingCluster "},
		{changes.BeginBootstrap{Names: []string{"demo-0"}, ClusterID: clusterID}, "Recorded "},
		{changes.NextBootstrap{BeginBootstrap: changes.BeginBootstrap{Names: []string{"demo-0"}}}, "CreatingCluster "},
		{changes.VoidBootstrap{}, "BootstrapVoided "},
		{changes.RecordBootstrap{ClusterID: clusterID}, "ClusterCreated "},
		{changes.AddLearner{Name: "demo-3"}, "MemberAdded demo-3"},
		{changes.MoveLeader{From: "demo-2", To: "demo-0"}, "LeaderMoved demo-0"},
		{changes.StartPods{Pods: []changes.Start{{Name: "demo-1", Flags: facts.FlagsSealed}}}, "PodStarted demo-1"},
		{changes.DeletePods{Pods: pods}, "PodDeleted demo-1"},
		{changes.DeletePods{Pods: append(pods, pods...)}, "PodDeleted "},
		{changes.LabelRole{Pod: pods[0]}, "PodLabelled demo-1"},
		{changes.Bootstrap{}, "ObjectsApplied "},
		{changes.RecordMembers{}, "Recorded "},
	} {
		in := demo(3, begin).settled().input()
		in.Decision.Message = "That is why."
		in.Outcome = Outcome{Change: row.change, Applied: true}
		var got string
		for _, e := range changeEvents(in) {
			got += e.Reason + " " + e.Member
			if e.Action != changes.KindOf(row.change) {
				t.Errorf("%s has the action %s", changes.KindOf(row.change), e.Action)
			}
		}
		if got != row.want {
			t.Errorf("%s tells %q, want %q", changes.KindOf(row.change), got, row.want)
		}
	}
}

func TestAnIdentityThatIsPutBackIsNoNewCluster(t *testing.T) {
	in := demo(3, begin).settled().unreadable("no leader").input()
	in.Outcome = Outcome{Change: changes.RecordBootstrap{ClusterID: clusterID}, Applied: true}
	if got := changeEvents(in); len(got) != 1 || got[0].Reason != changes.EventRecorded {
		t.Errorf("told %+v", got)
	}
}

func TestALongNoteIsCutBetweenCharacters(t *testing.T) {
	in := demo(3, begin).input()
	in.Decision = plan.Decision{Verdict: plan.Refuse, Rule: "spec-refused", Reason: "SpecRefused",
		Message: strings.Repeat("–", 1000)}
	in.Outcome = Outcome{}
	for _, e := range Events(in, Status(in)) {
		if len(e.Note) > noteLimit || !strings.HasSuffix(e.Note, "–…") {
			t.Errorf("the note has %d bytes and ends with %q", len(e.Note), e.Note[len(e.Note)-8:])
		}
	}
}

// stopped has a member whose container does not run.
func stopped(r *facts.Replica) { r.Answer, r.Pod.Running, r.Pod.Ready = nil, false, false }

func TestTheReasonOfAMemberSaysWhatIsWrongWithIt(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*scene, *facts.Replica)
		want   string
	}{
		{"nothing", func(*scene, *facts.Replica) {}, ""},
		{"no Pod", func(w *scene, _ *facts.Replica) { w.podGone("demo-1") }, facts.MemberNoPod},
		{"no volume", func(w *scene, _ *facts.Replica) { w.dataGone("demo-1") }, facts.MemberNoVolume},
		{"no Pod of an ephemeral member",
			func(w *scene, _ *facts.Replica) { w.find("demo-1").Ephemeral = true; w.dataGone("demo-1") },
			facts.MemberNoPod},
		{"the volume is lost", func(w *scene,
			r *facts.Replica) {
			w.podGone("demo-1")
			r.Volume.Phase = facts.VolumeLost
		}, facts.MemberVolumeLost},
		{"the volume leaves with the Pod", func(_ *scene, r *facts.Replica) { r.Volume.Terminating = true },
			facts.MemberVolumeTerminating},
		{"the Pod terminates", func(_ *scene, r *facts.Replica) { r.Answer, r.Pod.Terminating = nil, true },
			facts.MemberPodTerminating},
		{"the Pod failed", func(_ *scene, r *facts.Replica) { stopped(r); r.Pod.Phase = facts.PodFailed },
			facts.MemberPodEnded},
		{"Kubernetes waits", func(_ *scene, r *facts.Replica) {
			stopped(r)
			r.Pod.Waiting = "ImagePullBackOff"
		}, "ImagePullBackOff"},
		{"etcd said why", func(_ *scene, r *facts.Replica) {
			stopped(r)
			r.Pod.Waiting, r.Pod.Exit = "CrashLoopBackOff", &facts.Exit{Reason: etcdutil.ExitDiskFull}
		}, "DiskFull"},
		{"etcd stopped and nobody knows why", func(_ *scene, r *facts.Replica) {
			stopped(r)
			r.Pod.Exit = &facts.Exit{Reason: etcdutil.ExitUnknown}
		}, facts.MemberStopped},
		{"no container yet", func(_ *scene, r *facts.Replica) { stopped(r); r.Pod.Started = false },
			facts.MemberStarting},
		{"the node is gone with the volume on it", func(_ *scene, r *facts.Replica) {
			stopped(r)
			r.Volume.Stranded = "node-b was deleted"
		}, facts.MemberNodeGone},
		{"no answer", func(_ *scene, r *facts.Replica) { r.Answer = nil }, facts.MemberNotAnswering},
		{"another ID", func(_ *scene, r *facts.Replica) { r.Answer.ID++ }, facts.MemberOtherIdentity},
		{"another cluster", func(_ *scene, r *facts.Replica) { r.Answer.ClusterID++ }, facts.MemberOtherIdentity},
		{"no leader", func(_ *scene, r *facts.Replica) { r.Answer.Leader = 0 }, facts.MemberNoLeader},
		{"the volume is lost under a member that serves", func(_ *scene, r *facts.Replica) {
			r.Volume.Phase = facts.VolumeLost
		}, facts.MemberVolumeLost},
		{"corrupt", func(_ *scene, r *facts.Replica) {
			r.Answer.Alarms = []facts.Alarm{{Name: "CORRUPT", Member: r.Answer.ID}}
		}, facts.MemberCorrupt},
		{"not listed", func(_ *scene, r *facts.Replica) { r.Member = nil }, facts.MemberNotListed},
		{"no list", func(w *scene, r *facts.Replica) { r.Member, w.o.Current.Membership = nil, facts.Membership{} },
			facts.MemberListUnknown},
	} {
		w := demo(3, begin).settled()
		row.change(w, w.find("demo-1"))
		if got := Status(w.input()).Members[1].Reason; got != row.want {
			t.Errorf("%s: the reason is %q, want %q", row.name, got, row.want)
		}
	}
}
