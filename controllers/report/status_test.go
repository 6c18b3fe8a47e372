package report

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// written is the world with the status that its first pass stores.
func (w *scene) written(t *testing.T) *scene {
	t.Helper()
	w.cluster.Status = stored(t, Status(w.input()))
	return w
}

// later is the same world some time later.
func (w *scene) later(d time.Duration) *scene {
	w.o.Now = w.o.Now.Add(d)
	return w
}

// everyWorld is one of each kind, for what must hold in all of them.
func everyWorld() map[string]*scene {
	paused := demo(3, begin).settled()
	paused.o.Desired.Paused, paused.cluster.Spec.Paused = true, true
	deleting := demo(3, begin).settled()
	deleting.o.Desired.Deleting = true
	dryRun := demo(3, begin).settled().podGone("demo-1")
	dryRun.cluster.Spec.Mode = v1alpha1.ModeDryRun
	refused := demo(3, begin)
	refused.o.Desired.Fault = "etcd 3.4.1 is of a minor this operator does not know."
	warned := demo(1, begin).settled()
	warned.warn = []string{"etcd 3.6.10 has known defects."}
	overdue := demo(3, begin).starting()
	overdue.find("demo-2").Pod.Waiting, overdue.find("demo-2").Pod.Message = "Unschedulable",
		"0/3 nodes are available: 3 Insufficient memory"
	return map[string]*scene{
		"just applied":     demo(3, begin),
		"recorded":         demo(3, begin).recorded(),
		"starting":         demo(3, begin).starting(),
		"first answers":    demo(3, begin).starting().answering(),
		"settled":          demo(3, begin).settled(),
		"a single member":  demo(1, begin).settled(),
		"a Pod gone":       demo(3, begin).settled().podGone("demo-1"),
		"data gone":        demo(3, begin).settled().dataGone("demo-1"),
		"a member removed": demo(3, begin).settled().without("demo-1"),
		"a learner":        demo(3, begin).settled().without("demo-1").promised(3).learning(3),
		"nothing answers": demo(3, begin).settled().silent("demo-0").silent("demo-1").silent("demo-2").unreadable(
			"no answer"),
		"quorum lost": demo(3, begin).settled().dataGone("demo-1").dataGone("demo-2").unreadable("no leader"),
		"paused":      paused, "deleting": deleting, "dry run": dryRun, "spec refused": refused, "warned": warned,
		"overdue":       overdue.later(time.Hour),
		"a kept volume": keeping(facts.CauseDisk), "a kept copy that differs": keeping(facts.CauseCorruption),
	}
}

func TestAStatusThatWasStoredIsNotWrittenAgain(t *testing.T) {
	for name, w := range everyWorld() {
		t.Run(name, func(t *testing.T) {
			w.written(t).later(7 * time.Second)
			if again := Status(w.input()); !reflect.DeepEqual(again, w.cluster.Status) {
				t.Errorf("the second pass writes again\nfirst:  %+v\nsecond: %+v", w.cluster.Status, again)
			}
		})
	}
}

func TestLoadAloneWritesNothing(t *testing.T) {
	w := demo(3, begin).settled().written(t)
	for range 100 {
		w.later(10 * time.Second)
		for i := range w.o.Current.Members {
			a := w.o.Current.Members[i].Answer
			a.Revision, a.Applied, a.DBSize, a.DBSizeInUse = a.Revision+5000, a.Applied+5000, a.DBSize+mebibyte,
				a.DBSizeInUse+mebibyte/2
		}
		if again := Status(w.input()); !reflect.DeepEqual(again, w.cluster.Status) {
			t.Fatalf("after %d Mi more the status was written again",
				(w.o.Current.Members[0].Answer.DBSize-25*mebibyte)/mebibyte)
		}
	}
}

func TestTheSizeOfTheDatabaseMovesWithATenthOfTheQuota(t *testing.T) {
	w := demo(3, begin).settled()
	quota := resource.MustParse("1Gi")
	w.cluster.Spec.Etcd = &v1alpha1.EtcdSpec{QuotaBackendBytes: &quota}
	w.written(t)
	for _, step := range []struct {
		bytes int64
		want  string
	}{
		{25*mebibyte + 102*mebibyte, "25Mi"},
		{25*mebibyte + 103*mebibyte, "128Mi"},
		{25*mebibyte + 20*mebibyte, "128Mi"},
		{25*mebibyte + 1, "26Mi"},
	} {
		w.find("demo-2").Answer.DBSize = step.bytes
		w.written(t)
		if got := w.cluster.Status.Members[2].DBSize.String(); got != step.want {
			t.Errorf("at %d bytes the member's size reads %s, want %s", step.bytes, got, step.want)
		}
	}
}

func TestAMemberIsToldWithTheClassThatItsVolumeHasAndNotWithThatOfTheSpec(t *testing.T) {
	w := demo(3, begin).settled()
	w.cluster.Spec.Storage = &v1alpha1.StorageSpec{StorageClassName: new("b")}
	w.find("demo-1").Volume.Class = "a"
	w.find("demo-2").Volume = nil
	var got []string
	for _, m := range Status(w.input()).Members {
		got = append(got, m.StorageClassName)
	}
	if !slices.Equal(got, []string{"", "a", ""}) {
		t.Errorf("the members are told with the classes %q", got)
	}
}

func TestTheSizeOfTheClusterIsThatOfTheLargestMember(t *testing.T) {
	w := demo(3, begin).settled()
	w.find("demo-1").Answer.DBSize = 100 * mebibyte
	if got := Status(w.input()).DBSize.String(); got != "100Mi" {
		t.Errorf("the size reads %s, want 100Mi", got)
	}
}

func TestSinceMovesWithRuleVerdictAndReasonOnly(t *testing.T) {
	w := demo(3, begin).starting().written(t)
	since := w.cluster.Status.NextStep.Since

	w.find("demo-0").Pod.Started = true
	w.later(time.Second).written(t)
	if got := w.cluster.Status.NextStep; got.Message != plan.Decide(w.o).Message || !got.Since.Equal(&since) {
		t.Errorf("a new message must be shown and move nothing else: %+v, since was %s", got, since)
	}
	w.later(time.Second).answering().written(t)
	if got := w.cluster.Status.NextStep.Since; !got.Time.Equal(w.o.Now) {
		t.Errorf("another rule spoke at %s, and since is %s", w.o.Now, got)
	}
}

// A linearizable read needs a quorum. Members that were asked a moment before it, as the first ones are at their start,
// may not have answered.
func TestAClusterThatAnswersIsNotSaidToHaveStoppedItsWrites(t *testing.T) {
	for name, w := range map[string]*scene{
		"at its start":                   demo(3, begin).starting().answering(),
		"the operator reaches one alone": demo(3, begin).settled(),
	} {
		w.silent("demo-1").silent("demo-2")
		s := Status(w.input())
		if !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionAvailable) || s.ReadyMembers != 1 {
			t.Fatalf("%s: it is about another cluster: %+v", name, s)
		}
		if s.Quorum == nil || s.Quorum.Margin != 0 {
			t.Errorf("%s: the margin is %v, want 0", name, s.Quorum)
		}
	}
}

func TestWhatCannotBeAskedIsAbsent(t *testing.T) {
	w := demo(3, begin).settled().written(t)
	w.silent("demo-1").silent("demo-2").unreadable("no leader")
	s := Status(w.input())
	if s.Leader != "" || s.Quorum != nil || s.ReadyMembers != 0 {
		t.Errorf("leader %q, quorum %v, ready %d: want none of them", s.Leader, s.Quorum, s.ReadyMembers)
	}
	for _, m := range s.Members {
		if m.Role != "" || m.Healthy {
			t.Errorf("%s is said to be %q, healthy %v", m.Name, m.Role, m.Healthy)
		}
	}
	if s.Members[1].DBSize != nil {
		t.Errorf("a silent member still has a size: %s", s.Members[1].DBSize)
	}
	if s.ClusterID != clusterID.String() || s.Members[1].ID != ids(1).String() {
		t.Errorf("what is written down was forgotten: cluster %q, member %q", s.ClusterID, s.Members[1].ID)
	}
}

func TestEndpointsAppearWhenTheClusterIsThere(t *testing.T) {
	if s := Status(demo(3, begin).starting().input()); s.Endpoints != nil || s.ClientSecretRef != nil {
		t.Errorf("a cluster that is not there yet can be connected to: %v %v", s.Endpoints, s.ClientSecretRef)
	}
	w := demo(3, begin).settled()
	s := Status(w.input())
	if !reflect.DeepEqual(s.Endpoints, []string{"https://demo.default.svc:2379"}) ||
		s.ClientSecretRef.Name != "demo-client-tls" {
		t.Errorf("endpoints %v, secret %v", s.Endpoints, s.ClientSecretRef)
	}
	w.o.LoadBalancer = []string{"2001:db8::7", "lb.example.com"}
	if s := Status(w.input()); !reflect.DeepEqual(s.Endpoints,
		[]string{"https://demo.default.svc:2379", "https://[2001:db8::7]:2379", "https://lb.example.com:2379"}) {
		t.Errorf("with a load balancer: endpoints %v", s.Endpoints)
	}
	w.o.LoadBalancer = nil
	w.o.Current.Members[0].Pod.Transport = etcdutil.TransportPlain
	if s := Status(w.input()); !reflect.DeepEqual(s.Endpoints, []string{"http://demo.default.svc:2379"}) || s.ClientSecretRef != nil {
		t.Errorf("clients are told of TLS before every member takes it: %v, %v", s.Endpoints, s.ClientSecretRef)
	}
	w.o.Desired.TLS, w.o.Desired.Transport = false, etcdutil.TransportPlain
	for i := range w.o.Current.Members {
		w.o.Current.Members[i].Pod.Transport = etcdutil.TransportPlain
	}
	s = Status(w.input())
	if !reflect.DeepEqual(s.Endpoints, []string{"http://demo.default.svc:2379"}) || s.ClientSecretRef != nil {
		t.Errorf("without TLS: endpoints %v, secret %v", s.Endpoints, s.ClientSecretRef)
	}
}

func TestTheDeletionPolicyShownIsTheOneThatVolumesFollow(t *testing.T) {
	for _, row := range []struct {
		retain, pending bool
		want            v1alpha1.DeletionPolicy
	}{
		{true, false, v1alpha1.DeletionRetain},
		{true, true, v1alpha1.DeletionDelete},
		{false, false, v1alpha1.DeletionDelete},
		{false, true, v1alpha1.DeletionRetain},
	} {
		w := demo(3, begin).settled()
		w.o.Desired.Retain = row.retain
		if row.pending {
			w.o.Astray = []facts.DataRef{{Kind: "PersistentVolumeClaim", Name: "demo-0"}}
		}
		if got := Status(w.input()).DeletionPolicy; got != row.want {
			t.Errorf("retain %v, not followed yet %v: shown %s, want %s", row.retain, row.pending, got, row.want)
		}
	}
}

func TestTheVersionShownIsTheLowestThatRuns(t *testing.T) {
	w := demo(3, begin).settled()
	w.find("demo-1").Answer.Version = etcdutil.Version{Major: 3, Minor: 5, Patch: 35}
	if got := Status(w.input()).Version; got != "3.5.35" {
		t.Errorf("the version reads %q, want 3.5.35", got)
	}
	if got := Status(demo(3, begin).starting().input()).Version; got != "" {
		t.Errorf("nothing runs, and the version reads %q", got)
	}
}

func TestAnErrorOfACallIsShownOnceAndKept(t *testing.T) {
	w := demo(3, begin).settled().podGone("demo-1")
	fail := func(err error) {
		in := w.input()
		in.Outcome = Outcome{Change: in.Decision.Change, Err: err}
		w.cluster.Status = stored(t, Status(in))
	}
	fail(errors.New("creating Pod demo-1: dial tcp 10.0.0.1:443: connect: connection refused"))
	first := *w.cluster.Status.NextStep
	if first.Reason != ReasonApplyFailed || first.Verdict != string(plan.Wait) {
		t.Errorf("a failed call reads %+v", first)
	}
	w.later(time.Second)
	fail(errors.New("creating Pod demo-1: dial tcp 10.0.0.2:6443: connect: connection refused"))
	if again := *w.cluster.Status.NextStep; !reflect.DeepEqual(again, first) {
		t.Errorf("the next error moved the status\nfirst:  %+v\nsecond: %+v", first, again)
	}
}

func TestWhatRefusesNowIsNamedAndNotWhatRefusedFirst(t *testing.T) {
	const quota = "creating Pod demo-1: exceeded quota: small, requested: pods=1, used: pods="
	for name, texts := range map[string]struct {
		first, next string
		isToldAgain bool
	}{
		"another policy":      {`creating Pod demo-1: policy "a" denied request: no`, `creating Pod demo-1: policy "b" denied request: no`, true},
		"a webhook is back":   {"creating Pod demo-1: failed calling webhook: i/o timeout", "creating Pod demo-1: admission webhook denied the request", true},
		"another member":      {quota + "3", "creating Pod demo-2: exceeded quota: small, requested: pods=1, used: pods=3", true},
		"another resource":    {quota + "3", "creating Pod demo-1: exceeded quota: small, requested: requests.memory=1Gi, used: requests.memory=3Gi", true},
		"the same and counts": {quota + "3", quota + "12", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := demo(3, begin).settled().podGone("demo-1")
			refuse := func(text string) (v1alpha1.NextStep, []string) {
				in := w.later(time.Second).input()
				in.Outcome = Outcome{Change: in.Decision.Change, Rejected: true, Reason: "AdmissionRefused", Message: text}
				heard := hear(t, w, in)
				return *w.cluster.Status.NextStep, heard
			}
			first, _ := refuse(texts.first)
			step, heard := refuse(texts.next)
			if (step.Message == texts.next+"."+looksAgain) != texts.isToldAgain || slices.Contains(heard, "Warning AdmissionRefused") != texts.isToldAgain {
				t.Errorf("it says %q, and %q is heard", step.Message, heard)
			}
			if !step.Since.Equal(&first.Since) {
				t.Errorf("it is refused since %s, not %s", first.Since, step.Since)
			}
		})
	}
}

func TestWhatKubernetesRefusesIsTheReason(t *testing.T) {
	w := demo(3, begin).settled().podGone("demo-1")
	in := w.input()
	in.Outcome = Outcome{Change: in.Decision.Change, Rejected: true, Reason: "QuotaExceeded",
		Message: "creating Pod demo-1: exceeded quota: pods"}
	next := Status(in).NextStep
	if next.Rule != in.Decision.Rule || next.Reason != "QuotaExceeded" ||
		next.Message != "creating Pod demo-1: exceeded quota: pods."+looksAgain {
		t.Errorf("a refused change reads %+v", next)
	}
	if next.Verdict != v1alpha1.VerdictBlocked || meta.IsStatusConditionTrue(Status(in).Conditions,
		v1alpha1.ConditionStalled) {
		t.Errorf("a quota may be raised, and the step reads %+v", next)
	}
}

func TestOfWhatIsRefusedForNowEachMessageSaysThatItIsTriedAgain(t *testing.T) {
	in := demo(3, begin).settled().podGone("demo-1").input()
	reconciling := func(d plan.Decision) string {
		in.Decision = d
		status := Status(in)
		said := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReconciling).Message
		if ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady).Message; ready != said ||
			status.NextStep.Message != said {
			t.Errorf("%q and %q beside %q", ready, status.NextStep.Message, said)
		}
		return said
	}
	for said, want := range map[string]string{
		"Cannot evict demo-1.":   "Cannot evict demo-1." + looksAgain,
		"It is tried again soon": "It is tried again soon.",
	} {
		d := plan.Decision{Verdict: plan.Refuse, Rule: "roll", Reason: facts.ReasonQuorumAtRisk, Message: said}
		if got := reconciling(d); got != want {
			t.Errorf("%q", got)
		}
		d.Verdict = plan.Wait
		if got := reconciling(d); strings.Contains(got, "looks again") {
			t.Errorf("a wait says %q", got)
		}
	}
}

func TestARejectionThatOnlyAPersonCanEndStallsTheCluster(t *testing.T) {
	w := demo(3, begin).settled().podGone("demo-1")
	in := w.input()
	in.Outcome = Outcome{Change: in.Decision.Change, Rejected: true, NeedsHuman: true, Reason: facts.ReasonNameTaken,
		Message: "Pod demo-1 is somebody else's"}
	status := Status(in)
	if !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled) ||
		status.NextStep.Verdict != v1alpha1.VerdictStalled {
		t.Errorf("the conditions are %+v", status.Conditions)
	}
}

func TestOfARejectedChangeAndAStepThatNeedsAPersonTheLatterIsShownFirst(t *testing.T) {
	w := demo(3, begin).settled()
	in := w.input()
	in.Decision = plan.Decision{Verdict: plan.Refuse, Rule: "name-taken", Reason: facts.ReasonNameTaken,
		Message: "Taken.", NeedsHuman: true}
	in.Outcome = Outcome{Change: changes.StartPods{}, Rule: "pods", Rejected: true, Reason: "QuotaExceeded",
		Message: "exceeded quota"}
	status := Status(in)
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if status.NextStep.Rule != "name-taken" || status.NextStep.Reason != facts.ReasonNameTaken ||
		ready.Message != "Taken. exceeded quota." {
		t.Errorf("%+v; %+v", status.NextStep, ready)
	}
	in.Decision.NeedsHuman = false
	if next := Status(in).NextStep; next.Rule != "pods" || next.Reason != "QuotaExceeded" {
		t.Errorf("%+v", next)
	}
}

func TestTheStatusSaysWhenWindowsAreOpenAndIsNotWrittenForThat(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	w := demo(3, begin).settled()
	if got := Status(w.input()).Maintenance; got != nil {
		t.Errorf("without windows: %+v", got)
	}
	next := begin.Add(24 * time.Hour).In(berlin)
	w.o.Desired.Window = facts.Window{IsClosed: true, Next: next}
	w.written(t)
	if got := w.cluster.Status.Maintenance; got.OpenUntil != nil || !got.NextWindow.Time.Equal(next) {
		t.Errorf("while none is open: %+v", got)
	}
	if again := Status(w.later(time.Hour).input()); !reflect.DeepEqual(again, w.cluster.Status) {
		t.Errorf("an hour later it is another status: %+v", again.Maintenance)
	}
	w.o.Desired.Window = facts.Window{Until: begin.Add(time.Hour).In(berlin), Next: next}
	w.written(t)
	if got := w.cluster.Status.Maintenance; !got.OpenUntil.Time.Equal(begin.Add(time.Hour)) {
		t.Errorf("while one is open: %+v", got)
	}
	if again := Status(w.input()); !reflect.DeepEqual(again, w.cluster.Status) {
		t.Errorf("in the next pass it is another status: %+v", again.Maintenance)
	}
}

// A cluster that waits is not ready. It is at rest, so no alert about what goes on too long fires, and its status stays as it is for days.
func TestWaitingForAWindowIsWrittenOnce(t *testing.T) {
	w := demo(3, begin).settled()
	w.o.Desired.Window = facts.Window{IsClosed: true, Next: begin.Add(72 * time.Hour)}
	w.o.Desired.Settings.Inputs = `{"a":"b"}`
	w.written(t)
	got := w.cluster.Status
	ready := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionReady)
	if ready.Status != "False" || ready.Reason != facts.ReasonWindow || got.NextStep.Verdict != string(plan.Wait) ||
		!meta.IsStatusConditionFalse(got.Conditions, v1alpha1.ConditionDegraded) ||
		meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionReconciling) != nil ||
		meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionStalled) != nil {
		t.Errorf("%+v", got.Conditions)
	}
	if again := Status(w.later(71 * time.Hour).input()); !reflect.DeepEqual(again, got) {
		t.Errorf("three days later it is another status: %+v", again)
	}
}
