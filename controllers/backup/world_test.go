package backup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
)

// backupWorld has one backup, and the controller of backups.
type backupWorld struct {
	*jobworld.World
	operator *Reconciler
	progress *backupplan.Progress
	asked    int // how often progress was asked for
}

func newBackupWorld(t *testing.T, b *v1alpha1.EtcdBackup, others ...client.Object) *backupWorld {
	t.Helper()
	w := &backupWorld{World: jobworld.New(t, b, others...)}
	w.restart()
	return w
}

// restart begins a new operator, which remembers nothing.
func (w *backupWorld) restart() {
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		w.T.Fatal(err)
	}
	w.operator = &Reconciler{
		Frame: w.Frame(), Metrics: metrics, Secrets: observe.NewSecretCache(w.Readable(w.Kube), func() time.Time { return w.Now }),
		Progress: func(context.Context, string) *backupplan.Progress {
			w.asked++
			return w.progress
		},
	}
}

// passes lets the operator look so often, and begins a new one when it was killed.
func (w *backupWorld) passes(n int) {
	w.T.Helper()
	for range n {
		result, err := w.operator.Reconcile(w.T.Context(), ctrl.Request{NamespacedName: w.Key})
		switch {
		case errors.Is(err, jobworld.ErrCrash):
			w.CrashAt = 0
			w.restart()
		case err != nil:
			w.T.Fatal(err)
		}
		w.Now = w.Now.Add(min(max(result.RequeueAfter, 10*time.Millisecond), 5*time.Second))
	}
}

// settles lets the operator look for as long as it asks to be called again, when it asks to.
func (w *backupWorld) settles() {
	w.T.Helper()
	for range 100 {
		result, err := w.operator.Reconcile(w.T.Context(), ctrl.Request{NamespacedName: w.Key})
		if err != nil {
			w.T.Fatal(err)
		}
		if result.RequeueAfter == 0 {
			return
		}
		w.Now = w.Now.Add(result.RequeueAfter)
	}
	w.T.Fatal("it never settles")
}

func (w *backupWorld) backup() *v1alpha1.EtcdBackup {
	w.T.Helper()
	b := &v1alpha1.EtcdBackup{}
	if err := w.Kube.Get(w.T.Context(), w.Key, b); err != nil {
		w.T.Fatal(err)
	}
	return b
}

// is fails unless the condition is as the words say: "True Verified".
func (w *backupWorld) is(kind, want string) {
	w.T.Helper()
	got := ""
	for _, c := range w.backup().Status.Conditions {
		if c.Type == kind {
			got = string(c.Status) + " " + c.Reason
		}
	}
	if got != want {
		w.T.Errorf("%s is %q, want %q: %+v", kind, got, want, w.backup().Status)
	}
}

func (w *backupWorld) says(want string) {
	w.T.Helper()
	for _, c := range w.backup().Status.Conditions {
		if c.Type == v1alpha1.BackupComplete && strings.Contains(c.Message, want) {
			return
		}
	}
	w.T.Errorf("want %q, it says %+v", want, w.backup().Status.Conditions)
}

// ends writes a condition of the Job.
func (w *backupWorld) ends(kind batchv1.JobConditionType, reason string) {
	w.T.Helper()
	job := w.Job()
	job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(w.Now)}}
	if err := w.Kube.Status().Update(w.T.Context(), job); err != nil {
		w.T.Fatal(err)
	}
}

const backupManifest = `{"key":"etcd/snapshot.db","clusterID":"cdf8","member":"demo-1","etcdVersion":"3.6.16","revision":42,"totalKeys":7,"sizeBytes":20512,"keysHash":{"member":"demo-0"},` +
	`"sha256":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","startedAt":"2026-03-01T12:00:01Z"}`

func runs() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

// succeed lets the Job's Pod do all its steps.
func (w *backupWorld) succeed(pod *corev1.Pod) {
	w.T.Helper()
	states := []corev1.ContainerState{w.Ended(0, backupManifest), w.Ended(0, "{}"), w.Ended(0, ""), w.Ended(0, "{}")}
	w.Report(pod, corev1.PodSucceeded, states[:len(pod.Spec.InitContainers)+1]...)
	w.ends(batchv1.JobComplete, "")
}
