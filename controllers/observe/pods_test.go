package observe_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const refusal = `{"level":"fatal","msg":"discovery failed","error":"cannot fetch cluster info from peer urls: could not retrieve cluster information from the given URLs"}`

// besideUnready puts a container into a Pod that is not ready, beside an etcd that is or is not.
func besideUnready(pod *corev1.Pod, etcd bool) {
	pod.Status.Conditions[0].Status, pod.Status.Conditions[0].Reason = corev1.ConditionFalse, "ContainersNotReady"
	pod.Status.ContainerStatuses[0].Ready = etcd
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: "mesh-proxy"})
}

// crashed is a Pod whose container ended in this way.
func crashed(reason string, code int32, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: reason, ExitCode: code, Message: message}}
	}
}

// said is what the observation has of how a container ended.
func said(reason etcdutil.ExitReason, words string) func(*facts.Pod) bool {
	return func(p *facts.Pod) bool { return p.Exit.Reason == reason && p.Exit.Message == words }
}

func TestPod(t *testing.T) {
	ended := metav1.NewTime(time.Date(2026, 3, 1, 11, 58, 0, 0, time.UTC))
	terminated := &corev1.ContainerStateTerminated{ExitCode: 1, Message: refusal, FinishedAt: ended}
	for _, row := range []struct {
		name  string
		given func(*corev1.Pod)
		holds func(*facts.Pod) bool
	}{
		{"that serves is running, ready and sealed", func(*corev1.Pod) {}, func(p *facts.Pod) bool {
			return p.Phase == facts.PodRunning && p.Scheduled && p.Started && p.Running && p.Ready && p.Exit == nil &&
				p.Waiting == "" && !p.Undressed && p.Flags == facts.FlagsSealed && p.Incarnation == incarnation &&
				p.Node == "node-of-demo-0" &&
				p.Settings.Version.String() == "3.6.16" &&
				p.ReadySince.Equal(time.Date(2026, 3, 1, 11, 59, 0, 0, time.UTC))
		}},
		{"whose node has a zone says which, by the label that Kubernetes copies", func(pod *corev1.Pod) {
			pod.Labels[corev1.LabelTopologyZone] = "a"
		}, func(p *facts.Pod) bool { return p.Zone == "a" && !p.Undressed }},
		{"that another container keeps from being ready is ready when etcd is", func(pod *corev1.Pod) {
			besideUnready(pod, true)
		}, func(p *facts.Pod) bool { return p.Ready && p.HeldUnready }},
		{"that a gate of others keeps from being ready is ready when etcd is", func(pod *corev1.Pod) {
			besideUnready(pod, true)
			pod.Status.ContainerStatuses = pod.Status.ContainerStatuses[:1]
			pod.Status.Conditions[0].Reason = "ReadinessGatesNotReady"
		}, func(p *facts.Pod) bool { return p.Ready && p.HeldUnready }},
		{"that is not ready for etcd and for another container is not", func(pod *corev1.Pod) {
			besideUnready(pod, false)
		}, func(p *facts.Pod) bool { return !p.Ready && p.HeldUnready }},
		{"that is not ready, and has no other container, is not", func(pod *corev1.Pod) {
			pod.Status.Conditions[0].Status, pod.Status.Conditions[0].Reason = corev1.ConditionFalse, "ContainersNotReady"
			pod.Status.ContainerStatuses[0].Ready = true
		}, func(p *facts.Pod) bool { return !p.Ready && !p.HeldUnready }},
		{"whose container crashed says how, from its last state", func(pod *corev1.Pod) {
			status := &pod.Status.ContainerStatuses[0]
			status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff",
				Message: "back-off"}}
			status.LastTerminationState = corev1.ContainerState{Terminated: terminated}
		}, func(p *facts.Pod) bool {
			return p.Started && !p.Running && p.Waiting == "CrashLoopBackOff" && p.Exit != nil &&
				p.Exit.Reason == etcdutil.ExitDataEmpty && p.Exit.Code == 1 &&
				p.Exit.Message == etcdutil.LastWords(refusal) && p.Exit.At.Equal(ended.Time)
		}},
		{"whose container was killed says the signal, and not what etcd logged before", crashed("Error", 137, `{"level":"info","msg":"sending"}`),
			said(etcdutil.ExitUnknown, "signal 9 (SIGKILL) ended it")},
		{"whose container used too much memory says so by its name", crashed("OOMKilled", 137, ""),
			said(etcdutil.ExitOutOfMemory, "its container used more memory than its limit")},
		{"whose container ended by itself says the exit code", crashed("Completed", 0, ""),
			said(etcdutil.ExitUnknown, "it ended with exit code 0")},
		{"whose container the kubelet lost says what the kubelet says", crashed("ContainerStatusUnknown", 137,
			"The container could not be located"), said(etcdutil.ExitUnknown, "ContainerStatusUnknown: The container could not be located")},
		{"whose container could not be started says why", crashed("StartError", 128, `exec: "etcd": executable file not found`),
			said(etcdutil.ExitUnknown, `StartError: exec: "etcd": executable file not found`)},
		{"whose container just ended says how, from its state", func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: terminated}
		}, func(p *facts.Pod) bool { return p.Started && !p.Running && p.Exit.Reason == etcdutil.ExitDataEmpty }},
		{"that was made before the operator had other flags, and runs, stays as it is", func(pod *corev1.Pod) {
			pod.Annotations[v1alpha1.AnnotationImageDefaults] = `{"repository":"former.example.com/etcd"}`
		}, func(p *facts.Pod) bool { return p.Running && !p.OtherImage }},
		{"that waits for an image, and was made before the operator had other flags, says so", func(pod *corev1.Pod) {
			pod.Annotations[v1alpha1.AnnotationImageDefaults] = `{"repository":"former.example.com/etcd"}`
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}
		}, func(p *facts.Pod) bool { return p.OtherImage }},
		{"that waits for an image, and would wait for the same one, is as good as a new one", func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}
		}, func(p *facts.Pod) bool { return !p.OtherImage }},
		{"whose image does not exist has never started", func(pod *corev1.Pod) {
			pod.Status.Phase = corev1.PodPending
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}
		}, func(p *facts.Pod) bool {
			return p.Phase == facts.PodPending && !p.Started && p.Waiting == "ImagePullBackOff" &&
				p.Message == "no such image"
		}},
		{"whose image was tried again a while ago says the same as just after that", func(pod *corev1.Pod) {
			pod.Status.Phase = corev1.PodPending
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "ImagePullBackOff", Message: `Back-off pulling image "a": ErrImagePull: failed to pull "a": no route`}}
		}, func(p *facts.Pod) bool {
			return p.Waiting == "ImagePullBackOff" && p.Message == `failed to pull "a": no route`
		}},
		{"whose image no registry has just now says so as between two tries", func(pod *corev1.Pod) {
			pod.Status.Phase = corev1.PodPending
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "RegistryUnavailable", Message: `image pull failed for "a": no route`}}
		}, func(p *facts.Pod) bool {
			return p.Waiting == "ImagePullBackOff" && p.Message == `image pull failed for "a": no route`
		}},
		{"and whose image no signature fits", func(pod *corev1.Pod) {
			pod.Status.Phase = corev1.PodPending
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "ImagePullBackOff", Message: `Back-off pulling image "a": SignatureValidationFailed: not signed`}}
		}, func(p *facts.Pod) bool { return p.Waiting == "ImagePullBackOff" && p.Message == "not signed" }},
		{"that is being deleted says no more why it did not start", func(pod *corev1.Pod) {
			pod.DeletionTimestamp, pod.Finalizers = &ended, []string{"example.com/wait"}
			pod.Status.Phase = corev1.PodPending
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}
		}, func(p *facts.Pod) bool { return p.Terminating && p.Waiting == "" && p.Message == "" }},
		{"that ended and is being deleted says why it ended", func(pod *corev1.Pod) {
			pod.DeletionTimestamp, pod.Finalizers = &ended, []string{"example.com/wait"}
			pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", "the node was low on memory"
		}, func(p *facts.Pod) bool { return p.Terminating && p.Waiting == "Evicted" }},
		{"that cannot be scheduled says why", func(pod *corev1.Pod) {
			pod.Spec.NodeName = ""
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
				Message: "0/3 nodes are available", LastTransitionTime: metav1.NewTime(time.Unix(1000, 0)),
			}}}
		}, func(p *facts.Pod) bool {
			return p.UnplacedFrom.Equal(time.Unix(1000, 0)) && !p.Scheduled && !p.Started && p.Waiting == "Unschedulable" &&
				p.Message == "0/3 nodes are available" && p.ReadySince.IsZero()
		}},
		{"that scheduling gates hold back names them", func(pod *corev1.Pod) {
			pod.Spec.NodeName, pod.Spec.SchedulingGates = "", []corev1.PodSchedulingGate{{Name: "example.com/wait"},
				{Name: "example.com/quota"}}
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
				Message: "Scheduling is blocked due to non-empty scheduling gates",
			}}}
		}, func(p *facts.Pod) bool {
			return !p.Scheduled && !p.Started && p.Waiting == "SchedulingGated" &&
				strings.Contains(p.Message, "example.com/wait, example.com/quota")
		}},
		{"that waits for a scheduler of a name that no scheduler has says so", func(pod *corev1.Pod) {
			pod.Spec.NodeName, pod.Spec.SchedulerName = "", "packs"
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
		}, func(p *facts.Pod) bool {
			return !p.Scheduled && !p.Started && p.Waiting == "Unschedulable" && strings.Contains(p.Message, "packs") &&
				p.OtherScheduler
		}},
		{"that Kubernetes' own scheduler has not looked at yet waits without a word", func(pod *corev1.Pod) {
			pod.Spec.NodeName, pod.Spec.SchedulerName = "", corev1.DefaultSchedulerName
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
		}, func(p *facts.Pod) bool { return !p.Scheduled && p.Waiting == "" && p.Message == "" }},
		{"that was evicted has failed, with the reason", func(pod *corev1.Pod) {
			pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"}
		}, func(p *facts.Pod) bool {
			return p.Phase == facts.PodFailed && p.Waiting == "Evicted" && p.Message == "low on memory"
		}},
		{"that is not ready says since when",
			func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }, func(p *facts.Pod) bool {
				return p.Running && !p.Ready && !p.ReadySince.IsZero()
			}},
		{"with the role of a voter has it",
			func(pod *corev1.Pod) { pod.Labels[v1alpha1.LabelRole] = v1alpha1.RoleVoter }, func(p *facts.Pod) bool {
				return p.Role == "voter"
			}},
		{"whose seal was stripped starts from nothing",
			func(pod *corev1.Pod) { delete(pod.Annotations, v1alpha1.AnnotationInitialState) },
			func(p *facts.Pod) bool {
				return p.Flags == facts.FlagsNone
			}},
		{"without the labels of the spec is undressed", func(pod *corev1.Pod) { delete(pod.Labels, "team") },
			func(p *facts.Pod) bool {
				return p.Undressed
			}},
		{"with a label that left the spec is undressed", func(pod *corev1.Pod) {
			pod.Labels["tier"] = "gold"
			pod.Annotations[v1alpha1.AnnotationDressed] = `{"labels":["team","tier"]}`
		}, func(p *facts.Pod) bool { return p.Undressed }},
		{"with labels of somebody else is not undressed", func(pod *corev1.Pod) { pod.Labels["tier"] = "gold" },
			func(p *facts.Pod) bool {
				return !p.Undressed
			}},
		{"whose choices cannot be read has none",
			func(pod *corev1.Pod) { pod.Annotations[v1alpha1.AnnotationInputs] = "{" }, func(p *facts.Pod) bool {
				return p.Settings.IsZero()
			}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newBootstrappedWorld(t)
			w.cluster.Spec.Pod = &v1alpha1.PodSpec{Labels: map[string]string{"team": "storage"}}
			pod := w.pod("demo-0", resources.StartSealed)
			row.given(pod)
			w.put(pod)
			if p := w.replica("demo-0").Pod; p == nil || !row.holds(p) {
				t.Errorf("the Pod is %+v", p)
			}
		})
	}
}

func TestFlagsTellWhatTheNextStartOfAPodCanDo(t *testing.T) {
	for flags, want := range map[resources.StartFlags]facts.Flags{
		resources.StartBootstrap: facts.FlagsBootstrap, resources.StartJoin: facts.FlagsJoin,
		resources.StartSealed: facts.FlagsSealed,
	} {
		w := newBootstrappedWorld(t)
		w.put(w.pod("demo-0", flags))
		if got := w.replica("demo-0").Pod.Flags; got != want {
			t.Errorf("a Pod started for %s has flags %s", flags, got)
		}
	}
}

func TestAProcessIsComparedOnceAndTheNextOneAgain(t *testing.T) {
	off := false
	for _, row := range []struct {
		name  string
		flags resources.StartFlags
		given func(*world, *corev1.Pod)
		want  bool
	}{
		{"it was compared", resources.StartSealed, func(*world, *corev1.Pod) {}, false},
		{"it started again since", resources.StartSealed, func(_ *world, p *corev1.Pod) {
			p.Status.ContainerStatuses[0].ContainerID = "test://again"
		}, true},
		{"it does not run", resources.StartSealed, func(_ *world, p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{}
		}, true},
		{"nothing says so", resources.StartSealed, func(_ *world, p *corev1.Pod) {
			delete(p.Annotations, v1alpha1.AnnotationCompared)
		}, true},
		{"it began empty", resources.StartBootstrap, func(_ *world, p *corev1.Pod) {
			delete(p.Annotations, v1alpha1.AnnotationCompared)
		}, false},
		{"etcd compares", resources.StartSealed, func(_ *world, p *corev1.Pod) {
			delete(p.Annotations, v1alpha1.AnnotationCompared)
			p.Annotations[v1alpha1.AnnotationInitialCompare] = "true"
		}, false},
		{"no comparison is asked for", resources.StartSealed, func(w *world, p *corev1.Pod) {
			delete(p.Annotations, v1alpha1.AnnotationCompared)
			w.cluster.Spec.Etcd = &v1alpha1.EtcdSpec{CorruptionChecks: &off}
		}, false},
		{"nothing may be changed", resources.StartSealed, func(w *world, p *corev1.Pod) {
			delete(p.Annotations, v1alpha1.AnnotationCompared)
			w.cluster.Spec.Mode = v1alpha1.ModeDryRun
		}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newBootstrappedWorld(t)
			pod := w.pod("demo-0", row.flags)
			row.given(w, pod)
			w.put(pod)
			if p := w.replica("demo-0").Pod; p.Uncompared != row.want {
				t.Errorf("uncompared is %v: %+v", p.Uncompared, p)
			}
		})
	}
}

func TestOnlyTheReplicaThatLeadsAsksForHashes(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.bear()
	again := w.pod("demo-1", resources.StartSealed)
	again.Status.ContainerStatuses[0].ContainerID = "test://again"
	w.put(again)
	if h := w.replica("demo-2").Answer.Hash; h == nil {
		t.Error("it was not asked")
	}
	bystander := w.observer()
	bystander.AsksNoHashes = true
	o, _, err := bystander.Observe(t.Context(), w.cluster, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range o.Current.Members {
		if r.Answer == nil || r.Answer.Hash != nil {
			t.Errorf("%s: %+v", r.Name, r.Answer)
		}
	}
}

func TestVolume(t *testing.T) {
	for _, row := range []struct {
		name  string
		given func(*corev1.PersistentVolumeClaim)
		holds func(*facts.Volume, *world) bool
	}{
		{"of a member has its record", func(*corev1.PersistentVolumeClaim) {}, func(v *facts.Volume, w *world) bool {
			p := w.processes["demo-0"]
			return v.Phase == facts.VolumeBound && v.Bytes == 8<<30 && v.Incarnation == incarnation && !v.Terminating &&
				v.Settings.Version.String() == "3.6.16" && v.UID == "uid-of-demo-0" &&
				v.Record == record.Member{ClusterID: p.ClusterID(), MemberID: p.ID(),
					Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16}}
		}},
		{"without a record has none", func(c *corev1.PersistentVolumeClaim) {
			delete(c.Annotations,
				v1alpha1.AnnotationRecord)
		},
			func(v *facts.Volume, _ *world) bool { return v.Record.IsZero() }},
		{"whose PersistentVolume is gone is lost",
			func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost },
			func(v *facts.Volume, _ *world) bool { return v.Phase == facts.VolumeLost }},
		{"that was just created is pending", func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = "" },
			func(v *facts.Volume, _ *world) bool { return v.Phase == facts.VolumePending }},
		{"that is being deleted is terminating", func(c *corev1.PersistentVolumeClaim) {
			c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: time.Now()}, []string{"kubernetes.io/pvc-protection"}
		}, func(v *facts.Volume, _ *world) bool { return v.Terminating }},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newBootstrappedWorld(t)
			volume := w.objects["*v1.PersistentVolumeClaim demo-0"].(*corev1.PersistentVolumeClaim)
			row.given(volume)
			if v := w.replica("demo-0").Volume; v == nil || !row.holds(v, w) {
				t.Errorf("the volume is %+v", v)
			}
		})
	}
}

func TestARecordThatCannotBeReadIsAnErrorAndNotNoRecord(t *testing.T) {
	for _, annotate := range []func(*world){
		func(w *world) {
			w.objects["*v1.PersistentVolumeClaim demo-0"].GetAnnotations()[v1alpha1.AnnotationRecord] = `{"clusterID":"x"}`
		},
		func(w *world) {
			w.objects["*v1.Service demo-peers"].GetAnnotations()[v1alpha1.AnnotationBootstrap] = "{}"
		},
	} {
		w := newBootstrappedWorld(t)
		annotate(w)
		if _, err := w.tryLook(""); err == nil {
			t.Error("the look succeeded")
		}
	}
}
