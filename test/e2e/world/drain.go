package world

import (
	"context"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Drain runs `kubectl drain` on a node as a person does before maintenance, with these flags beside, and returns what it
// says. It moves this cluster's members and the operator; what other stories have left there is none of this story's. The
// node takes Pods again after Uncordon, or after the story.
func (c *Cluster) Drain(ctx context.Context, node string, flags ...string) (string, error) {
	ginkgo.GinkgoHelper()
	ginkgo.DeferCleanup(func(ctx context.Context) { c.Uncordon(ctx, node) })
	selector := v1alpha1.LabelName + " in (" + v1alpha1.MemberNameValue + "," + v1alpha1.OperatorNameValue + ")"
	if others := c.others(ctx); len(others) > 0 {
		selector += "," + v1alpha1.LabelInstance + " notin (" + strings.Join(others, ",") + ")"
	}
	return c.Kubectl(ctx, append([]string{"drain", node, "--ignore-daemonsets", "--timeout=150s", "--pod-selector=" + selector}, flags...)...)
}

// others are the names of the clusters in other namespaces that have Pods.
func (c *Cluster) others(ctx context.Context) []string {
	ginkgo.GinkgoHelper()
	pods := &corev1.PodList{}
	gomega.Expect(c.Client.List(ctx, pods, client.MatchingLabels{v1alpha1.LabelName: v1alpha1.MemberNameValue})).To(gomega.Succeed())
	var names []string
	for i := range pods.Items {
		if name := pods.Items[i].Labels[v1alpha1.LabelInstance]; pods.Items[i].Namespace != c.Namespace && name != c.Name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Cordon lets a node take no more Pods, until Uncordon or the end of the story.
func (w *World) Cordon(ctx context.Context, node string) {
	ginkgo.GinkgoHelper()
	ginkgo.DeferCleanup(func(ctx context.Context) { w.Uncordon(ctx, node) })
	out, err := w.Kubectl(ctx, "cordon", node)
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), out)
}

// Uncordon lets a node take Pods again.
func (w *World) Uncordon(ctx context.Context, node string) {
	ginkgo.GinkgoHelper()
	out, err := w.Kubectl(ctx, "uncordon", node)
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), out)
}
