package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backup"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// backupWorld is an API server without a network, with a cluster that serves and one backup of it. What the job controller
// and the kubelet would do, tests do by hand.
type backupWorld struct {
	t        *testing.T
	now      time.Time
	kube     client.WithWatch
	cached   client.Reader // what the operator's cache shows; nil: all there is
	key      types.NamespacedName
	operator *EtcdBackupReconciler
	events   *events.FakeRecorder
	progress *backup.Progress
	asked    int // how often progress was asked for

	uids    int
	writes  []string
	crashAt int                // the number of the write after which the operator dies; 0: never
	onWrite func(string) error // answers instead of the API server when it returns an error
}

func newBackupWorld(t *testing.T, b *v1alpha1.EtcdBackup, others ...client.Object) *backupWorld {
	t.Helper()
	w := &backupWorld{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), key: client.ObjectKeyFromObject(b)}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, batchv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w.kube = kubefake.NewClientBuilder().WithScheme(scheme).WithObjects(b).WithObjects(others...).
		WithStatusSubresource(b, &v1alpha1.EtcdBackupSchedule{}, &corev1.Pod{}, &batchv1.Job{}).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string {
			return []string{string(o.(*corev1.Event).InvolvedObject.UID)}
		}).Build()
	w.restart()
	return w
}

// nightly is a backup of the cluster demo to a volume.
func nightly(w ...func(*v1alpha1.EtcdBackup)) *v1alpha1.EtcdBackup {
	b := &v1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "nightly", UID: "0b4c2d1e-backup", Generation: 1,
			CreationTimestamp: metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
		},
		Spec: v1alpha1.EtcdBackupSpec{
			ClusterRef: v1alpha1.ClusterReference{Name: "demo"},
			Store:      v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "backups"}},
		},
	}
	for _, option := range w {
		option(b)
	}
	return b
}

// serving are the objects of a cluster that serves.
func serving() []client.Object {
	c := demo(3)
	birth := resources.BirthRecord{
		Incarnation: "1a2b3c4d", Token: "t", Names: []string{"demo-0", "demo-1", "demo-2"}, Origin: resources.OriginFresh, ClusterID: 0xcdf8, Begun: true,
	}
	objects := []client.Object{c, resources.BuildPeerService(c, birth, "ops/etcd-steward")}
	for _, name := range birth.Names {
		pod, err := resources.BuildPod(c, resources.PodStart{
			Name: name, Incarnation: birth.Incarnation, Token: birth.Token, Flags: resources.StartSealed, Inputs: resources.Inputs(c), Role: v1alpha1.RoleVoter,
		})
		if err != nil {
			panic(err)
		}
		objects = append(objects, pod)
	}
	return objects
}

// restart begins a new operator, which remembers nothing.
func (w *backupWorld) restart() {
	metrics, err := NewBackupMetrics(prometheus.NewRegistry())
	if err != nil {
		w.t.Fatal(err)
	}
	now := func() time.Time { return w.now }
	w.events = events.NewFakeRecorder(1000)
	w.operator = &EtcdBackupReconciler{
		frame: frame{
			Client: w.asOperator(), Live: w.readable(w.kube), Recorder: w.events, Operator: "ops/etcd-steward", Now: now, unseen: newUnseenWrites(now),
		},
		Metrics:    metrics,
		AgentImage: func(context.Context) (string, error) { return "agent:v1", nil },
		Progress: func(context.Context, string) *backup.Progress {
			w.asked++
			return w.progress
		},
	}
}

// readable is a reader that may read everything but Secrets.
func (w *backupWorld) readable(reader client.WithWatch) client.WithWatch {
	return interceptor.NewClient(reader, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, is := o.(*corev1.Secret); is {
				w.t.Errorf("the operator reads the Secret %s", key)
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, is := list.(*corev1.SecretList); is {
				w.t.Error("the operator lists Secrets")
			}
			return c.List(ctx, list, opts...)
		},
	})
}

// asOperator is the API server as the operator writes to it, and its cache as it reads from it.
func (w *backupWorld) asOperator() client.Client {
	return interceptor.NewClient(w.readable(w.kube), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if w.cached != nil {
				return w.cached.Get(ctx, key, o, opts...)
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if w.cached != nil {
				return w.cached.List(ctx, list, opts...)
			}
			return c.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return w.write("create", o, func() error {
				w.uids++
				o.SetUID(types.UID(fmt.Sprintf("uid-%d", w.uids)))
				o.SetCreationTimestamp(metav1.NewTime(w.now))
				return c.Create(ctx, o, opts...)
			})
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return w.write("patch", o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return w.write("delete", o, func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return w.write("patch "+sub, o, func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
}

func (w *backupWorld) write(verb string, object client.Object, do func() error) error {
	if w.crashAt > 0 && len(w.writes) >= w.crashAt {
		return errCrash
	}
	what := fmt.Sprintf("%s %T", verb, object)
	if w.onWrite != nil {
		if err := w.onWrite(what); err != nil {
			return err
		}
	}
	w.writes = append(w.writes, what)
	if err := do(); err != nil {
		return err
	}
	if len(w.writes) == w.crashAt {
		return errCrash
	}
	return nil
}

// passes lets the operator look so often, and begins a new one when it was killed.
func (w *backupWorld) passes(n int) {
	w.t.Helper()
	for range n {
		result, err := w.operator.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key})
		switch {
		case errors.Is(err, errCrash):
			w.crashAt = 0
			w.restart()
		case err != nil:
			w.t.Fatal(err)
		}
		w.now = w.now.Add(min(max(result.RequeueAfter, 10*time.Millisecond), 5*time.Second))
	}
}

func (w *backupWorld) backup() *v1alpha1.EtcdBackup {
	w.t.Helper()
	b := &v1alpha1.EtcdBackup{}
	if err := w.kube.Get(w.t.Context(), w.key, b); err != nil {
		w.t.Fatal(err)
	}
	return b
}

// is fails unless the condition is as the words say: "True Verified".
func (w *backupWorld) is(kind, want string) {
	w.t.Helper()
	got := ""
	for _, c := range w.backup().Status.Conditions {
		if c.Type == kind {
			got = string(c.Status) + " " + c.Reason
		}
	}
	if got != want {
		w.t.Errorf("%s is %q, want %q: %+v", kind, got, want, w.backup().Status)
	}
}

func (w *backupWorld) says(want string) {
	w.t.Helper()
	for _, c := range w.backup().Status.Conditions {
		if c.Type == v1alpha1.BackupComplete && strings.Contains(c.Message, want) {
			return
		}
	}
	w.t.Errorf("want %q, it says %+v", want, w.backup().Status.Conditions)
}

func (w *backupWorld) jobs() []batchv1.Job {
	w.t.Helper()
	var list batchv1.JobList
	if err := w.kube.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// job is the only one that there is.
func (w *backupWorld) job() *batchv1.Job {
	w.t.Helper()
	jobs := w.jobs()
	if len(jobs) != 1 {
		w.t.Fatalf("there are %d Jobs", len(jobs))
	}
	return &jobs[0]
}

// pod makes the Job's next Pod, as the job controller would, on a node.
func (w *backupWorld) pod(name string) *corev1.Pod {
	w.t.Helper()
	job := w.job()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: name, UID: types.UID("uid-" + name), Labels: job.Spec.Template.Labels, CreationTimestamp: metav1.NewTime(w.now),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: job.Spec.Template.Spec,
	}
	pod.Spec.NodeName = "node-1"
	if err := w.kube.Create(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
	return pod
}

// report writes the Pod's status: its phase, and the state of its steps from the first on.
func (w *backupWorld) report(pod *corev1.Pod, phase corev1.PodPhase, states ...corev1.ContainerState) {
	w.t.Helper()
	pod.Status = corev1.PodStatus{Phase: phase, PodIP: "10.1.2.3"}
	for i, state := range states {
		if i < len(pod.Spec.InitContainers) {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: pod.Spec.InitContainers[i].Name, State: state})
			continue
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: pod.Spec.Containers[0].Name, State: state})
	}
	if err := w.kube.Status().Update(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
}

// ends writes a condition of the Job.
func (w *backupWorld) ends(kind batchv1.JobConditionType, reason string) {
	w.t.Helper()
	job := w.job()
	job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(w.now)}}
	if err := w.kube.Status().Update(w.t.Context(), job); err != nil {
		w.t.Fatal(err)
	}
}

// warn is an event about an object.
func (w *backupWorld) warn(about client.Object, reason, message string) {
	w.t.Helper()
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: about.GetNamespace(), Name: strings.ToLower(reason)},
		InvolvedObject: corev1.ObjectReference{UID: about.GetUID()}, Type: corev1.EventTypeWarning, Reason: reason, Message: message,
		LastTimestamp: metav1.NewTime(w.now),
	}
	if err := w.kube.Create(w.t.Context(), event); err != nil {
		w.t.Fatal(err)
	}
}

const backupManifest = `{"key":"etcd/snapshot.db","clusterID":"cdf8","member":"demo-1","etcdVersion":"3.6.16","revision":42,"totalKeys":7,"sizeBytes":20512,` +
	`"sha256":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","startedAt":"2026-03-01T12:00:01Z"}`

func runs() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func (w *backupWorld) ended(code int32, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message, FinishedAt: metav1.NewTime(w.now)}}
}

// succeed lets the Job's Pod do all its steps.
func (w *backupWorld) succeed(pod *corev1.Pod) {
	w.t.Helper()
	states := []corev1.ContainerState{w.ended(0, backupManifest), w.ended(0, "{}"), w.ended(0, ""), w.ended(0, "{}")}
	w.report(pod, corev1.PodSucceeded, states[:len(pod.Spec.InitContainers)+1]...)
	w.ends(batchv1.JobComplete, "")
}

func (w *backupWorld) told() []string {
	var told []string
	for {
		select {
		case event := <-w.events.Events:
			told = append(told, event)
		default:
			return told
		}
	}
}

func requestOf(key types.NamespacedName) ctrl.Request { return ctrl.Request{NamespacedName: key} }
