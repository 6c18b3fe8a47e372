package observe

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// annotationSelectedNode is where the scheduler says for which node a volume was made (kubernetes/kubernetes:
// staging/src/k8s.io/component-helpers/storage/volume/helpers.go).
const annotationSelectedNode = "volume.kubernetes.io/selected-node"

// stranded says why the only node that can use a volume will not come back; empty when it may, when others can use it,
// and when it is not certain which node it is.
func (s *nodeSearch) stranded(ctx context.Context, claim *corev1.PersistentVolumeClaim, pod *facts.Pod) (string,
	error) {
	if claim.Spec.VolumeName == "" {
		return "", nil
	}
	volume, _, err := readOutside[corev1.PersistentVolume](ctx, s, claim.Spec.VolumeName)
	if err != nil || volume == nil || volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID != claim.UID {
		return "", err
	}
	if name := pinned(volume, nodeName); name != "" {
		return s.fateOf(ctx, name)
	}
	host := pinned(volume, hostName)
	if host == "" {
		return "", nil
	}
	return s.fateOfHost(ctx, host, scheduledTo(claim, pod))
}

// fateOfHost is the fate of the node with a host name. A host name need not be the name of a node, so that there is
// none of that name proves nothing; the name is what the scheduler wrote down, empty when that is not known.
func (s *nodeSearch) fateOfHost(ctx context.Context, host, name string) (string, error) {
	answer, err := s.node(ctx, cmp.Or(name, host))
	switch {
	case err != nil || !answer.isKnown:
		return "", err
	case answer.node != nil && answer.node.Labels[corev1.LabelHostname] == host:
		return fate(answer.node.Name, answer.node), nil
	case answer.node != nil || name == "":
		return "", nil
	}
	namesake, err := s.node(ctx, host)
	if err != nil || !namesake.isKnown || namesake.node != nil {
		return "", err
	}
	return fate(name, nil), nil
}

// scheduledTo is the name of the node that a volume was made for, or that its Pod was bound to; empty when neither is
// known.
func scheduledTo(claim *corev1.PersistentVolumeClaim, pod *facts.Pod) string {
	if pod != nil && pod.Node != "" {
		return pod.Node
	}
	return claim.Annotations[annotationSelectedNode]
}

// pinned is the one value that every term of a volume's node affinity requires; empty when there is none, or more than
// one.
func pinned(volume *corev1.PersistentVolume, required func(corev1.NodeSelectorTerm) string) string {
	affinity := volume.Spec.NodeAffinity
	if affinity == nil || affinity.Required == nil {
		return ""
	}
	only := ""
	for i, term := range affinity.Required.NodeSelectorTerms {
		value := required(term)
		if value == "" || i > 0 && value != only {
			return ""
		}
		only = value
	}
	return only
}

func hostName(term corev1.NodeSelectorTerm) string {
	return onlyValue(term.MatchExpressions, corev1.LabelHostname)
}

func nodeName(term corev1.NodeSelectorTerm) string {
	return onlyValue(term.MatchFields, metav1.ObjectNameField)
}

func onlyValue(requirements []corev1.NodeSelectorRequirement, key string) string {
	for _, r := range requirements {
		if r.Key == key && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
			return r.Values[0]
		}
	}
	return ""
}
