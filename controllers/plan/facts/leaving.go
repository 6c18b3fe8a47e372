package facts

import (
	"fmt"
	"time"
)

// outOfService is the taint by which a person says that a node is off for good
// (https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown).
const outOfService = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"

// TaintOff is the command that says of a node that it is off for good.
func TaintOff(node string) string {
	return fmt.Sprintf("kubectl taint node %s %s", node, outOfService)
}

// WhyNotStopped says why Kubernetes cannot stop a terminating Pod, as a sentence: only its kubelet stops it, and that
// is not heard of. It is "" where that is heard of, where the Pod ended before, and where Kubernetes lets go of it.
func (p *Pod) WhyNotStopped() string {
	if p == nil || !p.Terminating || p.NodeUnheard.IsZero() || p.HeldBy != "" || p.NodeGone != "" {
		return ""
	}
	return fmt.Sprintf("Its node %s is not heard of since %s, so Kubernetes cannot stop the Pod.", p.Node,
		p.NodeUnheard.UTC().Format(time.RFC3339))
}

// WayOn says what goes on once the node of a Pod is back, and what a person does where it never will be, as sentences.
func (p *Pod) WayOn() string {
	return fmt.Sprintf("The operator goes on once %[1]s is back. If %[1]s is off for good: %[2]s.", p.Node,
		TaintOff(p.Node))
}
