package world

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// DefaultVersion is the etcd version of stories that are not about one.
const DefaultVersion = "3.6.16"

// Patience is how long stories wait for the world to become so. It is no measure of speed: that is test/bench's.
const Patience = 4 * time.Minute

// Cluster is one EtcdCluster of a story.
type Cluster struct {
	*Story
	Name string
	// ClusterID is etcd's identity when all was well first; from then on another one is never well.
	ClusterID etcdutil.ID
	History   *History
}

// Option shapes the EtcdCluster that a story makes.
type Option func(*v1alpha1.EtcdCluster)

// Version asks for an etcd version.
func Version(version string) Option {
	return func(c *v1alpha1.EtcdCluster) { c.Spec.Version = version }
}

// Ephemeral keeps data in emptyDirs: faster, for stories that are not about volumes.
func Ephemeral(c *v1alpha1.EtcdCluster) {
	c.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
}

// Manifest is an EtcdCluster of this namespace that takes little of a node, so that many stories fit beside each other.
func (s *Story) Manifest(name string, size int32, options ...Option) *v1alpha1.EtcdCluster {
	c := &v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec: v1alpha1.EtcdClusterSpec{
			Size: size, Version: DefaultVersion,
			Pod: &v1alpha1.PodSpec{Resources: &v1alpha1.ResourceRequirements{Requests: map[corev1.ResourceName]v1alpha1.Amount{
				corev1.ResourceCPU: "20m", corev1.ResourceMemory: "64Mi",
			}}},
		},
	}
	for _, option := range options {
		option(c)
	}
	return c
}

// Create makes an EtcdCluster and begins to write down what the operator decides for it.
func (s *Story) Create(ctx context.Context, name string, size int32, options ...Option) *Cluster {
	ginkgo.GinkgoHelper()
	manifest := s.Manifest(name, size, options...)
	gomega.Expect(s.Client.Create(ctx, manifest)).To(gomega.Succeed())
	return s.Cluster(name)
}

// Cluster is one that the story does not make itself. What the operator decides for it is written down from now on.
func (s *Story) Cluster(name string) *Cluster {
	return &Cluster{Story: s, Name: name, History: s.follow(name)}
}

// Get reads the object.
func (c *Cluster) Get(ctx context.Context) (*v1alpha1.EtcdCluster, error) {
	object := &v1alpha1.EtcdCluster{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Name}, object)
	return object, err
}

// Change changes the spec, and tries again when somebody else wrote meanwhile.
func (c *Cluster) Change(ctx context.Context, change func(*v1alpha1.EtcdClusterSpec)) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() error {
		object, err := c.Get(ctx)
		if err != nil {
			return err
		}
		change(&object.Spec)
		return c.Client.Update(ctx, object)
	}).WithTimeout(Patience).Should(gomega.Succeed())
}

// Resize asks for another number of members.
func (c *Cluster) Resize(ctx context.Context, size int32) {
	ginkgo.GinkgoHelper()
	c.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Size = size })
}

// AwaitReady waits until the cluster has this many voters, every one of them started, Ready and answering, and the
// operator says that everything asked for is so.
func (c *Cluster) AwaitReady(ctx context.Context, voters int) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() error { return c.CheckReady(ctx, voters) }).WithTimeout(Patience).Should(gomega.Succeed())
}

// CheckReady says what is missing until the cluster is as AwaitReady wants it.
func (c *Cluster) CheckReady(ctx context.Context, voters int) error {
	object, err := c.Get(ctx)
	if err != nil {
		return err
	}
	if object.Status.ObservedGeneration != object.Generation || !meta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.ConditionReady) {
		return fmt.Errorf("not Ready: %s", describeStep(object.Status.NextStep))
	}
	return c.CheckServing(ctx, voters)
}

// CheckServing asks Kubernetes and every member, and not the operator.
func (c *Cluster) CheckServing(ctx context.Context, voters int) error {
	pods, err := c.Pods(ctx)
	if err != nil {
		return err
	}
	if len(pods) != voters {
		return fmt.Errorf("%d Pods, not %d", len(pods), voters)
	}
	for i := range pods {
		if !IsReady(&pods[i]) {
			return fmt.Errorf("the Pod %s is not Ready", pods[i].Name)
		}
	}
	return c.checkMembers(ctx, pods)
}

// AwaitStep waits until the operator says that this is why it acts, waits or refuses.
func (c *Cluster) AwaitStep(ctx context.Context, reason string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() (string, error) {
		object, err := c.Get(ctx)
		if err != nil || object.Status.NextStep == nil || object.Status.ObservedGeneration != object.Generation {
			return "", err
		}
		return object.Status.NextStep.Reason, nil
	}).WithTimeout(Patience).Should(gomega.Equal(reason))
}

// AwaitStalled waits until the operator says that it will not go on without a person, for this reason.
func (c *Cluster) AwaitStalled(ctx context.Context, reason string) {
	ginkgo.GinkgoHelper()
	c.AwaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, reason)
}

// AwaitCondition waits for a condition of this generation with this status and reason.
func (c *Cluster) AwaitCondition(ctx context.Context, kind string, status metav1.ConditionStatus, reason string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() error {
		object, err := c.Get(ctx)
		if err != nil {
			return err
		}
		condition := meta.FindStatusCondition(object.Status.Conditions, kind)
		switch {
		case condition == nil:
			return fmt.Errorf("no condition %s: %s", kind, describeStep(object.Status.NextStep))
		case condition.ObservedGeneration != object.Generation:
			return fmt.Errorf("condition %s is of an earlier generation", kind)
		case condition.Status != status || condition.Reason != reason:
			return fmt.Errorf("condition %s is %s, %s: %s", kind, condition.Status, condition.Reason, condition.Message)
		}
		return nil
	}).WithTimeout(Patience).Should(gomega.Succeed())
}

// Pods are the members' Pods that are not on their way out, by ordinal.
func (c *Cluster) Pods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := c.Client.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabels(resources.MemberSelector(c.Name)))
	if err != nil {
		return nil, fmt.Errorf("listing the Pods of %s: %w", c.Name, err)
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return etcdutil.CompareNames(c.Name, a.Name, b.Name) })
	return pods, nil
}

// Pod reads one member's Pod.
func (c *Cluster) Pod(ctx context.Context, member string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: member}, pod)
	return pod, err
}

// Member is the name of the member with this ordinal.
func (c *Cluster) Member(ordinal int) string { return etcdutil.MemberName(c.Name, ordinal) }

// IsReady reports a Pod that its kubelet found ready.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

func describeStep(step *v1alpha1.NextStep) string {
	if step == nil {
		return "the operator has not said what it wants to do next"
	}
	return fmt.Sprintf("%s %s %s: %s", step.Verdict, step.Rule, step.Reason, step.Message)
}
