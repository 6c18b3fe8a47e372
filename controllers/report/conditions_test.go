package report

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// brief is a status' conditions in one line: "Ready=False/StartPods Available=True/ReadSucceeded …". BackedUp, which
// depends on none of the others, is left out.
func brief(s v1alpha1.EtcdClusterStatus) string {
	var words []string
	for _, c := range s.Conditions {
		if c.Type != v1alpha1.ConditionBackedUp {
			words = append(words, c.Type+"="+string(c.Status)+"/"+c.Reason)
		}
	}
	return strings.Join(words, " ")
}

func TestConditionsOfEachKindOfWorld(t *testing.T) {
	worlds := everyWorld()
	for name, want := range map[string]string{
		"just applied": "Ready=False/BeginBootstrap Available=False/Creating Degraded=False/Creating UpToDate=False/Creating Reconciling=True/BeginBootstrap",
		"starting":     "Ready=False/FirstQuorum Available=False/Creating Degraded=False/Creating UpToDate=False/Creating Reconciling=True/FirstQuorum",
		"first answers": "Ready=False/RecordMembers Available=True/ReadSucceeded Degraded=False/Creating UpToDate=False/Creating " +
			"Reconciling=True/RecordMembers",
		"settled":    "Ready=True/Settled Available=True/ReadSucceeded Degraded=False/AllMembersHealthy UpToDate=True/MembersCurrent",
		"a Pod gone": "Ready=False/StartPods Available=True/ReadSucceeded Degraded=True/MembersUnhealthy UpToDate=False/MembersNotRunning Reconciling=True/StartPods",
		"data gone":  "Ready=False/RemoveMember Available=True/ReadSucceeded Degraded=True/MembersUnhealthy UpToDate=False/MembersNotRunning Reconciling=True/RemoveMember",
		"a member removed": "Ready=False/PrepareMember Available=True/ReadSucceeded Degraded=True/MembersMissing UpToDate=True/MembersCurrent " +
			"Reconciling=True/PrepareMember",
		"nothing answers": "Ready=False/MembershipUnknown Available=False/ReadFailed Degraded=True/ReadFailed UpToDate=Unknown/ReadFailed " +
			"Reconciling=True/MembershipUnknown",
		"quorum lost":  "Ready=False/QuorumLost Available=False/ReadFailed Degraded=True/ReadFailed UpToDate=Unknown/ReadFailed Stalled=True/QuorumLost",
		"paused":       "Ready=True/Paused Available=True/ReadSucceeded Degraded=False/AllMembersHealthy UpToDate=True/MembersCurrent",
		"deleting":     "Ready=False/Deleting Available=True/ReadSucceeded Degraded=False/AllMembersHealthy UpToDate=True/MembersCurrent",
		"dry run":      "Ready=False/DryRun Available=True/ReadSucceeded Degraded=True/MembersUnhealthy UpToDate=False/MembersNotRunning",
		"spec refused": "Ready=False/SpecRefused Available=False/Creating Degraded=False/Creating UpToDate=False/Creating Stalled=True/SpecRefused",
		"warned":       "Ready=True/Settled Available=True/ReadSucceeded Degraded=False/AllMembersHealthy UpToDate=True/SpecWarning",
		"overdue": "Ready=False/Unschedulable Available=False/Creating Degraded=True/Unschedulable UpToDate=False/Creating " +
			"Reconciling=True/Unschedulable",
	} {
		t.Run(name, func(t *testing.T) {
			if got := brief(Status(worlds[name].input())); got != want {
				t.Errorf("\ngot  %s\nwant %s", got, want)
			}
		})
	}
}

func TestConditionsAreAlwaysWhatTheAPIServerTakes(t *testing.T) {
	reason := regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
	for name, w := range everyWorld() {
		for _, c := range Status(w.input()).Conditions {
			if !reason.MatchString(c.Reason) || c.Message == "" || !strings.HasSuffix(c.Message, ".") ||
				c.LastTransitionTime.IsZero() {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}

func TestReconcilingAndStalledAreNeverBothThereAndNeverBesideReady(t *testing.T) {
	for name, w := range everyWorld() {
		present := 0
		for _, c := range Status(w.input()).Conditions {
			if c.Type == v1alpha1.ConditionReconciling || c.Type == v1alpha1.ConditionStalled ||
				c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionTrue {
				present++
			}
		}
		if present > 1 {
			t.Errorf("%s: %s", name, brief(Status(w.input())))
		}
	}
}

func TestAClusterIsBeingCreatedOnlyWhileTheOperatorCreatesIt(t *testing.T) {
	const begun, held = "The cluster is being created.", "The cluster is not created yet; the condition Ready says why."
	stalled := plan.Decision{Verdict: plan.Refuse, Rule: "spec-refused", Reason: facts.ReasonSpecRefused,
		Message: "No.", NeedsHuman: true}
	starting := demo(3, begin).starting()
	going, paused, refused := starting.input(), starting.input(), starting.input()
	paused.Observation.Desired.Paused, refused.Decision = true, stalled
	for _, row := range []struct {
		in   Input
		says string
	}{{going, begun}, {paused, held}, {refused, held}} {
		conditions := Status(row.in).Conditions
		for _, kind := range []string{v1alpha1.ConditionAvailable, v1alpha1.ConditionDegraded, v1alpha1.ConditionUpToDate} {
			if got := meta.FindStatusCondition(conditions, kind); got.Reason != ReasonCreating || got.Message != row.says {
				t.Errorf("%s: %+v", kind, got)
			}
		}
	}
}

func TestAvailableSaysHowManyMoreMembersMayFail(t *testing.T) {
	for _, row := range []struct {
		w    *scene
		says string
	}{
		{demo(3, begin).settled(), "A quorum of the members answers. Writes go on if 1 more voting member fails, and stop if 2 fail."},
		{demo(3, begin).settled().podGone("demo-1"), "A quorum of the members answers. Writes stop if 1 more voting member " +
			"fails."},
		{demo(1, begin).settled(), "A quorum of the members answers. There is one voting member: while it is down, etcd is down."},
		{demo(5, begin).settled(), "A quorum of the members answers. Writes go on if 2 more voting members fail, and stop if 3 fail."},
	} {
		got := meta.FindStatusCondition(Status(row.w.input()).Conditions, v1alpha1.ConditionAvailable)
		if got.Message != row.says {
			t.Errorf("%+v", got)
		}
	}
}

func TestMembersOfASpecThatIsRefusedAreNotSaidToFollowIt(t *testing.T) {
	in := demo(3, begin).settled().input()
	in.Observation.Desired.Fault = "spec.etcd.extraArgs: etcd does not know it."
	got := meta.FindStatusCondition(Status(in).Conditions, v1alpha1.ConditionUpToDate)
	if got.Status != metav1.ConditionFalse || got.Reason != ReasonOutdated || !strings.Contains(got.Message, "is refused") {
		t.Errorf("%+v", got)
	}
}

func TestAnOnlyMemberWhoseNodeIsDrainedIsAsTheSpecAsks(t *testing.T) {
	in := demo(1, begin).settled().input()
	in.Observation.Current.Members[0].Pod.Drain = facts.Drain{IsKnown: true, Why: "node worker-0 is cordoned"}
	if got := meta.FindStatusCondition(Status(in).Conditions, v1alpha1.ConditionUpToDate); got.Status != metav1.ConditionTrue {
		t.Errorf("%+v", got)
	}
}

func TestATransitionTimeMovesWithTheStatusOnly(t *testing.T) {
	w := demo(3, begin).starting().written(t)
	first := meta.FindStatusCondition(w.cluster.Status.Conditions, v1alpha1.ConditionReady).LastTransitionTime
	w.later(time.Minute).answering().written(t)
	if got := meta.FindStatusCondition(w.cluster.Status.Conditions,
		v1alpha1.ConditionReady); got.Reason != "RecordMembers" || !got.LastTransitionTime.Equal(&first) {
		t.Errorf("Ready stayed False and moved: %+v", got)
	}
	w.later(time.Minute).settled().written(t)
	if got := meta.FindStatusCondition(w.cluster.Status.Conditions,
		v1alpha1.ConditionReady).LastTransitionTime; !got.Time.Equal(w.o.Now) {
		t.Errorf("Ready became True at %s, and says %s", w.o.Now, got)
	}
}

func TestEveryConditionSpeaksOfTheGenerationThatWasSeen(t *testing.T) {
	w := demo(3, begin).settled()
	w.cluster.Generation = 7
	s := Status(w.input())
	for _, c := range s.Conditions {
		if c.ObservedGeneration != 7 || s.ObservedGeneration != 7 {
			t.Errorf("%s speaks of generation %d, the status of %d", c.Type, c.ObservedGeneration, s.ObservedGeneration)
		}
	}
}

func TestAPausedClusterIsReadyOnlyWhenAllIsAsTheSpecAsks(t *testing.T) {
	for name, change := range map[string]func(*scene){
		"a Pod is gone":         func(w *scene) { w.podGone("demo-1") },
		"a Service is gone":     func(w *scene) { w.objects(facts.ObjectAbsent) },
		"another size is asked": func(w *scene) { w.o.Desired.Size = 5 },
		"other settings":        func(w *scene) { w.o.Desired.Settings.Inputs = `{"quota":1}` },
		"a spec that is refused": func(w *scene) {
			w.o.Desired.Fault = "no."
		},
		"nobody answers": func(w *scene) { w.unreadable("no answer") },
	} {
		t.Run(name, func(t *testing.T) {
			w := demo(3, begin).settled()
			w.o.Desired.Paused = true
			change(w)
			ready := meta.FindStatusCondition(Status(w.input()).Conditions, v1alpha1.ConditionReady)
			if ready.Status != metav1.ConditionFalse || ready.Reason != facts.ReasonPaused {
				t.Errorf("Ready is %+v", ready)
			}
		})
	}
}

func TestAClusterIsReadyWhileClientsHaveDaysToFollowACA(t *testing.T) {
	for _, row := range []struct {
		change func(*scene)
		want   metav1.ConditionStatus
	}{
		{func(*scene) {}, metav1.ConditionTrue},
		{func(w *scene) { w.podGone("demo-1") }, metav1.ConditionFalse},
	} {
		w := demo(3, begin).settled()
		row.change(w)
		in := w.input()
		in.Decision = plan.Decision{Verdict: plan.Wait, Rule: "roll-ca", Reason: facts.ReasonRollCA, Message: "A CA is replaced."}
		conditions := Status(in).Conditions
		ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
		if ready.Status != row.want || ready.Reason != facts.ReasonRollCA ||
			meta.FindStatusCondition(conditions, v1alpha1.ConditionReconciling) != nil {
			t.Errorf("%+v", conditions)
		}
	}
}

func TestNothingIsReadyThatWasNotSeen(t *testing.T) {
	in := demo(3, begin).settled().unreadable("no answer").input()
	in.Decision = plan.Decision{Verdict: plan.Settled, Rule: plan.RuleSettled, Reason: facts.ReasonSettled,
		Message: "All is well."}
	if meta.IsStatusConditionTrue(Status(in).Conditions, v1alpha1.ConditionReady) {
		t.Error("a cluster whose members could not be asked is called ready")
	}
}

func TestAMemberThatAnotherClientRemovedMakesTheClusterDegraded(t *testing.T) {
	w := demo(3, begin).settled()
	w.o.Current.Bootstrap.Names = []string{"demo-0"} // as if grown from one
	w.written(t).without("demo-2").written(t)
	if got := meta.FindStatusCondition(w.cluster.Status.Conditions,
		v1alpha1.ConditionDegraded); got.Reason != ReasonMissing {
		t.Errorf("Degraded is %+v", got)
	}
}

func TestAGrowingClusterIsNotDegradedAndAShrunkenOneIs(t *testing.T) {
	degraded := func(w *scene) *metav1.Condition {
		return meta.FindStatusCondition(w.cluster.Status.Conditions, v1alpha1.ConditionDegraded)
	}
	grown := demo(1, begin).settled().written(t)
	grown.o.Desired.Size, grown.cluster.Generation = 3, 2
	if got := degraded(grown.written(t)); got.Reason != ReasonNotReached {
		t.Errorf("growing from 1 to 3 reads %+v", got)
	}

	three := demo(3, begin).settled()
	// as if grown from one: nothing but the old status says that it had three
	three.o.Current.Bootstrap.Names = []string{"demo-0"}
	three.written(t)
	if got := degraded(three.dataGone("demo-1").written(t)); got.Reason != ReasonUnhealthy {
		t.Errorf("a lost member reads %+v", got)
	}
	three.without("demo-1")
	if got := degraded(three.written(t)); got.Reason != ReasonMissing {
		t.Errorf("a member that was removed and is not replaced yet reads %+v", got)
	}
	if got := degraded(three.promised(3).learning(3).written(t)); got.Reason != ReasonMissing {
		t.Errorf("while its successor learns it reads %+v", got)
	}
}

func TestReadySaysNothingTwice(t *testing.T) {
	const pod, disk = "The Pod of demo-3 cannot start.", "The disk of demo-1 is full."
	said := func(rule, message string) plan.Said {
		return plan.Said{Note: facts.Note{Rule: rule, Message: message, Overdue: true}, Verdict: plan.Refuse}
	}
	in := demo(3, begin).settled().input()
	in.Decision = plan.Decision{Verdict: plan.Refuse, Rule: "promote", Reason: facts.ReasonUnschedulable,
		Message: pod + " It will take the place of demo-1.",
		Trace: plan.Trace{said("promote", pod), said("member-health", pod), said("defragment", disk),
			said("compact", disk)}}
	ready := meta.FindStatusCondition(Status(in).Conditions, v1alpha1.ConditionReady)
	if strings.Count(ready.Message, pod) != 1 || strings.Count(ready.Message, disk) != 1 {
		t.Errorf("%s", ready.Message)
	}
}

func TestCopiesThatDifferMakeAClusterOfHealthyMembersDegraded(t *testing.T) {
	w := demo(3, begin).settled()
	for i, name := range []string{"demo-0", "demo-1", "demo-2"} {
		w.find(name).Answer.Hash = &facts.Hash{Sum: uint32(i), Revision: 10}
	}
	got := meta.FindStatusCondition(Status(w.input()).Conditions, v1alpha1.ConditionDegraded)
	if got.Status != metav1.ConditionTrue || got.Reason != facts.ReasonCorruption {
		t.Errorf("Degraded is %+v", got)
	}
}

func TestARequestToLeadThatNamesNoMemberIsAWarningAndKeepsNothingFromReady(t *testing.T) {
	for name, isTold := range map[string]bool{"demo-1": false, "demo-7": true, "": false} {
		w := demo(3, begin).settled()
		w.o.Desired.Lead = facts.Lead{Name: name, Until: w.o.Now.Add(time.Minute)}
		in := w.input()
		in.Decision = plan.Decision{Verdict: plan.Settled, Rule: plan.RuleSettled, Reason: facts.ReasonSettled}
		conditions := Status(in).Conditions
		told := meta.FindStatusCondition(conditions, v1alpha1.ConditionUpToDate)
		if strings.Contains(told.Message, "names "+name+", which is no member of the cluster") != isTold ||
			!meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady) {
			t.Errorf("%q: %+v", name, conditions)
		}
	}
}

func TestAFirstMemberThatNeverServedDoesNotMakeTheClusterDegraded(t *testing.T) {
	w := demo(3, begin).settled()
	late := w.find("demo-2")
	late.Answer, late.Member.ClientURLs, late.Volume.Record, late.Pod = nil, nil, record.Member{}, w.pod(2)
	if got := meta.FindStatusCondition(Status(w.input()).Conditions,
		v1alpha1.ConditionDegraded); got.Reason != ReasonNotReached {
		t.Errorf("Degraded is %+v", got)
	}
}

func TestTheFirstErrorOfAnUnreadableListIsKept(t *testing.T) {
	w := demo(3, begin).settled().unreadable("demo-0: connection refused").written(t)
	first := meta.FindStatusCondition(w.cluster.Status.Conditions, v1alpha1.ConditionAvailable).Message
	if first != "No quorum of the members answers: demo-0: connection refused." {
		t.Errorf("Available says %q", first)
	}
	w.o.Current.Membership.Why = "demo-1: context deadline exceeded"
	if again := Status(w.input()); !reflect.DeepEqual(again, w.cluster.Status) {
		t.Errorf("the next error moved the status to %+v", again)
	}
}

func TestAClusterThatTakesNoWritesIsNotAvailableAndTheAlarmIsTheReason(t *testing.T) {
	for _, row := range []struct {
		raised []string
		status metav1.ConditionStatus
		reason string
		says   string
	}{
		{nil, metav1.ConditionTrue, ReasonReadSucceeded, "A quorum"},
		{[]string{facts.AlarmNoSpace}, metav1.ConditionFalse, "NOSPACE", "deletions. All other writes are refused, since etcd raised the alarm NOSPACE. The database of demo-1 has 2000Mi of 2048Mi. Raise"},
		{[]string{facts.AlarmNoSpace, facts.AlarmCorrupt}, metav1.ConditionFalse, "CORRUPT", "CORRUPT. Compare"},
	} {
		w := demo(3, begin).settled()
		for _, name := range row.raised {
			w.find("demo-1").Answer.Alarms = append(w.find("demo-1").Answer.Alarms, facts.Alarm{Name: name})
		}
		for i, name := range []string{"demo-0", "demo-1", "demo-2"} {
			size := []int64{10 << 20, 2000 << 20, 1}[i]
			w.find(name).Answer.DBSize, w.find(name).Answer.DBSizeInUse, w.find(name).Pod.Settings.QuotaBytes = size, 2000<<20, 2<<30
		}
		got := meta.FindStatusCondition(Status(w.input()).Conditions, v1alpha1.ConditionAvailable)
		if got.Status != row.status || got.Reason != row.reason || !strings.Contains(got.Message, row.says) {
			t.Errorf("while %v stand: %+v", row.raised, got)
		}
	}
}

// full has etcd take no more keys: of each database, which fills its quota, so much is in use.
func (w *scene) full(inUse int64) *scene {
	for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
		full := w.find(name)
		full.Answer.DBSize, full.Answer.DBSizeInUse, full.Pod.Settings.QuotaBytes = 2000<<20, inUse, 2<<30
		full.Answer.Alarms = []facts.Alarm{{Name: facts.AlarmNoSpace}}
	}
	return w
}

func TestWhileTheOperatorMakesRoomAPersonIsToldToWait(t *testing.T) {
	const waits, acts = "The operator makes room by itself where it can: the condition Ready says when", "Raise spec.etcd.quotaBackendBytes to"
	for name, row := range map[string]struct {
		inUse    int64
		isPaused bool
		want     string
	}{
		"a defragmentation frees enough": {10 << 20, false, waits},
		"keys fill it":                   {2000 << 20, false, acts},
		"it is paused":                   {10 << 20, true, acts},
	} {
		w := demo(3, begin).settled()
		w.full(row.inUse)
		w.o.Desired.Paused = row.isPaused
		if got := meta.FindStatusCondition(Status(w.input()).Conditions, v1alpha1.ConditionAvailable); !strings.Contains(got.Message, row.want) {
			t.Errorf("%s: %s", name, got.Message)
		}
	}
}

func TestWhereOneMemberAloneDoesNotAnswerItIsNamedAndNoPersonIsAskedForRoom(t *testing.T) {
	w := demo(3, begin).settled()
	w.full(10 << 20)
	for _, name := range []string{"demo-0", "demo-2"} {
		w.find(name).Answer.DBSize = 20 << 20
	}
	w.find("demo-1").Answer = nil
	got := meta.FindStatusCondition(Status(w.input()).Conditions, v1alpha1.ConditionAvailable)
	if got.Reason != ReasonNoSpace || !strings.HasSuffix(got.Message, " The operator disarms it once demo-1 answers too, and has room.") {
		t.Errorf("%+v", got)
	}
}

func TestAuthenticationThatNoLongerStandsInTheSpecIsWarnedOf(t *testing.T) {
	for name, row := range map[string]struct {
		wish   facts.AuthWish
		isOwn  bool
		isTold bool
	}{
		"it was taken out":        {facts.AuthAsItIs, true, true},
		"it is asked for":         {facts.AuthOn, true, false},
		"it is about to be off":   {facts.AuthOff, true, false},
		"the spec never spoke of": {facts.AuthAsItIs, false, false},
	} {
		w := demo(3, begin).settled()
		w.o.Desired.Auth, w.o.Current.Bootstrap.Auth = row.wish, row.isOwn
		got := meta.FindStatusCondition(Status(w.input()).Conditions, v1alpha1.ConditionUpToDate)
		isTold := got.Reason == ReasonCurrentWarned && strings.Contains(got.Message, "To turn it off, set spec.auth.enabled to false.")
		if isTold != row.isTold || got.Status != metav1.ConditionTrue {
			t.Errorf("%s: %s/%s: %s", name, got.Status, got.Reason, got.Message)
		}
	}
}
