package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
)

// whole lets a backup happen from its beginning to its end.
func (w *backupWorld) whole() {
	w.T.Helper()
	w.passes(4)
	w.succeed(w.Pod("p1"))
	w.passes(6)
}

func TestABackupGoesFromNothingToVerified(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(3)
	w.is("Complete", "False Starting")
	pod := w.Pod("p1")
	w.Report(pod, corev1.PodPending, runs())
	w.passes(1)
	w.is("Complete", "False Running")
	if s := w.backup().Status; s.Stage != backupplan.StageSnapshot || s.JobName != w.Job().Name {
		t.Errorf("%+v", s)
	}
	w.succeed(pod)
	w.passes(4)
	w.is("Complete", "True Verified")
	w.is("Verified", "True HashesAgree")
	w.is("Failed", "")
	if s := w.backup().Status; s.Revision != 42 || s.Key != "etcd/snapshot.db" || s.CompletedAt == nil || s.VerifiedAt == nil {
		t.Errorf("%+v", s)
	}
	if ttl := w.Job().Spec.TTLSecondsAfterFinished; ttl == nil || *ttl != keepFinishedJobs {
		t.Errorf("the Job lives %v", ttl)
	}
	if told := strings.Join(w.Told(), "\n"); strings.Count(told, "\n") != 1 || !strings.Contains(told, backupplan.EventStarted) || !strings.Contains(told, backupplan.EventComplete) {
		t.Errorf("told:\n%s", told)
	}
	before := len(w.Writes)
	w.passes(10)
	if more := w.Writes[before:]; len(more) > 0 {
		t.Errorf("a backup that is done is written to: %q", more)
	}
}

func TestTheSpansOfABackupTellOfItsChangesAndWhatCameOfThem(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	pass := func(w *backupWorld) map[string]string {
		w.operator.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
		_, _ = w.operator.Traced(w.backup(), w.operator).Reconcile(t.Context(), ctrl.Request{NamespacedName: w.Key})
		last := spans.Ended()[len(spans.Ended())-1]
		told := map[string]string{"span": last.Name() + " " + last.Status().Code.String()}
		for _, a := range last.Attributes() {
			told[strings.TrimPrefix(string(a.Key), "etcdsteward.")] = a.Value.String()
		}
		return told
	}
	for crashAt, want := range map[int]map[string]string{
		0: {"span": "reconcile EtcdBackup Unset", "change": "CreateJob", "result": "applied"},
		1: {"span": "reconcile EtcdBackup Error", "change": "CreateJob", "result": "failed"},
	} {
		w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
		w.CrashAt = crashAt
		want["k8s.namespace.name"], want["name"] = w.Key.Namespace, w.Key.Name
		if diff := cmp.Diff(want, pass(w)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTheJobIsMadeFromWhatTheMembersRun(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(1)
	job := w.Job()
	args := strings.Join(job.Spec.Template.Spec.InitContainers[0].Args, " ")
	for _, want := range []string{"--cluster-id=cdf8", "demo-2=https://demo-2.demo-peers.shop.svc:2379", "--cluster-uid=uid-demo"} {
		if !strings.Contains(args, want) {
			t.Errorf("no %s in %s", want, args)
		}
	}
	if got := job.Spec.Template.Spec.InitContainers[2].Image; got != "gcr.io/etcd-development/etcd:v3.6.16" {
		t.Errorf("restored with %s", got)
	}
	if !metav1.IsControlledBy(job, jobworld.Nightly()) || *job.Spec.ActiveDeadlineSeconds != 3600 {
		t.Errorf("%+v", job)
	}
}

func TestTheJobPullsWithTheSecretsOfTheOperatorBesideThoseOfTheMembers(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.Images.PullSecrets = []string{"mirror"}
	w.restart()
	w.passes(1)
	if got := w.Job().Spec.Template.Spec.ImagePullSecrets; len(got) != 1 || got[0].Name != "mirror" {
		t.Errorf("%v", got)
	}
}

func TestAnOperatorKilledAfterAnyWriteOfABackupMakesOneJobAndTellsTheSame(t *testing.T) {
	all := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	all.whole()
	if len(all.Writes) < 5 {
		t.Fatalf("only %q", all.Writes)
	}
	for n := range all.Writes {
		t.Run(fmt.Sprintf("%d %s", n+1, all.Writes[n]), func(t *testing.T) {
			w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
			w.CrashAt = n + 1
			w.passes(5)
			w.succeed(w.Pod("p1"))
			w.passes(8)
			if w.CrashAt != 0 {
				t.Fatal("the operator was never killed")
			}
			w.is("Complete", "True Verified")
			if creates := strings.Count(strings.Join(w.Writes, "\n"), "create *v1.Job"); creates != 1 {
				t.Errorf("%d Jobs were created: %q", creates, w.Writes)
			}
		})
	}
}

func TestABackupWhoseStatusIsWipedTellsTheSameAndNeverRunsAgain(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.whole()
	want := w.backup().Status
	for _, jobIsGone := range []bool{false, true} {
		if jobIsGone {
			if err := w.Kube.Delete(t.Context(), w.Job()); err != nil {
				t.Fatal(err)
			}
		}
		b := w.backup()
		b.Status = v1alpha1.EtcdBackupStatus{}
		if err := w.Kube.Status().Update(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		w.restart()
		w.passes(4)
		got := w.backup().Status
		if got.Key != want.Key || got.Stage != want.Stage || !got.VerifiedAt.Equal(want.VerifiedAt) || got.JobName != want.JobName {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		w.is("Verified", "True HashesAgree")
		if jobIsGone && len(w.Jobs()) != 0 {
			t.Error("it runs again")
		}
	}
}

func TestABackupEndsWhenItsJobIsDecidedThoughAPodOnADeadNodeNeverEnds(t *testing.T) {
	for kind, want := range map[batchv1.JobConditionType]string{
		batchv1.JobSuccessCriteriaMet: "True Verified", batchv1.JobFailureTarget: "False JobFailed",
	} {
		t.Run(string(kind), func(t *testing.T) {
			w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
			w.passes(4)
			if pod := w.Pod("p1"); kind == batchv1.JobFailureTarget {
				w.Report(pod, corev1.PodRunning, runs())
			} else {
				w.succeed(pod)
			}
			w.ends(kind, "")
			w.passes(4)
			w.is("Complete", want)
		})
	}
}

func TestARecordThatIsTakenAwayIsPutBackAndTheBackupNeverRunsAgain(t *testing.T) {
	for name, end := range map[string]func(*backupWorld){
		"complete": func(w *backupWorld) { w.succeed(w.Pod("p1")) },
		"failed":   func(w *backupWorld) { w.ends(batchv1.JobFailed, "BackoffLimitExceeded") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
			w.passes(4)
			end(w)
			w.passes(6)
			b := w.backup()
			wantRecord, wantStatus := b.Annotations[v1alpha1.AnnotationBackupRecord], b.Status
			if err := w.Kube.Delete(t.Context(), w.Job()); err != nil {
				t.Fatal(err)
			}
			b.Annotations = nil
			if err := w.Kube.Update(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			w.restart()
			w.passes(4)
			outcome := func(text string) *backupplan.Outcome {
				record, err := backupplan.DecodeRecord(text, "shop", "nightly")
				if err != nil {
					t.Fatal(err)
				}
				return record.Outcome
			}
			if diff := cmp.Diff(outcome(wantRecord), outcome(w.backup().Annotations[v1alpha1.AnnotationBackupRecord])); diff != "" && name == "complete" {
				t.Errorf("the record (-was +is):\n%s", diff)
			}
			wantStatus.JobName = w.backup().Status.JobName // which is not known any more
			if name == "complete" {                        // it cannot be signed again
				w.is("Complete", "True RecordNotSigned")
				wantStatus.Conditions, wantStatus.VerifiedAt = w.backup().Status.Conditions, nil
			}
			if diff := cmp.Diff(wantStatus, w.backup().Status); diff != "" {
				t.Errorf("the status (-was +is):\n%s", diff)
			}
			if len(w.Jobs()) != 0 {
				t.Error("it runs again")
			}
		})
	}
}

func TestABackupWhoseJobWasDeletedHasFailedAndNeverRunsAgain(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(4)
	if err := w.Kube.Delete(t.Context(), w.Job()); err != nil {
		t.Fatal(err)
	}
	b := w.backup()
	b.Status = v1alpha1.EtcdBackupStatus{}
	if err := w.Kube.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.passes(5)
	w.is("Failed", "True JobDeleted")
	w.is("Verified", "False NotProven")
	if len(w.Jobs()) != 0 {
		t.Error("it runs again")
	}
}

func TestACacheThatIsBehindMakesNoSecondJobAndLosesNone(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(3) // created and recorded
	w.restart() // with nothing remembered of what was written
	behind := append(jobworld.Serving(), w.backup())
	w.Cached = kubefake.NewClientBuilder().WithScheme(w.Kube.Scheme()).WithObjects(behind...).Build() // the record, and no Job
	w.passes(3)
	w.Cached = nil
	w.passes(1)
	w.is("Failed", "")
	w.succeed(w.Pod("p1"))
	w.passes(4)
	w.is("Complete", "True Verified")
}

func TestAnAttemptThatFailsIsSaidAndTheNextOneCounts(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(3)
	w.Report(w.Pod("p1"), corev1.PodFailed, w.Ended(1, `{"reason":"StreamStalled","message":"No byte came for 30s."}`))
	w.passes(1)
	w.is("Complete", "False Retrying")
	w.says("No byte came for 30s.")
	w.succeed(w.Pod("p2"))
	w.passes(4)
	w.is("Complete", "True Verified")
}

func TestABackupIsCompleteWhenItsStepsAreAlsoBesideOtherContainersInThePod(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(3)
	pod := w.Inject(w.Pod("p1"))
	w.Report(pod, corev1.PodRunning, runs())
	w.passes(1)
	if stage := w.backup().Status.Stage; stage != "Snapshot" {
		t.Errorf("the stage is %q", stage)
	}
	w.Report(pod, corev1.PodRunning, w.Ended(0, backupManifest), w.Ended(0, "{}"), w.Ended(0, ""), w.Ended(0, "{}"))
	w.passes(3)
	w.is("Complete", "True Verified")
	w.Job() // it is given a minute to end by itself
	w.settles()
	if jobs := w.Jobs(); len(jobs) != 0 {
		t.Errorf("its Job goes on for ever: %+v", jobs[0].Status)
	}
	w.is("Complete", "True Verified")
}

func TestAnAttemptThatFailsBesideSomethingThatRunsOnIsEndedSoThatAnotherIsMade(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(3)
	w.Report(w.Inject(w.Pod("p1")), corev1.PodRunning, w.Ended(1, `{"reason":"StreamStalled","message":"No byte came for 30s."}`))
	w.passes(1)
	w.is("Complete", "False Retrying")
	w.Now = w.Now.Add(time.Minute)
	w.passes(1)
	if err := w.Kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "p1"}, &corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("its Pod goes on for ever: %v", err)
	}
	w.succeed(w.Pod("p2"))
	w.passes(4)
	w.is("Complete", "True Verified")
}

func TestAnEtcdBackupThatAnEarlierReleasesScheduleMadeIsNothingThatOthersTakeForTheirs(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(func(b *v1alpha1.EtcdBackup) {
		b.Labels = map[string]string{v1alpha1.LabelInstance: "demo", v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelSchedule: "hourly"}
	}), jobworld.Serving()...)
	w.passes(3)
	w.succeed(w.Pod("p1"))
	w.settles()
	w.is("Complete", "True Verified")
	b := w.backup()
	if _, ok := b.Labels[v1alpha1.LabelInstance]; ok || b.Labels[v1alpha1.LabelSchedule] != "hourly" || b.Annotations[v1alpha1.AnnotationArgoSync] == "" {
		t.Errorf("%v, %v", b.Labels, b.Annotations)
	}
}

func TestABackupIsCompleteWhenItsStepsAreThoughKubernetesCallsTheJobFailed(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(3)
	w.Report(w.Inject(w.Pod("p1")), corev1.PodFailed, w.Ended(0, backupManifest), w.Ended(0, "{}"), w.Ended(0, ""), w.Ended(0, "{}"))
	w.ends(batchv1.JobFailed, "BackoffLimitExceeded")
	w.settles()
	w.is("Complete", "True Verified")
}

func TestAJobThatGaveUpFailsWithTheLastWordOfItsPod(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(3)
	w.Report(w.Pod("p1"), corev1.PodFailed, w.Ended(1, `{"reason":"StoreAccessDenied","message":"The store refuses the credentials."}`))
	w.ends(batchv1.JobFailed, "BackoffLimitExceeded")
	w.passes(4)
	w.is("Failed", "True StoreAccessDenied")
	w.is("Complete", "False StoreAccessDenied")
	w.says("The store refuses the credentials.")
	if told := strings.Join(w.Told(), "\n"); !strings.Contains(told, "Warning "+backupplan.EventFailed) {
		t.Errorf("told:\n%s", told)
	}
}

// A node that died keeps its Pod Terminating, and as it was last seen, for as long as it is away.
func TestAPodThatIsBeingDeletedIsNotWaitedFor(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(3)
	pod := w.Pod("p1")
	pod.Finalizers = []string{"batch.kubernetes.io/job-tracking"}
	if err := w.Kube.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.Report(pod, corev1.PodRunning, runs())
	if err := w.Kube.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.passes(1)
	w.is("Complete", "False Retrying")
	w.Now = w.Now.Add(time.Second)
	w.succeed(w.Pod("p2"))
	w.passes(4)
	w.is("Complete", "True Verified")
}

func TestAClusterThatDoesNotExistIsWaitedForUntilTheDeadline(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly())
	w.passes(2)
	w.is("Complete", "False ClusterNotFound")
	w.says("EtcdCluster demo does not exist")
	for _, object := range jobworld.Serving() {
		object.SetResourceVersion("")
		if err := w.Kube.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	w.passes(3)
	w.is("Complete", "False Starting")

	late := newBackupWorld(t, jobworld.Nightly())
	late.passes(2)
	late.Now = late.Now.Add(time.Hour)
	late.passes(3)
	late.is("Failed", "True DeadlineExceeded")
	late.says("EtcdCluster demo does not exist")
}

func TestAClusterThatIsNotBootstrappedIsWaitedFor(t *testing.T) {
	objects := jobworld.Serving()
	service := objects[1].(*corev1.Service)
	delete(service.Annotations, v1alpha1.AnnotationBootstrap)
	w := newBackupWorld(t, jobworld.Nightly(), objects...)
	w.passes(2)
	w.is("Complete", "False ClusterNotBootstrapped")
	if len(w.Jobs()) != 0 {
		t.Error("it has a Job")
	}
}

func TestABackupOfAnotherOperatorsClusterIsNotTouched(t *testing.T) {
	objects := jobworld.Serving()
	objects[1].(*corev1.Service).Annotations[v1alpha1.AnnotationOperator] = "other/etcd-steward"
	w := newBackupWorld(t, jobworld.Nightly(), objects...)
	w.passes(3)
	if len(w.Writes) != 0 {
		t.Errorf("%q", w.Writes)
	}
}

// ofData are the objects of a cluster whose peer Service is deleted, and whose data names that install.
func ofData(install string) []client.Object {
	objects := jobworld.Serving()
	volume := resources.BuildVolume(jobworld.Demo(3), resources.Volume{Name: "demo-0", Incarnation: "1a2b3c4d", Bytes: 1,
		Operator: install})
	return append(append(objects[:1:1], objects[2:]...), volume)
}

func TestABackupIsLeftToTheInstallThatTheDataNamesWhereThePeerServiceIsDeleted(t *testing.T) {
	for install, isTold := range map[string]bool{"other/etcd-steward": false, "ops/etcd-steward": true} {
		w := newBackupWorld(t, jobworld.Nightly(), ofData(install)...)
		w.passes(3)
		if (len(w.Writes) > 0) != isTold {
			t.Errorf("of %s: %q", install, w.Writes)
		}
	}
}

func TestAnotherOperatorsBackupIsNotTouchedWhileItRuns(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(3)
	w.operator.Operator = "other/etcd-steward"
	before := len(w.Writes)
	w.succeed(w.Pod("p1"))
	w.passes(3)
	if more := w.Writes[before:]; len(more) != 0 {
		t.Errorf("%q", more)
	}
}

func TestAJobOfAnotherOwnerIsNotAdopted(t *testing.T) {
	foreign := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: resources.BackupJob(jobworld.Nightly()), UID: "x"}}
	w := newBackupWorld(t, jobworld.Nightly(), append(jobworld.Serving(), foreign)...)
	w.passes(3)
	w.is("Complete", "False NameTaken")
	if strings.Contains(strings.Join(w.Writes, " "), "Job") {
		t.Errorf("%q", w.Writes)
	}
}

func TestAJobThatTheNamespaceRefusesIsSaidAndTriedAgain(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.OnWrite = func(what string) error {
		if what != "create *v1.Job" {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "demo", fmt.Errorf("exceeded quota: few, requested: count/jobs=1, used: 3, limited: 3"))
	}
	w.passes(3)
	w.is("Complete", "False QuotaExceeded")
	w.OnWrite = nil
	w.passes(3)
	w.is("Complete", "False Starting")
}

// held are what keeps a backup's Pod from starting, as Kubernetes tells it.
func TestWhatKeepsThePodFromStartingIsSaidWithinHalfAMinute(t *testing.T) {
	for _, row := range []struct {
		name    string
		happens func(*backupWorld)
		reason  string
		says    string
	}{
		{"a Secret that does not exist", func(w *backupWorld) {
			pod := w.Pod("p1")
			w.Report(pod, corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}})
			w.Warn(pod, "FailedMount", `MountVolume.SetUp failed for volume "credentials" : secret "s3" not found`)
		}, "MountFailed", "Secret s3 is missing. Create it in this namespace"},
		{"a claim that does not exist", func(w *backupWorld) {
			pod := w.Pod("p1")
			pod.Status.Phase = corev1.PodPending
			pod.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: `persistentvolumeclaim "backups" not found`,
			}}
			if err := w.Kube.Status().Update(w.T.Context(), pod); err != nil {
				w.T.Fatal(err)
			}
		}, "Unschedulable", `persistentvolumeclaim "backups" not found`},
		{"an image that does not exist", func(w *backupWorld) {
			w.Report(w.Pod("p1"), corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}})
		}, "ImagePullFailed", "no such image"},
		{"a container that cannot be created", func(w *backupWorld) {
			w.Report(w.Pod("p1"), corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerError", Message: "no agent"}})
		}, "ContainerNotStarting", "no agent"},
		{"a quota", func(w *backupWorld) {
			w.Warn(w.Job(), "FailedCreate", `Error creating: pods "x" is forbidden: exceeded quota: few`)
		}, "QuotaExceeded", "exceeded quota"},
		{"Pod Security", func(w *backupWorld) {
			w.Warn(w.Job(), "FailedCreate", `Error creating: pods "x" is forbidden: violates PodSecurity "restricted:latest"`)
		}, "PodSecurity", "violates PodSecurity"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
			w.passes(3)
			begin := w.Now
			row.happens(w)
			for w.Now.Sub(begin) < 20*time.Second {
				w.passes(1)
			}
			w.is("Complete", "False "+row.reason)
			w.says(row.says)
			if told := strings.Join(w.Told(), "\n"); strings.Count(told, backupplan.EventHeldUp) != 1 {
				t.Errorf("told:\n%s", told)
			}
		})
	}
}

func TestProgressIsWrittenEveryFiveSecondsAtMost(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(4)
	w.Report(w.Pod("p1"), corev1.PodPending, runs())
	w.passes(1)
	before, begin := len(w.Writes), w.Now
	for i := range 100 {
		w.progress = &backupplan.Progress{Bytes: int64(i), Total: 1000}
		if _, err := w.operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.Key}); err != nil {
			t.Fatal(err)
		}
		w.Now = w.Now.Add(200 * time.Millisecond) // as if something about the Pod changed all the time
	}
	if got, most := len(w.Writes)-before, int(w.Now.Sub(begin)/progressInterval)+1; got > most || got < most-2 {
		t.Errorf("%d writes in %s", got, w.Now.Sub(begin))
	}
	if s := w.backup().Status; s.BytesTransferred == nil || *s.BytesTransferred < 50 || *s.BytesTotal != 1000 {
		t.Errorf("%+v", s)
	}
	asked := w.asked
	w.Report(&w.pods()[0], corev1.PodPending, w.Ended(0, backupManifest), w.Ended(0, "{}"), runs())
	w.passes(2)
	if w.asked != asked {
		t.Error("etcdutl, which tells no progress, is asked for it")
	}
}

func (w *backupWorld) pods() []corev1.Pod {
	w.T.Helper()
	var pods corev1.PodList
	if err := w.Kube.List(w.T.Context(), &pods, client.MatchingLabels{v1alpha1.LabelBackup: w.Key.Name}); err != nil {
		w.T.Fatal(err)
	}
	return pods.Items
}

func TestABackupThatIsDeletedIsLeftAlone(t *testing.T) {
	b := jobworld.Nightly(func(b *v1alpha1.EtcdBackup) {
		b.DeletionTimestamp, b.Finalizers = new(metav1.Now()), []string{"foregroundDeletion"}
	})
	w := newBackupWorld(t, b, jobworld.Serving()...)
	w.passes(3)
	if len(w.Jobs()) != 0 {
		t.Error("it has a Job")
	}
	w.is("Complete", "False Deleting")
}

func TestARecordThatCannotBeReadStopsABackupAndIsSaid(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(func(b *v1alpha1.EtcdBackup) {
		b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: "{"}
	}), jobworld.Serving()...)
	w.passes(3)
	w.is("Complete", "False RecordUnreadable")
	w.Now = w.Now.Add(2 * time.Hour)
	w.passes(3)
	w.is("Failed", "True RecordUnreadable")
	if len(w.Jobs()) != 0 {
		t.Error("it has a Job")
	}
}

// refusals of the one change that is made after the end.
func TestAJobThatMayNotBeTouchedKeepsNoBackupFromBeingToldAndIsLeftAloneForAWhile(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	for name, refusal := range map[string]error{
		"a webhook": apierrors.NewForbidden(jobs, "demo", errors.New(`admission webhook "jobs.example.com" denied the request: no`)),
		"a policy that answers as for an invalid object": &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid, Message: "ValidatingAdmissionPolicy 'jobs' denied request",
		}},
		"no reason that is known": apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "demo", nil),
	} {
		t.Run(name, func(t *testing.T) {
			w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
			patches := 0
			w.OnWrite = func(what string) error {
				if what != "patch *v1.Job" {
					return nil
				}
				patches++
				return refusal
			}
			w.whole()
			begin := w.Now
			for w.Now.Sub(begin) < time.Hour {
				result, err := w.operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.Key})
				if err != nil || result.RequeueAfter < time.Minute {
					t.Fatalf("it looks again after %s: %v", result.RequeueAfter, err)
				}
				w.Now = w.Now.Add(result.RequeueAfter)
			}
			w.is("Complete", "True Verified")
			w.says("The backup is in the store")
			if patches == 0 || patches > 12 {
				t.Errorf("the Job was patched %d times", patches)
			}
			if told := strings.Join(w.Told(), "\n"); !strings.Contains(told, backupplan.EventComplete) || strings.Contains(told, backupplan.EventHeldUp) {
				t.Errorf("told:\n%s", told)
			}
			w.OnWrite = nil
			w.passes(1)
			if w.Job().Spec.TTLSecondsAfterFinished == nil {
				t.Error("the Job is kept for ever")
			}
		})
	}
}

func TestAJobOfAnotherUIDIsNotReleased(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(4)
	w.succeed(w.Pod("p1"))
	another := apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "demo", field.ErrorList{
		field.Invalid(field.NewPath("metadata", "uid"), "uid-1", "field is immutable"),
	})
	if !isOfAnother(another) || isOfAnother(apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "demo", nil)) || isOfAnother(errors.New("x")) {
		t.Error("the answer to a patch of another Job is not told from others")
	}
}

func TestASuspendedJobIsSaidAndGivenUpAfterTheDeadline(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(3)
	job := w.Job()
	job.Spec.Suspend = new(true)
	if err := w.Kube.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	w.passes(1)
	w.is("Complete", "False Suspended")
	w.Now = w.Now.Add(time.Hour + overdueByNow)
	w.passes(4)
	w.is("Failed", "True DeadlineExceeded")
	w.says("is suspended")
	if ttl := w.Job().Spec.TTLSecondsAfterFinished; ttl != nil {
		t.Errorf("a Job that has not ended lives %d seconds", *ttl)
	}
}

// overdueByNow is longer than Kubernetes is waited for.
const overdueByNow = 2 * time.Minute

func TestAMembersOwnVolumeIsNeverAStore(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other-0", Labels: map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelComponent: v1alpha1.ComponentMember,
		v1alpha1.LabelInstance: "other", v1alpha1.LabelMember: "other-0",
	}}}
	for name, labels := range map[string]map[string]string{"True ClaimOfAMember": claim.Labels, "": {v1alpha1.LabelManagedBy: "somebody-else"}} {
		claim := claim.DeepCopy()
		claim.Labels = labels
		b := jobworld.Nightly(func(b *v1alpha1.EtcdBackup) { b.Spec.Store.Volume.ClaimName = "other-0" })
		w := newBackupWorld(t, b, append(jobworld.Serving(), claim)...)
		w.passes(4)
		w.is("Failed", name)
		if made := len(w.Jobs()); (made == 0) != (name != "") {
			t.Errorf("%q: %d Jobs", name, made)
		}
	}
}

func TestEventsThatMayNotBeReadKeepNothingFromBeingTold(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.passes(3)
	w.operator.Live = interceptor.NewClient(w.Kube, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.EventList); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("no"))
			}
			return c.List(ctx, list, opts...)
		},
	})
	w.Report(w.Pod("p1"), corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}})
	w.passes(6)
	w.is("Complete", "False Starting")
	if s := w.backup().Status; s.JobName == "" {
		t.Errorf("%+v", s)
	}
}

func TestACopyUnderAnotherNameIsAnotherBackupWithAnyStatus(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.whole()
	w.passes(2)
	status := w.backup().Status
	copied := jobworld.Nightly(func(b *v1alpha1.EtcdBackup) { b.Name, b.UID, b.Status = "copy", "another", status })
	other := newBackupWorld(t, copied, jobworld.Serving()...)
	other.passes(3)
	other.is("Complete", "False Starting")
	if len(other.Jobs()) != 1 {
		t.Error("it has no Job")
	}
}
