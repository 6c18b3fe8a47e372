package world

import (
	"context"
	"slices"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// FollowClients watches to whom the client Service leads. What it returns ends that, and tells the members that it led
// to anew meanwhile: whose Pods became ready with the label by which it selects.
func (c *Cluster) FollowClients(ctx context.Context) func() []string {
	ginkgo.GinkgoHelper()
	events, err := c.Client.Watch(ctx, &corev1.PodList{}, client.InNamespace(c.Namespace))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	found := make(chan []string, 1)
	go func() { found <- ledAnew(events.ResultChan()) }()
	return func() []string {
		events.Stop()
		return <-found
	}
}

func ledAnew(events <-chan watch.Event) []string {
	var anew []string
	was := map[types.UID]bool{}
	for event := range events {
		pod, isPod := event.Object.(*corev1.Pod)
		if !isPod {
			continue
		}
		isLed := pod.Labels[v1alpha1.LabelRole] == v1alpha1.RoleVoter && pod.DeletionTimestamp == nil && IsReady(pod)
		if before, isKnown := was[pod.UID]; isLed && isKnown && !before && !slices.Contains(anew, pod.Name) {
			anew = append(anew, pod.Name)
		}
		was[pod.UID] = isLed
	}
	return anew
}
