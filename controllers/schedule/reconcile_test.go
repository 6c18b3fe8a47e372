package schedule

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
	"github.com/etcdsteward/etcd-steward/test/metrictest"
)

// scheduleWorld has a schedule, and the controller of schedules alone: what the one of backups would do, tests do by
// hand.
type scheduleWorld struct {
	*jobworld.World
	keeper   *Reconciler
	registry *prometheus.Registry
}

func hourly(options ...func(*v1alpha1.EtcdBackupSchedule)) *v1alpha1.EtcdBackupSchedule {
	s := &v1alpha1.EtcdBackupSchedule{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "hourly", UID: "uid-hourly", Generation: 1,
			CreationTimestamp: metav1.NewTime(time.Date(2026, 3, 1, 11, 30, 0, 0, time.UTC)),
		},
		Spec: v1alpha1.EtcdBackupScheduleSpec{
			ClusterRef: v1alpha1.ClusterReference{Name: "demo"}, Schedule: "0 * * * *",
			Store: v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "backups", Path: "hourly"}}, Verify: new(false),
			Deadline: &metav1.Duration{Duration: 20 * time.Minute}, LargestDepth: new(int32(3)),
		},
	}
	for _, option := range options {
		option(s)
	}
	return s
}

// newScheduleWorld begins at 12:00, when the first run of hourly is due.
func newScheduleWorld(t *testing.T, s *v1alpha1.EtcdBackupSchedule, others ...client.Object) *scheduleWorld {
	t.Helper()
	w := &scheduleWorld{World: jobworld.New(t, jobworld.Nightly(), append(others, s)...)}
	w.Key = client.ObjectKeyFromObject(s)
	w.restartKeeper()
	return w
}

func (w *scheduleWorld) restartKeeper() {
	w.registry = prometheus.NewPedanticRegistry()
	metrics, err := NewMetrics(w.registry)
	if err != nil {
		w.T.Fatal(err)
	}
	w.keeper = &Reconciler{Frame: w.Frame(), Metrics: metrics, Secrets: observe.NewSecretCache(w.Readable(w.Kube), func() time.Time { return w.Now })}
}

// looks lets the operator look so often, and begins a new one when it was killed. It returns when the last look wants
// the next.
func (w *scheduleWorld) looks(n int) time.Duration {
	w.T.Helper()
	var again time.Duration
	for range n {
		result, err := w.keeper.Reconcile(w.T.Context(), ctrl.Request{NamespacedName: w.Key})
		switch {
		case errors.Is(err, jobworld.ErrCrash):
			w.CrashAt = 0
			w.restartKeeper()
		case err != nil:
			w.T.Fatal(err)
		}
		again = result.RequeueAfter
		w.Now = w.Now.Add(10 * time.Millisecond)
	}
	return again
}

func (w *scheduleWorld) schedule() *v1alpha1.EtcdBackupSchedule {
	w.T.Helper()
	s := &v1alpha1.EtcdBackupSchedule{}
	if err := w.Kube.Get(w.T.Context(), w.Key, s); err != nil {
		w.T.Fatal(err)
	}
	return s
}

// made are the names of the schedule's EtcdBackups.
func (w *scheduleWorld) made() string {
	w.T.Helper()
	var list v1alpha1.EtcdBackupList
	if err := w.Kube.List(w.T.Context(), &list, client.MatchingLabels{v1alpha1.LabelSchedule: "hourly"}); err != nil {
		w.T.Fatal(err)
	}
	var names []string
	for _, b := range list.Items {
		names = append(names, strings.TrimPrefix(b.Name, "hourly-20260301-"))
	}
	return strings.Join(names, " ")
}

// sign puts a record on an EtcdBackup, as the operator does.
func sign(b *v1alpha1.EtcdBackup, outcome *backupplan.Outcome) {
	text := backupplan.Record{Namespace: b.Namespace, Name: b.Name, Outcome: outcome}.Encode()
	key := backupplan.KeyOf(jobworld.CA().Data[resources.KeyKey], b.Namespace, b.Spec.ClusterRef.Name)
	b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: text, v1alpha1.AnnotationBackupSignature: key.Sign(b, text)}
}

// finish writes what came of a run as the controller of backups does.
func (w *scheduleWorld) finish(name string, complete bool) {
	w.T.Helper()
	b := &v1alpha1.EtcdBackup{}
	if err := w.Kube.Get(w.T.Context(), client.ObjectKey{Namespace: "shop", Name: name}, b); err != nil {
		w.T.Fatal(err)
	}
	outcome := &backupplan.Outcome{Complete: complete, Reason: "Stored", Message: "m", FinishedAt: w.Now.UTC()}
	if complete {
		outcome.Facts = &backupplan.Facts{Key: "k", Revision: 1}
	} else {
		outcome.Reason = "StoreFull"
	}
	sign(b, outcome)
	if err := w.Kube.Update(w.T.Context(), b); err != nil {
		w.T.Fatal(err)
	}
}

func (w *scheduleWorld) conditionIs(kind, want string) {
	w.T.Helper()
	for _, c := range w.schedule().Status.Conditions {
		if c.Type == kind && string(c.Status)+" "+c.Reason == want {
			return
		}
	}
	w.T.Errorf("want %s %s: %+v", kind, want, w.schedule().Status)
}

func TestAScheduleMakesABackupWhenItIsTimeAndTellsWhatCameOfIt(t *testing.T) {
	w := newScheduleWorld(t, hourly(), jobworld.Serving()...)
	w.looks(4)
	if got := w.made(); got != "1200" {
		t.Fatalf("made %q", got)
	}
	w.conditionIs("Ready", "True Running")
	w.conditionIs("BackedUp", "Unknown NoRunYet")
	b := &v1alpha1.EtcdBackup{}
	if err := w.Kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "hourly-20260301-1200"}, b); err != nil {
		t.Fatal(err)
	}
	if b.Spec.Store.Volume.Path != "hourly" || b.Spec.IsVerified() || b.Spec.DeadlineOrDefault() != 20*time.Minute || b.Spec.LargestDepthOrDefault() != 3 || b.Spec.ClusterRef.Name != "demo" || len(b.OwnerReferences) != 0 {
		t.Errorf("%+v", b)
	}
	w.Now = w.Now.Add(3 * time.Minute)
	w.finish(b.Name, true)
	again := w.looks(2)
	w.conditionIs("Ready", "True Scheduled")
	w.conditionIs("BackedUp", "True LastRunComplete")
	s := w.schedule().Status
	if s.Active != "" || s.LastRun != b.Name || !s.LastSuccessfulTime.Time.Equal(w.Now.Truncate(time.Second)) || s.NextScheduleTime.UTC().Hour() != 13 || s.LastScheduleTime.UTC().Hour() != 12 {
		t.Errorf("%+v", s)
	}
	if again <= 0 || again > 10*time.Minute {
		t.Errorf("it looks again after %s", again)
	}
	if got := metrictest.Gather(t, w.registry)[kit.MetricPrefix+`backup_expected_by_timestamp_seconds{name="demo",namespace="shop"}`]; got != float64(time.Date(2026, 3, 1, 13, 20, 0, 0, time.UTC).Unix()) {
		t.Errorf("the next backup is expected by %v", got)
	}
	before := len(w.Writes)
	w.looks(20)
	if more := w.Writes[before:]; len(more) > 0 {
		t.Errorf("nothing is due, and it writes %q", more)
	}
	w.Now = time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)
	w.looks(4)
	w.finish("hourly-20260301-1300", false)
	w.looks(2)
	w.conditionIs("BackedUp", "False LastRunFailed")
	if got := w.made(); got != "1200 1300" {
		t.Errorf("made %q", got)
	}
	if told := strings.Join(w.Told(), "\n"); strings.Count(told, scheduleplan.EventCreated) != 2 {
		t.Errorf("told:\n%s", told)
	}
}

func TestARunThatWasMadeWhileTheClockRanAheadDoesNotStandForTheRunOfItsTime(t *testing.T) {
	w := newScheduleWorld(t, hourly(), jobworld.Serving()...)
	w.Now = w.Now.Add(time.Hour)
	w.looks(4)
	w.finish("hourly-20260301-1300", true)
	w.looks(2)
	w.Now = w.Now.Add(-time.Hour) // the clock is put right
	w.looks(6)
	w.finish("hourly-20260301-1200", true)
	w.Now = w.Now.Add(10 * time.Minute)
	w.looks(6)
	w.Now = w.Now.Add(50 * time.Minute)
	w.looks(6)
	if got := w.made(); got != "1200 1300 hourly-20260301b1300" {
		t.Errorf("made %q", got)
	}
	w.conditionIs("Ready", "True Running")
	if told := strings.Join(w.Told(), "\n"); strings.Count(told, scheduleplan.EventAhead) != 1 {
		t.Errorf("told:\n%s", told)
	}
}

func TestAnOperatorKilledAfterAnyWriteOfAScheduleMakesOneBackup(t *testing.T) {
	all := newScheduleWorld(t, hourly(), jobworld.Serving()...)
	all.looks(5)
	if len(all.Writes) < 3 {
		t.Fatalf("only %q", all.Writes)
	}
	for n := range all.Writes {
		t.Run(fmt.Sprintf("%d %s", n+1, all.Writes[n]), func(t *testing.T) {
			w := newScheduleWorld(t, hourly(), jobworld.Serving()...)
			w.CrashAt = n + 1
			w.looks(8)
			if w.CrashAt != 0 {
				t.Fatal("the operator was never killed")
			}
			if got := w.made(); got != "1200" {
				t.Errorf("made %q", got)
			}
			w.conditionIs("Ready", "True Running")
		})
	}
}

func TestTwoOperatorsWhoseCachesAreBehindMakeOneBackup(t *testing.T) {
	w := newScheduleWorld(t, hourly(), jobworld.Serving()...)
	stale := newScheduleWorld(t, hourly(), jobworld.Serving()...) // a cache that never moves
	w.looks(1)
	w.restartKeeper()
	w.Cached = stale.Kube
	w.looks(3)
	w.Cached = nil
	w.looks(4)
	if got := w.made(); got != "1200" {
		t.Errorf("made %q", got)
	}
	w.conditionIs("Ready", "True Running")
}

func TestAStatusThatIsWipedAndABackupThatIsDeletedMakeNoSecondOne(t *testing.T) {
	w := newScheduleWorld(t, hourly(), jobworld.Serving()...)
	w.looks(4)
	if err := w.Kube.DeleteAllOf(t.Context(), &v1alpha1.EtcdBackup{}, client.InNamespace("shop")); err != nil {
		t.Fatal(err)
	}
	s := w.schedule()
	s.Status = v1alpha1.EtcdBackupScheduleStatus{}
	if err := w.Kube.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.restartKeeper()
	w.looks(5)
	if got := w.made(); got != "" {
		t.Errorf("made %q", got)
	}
	if got := w.schedule().Status.LastScheduleTime; got == nil || got.UTC().Hour() != 12 {
		t.Errorf("the last run was at %v", got)
	}
}

func TestABackupOfAnotherOwnerUnderTheNameOfARunIsLeftAloneAndSaid(t *testing.T) {
	other := jobworld.Nightly(func(b *v1alpha1.EtcdBackup) { b.Name, b.UID = "hourly-20260301-1200", "other" })
	w := newScheduleWorld(t, hourly(), append(jobworld.Serving(), other)...)
	w.looks(4)
	w.conditionIs("Ready", "False NameTaken")
	w.Now = time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)
	w.looks(4)
	if got := w.made(); got != "1300" {
		t.Errorf("made %q", got)
	}
}

func TestWhatAnEarlierScheduleOfItsNameMadeOfAnotherClusterIsNotItsOwn(t *testing.T) {
	var earlier []client.Object
	for i, run := range []string{"0700", "0800", "0900", "1000", "1100", "1200"} {
		name := "hourly-20260301-" + run
		b := jobworld.Nightly(func(b *v1alpha1.EtcdBackup) {
			b.Name, b.UID, b.Spec.ClusterRef.Name = name, types.UID(name), "other"
			b.Labels = map[string]string{v1alpha1.LabelSchedule: "hourly"}
		})
		if i < 5 { // the last one is under way
			outcome := &backupplan.Outcome{Complete: i == 4, Reason: "StoreFull", Message: "m", FinishedAt: time.Date(2026, 3, 1, 11, 30, 0, 0, time.UTC)}
			if outcome.Complete {
				outcome.Reason, outcome.Facts = "Stored", &backupplan.Facts{Key: "k", Revision: 1}
			}
			b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: backupplan.Record{Namespace: "shop", Name: name, Outcome: outcome}.Encode()}
		}
		earlier = append(earlier, b)
	}
	all := "0700 0800 0900 1000 1100 1200"
	w := newScheduleWorld(t, hourly(keepingTwo, func(s *v1alpha1.EtcdBackupSchedule) {
		s.Annotations = map[string]string{v1alpha1.AnnotationLastRun: "2026-03-01T11:00:00Z"}
	}), append(jobworld.Serving(), earlier...)...)
	if again := w.looks(4); again < time.Second {
		t.Errorf("it looks again after %s", again)
	}
	w.conditionIs("Ready", "False NameTaken")
	w.conditionIs("BackedUp", "Unknown NoRunYet")
	if s := w.schedule().Status; s.LastSuccessfulTime != nil || s.Active != "" || w.made() != all || w.running() != nil {
		t.Errorf("there are %s: %+v", w.made(), s)
	}
	w.Now = time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)
	w.looks(4)
	w.conditionIs("Ready", "True Running")
	if got := w.made(); got != all+" 1300" {
		t.Errorf("there are %s", got)
	}
}

func TestAScheduleOfAnotherOperatorsClusterIsNotTouched(t *testing.T) {
	objects := jobworld.Serving()
	objects[1].(*corev1.Service).Annotations[v1alpha1.AnnotationOperator] = "other/etcd-steward"
	w := newScheduleWorld(t, hourly(), objects...)
	w.looks(4)
	if len(w.Writes) != 0 {
		t.Errorf("%q", w.Writes)
	}
}

func TestAScheduleIsLeftToTheInstallThatTheDataNamesWhereThePeerServiceIsDeleted(t *testing.T) {
	for install, isFollowed := range map[string]bool{"other/etcd-steward": false, "ops/etcd-steward": true} {
		objects := jobworld.Serving()
		objects = append(append(objects[:1:1], objects[2:]...), resources.BuildVolume(jobworld.Demo(3), resources.Volume{
			Name: "demo-0", Incarnation: "1a2b3c4d", Bytes: 1, Operator: install}))
		w := newScheduleWorld(t, hourly(), objects...)
		w.looks(4)
		if (len(w.Writes) > 0) != isFollowed {
			t.Errorf("of %s: %q", install, w.Writes)
		}
	}
}

func TestAScheduleOfNoClusterWaitsAndOneThatIsGoneIsForgotten(t *testing.T) {
	w := newScheduleWorld(t, hourly())
	w.looks(2)
	w.conditionIs("Ready", "False ClusterNotFound")
	for _, object := range jobworld.Serving() {
		if err := w.Kube.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	w.looks(4)
	if got := w.made(); got != "1200" {
		t.Errorf("made %q", got)
	}
	if n := len(metrictest.Gather(t, w.registry)); n != 1 {
		t.Errorf("%d series", n)
	}
	if err := w.Kube.Delete(t.Context(), w.schedule()); err != nil {
		t.Fatal(err)
	}
	w.looks(1)
	if n := len(metrictest.Gather(t, w.registry)); n != 0 {
		t.Errorf("%d series of a schedule that is gone", n)
	}
	if got := w.made(); got != "1200" {
		t.Errorf("its backups went with it: %q", got)
	}
}

func TestOfSeveralSchedulesTheOneThatIsBehindIsTold(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	for name, by := range map[string]int64{"a": 3000, "b": 2000, "c": 4000} {
		m.Observe(client.ObjectKey{Namespace: "team", Name: name}, "demo", scheduleTimes{
			backup: time.Unix(by, 0), proof: time.Unix(by+1, 0), proven: time.Unix(by-1, 0),
		})
	}
	const series = kit.MetricPrefix + `backup_expected_by_timestamp_seconds{name="demo",namespace="team"}`
	if got := metrictest.Gather(t, registry)[series]; got != 2000 {
		t.Errorf("%v", got)
	}
	all := metrictest.Gather(t, registry)
	if all[kit.MetricPrefix+`backup_proof_expected_by_timestamp_seconds{name="demo",namespace="team"}`] != 2001 ||
		all[kit.MetricPrefix+`backup_proven_timestamp_seconds{name="demo",namespace="team"}`] != 3999 {
		t.Errorf("%v", all)
	}
	m.Observe(client.ObjectKey{Namespace: "team", Name: "b"}, "demo", scheduleTimes{}) // suspended
	if got := metrictest.Gather(t, registry)[series]; got != 3000 {
		t.Errorf("%v", got)
	}
}

func TestTheBackupsOfAScheduleHaveTheMetadataThatTheClusterPassesOn(t *testing.T) {
	objects := jobworld.Serving()
	objects[0].(*v1alpha1.EtcdCluster).Spec.InheritedMetadata = &v1alpha1.InheritedMetadata{
		Labels:      map[string]string{"team": "storage", v1alpha1.LabelSchedule: "another"},
		Annotations: map[string]string{"example.com/note": "kept"},
	}
	w := newScheduleWorld(t, hourly(), objects...)
	w.looks(2)
	b := &v1alpha1.EtcdBackup{}
	if err := w.Kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "hourly-20260301-1200"}, b); err != nil {
		t.Fatal(err)
	}
	if b.Labels["team"] != "storage" || b.Labels[v1alpha1.LabelSchedule] != "hourly" || b.Annotations["example.com/note"] != "kept" {
		t.Errorf("labels %v, annotations %v", b.Labels, b.Annotations)
	}
}
