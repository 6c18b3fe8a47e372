package observe_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

var (
	backups = v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "backups"}}
	found   = record.Origin{Hash: "hash", Key: "shop/demo/snapshot.db", SHA256: strings.Repeat("a", 64),
		SizeBytes: 1056, InUseBytes: 512, Revision: 7,
		Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 15}}
)

const manifest = `{"formatVersion":1,"key":"shop/demo/snapshot.db","sizeBytes":1056,"inUseBytes":512,"revision":7,"etcdVersion":"3.6.15","sha256":"` +
	`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`

// preflightPod is a preflight Pod of ours whose only container ended so.
func (w *world) preflightPod(phase corev1.PodPhase, code int32, says string) *corev1.Pod {
	pod := resources.BuildPreflightPod(w.cluster, resources.PreflightStart{
		Platform: resources.Platform{AgentImage: "steward:1"}, Store: backups, Hash: "hash", Key: "k/snapshot.db", Version: "3.6.16",
		VolumeBytes: 8 << 30,
	})
	pod.Status = corev1.PodStatus{Phase: phase}
	if phase != corev1.PodPending {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: resources.StepPreflight,
			State: ended(w, code, says)}}
	}
	return pod
}

func ended(w *world, code int32, says string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: says,
		FinishedAt: metav1.NewTime(w.now)}}
}

func (w *world) restorePod(member string) *corev1.Pod {
	w.t.Helper()
	pod, err := resources.BuildRestorePod(w.cluster, resources.RestoreStart{
		Member: member, Next: record.Next{Incarnation: incarnation, Token: "token", Origin: found},
		Inputs: resources.Inputs(w.cluster), Platform: resources.Platform{AgentImage: "steward:1"},
		Store: backups, Hash: "hash", Initial: []etcdutil.NamedURL{{Name: member, URL: w.peerURL(member)}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodPending
	return pod
}

func TestPreflight(t *testing.T) {
	for name, row := range map[string]struct {
		pod   func(*world) *corev1.Pod
		holds func(*facts.Preflight) bool
	}{
		"that succeeded says what it found": {
			func(w *world) *corev1.Pod { return w.preflightPod(corev1.PodSucceeded, 0, manifest) },
			func(p *facts.Preflight) bool {
				return p.HasSucceeded() && p.Found == found && !p.Finished.IsZero() && p.Asked == facts.Inquiry{
					WantedBackup: facts.WantedBackup{Hash: "hash"},
					Version:      etcdutil.Version{Major: 3, Minor: 6, Patch: 16}, Bytes: 8 << 30}
			},
		},
		"has succeeded once its container has, before the kubelet says so of the Pod": {
			func(w *world) *corev1.Pod { return w.preflightPod(corev1.PodRunning, 0, manifest) },
			func(p *facts.Preflight) bool { return p.HasSucceeded() && p.Found == found },
		},
		"has failed once its container has, before the kubelet says so of the Pod": {
			func(w *world) *corev1.Pod { return w.preflightPod(corev1.PodRunning, 1, `{"message":"no answer"}`) },
			func(p *facts.Preflight) bool { return p.HasFailed() && p.Failure == "no answer" && p.Found.IsZero() },
		},
		"stands by its own container, not by what else runs in the Pod or failed there": {
			func(w *world) *corev1.Pod {
				pod := w.preflightPod(corev1.PodFailed, 0, manifest)
				pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "mesh-proxy"})
				pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
					corev1.ContainerStatus{Name: "mesh-proxy", State: ended(w, 137, "killed")})
				return pod
			},
			func(p *facts.Preflight) bool { return p.HasSucceeded() && p.Found == found && p.Failure == "" },
		},
		"says what else was so when the backup was taken": {
			func(w *world) *corev1.Pod {
				return w.preflightPod(corev1.PodSucceeded, 0, strings.TrimSuffix(manifest, "}")+
					`,"authEnabled":true,"alarms":["CORRUPT 8e9e05c52164694d","NOSPACE a1","NOSPACE a2"]}`)
			},
			func(p *facts.Preflight) bool { return p.Found.AuthEnabled && p.Found.Alarms == "CORRUPT, NOSPACE" },
		},
		"says that no manifest spoke of what it found": {
			func(w *world) *corev1.Pod {
				return w.preflightPod(corev1.PodSucceeded, 0, strings.TrimSuffix(manifest, "}")+`,"foreign":true}`)
			},
			func(p *facts.Preflight) bool {
				foreign := found
				foreign.Foreign = true
				return p.Found == foreign
			},
		},
		"says how many newer backups the store's key does not vouch for": {
			func(w *world) *corev1.Pod {
				return w.preflightPod(corev1.PodSucceeded, 0, strings.TrimSuffix(manifest, "}")+`,"passedOver":2}`)
			},
			func(p *facts.Preflight) bool {
				passed := found
				passed.PassedOver = 2
				return p.Found == passed
			},
		},
		"whose words are no manifest found nothing": {
			func(w *world) *corev1.Pod { return w.preflightPod(corev1.PodSucceeded, 0, "cut off") },
			func(p *facts.Preflight) bool { return p.HasSucceeded() && p.Found.IsZero() },
		},
		"that lacks the sum found nothing": {
			func(w *world) *corev1.Pod {
				return w.preflightPod(corev1.PodSucceeded, 0, `{"key":"k","etcdVersion":"3.6.15"}`)
			},
			func(p *facts.Preflight) bool { return p.Found.IsZero() },
		},
		"that failed says why, in the agent's words": {
			func(w *world) *corev1.Pod {
				return w.preflightPod(corev1.PodFailed, 1,
					`{"reason":"StoreNotFound","message":"there is no bucket b"}`)
			},
			func(p *facts.Preflight) bool {
				return p.HasFailed() && p.Failure == "there is no bucket b" && p.Reason == "StoreNotFound" &&
					!p.Finished.IsZero() && p.Found.IsZero()
			},
		},
		"whose image has no etcdutl says what to do": {
			func(w *world) *corev1.Pod {
				return w.preflightPod(corev1.PodFailed, 128, `failed to create containerd task: failed to create shim `+
					`task: OCI runtime create failed: runc create failed: unable to start container process: error `+
					`during container init: exec: "etcdutl": executable file not found in $PATH: unknown`)
			},
			func(p *facts.Preflight) bool { return p.HasFailed() && p.Failure == etcdutil.NoEtcdutl },
		},
		"that used more memory than it may says so": {
			func(w *world) *corev1.Pod {
				pod := w.preflightPod(corev1.PodFailed, 137, "")
				pod.Status.ContainerStatuses[0].State.Terminated.Reason = "OOMKilled"
				return pod
			},
			func(p *facts.Preflight) bool {
				return p.HasFailed() && p.Failure == "" && p.Message == "its container used more memory than its limit"
			},
		},
		"that was evicted before it ran ended all the same": {
			func(w *world) *corev1.Pod {
				pod := w.preflightPod(corev1.PodPending, 0, "")
				pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"}
				return pod
			},
			func(p *facts.Preflight) bool {
				return p.HasFailed() && p.Failure == "" && p.Message == "low on memory" && !p.Finished.IsZero()
			},
		},
		"that cannot be scheduled says why": {
			func(w *world) *corev1.Pod {
				pod := w.preflightPod(corev1.PodPending, 0, "")
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
					Reason: "Unschedulable", Message: "no node"}}
				return pod
			},
			func(p *facts.Preflight) bool {
				return p.Waiting == "Unschedulable" && p.Message == "no node" && p.Finished.IsZero()
			},
		},
		"that is being deleted says no more why it did not start": {
			func(w *world) *corev1.Pod {
				pod := w.preflightPod(corev1.PodPending, 0, "")
				pod.DeletionTimestamp, pod.Finalizers = new(metav1.NewTime(w.now)), []string{"example.com/wait"}
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
					Reason: "Unschedulable", Message: "no node"}}
				return pod
			},
			func(p *facts.Preflight) bool { return p.Terminating && p.Waiting == "" && p.Message == "" },
		},
	} {
		w := newWorld(t)
		w.put(row.pod(w))
		if p := w.look().Preflight; p == nil || !row.holds(p) {
			t.Errorf("a preflight Pod %s: %+v", name, p)
		}
	}
	w := newWorld(t)
	foreign := w.preflightPod(corev1.PodSucceeded, 0, manifest)
	foreign.OwnerReferences = nil
	w.put(foreign)
	if p := w.look().Preflight; p != nil {
		t.Errorf("somebody else's Pod is believed: %+v", p)
	}
}

func TestRestorePodIsJoinedToItsMemberAndIsNoMemberItself(t *testing.T) {
	w := newWorld(t)
	pod := w.restorePod("demo-1")
	w.put(pod)
	w.put(w.volume("demo-1"))
	r := w.replica("demo-1")
	if r.Pod != nil || r.Restoring == nil || r.Restoring.Incarnation != incarnation ||
		r.Restoring.Settings.Version.String() != "3.6.16" ||
		r.Restoring.Settings != r.Volume.Settings || r.Restoring.UID != string(pod.UID) {
		t.Errorf("%+v", r.Restoring)
	}
	if n := len(w.look().Current.Members); n != 1 {
		t.Errorf("%d replicas", n)
	}

	if r.Restoring.Started {
		t.Error("a Pod of which nothing ran has started")
	}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: resources.StepFetch,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	if got := w.replica("demo-1").Restoring; !got.Started || got.Phase != facts.PodPending {
		t.Errorf("a Pod whose first step runs: %+v", got)
	}

	pod.Status.Phase = corev1.PodFailed
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{
		{Name: resources.StepFetch, State: ended(w, 0, "{}")},
		{Name: resources.StepRestore, State: ended(w, 1, "Error: data-dir \"x\" not empty or could not be read")},
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: resources.StepActivate,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}}
	if got := w.replica("demo-1").Restoring; !got.HasFailed() || !strings.Contains(got.Failure, "not empty") ||
		got.Reason != "" || !got.Finished.Equal(w.now) {
		t.Errorf("a restore that failed: %+v", got)
	}
}

func TestAPodThatDefragmentsSaysWhichFileIsSmallEnoughAndHowSmallItGot(t *testing.T) {
	w := newWorld(t)
	w.put(w.volume("demo-1"))
	pod := resources.BuildDefragPod(w.cluster, resources.DefragStart{Platform: resources.Platform{AgentImage: "steward:1"},
		Member: "demo-1", MemberID: 1, ClusterID: 7, Deadline: time.Minute, Until: 250})
	w.put(pod)
	for says, want := range map[string]int64{`{"before":400,"after":100}`: 100, "no JSON": 0} {
		pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{
			{Name: resources.StepDefragment, State: ended(w, 0, says)}}}
		if got := w.replica("demo-1").Defragmenting; got.Until != 250 || got.After != want {
			t.Errorf("%s: %+v", says, got)
		}
	}
}

func TestAVolumeSaysWhatWasRestoredThere(t *testing.T) {
	w := newWorld(t)
	volume := w.volume("demo-0")
	volume.Annotations[v1alpha1.AnnotationRestored] = incarnation
	w.put(volume)
	if got := w.replica("demo-0").Volume.Restored; got != incarnation {
		t.Errorf("%q", got)
	}
}

func TestABootstrapSaysWhatItBeganWith(t *testing.T) {
	w := newWorld(t)
	bootstrap := bootstrapRecord("demo-0")
	found := found
	found.AuthEnabled, found.Alarms = true, "NOSPACE"
	bootstrap.Origin = found
	w.put(resources.BuildPeerService(w.cluster, bootstrap, "ops/etcd-steward"))
	if got := w.look().Current.Bootstrap.Origin; got != found {
		t.Errorf("%+v", got)
	}
	bootstrap.Origin = record.Origin{}
	service := resources.BuildPeerService(w.cluster, bootstrap, "ops/etcd-steward")
	text := service.Annotations[v1alpha1.AnnotationBootstrap]
	service.Annotations[v1alpha1.AnnotationBootstrap] = strings.Replace(text, `"origin":"fresh"`, `"origin":"backup"`, 1)
	w.put(service)
	if _, err := w.tryLook(""); err == nil {
		t.Error("a record that does not say which backup is read as one of an empty cluster")
	}
}

func TestAWishIsAskedForUntilTheClusterIsBootstrapped(t *testing.T) {
	wish := func(w *world, answer facts.WantedBackup, err error) (facts.WantedBackup, error) {
		o := w.observer()
		o.WantedBackup = func(context.Context, *v1alpha1.EtcdCluster) (facts.WantedBackup, error) { return answer, err }
		view, _, err := o.Observe(t.Context(), w.cluster, "")
		return view.Desired.Restore, err
	}
	asked := facts.WantedBackup{Hash: "hash"}
	if got, err := wish(newWorld(t), asked, nil); err != nil || got != asked {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := wish(newWorld(t), asked, errors.New("no answer")); err == nil {
		t.Error("a wish that could not be read is none")
	}
	if got := newWorld(t).look().Desired.Restore; !got.IsZero() {
		t.Errorf("nobody wishes, and still %+v", got)
	}
	w := newWorld(t)
	record := bootstrapRecord("demo-0")
	record.ClusterID = 0xc
	w.put(resources.BuildPeerService(w.cluster, record, "ops/etcd-steward"))
	if got, err := wish(w, asked, errors.New("no answer")); err != nil || !got.IsZero() {
		t.Errorf("a cluster that is born is asked: %+v, %v", got, err)
	}
}

func TestAPodOfARestoreThatDoesNotStartIsAskedWhyAndOneThatFetchesHowFarItIs(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for name, row := range map[string]struct {
		edit func(w *world, pod *corev1.Pod)
		want facts.Task
	}{
		"has its node and does not start": {func(w *world, pod *corev1.Pod) {
			pod.Spec.NodeName = "n"
		}, facts.Task{Waiting: "FailedMount", Message: "no Secret s3"}},
		"has its node since a moment": {func(w *world, pod *corev1.Pod) {
			pod.Spec.NodeName, pod.CreationTimestamp = "n", metav1.NewTime(w.now.Add(-time.Second))
		}, facts.Task{}},
		"has no node": {func(*world, *corev1.Pod) {}, facts.Task{}},
		"says itself why": {func(_ *world, pod *corev1.Pod) {
			pod.Spec.NodeName = "n"
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{
				{Name: resources.StepFetch, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull",
					Message: "no image"}}}}
		}, facts.Task{Waiting: "ImagePullBackOff", Message: "no image"}},
		"fetches": {func(_ *world, pod *corev1.Pod) {
			pod.Spec.NodeName = "n"
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: resources.StepFetch, State: running}}
		}, facts.Task{Step: "fetch", Done: 300, Total: 1056}},
		"restores": {func(_ *world, pod *corev1.Pod) {
			pod.Spec.NodeName = "n"
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: resources.StepFetch,
				State: ended(newWorld(t), 0, "{}")}, {Name: resources.StepRestore, State: running}}
		}, facts.Task{Step: "restore"}},
		"activates": {func(_ *world, pod *corev1.Pod) {
			pod.Spec.NodeName = "n"
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: resources.StepActivate, State: running}}
		}, facts.Task{Step: "activate"}},
	} {
		w := newWorld(t)
		pod := w.restorePod("demo-1")
		pod.CreationTimestamp = metav1.NewTime(w.now.Add(-6 * time.Second))
		row.edit(w, pod)
		w.put(pod)
		o := w.observer()
		o.Warning = func(context.Context, string, types.UID) *corev1.Event {
			return &corev1.Event{Reason: "FailedMount", Message: "no Secret s3"}
		}
		o.Progress = func(context.Context, string) *backupplan.Progress {
			return &backupplan.Progress{Bytes: 300, Total: 1056}
		}
		view, _, err := o.Observe(t.Context(), w.cluster, "")
		if err != nil {
			t.Fatal(err)
		}
		got := view.Current.Find("demo-1").Restoring
		if got.Waiting != row.want.Waiting || got.Message != row.want.Message || got.Step != row.want.Step ||
			got.Done != row.want.Done || got.Total != row.want.Total {
			t.Errorf("one that %s: %+v", name, got.Task)
		}
	}
}
