package world

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// ControlPlane is the host of a localkube that runs the API server, its controllers and DNS.
const ControlPlane = "control-plane"

// ReplaceAfter is how long a member may be dead before it is replaced; 0 is for ever.
func ReplaceAfter(d time.Duration) Option {
	return func(c *v1alpha1.EtcdCluster) {
		c.Spec.Repair = &v1alpha1.RepairSpec{ReplaceAfter: &metav1.Duration{Duration: d}}
	}
}

// KillNode ends all that runs on a node at once. It is started again after the story at the latest.
func (w *World) KillNode(ctx context.Context, node string) {
	ginkgo.GinkgoHelper()
	w.broken.Store(node, true)
	ginkgo.DeferCleanup(func(ctx context.Context) {
		if _, still := w.broken.Load(node); still {
			w.StartNode(ctx, node)
		}
	})
	_, err := w.localkube(ctx, "kill-node", node)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
}

// StartNode starts a node again, which registers anew if it has to, and waits until it is Ready.
func (w *World) StartNode(ctx context.Context, node string) {
	ginkgo.GinkgoHelper()
	before, _ := w.heartbeat(ctx, node)
	_, err := w.localkube(ctx, "start-node", node)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	w.broken.Delete(node)
	// A node that was away for a moment is called Ready by what it said before; only one that speaks again is back.
	gomega.Eventually(ctx, func(g gomega.Gomega) {
		now, err := w.heartbeat(ctx, node)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(now).To(gomega.BeTemporally(">", before), "%s has not spoken since it was started", node)
		g.Expect(w.NodeReady(ctx, node)).To(gomega.Equal(corev1.ConditionTrue))
	}).WithTimeout(Patience).Should(gomega.Succeed())
}

// heartbeat is when a node's kubelet last wrote how it is.
func (w *World) heartbeat(ctx context.Context, node string) (time.Time, error) {
	ready, err := w.readyCondition(ctx, node)
	return ready.LastHeartbeatTime.Time, err
}

// NodeReady is what the API server believes of a node: True, False, or Unknown when it is silent.
func (w *World) NodeReady(ctx context.Context, node string) (corev1.ConditionStatus, error) {
	ready, err := w.readyCondition(ctx, node)
	return ready.Status, err
}

func (w *World) readyCondition(ctx context.Context, node string) (corev1.NodeCondition, error) {
	object := &corev1.Node{}
	if err := w.Client.Get(ctx, client.ObjectKey{Name: node}, object); err != nil {
		return corev1.NodeCondition{}, fmt.Errorf("reading the node %s: %w", node, err)
	}
	for _, condition := range object.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition, nil
		}
	}
	return corev1.NodeCondition{}, fmt.Errorf("the node %s does not say whether it is ready", node)
}

// AwaitNodeSilent waits until Kubernetes has noticed that a node does not speak.
func (w *World) AwaitNodeSilent(ctx context.Context, node string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() (corev1.ConditionStatus, error) { return w.NodeReady(ctx, node) }).
		WithTimeout(Patience).Should(gomega.Equal(corev1.ConditionUnknown), "%s is cut off, and Kubernetes has not noticed", node)
}

// AwaitNodesReady waits until every node is Ready.
func (w *World) AwaitNodesReady(ctx context.Context) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func(g gomega.Gomega) {
		nodes, err := w.Nodes(ctx)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		for _, node := range nodes {
			g.Expect(w.NodeReady(ctx, node)).To(gomega.Equal(corev1.ConditionTrue), node)
		}
	}).WithTimeout(Patience).Should(gomega.Succeed())
}

// Nodes are the names of all nodes.
func (w *World) Nodes(ctx context.Context) ([]string, error) {
	list := &corev1.NodeList{}
	if err := w.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing the nodes: %w", err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// Cut pulls the network plug of a host, a node or the control plane: nothing gets in or out, and all on it goes on. What
// it returns puts the plug back; the end of the story does so as well, and then all nodes are Ready.
func (w *World) Cut(ctx context.Context, host string) (heal func(context.Context)) {
	ginkgo.GinkgoHelper()
	w.broken.Store("plug of "+host, true)
	heal = func(ctx context.Context) {
		ginkgo.GinkgoHelper()
		if _, still := w.broken.LoadAndDelete("plug of " + host); !still {
			return
		}
		_, err := w.localkube(ctx, "heal", host)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		w.AwaitNodesReady(ctx)
	}
	ginkgo.DeferCleanup(heal)
	_, err := w.localkube(ctx, "cut", host)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return heal
}

// AskAPIServer asks the API server anything at all, and gives it two seconds.
func (w *World) AskAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return w.Client.Get(ctx, client.ObjectKey{Name: metav1.NamespaceDefault}, &corev1.Namespace{})
}

// DeleteNode takes a node that was killed out of Kubernetes, as a cloud does with a machine that is gone. It registers
// again when it is started.
func (w *World) DeleteNode(ctx context.Context, node string) {
	ginkgo.GinkgoHelper()
	gomega.Expect(w.Client.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})).To(gomega.Succeed())
}

// TaintOutOfService is a person's word that a node is shut down and does not come back. The returned function, or the end
// of the story, takes the word back.
func (w *World) TaintOutOfService(ctx context.Context, node string) (back func(context.Context)) {
	ginkgo.GinkgoHelper()
	return w.Taint(ctx, node, corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
}

// Taint puts a taint on a node, until the returned function or the end of the story.
func (w *World) Taint(ctx context.Context, node string, taint corev1.Taint) (back func(context.Context)) {
	ginkgo.GinkgoHelper()
	w.changeTaints(ctx, node, func(taints []corev1.Taint) []corev1.Taint { return append(taints, taint) })
	back = func(ctx context.Context) {
		ginkgo.GinkgoHelper()
		w.changeTaints(ctx, node, func(taints []corev1.Taint) []corev1.Taint {
			return slices.DeleteFunc(taints, func(t corev1.Taint) bool { return t.Key == taint.Key })
		})
	}
	ginkgo.DeferCleanup(back)
	return back
}

// changeTaints tries again when somebody else wrote meanwhile: controllers put taints of their own on such a node.
func (w *World) changeTaints(ctx context.Context, node string, change func([]corev1.Taint) []corev1.Taint) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() error {
		object := &corev1.Node{}
		if err := w.Client.Get(ctx, client.ObjectKey{Name: node}, object); err != nil {
			return err
		}
		object.Spec.Taints = change(object.Spec.Taints)
		return w.Client.Update(ctx, object)
	}).WithTimeout(10 * time.Second).Should(gomega.Succeed())
}

// NodeOf is the node that a member's Pod runs on.
func (c *Cluster) NodeOf(ctx context.Context, member string) string {
	ginkgo.GinkgoHelper()
	pod, err := c.Pod(ctx, member)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(pod.Spec.NodeName).NotTo(gomega.BeEmpty(), "%s has no node", member)
	return pod.Spec.NodeName
}

// AwayFromOperator is a member on a node where the operator that is in charge is not. A story about a node's end is then
// not one about an operator's.
func (c *Cluster) AwayFromOperator(ctx context.Context) string {
	ginkgo.GinkgoHelper()
	var operator *corev1.Pod
	gomega.Eventually(ctx, func() (err error) { operator, err = c.OperatorLeader(ctx); return err }).WithTimeout(Patience).Should(gomega.Succeed())
	pods, err := c.Pods(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for i := range pods {
		if pods[i].Spec.NodeName != operator.Spec.NodeName {
			return pods[i].Name
		}
	}
	ginkgo.Fail("all members are on the node of the operator, " + operator.Spec.NodeName)
	return ""
}
