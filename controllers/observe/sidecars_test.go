package observe_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// withShipper is a world whose only member was made with a sidecar, in the state given.
func withShipper(t *testing.T, given func(*corev1.Pod, *corev1.ContainerStatus)) (*world, *corev1.Pod) {
	t.Helper()
	w := newBootstrappedWorld(t)
	w.cluster.Spec.Pod = &v1alpha1.PodSpec{Sidecars: []v1alpha1.Sidecar{{Name: "shipper", Image: "shipper"}}}
	pod := w.pod("demo-0", resources.StartSealed)
	pod.Labels[v1alpha1.LabelRole], pod.Status.ContainerStatuses[0].Ready = v1alpha1.RoleVoter, true
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "shipper", Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(w.now.Add(-time.Hour))}}}}
	given(pod, &pod.Status.InitContainerStatuses[0])
	w.put(pod)
	return w, pod
}

var sidecarEnded = &corev1.ContainerStateTerminated{ExitCode: 3, Message: "starting\nno such backend\n"}

// crashing is a sidecar between two starts, beside an etcd that serves.
func crashing(pod *corev1.Pod, s *corev1.ContainerStatus) {
	pod.Status.Conditions[0].Status, pod.Status.Conditions[0].Reason = corev1.ConditionFalse, "ContainersNotReady"
	s.Ready, s.RestartCount = false, 4
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 5m0s restarting failed container"}}
	s.LastTerminationState = corev1.ContainerState{Terminated: sidecarEnded}
}

// blocked is a sidecar that never started, so that etcd did not either.
func blocked(waiting string) func(*corev1.Pod, *corev1.ContainerStatus) {
	return func(pod *corev1.Pod, s *corev1.ContainerStatus) {
		crashing(pod, s)
		s.LastTerminationState = corev1.ContainerState{}
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: waiting, Message: "no such image"}
		pod.Status.Phase = corev1.PodPending
		etcd := &pod.Status.ContainerStatuses[0]
		etcd.Ready, etcd.State = false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	}
}

func TestSidecar(t *testing.T) {
	for _, row := range []struct {
		name  string
		given func(*corev1.Pod, *corev1.ContainerStatus)
		holds func(*facts.Pod, facts.Sidecar, time.Time) bool
	}{
		{"that runs is steady", func(*corev1.Pod, *corev1.ContainerStatus) {}, func(p *facts.Pod, s facts.Sidecar, now time.Time) bool {
			return p.Ready && !p.HeldUnready && s.Name == "shipper" && s.IsSteady(now) && s.Says == "" && p.StartsAfter == ""
		}},
		{"that crashes makes no member unready, and says why", crashing, func(p *facts.Pod, s facts.Sidecar, now time.Time) bool {
			return p.Ready && p.HeldUnready && p.Running && p.Waiting == "" && !s.IsSteady(now) && s.Says == "it stopped with exit code 3: no such backend"
		}},
		{"that sidecarEnded a moment ago is not steady yet", func(pod *corev1.Pod, s *corev1.ContainerStatus) {
			s.LastTerminationState = corev1.ContainerState{Terminated: sidecarEnded}
			s.State.Running.StartedAt = metav1.NewTime(pod.Status.Conditions[0].LastTransitionTime.Add(time.Minute - time.Second))
		}, func(p *facts.Pod, s facts.Sidecar, now time.Time) bool {
			return p.Ready && s.Ready && !s.IsSteady(now) && s.IsSteady(now.Add(2*time.Minute))
		}},
		{"whose image cannot be pulled keeps etcd from starting, by its name", blocked("ImagePullBackOff"), func(p *facts.Pod, _ facts.Sidecar, _ time.Time) bool {
			return !p.Ready && !p.Started && p.StartsAfter == "shipper" && p.Waiting == "ImagePullBackOff" && p.Message == "no such image"
		}},
		{"that crashes before etcd starts does so too", func(pod *corev1.Pod, s *corev1.ContainerStatus) {
			blocked("CrashLoopBackOff")(pod, s)
			s.LastTerminationState = corev1.ContainerState{Terminated: sidecarEnded}
		}, func(p *facts.Pod, _ facts.Sidecar, _ time.Time) bool {
			return p.StartsAfter == "shipper" && p.Waiting == "CrashLoopBackOff" && strings.Contains(p.Message, "no such backend")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, _ := withShipper(t, row.given)
			p := w.replica("demo-0").Pod
			if p == nil || len(p.Sidecars) != 1 || !row.holds(p, p.Sidecars[0], w.now) {
				t.Errorf("the Pod is %+v", p)
			}
		})
	}
}

func TestWhatAWebhookAddsIsNoSidecarAndChangesNoSettings(t *testing.T) {
	w, _ := withShipper(t, func(pod *corev1.Pod, _ *corev1.ContainerStatus) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "mesh-proxy"})
		always := corev1.ContainerRestartPolicyAlways
		pod.Spec.InitContainers = append([]corev1.Container{{Name: "mesh-native", RestartPolicy: &always}, {Name: "mesh-init"}}, pod.Spec.InitContainers...)
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: "mesh-init",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}})
		pod.Status.Conditions[0].Status, pod.Status.Conditions[0].Reason = corev1.ConditionFalse, "ContainersNotReady"
	})
	p := w.replica("demo-0").Pod
	if len(p.Sidecars) != 1 || p.Sidecars[0].Name != "shipper" || !p.Ready || !p.HeldUnready || p.StartsAfter != "" {
		t.Errorf("%+v", p)
	}
	if p.Settings != w.look().Desired.Settings {
		t.Errorf("it was made from %s", p.Settings.Inputs)
	}
}

func TestClientsReachAMemberWhoseSidecarIsNotReady(t *testing.T) {
	for _, row := range []struct {
		name      string
		given     func(*corev1.Pod, *corev1.ContainerStatus)
		published bool // as the Service has it
		byRole    bool
	}{
		{"a member whose sidecar is ready is reached while its Pod is", func(*corev1.Pod, *corev1.ContainerStatus) {}, false, false},
		{"and the Service is put back to that", func(*corev1.Pod, *corev1.ContainerStatus) {}, true, false},
		{"clients reach a member whose sidecar crashes by its role", crashing, false, true},
		{"and stays so", crashing, true, true},
		{"a member that serves nothing is not reached for its sidecar", func(pod *corev1.Pod, s *corev1.ContainerStatus) {
			crashing(pod, s)
			pod.Status.ContainerStatuses[0].Ready = false
		}, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, _ := withShipper(t, row.given)
			service := resources.ClientServiceByRole(w.cluster, row.published)
			w.put(service)
			o := w.object("Service", "demo")
			if o.ByRole != row.byRole || (o.State == facts.ObjectCurrent) != (row.byRole == row.published) {
				t.Errorf("%+v", o)
			}
		})
	}
}
