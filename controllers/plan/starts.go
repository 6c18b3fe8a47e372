package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// What a person can do about a Pod that does not start.

// otherClass is what a person can do about a volume that cannot be made.
const otherClass = "Put spec.storage.storageClassName to a StorageClass that exists and works, or spec.storage.size " +
	"to what it can make; so with spec.storage.wal. The operator then makes another volume."

// correctImage is what a person can do about an image that cannot be pulled.
var correctImage = "Correct spec.image.repository, spec.image.digests or spec.image.pullSecrets, or the operator's " +
	"flags --etcd-repository, --etcd-digest and --image-pull-secret: see " + pages.Docs + "docs/air-gapped.md. " +
	"Kubernetes tries again by itself."

// reachRegistry is the same where a node did not get so far as to ask for it.
var reachRegistry = "The node does not reach that registry: mend its DNS or network, or correct " +
	"spec.image.repository, or the operator's flag --etcd-repository: see " + pages.Docs + "docs/air-gapped.md. " +
	"Kubernetes tries again by itself."

// notReached is in each error of a connection that did not come about (golang/go:src/net/net.go OpError).
const notReached = "dial tcp"

// howToStart is what Kubernetes says of a Pod that does not start, with what a person can do about it.
func howToStart(waiting, message, selector string) string {
	advice := ""
	message = cmp.Or(strings.TrimSuffix(message, "."), "Kubernetes does not say why") + "."
	switch reason := facts.StartReason(waiting); {
	case reason == facts.ReasonImagePull && strings.Contains(message, notReached):
		advice = reachRegistry
	case reason == facts.ReasonImagePull:
		advice = correctImage
	case reason == facts.ReasonProvisioning:
		advice = otherClass
	case etcdutil.LacksEtcdutl(message):
		return etcdutil.NoEtcdutl + "."
	case strings.Contains(message, "nodes are available"): // kubernetes/kubernetes:pkg/scheduler/framework/types.go
		advice = howToPlace(message, selector)
	default:
		return message
	}
	return message + " " + advice
}

// onceCorrected says what becomes of a member's Pod that waits for an image, once its spec names another one, as a
// sentence with a space in front, or "". A learner may be given up for another one.
func onceCorrected(r facts.Replica) string {
	if !facts.AwaitsImage(r.Pod.Waiting) || r.IsLearner() {
		return ""
	}
	return fmt.Sprintf(" Once spec.image is put right or put back, the operator makes the Pod of %s anew.", r.Name)
}

// These are the scheduler's words (kubernetes/kubernetes:pkg/scheduler/framework/plugins nodeaffinity, tainttoleration,
// nodeunschedulable, interpodaffinity, podtopologyspread).
const (
	unselected = "didn't match Pod's node affinity/selector"
	tainted    = "untolerated taint"
	unwilling  = "were unschedulable"
	uneven     = "didn't match pod topology spread constraints"
	unzoned    = "missing required label" // for these
)

// howToPlace is what a person can do about a Pod that no node takes. Room helps where a node has too little of it, and
// not where every node is kept out by what the Pod asks for.
func howToPlace(message, selector string) string {
	nodes, _, _ := strings.Cut(message, ". ") // what follows is of preemption
	_, why, _ := strings.Cut(nodes, "nodes are available: ")
	isAll := func(words ...string) bool { // each reason has one of these
		return !slices.ContainsFunc(strings.Split(why, ", "), func(reason string) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(reason, w) })
		})
	}
	switch {
	case isAll(unselected) && selector != "":
		return fmt.Sprintf("No node has what spec.pod asks for: correct spec.pod.nodeSelector (%[1]s) or "+
			"spec.pod.affinity. Or label nodes, one for each member: kubectl label node NODE %[2]s. "+
			"kubectl get nodes -L %[3]s shows their labels.",
			selector, strings.ReplaceAll(selector, ",", " "), keysOf(selector))
	case isAll(unselected):
		return "No node has the labels that its Pod asks for: correct spec.pod.affinity, or label nodes."
	case isAll(tainted):
		return "Every node keeps it out by a taint: add to spec.pod.tolerations what they ask for, or a node without."
	case isAll(unwilling):
		return "Every node is cordoned, and takes no new Pod: kubectl uncordon NODE, or add a node."
	case isAll(keptApart, uneven, tainted) && !strings.Contains(why, unzoned):
		return "Rules that keep Pods apart leave it no node: add one, bring one back, or correct spec.pod.affinity " +
			"or spec.pod.topologySpreadConstraints."
	case strings.Contains(why, unwilling):
		return "Make room on the nodes, uncordon one (kubectl uncordon NODE), or correct what spec.pod asks for."
	}
	return "Make room on the nodes, or correct what spec.pod asks for."
}

// keysOf are the keys of a selector.
func keysOf(selector string) string {
	var keys []string
	for label := range strings.SplitSeq(selector, ",") {
		key, _, _ := strings.Cut(label, "=")
		keys = append(keys, key)
	}
	return strings.Join(keys, ",")
}
