// Package jobworld is what the tests of the wings that make Jobs share: an API server without a network, with a cluster
// that serves. What the job controller and the kubelet would do, tests do by hand.
package jobworld

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/policy"
	"github.com/etcdsteward/etcd-steward/test/remembering"
)

// ErrCrash is what a write answers when the operator was killed.
var ErrCrash = errors.New("the operator was killed")

// World is an API server without a network, and an operator that can be killed after any of its writes.
type World struct {
	T      *testing.T
	Now    time.Time
	Kube   client.WithWatch
	Cached client.Reader // what the operator's cache shows; nil: all there is
	Key    types.NamespacedName
	Events *events.FakeRecorder

	Writes  []string
	Images  resources.ImageDefaults // that the operator is started with
	CrashAt int                     // the number of the write after which the operator dies; 0: never
	OnWrite func(string) error      // answers instead of the API server when it returns an error
	uids    int
}

// New is a world with a backup in it.
func New(t *testing.T, b *v1alpha1.EtcdBackup, others ...client.Object) *World {
	t.Helper()
	w := &World{T: t, Now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Key: client.ObjectKeyFromObject(b)}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, batchv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w.Kube = remembering.Client(kubefake.NewClientBuilder().WithScheme(scheme).WithObjects(b).WithObjects(others...).
		WithStatusSubresource(b, &v1alpha1.EtcdBackupSchedule{}, &corev1.Pod{}, &batchv1.Job{}).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string {
			return []string{string(o.(*corev1.Event).InvolvedObject.UID)}
		}).Build())
	return w
}

// Frame is that of an operator which remembers nothing.
func (w *World) Frame() kit.Frame {
	now := func() time.Time { return w.Now }
	w.Events = events.NewFakeRecorder(1000)
	frame := kit.Frame{
		Client: w.AsOperator(), Live: w.Readable(w.Kube), Recorder: w.Events, Operator: "ops/etcd-steward", Now: now,
		Unseen: kit.NewUnseenWrites(now),
	}
	frame.Images, frame.AskImage = w.Images, func(context.Context) (string, error) { return "agent:v1", nil }
	return frame
}

// Nightly is a backup of the cluster demo to a volume.
func Nightly(w ...func(*v1alpha1.EtcdBackup)) *v1alpha1.EtcdBackup {
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

// Demo is a cluster of that size.
func Demo(size int32) *v1alpha1.EtcdCluster {
	return &v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "demo", UID: "uid-demo", Generation: 1},
		Spec:       v1alpha1.EtcdClusterSpec{Size: size, Version: "3.6.16"},
	}
}

// CA is the Secret with the CA of Demo, as far as anything here asks: the key.
func CA() *corev1.Secret {
	return resources.BuildCA(Demo(3), resources.CASecret("demo"), map[string][]byte{resources.KeyKey: []byte("the key of demo")})
}

// Serving are the objects of a cluster that serves.
func Serving() []client.Object {
	c := Demo(3)
	bootstrap := record.Bootstrap{
		Incarnation: "1a2b3c4d", Token: "t", Names: []string{"demo-0", "demo-1", "demo-2"}, ClusterID: 0xcdf8, Begun: true,
	}
	objects := []client.Object{c, resources.BuildPeerService(c, bootstrap, "ops/etcd-steward"), CA()}
	for _, name := range bootstrap.Names {
		pod, err := resources.BuildPod(c, resources.PodStart{
			Name: name, Incarnation: bootstrap.Incarnation, Token: bootstrap.Token, Flags: resources.StartSealed, Inputs: resources.Inputs(c), Role: v1alpha1.RoleVoter,
		})
		if err != nil {
			panic(err)
		}
		objects = append(objects, pod)
	}
	return objects
}

// Readable is a reader that may read everything but Secrets other than those with keys for records.
func (w *World) Readable(reader client.WithWatch) client.WithWatch {
	return interceptor.NewClient(reader, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*corev1.Secret); ok && key.Name != resources.CASecret("demo") && key.Name != resources.RecordsSecret("demo") {
				w.T.Errorf("the operator reads the Secret %s", key)
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.SecretList); ok {
				w.T.Error("the operator lists Secrets")
			}
			return c.List(ctx, list, opts...)
		},
	})
}

// AsOperator is the API server as the operator writes to it, and its cache as it reads from it.
func (w *World) AsOperator() client.Client {
	return interceptor.NewClient(policy.Observed(w.T, w.Readable(w.Kube)), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if w.Cached != nil {
				return w.Cached.Get(ctx, key, o, opts...)
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if w.Cached != nil {
				return w.Cached.List(ctx, list, opts...)
			}
			return c.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return w.write("create", o, func() error {
				w.uids++
				o.SetUID(types.UID(fmt.Sprintf("uid-%d", w.uids)))
				o.SetCreationTimestamp(metav1.NewTime(w.Now))
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

func (w *World) write(verb string, object client.Object, do func() error) error {
	if w.CrashAt > 0 && len(w.Writes) >= w.CrashAt {
		return ErrCrash
	}
	what := fmt.Sprintf("%s %T", verb, object)
	if w.OnWrite != nil {
		if err := w.OnWrite(what); err != nil {
			return err
		}
	}
	w.Writes = append(w.Writes, what)
	if err := do(); err != nil {
		return err
	}
	if len(w.Writes) == w.CrashAt {
		return ErrCrash
	}
	return nil
}

// Jobs are all that there are.
func (w *World) Jobs() []batchv1.Job {
	w.T.Helper()
	var list batchv1.JobList
	if err := w.Kube.List(w.T.Context(), &list); err != nil {
		w.T.Fatal(err)
	}
	return list.Items
}

// Job is the only one that there is.
func (w *World) Job() *batchv1.Job {
	w.T.Helper()
	jobs := w.Jobs()
	if len(jobs) != 1 {
		w.T.Fatalf("there are %d Jobs", len(jobs))
	}
	return &jobs[0]
}

// Pod makes the Job's next Pod, as the job controller would, on a node.
func (w *World) Pod(name string) *corev1.Pod {
	w.T.Helper()
	job := w.Job()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: name, UID: types.UID("uid-" + name), Labels: job.Spec.Template.Labels, CreationTimestamp: metav1.NewTime(w.Now),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: job.Spec.Template.Spec,
	}
	pod.Spec.NodeName = "node-1"
	if err := w.Kube.Create(w.T.Context(), pod); err != nil {
		w.T.Fatal(err)
	}
	return pod
}

// Report writes the Pod's status: its phase, and the state of its steps from the first on.
func (w *World) Report(pod *corev1.Pod, phase corev1.PodPhase, states ...corev1.ContainerState) {
	w.T.Helper()
	pod.Status = corev1.PodStatus{Phase: phase, PodIP: "10.1.2.3"}
	for i, state := range states {
		if i < len(pod.Spec.InitContainers) {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: pod.Spec.InitContainers[i].Name, State: state})
			continue
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: pod.Spec.Containers[0].Name, State: state})
	}
	for _, proxy := range pod.Spec.Containers[1:] {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
			corev1.ContainerStatus{Name: proxy.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	}
	if err := w.Kube.Status().Update(w.T.Context(), pod); err != nil {
		w.T.Fatal(err)
	}
}

// Inject puts a container into a Pod, as the webhook of a mesh does. It runs for ever.
func (w *World) Inject(pod *corev1.Pod) *corev1.Pod {
	w.T.Helper()
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "mesh-proxy"})
	if err := w.Kube.Update(w.T.Context(), pod); err != nil {
		w.T.Fatal(err)
	}
	return pod
}

// Warn is an event about an object.
func (w *World) Warn(about client.Object, reason, message string) {
	w.T.Helper()
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: about.GetNamespace(), Name: strings.ToLower(reason)},
		InvolvedObject: corev1.ObjectReference{UID: about.GetUID()}, Type: corev1.EventTypeWarning, Reason: reason, Message: message,
		LastTimestamp: metav1.NewTime(w.Now),
	}
	if err := w.Kube.Create(w.T.Context(), event); err != nil {
		w.T.Fatal(err)
	}
}

// Ended is the state of a container that ended now.
func (w *World) Ended(code int32, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message, FinishedAt: metav1.NewTime(w.Now)}}
}

// Told are the events since the last call.
func (w *World) Told() []string {
	var told []string
	for {
		select {
		case event := <-w.Events.Events:
			told = append(told, event)
		default:
			return told
		}
	}
}
