package schedule

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
	"github.com/etcdsteward/etcd-steward/test/metrictest"
)

func keepingTwo(s *v1alpha1.EtcdBackupSchedule) {
	s.Spec.Retention = &v1alpha1.BackupRetention{KeepLast: new(int32(2)), KeepWithin: &metav1.Duration{Duration: 90 * time.Minute}}
	s.Spec.TimeZone = new("Europe/Berlin")
}

func testedAtTen(s *v1alpha1.EtcdBackupSchedule) {
	s.Spec.TestRestore = &v1alpha1.TestRestore{Schedule: "10 * * * *"}
}

// keyAt is the key of the backup of a run.
func keyAt(run string) string { return "etcd/shop/demo/u/20260301T" + run + "00Z-0a1b2c3d/snapshot.db" }

// hours makes the runs of so many hours complete, from 12:00 on, and what is done about each when the next one is due. It is
// ten minutes past the last one then.
func (w *scheduleWorld) hours(n int) {
	w.T.Helper()
	for range n {
		run := w.Now.Format("1504")
		w.looks(6)
		for w.running() != nil {
			w.ends(`{"kept":1,"removed":0,"newest":{"key":"n","revision":5},"oldest":{"key":"n","revision":5},"key":"k","startedAt":"2026-03-01T12:00:00Z"}`, "")
			w.looks(4)
		}
		w.complete(run)
		w.Now = w.Now.Truncate(time.Hour).Add(time.Hour)
	}
	w.Now = w.Now.Add(-50 * time.Minute)
}

// complete writes what came of a run as the controller of backups does.
func (w *scheduleWorld) complete(run string) {
	w.T.Helper()
	name := "hourly-20260301-" + run
	b := &v1alpha1.EtcdBackup{}
	if err := w.Kube.Get(w.T.Context(), client.ObjectKey{Namespace: "shop", Name: name}, b); err != nil {
		w.T.Fatal(err)
	}
	sign(b, &backupplan.Outcome{
		Complete: true, Reason: "Stored", Message: "m", FinishedAt: w.Now.UTC(),
		Facts: &backupplan.Facts{Key: keyAt(run), Revision: 7, StartedAt: w.Now.UTC()},
	})
	if err := w.Kube.Update(w.T.Context(), b); err != nil {
		w.T.Fatal(err)
	}
}

// running is the Job that has not ended; it fails when there are several.
func (w *scheduleWorld) running() *batchv1.Job {
	w.T.Helper()
	var job *batchv1.Job
	for _, known := range w.Jobs() {
		if len(known.Status.Conditions) == 0 && resources.IsControlledBy(&known, "uid-hourly") {
			if job != nil {
				w.T.Fatalf("%s and %s run at once", job.Name, known.Name)
			}
			job = &known
		}
	}
	return job
}

// ends lets the Job that runs end with the last words of its first step; good without a reason.
func (w *scheduleWorld) ends(words, reason string) {
	w.T.Helper()
	job := w.running()
	if job == nil {
		w.T.Fatal("no Job runs")
	}
	spec := job.Spec.Template.Spec
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: job.Name + "-x", UID: types.UID("pod-" + job.Name), Labels: job.Spec.Template.Labels, CreationTimestamp: metav1.NewTime(w.Now),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: spec,
	}
	if err := w.Kube.Create(w.T.Context(), pod); err != nil {
		w.T.Fatal(err)
	}
	kind, phase, code := batchv1.JobComplete, corev1.PodSucceeded, int32(0)
	if reason != "" {
		kind, phase, code = batchv1.JobFailed, corev1.PodFailed, 1
	}
	first := append(spec.InitContainers[:len(spec.InitContainers):len(spec.InitContainers)], spec.Containers...)[0].Name
	pod.Status = corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: first, State: w.Ended(code, words)}}}
	job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(w.Now)}}
	for _, object := range []client.Object{pod, job} {
		if err := w.Kube.Status().Update(w.T.Context(), object); err != nil {
			w.T.Fatal(err)
		}
	}
}

const (
	keptTwo = `{"kept":2,"removed":1,"oldest":{"key":"o","revision":5,"startedAt":"2026-03-01T13:00:00Z"},` +
		`"newest":{"key":"n","revision":7,"startedAt":"2026-03-01T14:00:00Z"},"gone":["20260301T120000Z-0a1b2c3d"]}`
	restoredNewest = `{"key":"etcd/n/snapshot.db","sizeBytes":1,"revision":7,"startedAt":"2026-03-01T12:00:00Z"}`
)

func TestAJobOfAScheduleIsOverWhenItsStepsAreAlsoBesideOtherContainersInThePod(t *testing.T) {
	w := newScheduleWorld(t, hourly(keepingTwo), jobworld.Serving()...)
	w.hours(3)
	w.looks(2)
	w.ends(keptTwo, "")
	for _, job := range w.Jobs() {
		if resources.IsControlledBy(&job, "uid-hourly") {
			job.Status.Conditions = nil // Kubernetes waits for the proxy
			if err := w.Kube.Status().Update(t.Context(), &job); err != nil {
				t.Fatal(err)
			}
			pod := &corev1.Pod{}
			if err := w.Kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: job.Name + "-x"}, pod); err != nil {
				t.Fatal(err)
			}
			w.Report(w.Inject(pod), corev1.PodRunning, w.Ended(0, keptTwo))
		}
	}
	w.looks(5)
	w.conditionIs("Retained", "True Applied")
	w.Now = w.Now.Add(time.Minute)
	w.looks(5)
	if job := w.running(); job != nil {
		t.Errorf("%s goes on for ever", job.Name)
	}
	w.conditionIs("Retained", "True Applied")
}

func TestASchedulesJobPrunesItsStoreAndTheEtcdBackupsOfWhatIsGoneAreDeleted(t *testing.T) {
	w := newScheduleWorld(t, hourly(keepingTwo), jobworld.Serving()...)
	w.hours(3)
	w.looks(2)
	job := w.running()
	args := strings.Join(job.Spec.Template.Spec.Containers[0].Args, " ")
	for _, want := range []string{
		"--schedule=hourly", "--cluster-uid=uid-demo", "--keep-last=2", "--keep-within=1h30m0s", "--time-zone=Europe/Berlin", "--ask=" + keyAt("1200") + " --ask=" + keyAt("1300"),
	} {
		if !strings.Contains(args, want) {
			t.Errorf("no %s in %s", want, args)
		}
	}
	if strings.Contains(args, keyAt("1400")) || strings.Contains(args, "--hold") || job.Spec.Template.Spec.Containers[0].Image != "agent:v1" || !resources.IsControlledBy(job, "uid-hourly") {
		t.Errorf("%+v", job)
	}
	w.ends(keptTwo, "")
	w.looks(5)
	if got := w.made(); got != "1300 1400" {
		t.Errorf("there are %s", got)
	}
	w.conditionIs("Retained", "True Applied")
	s := w.schedule()
	if s.Status.KeptBackups == nil || *s.Status.KeptBackups != 2 || s.Status.OldestRestorable.Revision != 5 || s.Annotations[v1alpha1.AnnotationLastPrune] == "" {
		t.Errorf("%+v", s)
	}
	before := len(w.Writes)
	w.looks(10)
	if more := w.Writes[before:]; len(more) > 0 {
		t.Errorf("nothing is to be done, and it writes %q", more)
	}
	if told := strings.Join(w.Told(), "\n"); strings.Count(told, scheduleplan.EventPruned) != 3 {
		t.Errorf("told:\n%s", told)
	}
}

func TestAnOperatorKilledAfterAnyWriteOfAChoreComesToTheSameEnd(t *testing.T) {
	for n := 1; ; n++ {
		w := newScheduleWorld(t, hourly(keepingTwo, testedAtTen), jobworld.Serving()...)
		w.hours(3)
		w.CrashAt = len(w.Writes) + n
		jobs := len(w.Jobs())
		w.looks(4)
		w.ends(keptTwo, "")
		w.looks(8)
		w.ends(restoredNewest, "")
		w.looks(8)
		isDone := w.CrashAt != 0 // there were fewer writes
		w.conditionIs("Retained", "True Applied")
		w.conditionIs("Proven", "True Restored")
		if got := w.made(); got != "1300 1400" || len(w.Jobs()) != jobs+2 {
			t.Errorf("killed after %d: there are %s, and %d Jobs", n, got, len(w.Jobs()))
		}
		if isDone {
			if n < 6 {
				t.Errorf("only %d writes", n)
			}
			return
		}
	}
}

func TestAChorePullsWithTheSecretsOfTheOperator(t *testing.T) {
	w := newScheduleWorld(t, hourly(testedAtTen), jobworld.Serving()...)
	w.Images.PullSecrets = []string{"mirror"}
	w.restartKeeper()
	w.hours(1)
	w.looks(3)
	if got := w.running().Spec.Template.Spec.ImagePullSecrets; len(got) != 1 || got[0].Name != "mirror" {
		t.Errorf("%v", got)
	}
}

func TestATestRestoreProvesTheNewestBackupAndIsTold(t *testing.T) {
	w := newScheduleWorld(t, hourly(testedAtTen), jobworld.Serving()...)
	w.hours(1)
	w.looks(3)
	spec := w.running().Spec.Template.Spec
	if spec.InitContainers[1].Image != "gcr.io/etcd-development/etcd:v3.6.16" || !strings.Contains(strings.Join(spec.InitContainers[0].Args, " "), "--newest") {
		t.Errorf("%+v", spec)
	}
	w.ends(restoredNewest, "")
	w.looks(4)
	w.conditionIs("Proven", "True Restored")
	s := w.schedule().Status
	if s.LastProven == nil || s.LastProven.Revision != 7 || !s.LastProvenTime.Time.Equal(w.Now.Truncate(time.Second)) || s.NextTestRestoreTime.UTC().Hour() != 13 {
		t.Errorf("%+v", s)
	}
	all := metrictest.Gather(t, w.registry)
	if all[kit.MetricPrefix+`backup_proven_timestamp_seconds{name="demo",namespace="shop"}`] != float64(s.LastProvenTime.Unix()) ||
		all[kit.MetricPrefix+`backup_proof_expected_by_timestamp_seconds{name="demo",namespace="shop"}`] != float64(time.Date(2026, 3, 1, 13, 30, 0, 0, time.UTC).Unix()) {
		t.Errorf("%v", all)
	}

	w.Now = time.Date(2026, 3, 1, 13, 10, 0, 0, time.UTC)
	w.looks(6)
	w.ends(`{"reason":"ObjectDamaged","message":"It came back with another SHA-256."}`, "BackoffLimitExceeded")
	w.looks(4)
	w.conditionIs("Proven", "False ObjectDamaged")
	if status := w.schedule().Status; !status.LastProvenTime.Equal(s.LastProvenTime) {
		t.Errorf("a test that failed proves: %+v", status)
	}
	if told := strings.Join(w.Told(), "\n"); !strings.Contains(told, "Warning "+scheduleplan.EventNotProven) {
		t.Errorf("told:\n%s", told)
	}
}

func TestWhileATestRestoreFailedTheJobOfRetentionGetsNoRule(t *testing.T) {
	w := newScheduleWorld(t, hourly(keepingTwo, testedAtTen), jobworld.Serving()...)
	args := func() string { return strings.Join(w.running().Spec.Template.Spec.Containers[0].Args, " ") }
	w.hours(1) // ten past twelve
	w.looks(3)
	if !strings.Contains(args(), "--keep-last=2") || strings.Contains(args(), "--hold=") {
		t.Errorf("before the first test: %s", args())
	}
	w.ends(keptTwo, "")
	w.looks(4)
	w.ends(restoredNewest, "")
	w.looks(2)
	w.Now = time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)
	w.looks(4)
	w.complete("1300")
	w.looks(2)
	if !strings.Contains(args(), "--keep-last=2") || !strings.Contains(args(), "--hold=etcd/n/snapshot.db") {
		t.Errorf("after a test: %s", args())
	}
	w.ends(keptTwo, "")
	w.Now = time.Date(2026, 3, 1, 13, 10, 0, 0, time.UTC)
	w.looks(6)
	w.ends(`{"reason":"ObjectDamaged","message":"It came back with another SHA-256."}`, "BackoffLimitExceeded")
	w.looks(4)
	w.conditionIs("Retained", "False RetentionPaused")
	w.Now = time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	w.looks(4)
	w.complete("1400")
	w.looks(2)
	if strings.Contains(args(), "--keep-") || !strings.Contains(args(), "--hold=etcd/n/snapshot.db") {
		t.Errorf("after a test that failed: %s", args())
	}
}

func TestAChoreThatIsRefusedKeepsNoBackupFromBeingMade(t *testing.T) {
	for name, row := range map[string]struct {
		refuse func(*scheduleWorld)
		reason string
	}{
		"a quota": {func(w *scheduleWorld) {
			w.OnWrite = func(what string) error {
				if what != "create *v1.Job" {
					return nil
				}
				return apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "demo", fmt.Errorf("exceeded quota: few"))
			}
		}, "QuotaExceeded"},
		"somebody else's Job of that name": {func(w *scheduleWorld) {
			at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			foreign := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: resources.PruneJob(w.schedule(), at)}}
			if err := w.Kube.Create(w.T.Context(), foreign); err != nil {
				w.T.Fatal(err)
			}
		}, "NameTaken"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScheduleWorld(t, hourly(keepingTwo), jobworld.Serving()...)
			row.refuse(w)
			w.hours(1)
			if again := w.looks(4); again < time.Second {
				t.Errorf("it looks again after %s", again)
			}
			w.conditionIs("Retained", "False "+row.reason)
			w.conditionIs("Ready", "True Scheduled")
			w.Now = time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)
			w.looks(4)
			if got := w.made(); got != "1200 1300" {
				t.Errorf("made %q", got)
			}
		})
	}
}

func TestABackupThatIsRefusedKeepsNoChoreFromBeingDone(t *testing.T) {
	w := newScheduleWorld(t, hourly(keepingTwo, testedAtTen), jobworld.Serving()...)
	w.hours(3)
	w.looks(1)
	w.Now = time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	w.OnWrite = func(what string) error {
		if what != "create *v1alpha1.EtcdBackup" {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "etcdbackups"}, "x", fmt.Errorf("exceeded quota: few"))
	}
	w.looks(4)
	w.ends(keptTwo, "")
	w.looks(6)
	w.ends(restoredNewest, "")
	if again := w.looks(6); again < time.Second {
		t.Errorf("it looks again after %s", again)
	}
	w.conditionIs("Ready", "False QuotaExceeded")
	w.conditionIs("Retained", "True Applied")
	w.conditionIs("Proven", "True Restored")
	if got := w.made(); got != "1300 1400" || w.schedule().Status.NextTestRestoreTime.UTC().Hour() != 15 {
		t.Errorf("there are %s: %+v", got, w.schedule().Status)
	}
}

func TestWhyThePodOfAChoreDoesNotStartIsSaidWithinAMinute(t *testing.T) {
	for reason, happens := range map[string]func(*scheduleWorld){
		"QuotaExceeded": func(w *scheduleWorld) {
			w.Warn(w.running(), "FailedCreate", `Error creating: pods "x" is forbidden: exceeded quota: few`)
		},
		"PodSecurity": func(w *scheduleWorld) {
			w.Warn(w.running(), "FailedCreate", `Error creating: pods "x" is forbidden: violates PodSecurity "restricted:latest"`)
		},
		"MountFailed": func(w *scheduleWorld) {
			pod := w.Pod("p1")
			w.Report(pod, corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})
			w.Warn(pod, "FailedMount", `MountVolume.SetUp failed for volume "credentials" : secret "s3" not found`)
		},
	} {
		w := newScheduleWorld(t, hourly(keepingTwo), jobworld.Serving()...)
		w.hours(1)
		w.looks(3)
		happens(w)
		if again := w.looks(1); again > time.Minute {
			t.Errorf("%s: it looks again after %s", reason, again)
		}
		w.conditionIs("Retained", "Unknown NotYet")
		w.Now = w.Now.Add(time.Minute)
		w.looks(2)
		w.conditionIs("Retained", "False "+reason)
		w.ends(keptTwo, "")
		w.looks(4)
		w.conditionIs("Retained", "True Applied")
	}
}

func TestAClockThatGoesBackRecordsNoChoreAgainAndAgain(t *testing.T) {
	w := newScheduleWorld(t, hourly(keepingTwo, testedAtTen), jobworld.Serving()...)
	w.hours(2)
	w.looks(4)
	w.ends(keptTwo, "")
	w.looks(8)
	w.ends(restoredNewest, "")
	w.looks(8)
	told := func() int { return strings.Count(strings.Join(w.Told(), "\n"), "Warning") }
	if n := told(); n != 0 {
		t.Fatalf("%d warnings before", n)
	}
	right, tests := w.Now, w.schedule().Annotations[v1alpha1.AnnotationLastTest]
	for _, back := range []time.Duration{2 * time.Minute, 15 * time.Minute} {
		w.Now = right.Add(-back)
		w.looks(8)
		before := len(w.Writes)
		w.looks(10)
		if more := w.Writes[before:]; len(more) > 0 {
			t.Errorf("%s back it writes %q", back, more)
		}
	}
	w.Now = right.Add(time.Minute)
	w.looks(8)
	before := len(w.Writes)
	if w.looks(10); len(w.Writes) > before {
		t.Errorf("once the clock is right it writes %q", w.Writes[before:])
	}
	w.conditionIs("Retained", "True Applied")
	w.conditionIs("Proven", "True Restored")
	if recorded := w.schedule().Annotations[v1alpha1.AnnotationLastTest]; recorded != tests || told() != 0 {
		t.Errorf("recorded is %s", recorded)
	}
}

func TestJobsOfAnotherScheduleAreNotTakenForItsOwn(t *testing.T) {
	w := newScheduleWorld(t, hourly(keepingTwo), jobworld.Serving()...)
	other := hourly(func(s *v1alpha1.EtcdBackupSchedule) { s.UID = "an-earlier-one-of-that-name" })
	job := resources.BuildPruneJob(other, jobworld.Demo(3), resources.PruneStart{At: w.Now, BackupStart: resources.BackupStart{Deadline: time.Hour}})
	if err := w.Kube.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	w.hours(1)
	w.looks(3)
	if jobs := w.Jobs(); len(jobs) != 2 {
		t.Errorf("%d Jobs", len(jobs))
	}
}

func TestOnlyWhatLiesInTheStoreOfNowIsAskedFor(t *testing.T) {
	w := newScheduleWorld(t, hourly(keepingTwo), jobworld.Serving()...)
	w.hours(2)
	s := w.schedule()
	s.Spec.Store.Volume.Path = "another"
	if err := w.Kube.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.Now = time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	w.hours(1)
	w.looks(3)
	job := w.running()
	if job == nil {
		t.Fatal("no Job looks after the new store")
	}
	if args := strings.Join(job.Spec.Template.Spec.Containers[0].Args, " "); strings.Contains(args, "--ask") || !strings.Contains(args, "another") {
		t.Errorf("it asks a store of what lies in another one: %s", args)
	}
}

func TestEtcdBackupsThatMayNotBeDeletedYetAreNotForgotten(t *testing.T) {
	w := newScheduleWorld(t, hourly(keepingTwo), jobworld.Serving()...)
	w.hours(3)
	w.looks(3)
	w.ends(keptTwo, "")
	w.OnWrite = func(what string) error {
		if what != "delete *v1alpha1.EtcdBackup" {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "etcdbackups"}, "x", fmt.Errorf(`admission webhook "keep.example.com" denied the request: no`))
	}
	w.looks(4)
	w.conditionIs("Retained", "False AdmissionRefused")
	w.conditionIs("Ready", "True Scheduled")
	w.OnWrite = nil
	w.looks(4)
	w.conditionIs("Retained", "True Applied")
	if got := w.made(); got != "1300 1400" {
		t.Errorf("there are %s", got)
	}
}

func TestWhileEtcdBackupsMayNotBeDeletedTheNewestJobAloneIsReadFromTheAPIServer(t *testing.T) {
	w := newScheduleWorld(t, hourly(keepingTwo), jobworld.Serving()...)
	w.OnWrite = func(what string) error {
		if what != "delete *v1alpha1.EtcdBackup" {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "etcdbackups"}, "x", fmt.Errorf(`admission webhook "keep.example.com" denied the request: no`))
	}
	w.hours(2)
	for range 3 {
		w.Now = w.Now.Truncate(time.Hour).Add(time.Hour)
		run := w.Now.Format("1504")
		w.looks(4)
		w.complete(run)
		w.looks(4)
		w.ends(keptTwo, "")
		w.looks(4)
	}
	w.conditionIs("Retained", "False AdmissionRefused")
	asked := 0
	w.keeper.Live = interceptor.NewClient(w.Kube, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.PodList); ok {
				asked++
			}
			return c.List(ctx, list, opts...)
		},
	})
	if w.looks(1); asked != 1 {
		t.Errorf("%d questions for one Job", asked)
	}
}

func TestWhatABackupIsReachedWithIsNoPartOfWhereItLies(t *testing.T) {
	s3 := func(bucket, secret string) v1alpha1.BackupStore {
		return v1alpha1.BackupStore{S3: &v1alpha1.S3Store{Bucket: bucket, CredentialsSecretRef: &v1alpha1.StoreSecretReference{Name: secret}}}
	}
	volume := v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "a", Path: "b"}}
	for _, row := range []struct {
		a, b v1alpha1.BackupStore
		want bool
	}{
		{s3("a", "x"), s3("a", "y"), true},
		{s3("a", "x"), s3("b", "x"), false},
		{volume, volume, true},
		{volume, s3("a", "x"), false},
		{volume, v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "a"}}, false},
		{v1alpha1.BackupStore{GCS: &v1alpha1.GCSStore{Bucket: "a"}}, v1alpha1.BackupStore{Azure: &v1alpha1.AzureStore{Container: "a"}}, false},
	} {
		if got := sameStore(row.a, row.b); got != row.want {
			t.Errorf("%+v and %+v: %v", row.a, row.b, got)
		}
	}
}
