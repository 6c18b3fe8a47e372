package world

import (
	"context"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// Drain runs `kubectl drain` on a node as a person does before maintenance, with these flags beside, and returns what it
// says. It moves etcd's members and the operator, which is all that stories are about. The node takes Pods again after
// Uncordon, or after the story.
func (w *World) Drain(ctx context.Context, node string, flags ...string) (string, error) {
	ginkgo.GinkgoHelper()
	ginkgo.DeferCleanup(func(ctx context.Context) { w.Uncordon(ctx, node) })
	return w.Kubectl(ctx, append([]string{
		"drain", node, "--ignore-daemonsets", "--timeout=150s", "--pod-selector=app.kubernetes.io/name in (etcd,etcd-steward)",
	}, flags...)...)
}

// Uncordon lets a node take Pods again.
func (w *World) Uncordon(ctx context.Context, node string) {
	ginkgo.GinkgoHelper()
	out, err := w.Kubectl(ctx, "uncordon", node)
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), out)
}
