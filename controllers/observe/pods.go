package observe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// fillProcess says how the Pod and its etcd container stand.
func fillProcess(p *facts.Pod, pod *corev1.Pod) {
	p.Phase = podPhase(pod.Status.Phase)
	p.Terminating = pod.DeletionTimestamp != nil
	if p.Terminating {
		p.GoneBy = pod.DeletionTimestamp.Time
	}
	p.HeldBy = resources.PodHeldBy(pod)
	// The API server copies it from the node, from Kubernetes 1.35 on:
	// kubernetes/kubernetes:plugin/pkg/admission/podtopologylabels/admission.go
	p.Node, p.Zone = pod.Spec.NodeName, pod.Labels[corev1.LabelTopologyZone]
	p.Scheduled = pod.Spec.NodeName != ""
	// Which the API server dates by its own clock, for each manager's fields
	// (kubernetes/apimachinery:pkg/apis/meta/v1/types.go ManagedFieldsEntry).
	p.StatusAt = lastWritten(pod.ManagedFields, subresourceStatus)
	p.Message = pod.Status.Message
	p.OtherScheduler = !slices.Contains([]string{"", corev1.DefaultSchedulerName}, pod.Spec.SchedulerName)
	p.Waiting = pod.Status.Reason // of a Pod that ended: Evicted, OutOfcpu, Terminated …
	if reason, message := WhyUnscheduled(pod); reason != "" {
		p.Waiting, p.Message = reason, message
		if said := podCondition(pod, corev1.PodScheduled); said != nil {
			p.UnplacedFrom = said.LastTransitionTime.Time
		}
	}
	if container := etcdContainer(pod); container != nil {
		fillContainer(p, container)
	}
	if !p.Started {
		fillStartsAfter(p, pod)
	}
	p.Sidecars = sidecarsOf(pod)
	fillReadiness(p, pod)
}

func podPhase(phase corev1.PodPhase) facts.Phase {
	switch phase {
	case corev1.PodRunning:
		return facts.PodRunning
	case corev1.PodSucceeded:
		return facts.PodSucceeded
	case corev1.PodFailed:
		return facts.PodFailed
	default: // PodUnknown is no longer set by Kubernetes
		return facts.PodPending
	}
}

// fillReadiness says whether the kubelet calls etcd ready, and since when. What others add to a Pod makes the Pod not
// ready, and no member. Then its condition tells nothing of etcd any more, neither that nor since when: the last word
// that the kubelet wrote of the Pod is the latest that etcd may have stopped being ready.
func fillReadiness(p *facts.Pod, pod *corev1.Pod) {
	c := podCondition(pod, corev1.PodReady)
	if c == nil {
		return
	}
	p.ReadySince, p.Ready = c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
	if !isUnreadyForOthers(pod, c) {
		return
	}
	etcd := etcdContainer(pod)
	p.HeldUnready, p.Ready = true, etcd != nil && etcd.Ready
	if p.StatusAt.After(p.ReadySince) {
		p.ReadySince = p.StatusAt
	}
}

// isUnreadyForOthers reports a Pod that its kubelet does not call ready for a container beside etcd, or for a condition
// that others are to set (kubernetes/kubernetes:pkg/kubelet/status/generate.go). Where a node does not answer, what is
// said is said of the Pod alone, and its reason stays (pkg/controller/util/node/controller_utils.go MarkPodsNotReady).
func isUnreadyForOthers(pod *corev1.Pod, ready *corev1.PodCondition) bool {
	switch {
	case ready.Status == corev1.ConditionTrue:
		return false
	case ready.Reason == "ReadinessGatesNotReady":
		return true
	}
	isUnready := func(c corev1.ContainerStatus) bool { return c.Name != resources.Container && !c.Ready }
	return ready.Reason == "ContainersNotReady" && (slices.ContainsFunc(pod.Status.ContainerStatuses, isUnready) ||
		slices.ContainsFunc(nativeSidecars(pod), isUnready))
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	return found(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
}

// WhyUnscheduled is why a Pod has no node; empty where nothing says. Kubernetes does not say which gates hold a Pod
// back, nor who may remove them. Of a scheduler that does not exist it says nothing.
func WhyUnscheduled(pod *corev1.Pod) (reason, message string) {
	c, scheduler := podCondition(pod, corev1.PodScheduled), pod.Spec.SchedulerName
	if c == nil && pod.Spec.NodeName == "" && scheduler != "" && scheduler != corev1.DefaultSchedulerName {
		return corev1.PodReasonUnschedulable, fmt.Sprintf("the scheduler %s has said nothing of it yet. Look whether "+
			"it runs, and whether spec.pod.schedulerName is right.", scheduler)
	}
	if c == nil || c.Status != corev1.ConditionFalse {
		return "", ""
	}
	if c.Reason != corev1.PodReasonSchedulingGated {
		return c.Reason, c.Message
	}
	gates := make([]string, 0, len(pod.Spec.SchedulingGates))
	for _, gate := range pod.Spec.SchedulingGates {
		gates = append(gates, gate.Name)
	}
	return c.Reason, fmt.Sprintf("scheduling gates hold it back: %s. The controller that added a gate removes it, or "+
		"you do.", strings.Join(gates, ", "))
}

func etcdContainer(pod *corev1.Pod) *corev1.ContainerStatus {
	return found(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == resources.Container
	})
}

// found is the first item that fits; nil when none does.
func found[T any](items []T, fits func(T) bool) *T {
	if i := slices.IndexFunc(items, fits); i >= 0 {
		return &items[i]
	}
	return nil
}

func fillContainer(p *facts.Pod, c *corev1.ContainerStatus) {
	if running := c.State.Running; running != nil {
		p.Running, p.RunningSince, p.Process = true, running.StartedAt.Time, c.ContainerID
		p.Booted = c.Started != nil && *c.Started
	}
	ended := c.State.Terminated
	if ended == nil {
		ended = c.LastTerminationState.Terminated
	}
	p.Started = p.Running || c.RestartCount > 0 || ended != nil
	p.Exit = exit(ended)
	if w := c.State.Waiting; w != nil {
		p.Waiting, p.Message = WhyWaiting(w)
	}
}

// WhyWaiting is why a container waits, in Kubernetes' one word and its sentence. Both change only where the cause does:
// while an image cannot be had, the kubelet says ErrImagePull or the like and why after each try, and between them
// ImagePullBackOff and the same, "Back-off pulling image "a": ErrImagePull: no route"
// (kubernetes/kubernetes:pkg/kubelet/images/image_manager.go).
func WhyWaiting(w *corev1.ContainerStateWaiting) (reason, message string) {
	const between = "ImagePullBackOff"
	for _, failed := range []string{"ErrImagePull", "RegistryUnavailable", "SignatureValidationFailed"} {
		if w.Reason == failed {
			return between, w.Message
		}
		if _, why, isSaid := strings.Cut(w.Message, ": "+failed+": "); isSaid && w.Reason == between {
			return between, why
		}
	}
	return w.Reason, w.Message
}

// isUncompared reports a Pod whose process, or the next one, starts from data, and is not the one that was compared
// since. Where the spec asks for no such comparison, or for no change at all, none is.
func isUncompared(cluster *v1alpha1.EtcdCluster, pod *corev1.Pod, p *facts.Pod) bool {
	etcd := cluster.Spec.Etcd
	isUnasked := etcd != nil && etcd.CorruptionChecks != nil && !*etcd.CorruptionChecks || cluster.Spec.IsDryRun()
	return !isUnasked && p.Flags == facts.FlagsSealed &&
		(p.Process == "" || pod.Annotations[v1alpha1.AnnotationCompared] != p.Process)
}

const outOfMemory = "its container used more memory than its limit"

// exit reads how the container ended: with FallbackToLogsOnError the message is the end of what etcd printed. Where
// Kubernetes has a reason of its own, as for a container that could not be started, the message is Kubernetes'.
func exit(t *corev1.ContainerStateTerminated) *facts.Exit {
	if t == nil {
		return nil
	}
	reason, words := etcdutil.Explain(int(t.ExitCode), t.Message)
	switch t.Reason {
	case "", "Error", "Completed":
	case string(etcdutil.ExitOutOfMemory):
		reason, words = etcdutil.ExitOutOfMemory, outOfMemory
	default:
		words = t.Reason + ": " + cmp.Or(etcdutil.LastWords(t.Message), words)
	}
	return &facts.Exit{Reason: reason, Code: int(t.ExitCode), Message: words, At: t.FinishedAt.Time}
}

// nativeSidecars are the init containers that are restarted always, ours and those of others. The kubelet counts them
// when it says whether a Pod is ready.
func nativeSidecars(pod *corev1.Pod) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		status := found(pod.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
			return s.Name == c.Name
		})
		if status == nil {
			status = &corev1.ContainerStatus{Name: c.Name}
		}
		all = append(all, *status)
	}
	return all
}

// sidecarsOf are those that the Pod was made with.
func sidecarsOf(pod *corev1.Pod) []facts.Sidecar {
	in, err := resources.DecodeInputs(pod.Annotations[v1alpha1.AnnotationInputs])
	if err != nil {
		return nil
	}
	names := in.SidecarNames()
	var all []facts.Sidecar
	for _, c := range nativeSidecars(pod) {
		if slices.Contains(names, c.Name) {
			all = append(all, sidecarOf(c))
		}
	}
	return all
}

func sidecarOf(c corev1.ContainerStatus) facts.Sidecar {
	s := facts.Sidecar{Name: c.Name, Ready: c.Ready}
	if running := c.State.Running; running != nil && lastEnd(c) != nil {
		s.Since = running.StartedAt.Time
	}
	if waiting := c.State.Waiting; waiting != nil {
		s.Waiting, s.Says = WhyWaiting(waiting)
	}
	if ended := lastEnd(c); ended != nil {
		s.Says = lastWordsOf(ended)
	}
	return s
}

// fillStartsAfter says which container keeps etcd from starting: etcd starts once those before it have.
func fillStartsAfter(p *facts.Pod, pod *corev1.Pod) {
	for _, c := range pod.Status.InitContainerStatuses {
		waiting, ended := c.State.Waiting, lastEnd(c)
		switch {
		case waiting != nil && facts.StartProblems[waiting.Reason] != "":
			p.StartsAfter = c.Name
			p.Waiting, p.Message = WhyWaiting(waiting)
			return
		case c.State.Running == nil && ended != nil && (ended.ExitCode != 0 || c.RestartCount > 0):
			p.StartsAfter, p.Waiting, p.Message = c.Name, facts.WaitingForCrash, lastWordsOf(ended)
			return
		}
	}
}

// lastEnd is how a container last ended; nil when it never did.
func lastEnd(c corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if c.State.Terminated != nil {
		return c.State.Terminated
	}
	return c.LastTerminationState.Terminated
}

func lastWordsOf(t *corev1.ContainerStateTerminated) string {
	says := fmt.Sprintf("it stopped with exit code %d", t.ExitCode)
	if words := etcdutil.LastWords(t.Message); words != "" {
		says += ": " + words
	}
	return says
}

// resizeOf says what came of the amounts that the operator gave a Pod. Where others changed them since, what the
// kubelet says is of theirs. Until it has seen the Pod as it is now, what it says is of amounts of before; a kubelet
// below 1.34 does not tell. That a Pod is being deleted is such a change as well, and no kubelet resizes it
// (kubernetes/kubernetes:staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go raises the generation).
func resizeOf(pod *corev1.Pod) facts.Resize {
	pending, progress := podCondition(pod, corev1.PodResizePending), podCondition(pod, corev1.PodResizeInProgress)
	seen := pod.Status.ObservedGeneration
	switch {
	case pod.DeletionTimestamp != nil, !resources.HasItsAmounts(pod):
		return facts.Resize{}
	case seen != 0 && seen < pod.Generation:
		return facts.Resize{State: facts.ResizeInProgress}
	case isTrue(pending) && pending.Reason == corev1.PodReasonInfeasible:
		return resizeAs(facts.ResizeInfeasible, pending)
	case isTrue(pending):
		return resizeAs(facts.ResizeDeferred, pending)
	case isTrue(progress) && progress.Reason == corev1.PodReasonError:
		return resizeAs(facts.ResizeFailed, progress)
	case isTrue(progress):
		return resizeAs(facts.ResizeInProgress, progress)
	}
	return facts.Resize{}
}

func isTrue(c *corev1.PodCondition) bool { return c != nil && c.Status == corev1.ConditionTrue }

func resizeAs(state facts.ResizeState, c *corev1.PodCondition) facts.Resize {
	return facts.Resize{State: state, Message: c.Message, Since: c.LastTransitionTime.Time}
}
