package world

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Ending is what a kubelet says of a Pod that it never starts again.
type Ending struct {
	Phase           corev1.PodPhase
	Reason, Message string
	Disrupted       string // reason of the condition DisruptionTarget; empty when there is none
}

// Endings are those that a member's Pod can meet, as kubelets write them (kubernetes/kubernetes:pkg/kubelet: nodeshutdown,
// eviction, preemption, lifecycle). A node that shuts down has also been seen to call etcd's clean end a success.
var Endings = []Ending{
	{corev1.PodFailed, "Terminated", "Pod was terminated in response to imminent node shutdown.", "TerminationByKubelet"},
	{corev1.PodFailed, "Evicted", "The node was low on resource: memory. Threshold quantity: 100Mi, available: 20Mi.", "TerminationByKubelet"},
	{corev1.PodFailed, "Preempting", "Preempted in order to admit critical pod", "TerminationByKubelet"},
	{corev1.PodFailed, "OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu, requested: 20, used: 1990, capacity: 2000", ""},
	{corev1.PodSucceeded, "", "", ""},
}

func (e Ending) String() string { return fmt.Sprintf("%s %s", e.Phase, e.Reason) }

// End writes into a Pod's status that it ended, as its kubelet would, and waits until it is gone. The kubelet knows nothing of
// it, and writes back that the Pod runs as soon as it has anything to say: then it is written again.
func (c *Cluster) End(ctx context.Context, pod *corev1.Pod, e Ending) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() error {
		now := &corev1.Pod{}
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(pod), now)
		switch {
		case apierrors.IsNotFound(err), err == nil && now.UID != pod.UID:
			return nil
		case err == nil && now.Status.Phase != e.Phase:
			err = c.writeEnding(ctx, now, e)
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("the Pod %s ended and is there", pod.Name)
	}).WithTimeout(Patience).Should(gomega.Succeed())
}

// writeEnding is one such write: no container of the Pod runs by then.
func (c *Cluster) writeEnding(ctx context.Context, pod *corev1.Pod, e Ending) error {
	before := pod.DeepCopy()
	pod.Status.Phase, pod.Status.Reason, pod.Status.Message = e.Phase, e.Reason, e.Message
	now := metav1.Now()
	if e.Disrupted != "" { // the kubelet may have kept the one that was written before
		pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget
		})
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: e.Disrupted, LastTransitionTime: now,
		})
	}
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type == corev1.PodReady || condition.Type == corev1.ContainersReady {
			condition.Status, condition.LastTransitionTime = corev1.ConditionFalse, now
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		status.Ready, status.Started = false, new(false)
		status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: "Completed", StartedAt: *pod.Status.StartTime, FinishedAt: now, ContainerID: status.ContainerID,
		}}
	}
	return c.Client.Status().Patch(ctx, pod, client.StrategicMergeFrom(before))
}

// Expire lets the kubelet itself end a member's Pod for good: its time is up.
func (c *Cluster) Expire(ctx context.Context, pod *corev1.Pod) {
	ginkgo.GinkgoHelper()
	before := pod.DeepCopy()
	pod.Spec.ActiveDeadlineSeconds = new(int64(1))
	gomega.Expect(c.Client.Patch(ctx, pod, client.MergeFrom(before))).To(gomega.Succeed())
}

// Bind puts a Pod that waits for the scheduler on a node, whether it fits there or not.
func (c *Cluster) Bind(ctx context.Context, pod *corev1.Pod, node string) error {
	return c.Client.SubResource("binding").Create(ctx, pod, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	})
}

// ReadWhole lets clients read all keys of one member at once, again and again, until the returned function is called: a
// member with a low limit of memory does not survive that.
func (c *Cluster) ReadWhole(ctx context.Context, member string) (stop func()) {
	ginkgo.GinkgoHelper()
	const readers = 8
	etcd := c.dialOnly(ctx, member)
	background, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	for range readers {
		ended.Go(func() {
			for background.Err() == nil {
				attempt, done := context.WithTimeout(background, 5*time.Second)
				_, _ = etcd.Get(attempt, "", clientv3.WithPrefix(), clientv3.WithSerializable()) // it is to end badly
				done()
			}
		})
	}
	stop = func() { cancel(); ended.Wait(); _ = etcd.Close() }
	ginkgo.DeferCleanup(func() { stop() })
	return stop
}

// WhyEnded is what the kubelet says of how the member's container ended last: OOMKilled, Error …
func (c *Cluster) WhyEnded(ctx context.Context, member string) (string, error) {
	end, err := c.lastEnd(ctx, member)
	return end.Reason, err
}

// UnreadySince is since when Kubernetes calls a Pod not ready; zero while it is ready, or never was.
func UnreadySince(pod *corev1.Pod) time.Time {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status != corev1.ConditionTrue {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
