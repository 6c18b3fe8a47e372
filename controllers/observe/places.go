package observe

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// places finds out whether members could be restarted where their volumes are, before any of them is stopped.
type places struct {
	*nodeSearch
	cluster *v1alpha1.EtcdCluster
	wanted  *corev1.Pod // as the spec has it, as far as a node by itself says whether it takes it
}

func (s *nodeSearch) placesOf(cluster *v1alpha1.EtcdCluster) places {
	return places{s, cluster, askingOf(cluster, cluster.Spec.Pod)}
}

// askingOf is a Pod with what it asks of a node, without what it asks of other Pods there.
func askingOf(cluster *v1alpha1.EtcdCluster, in *v1alpha1.PodSpec) *corev1.Pod {
	pod := &corev1.Pod{Spec: resources.Scheduling(cluster, in)}
	pod.Spec.TopologySpreadConstraints = nil
	if pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: pod.Spec.Affinity.NodeAffinity.
				RequiredDuringSchedulingIgnoredDuringExecution}}
	} else {
		pod.Spec.Affinity = nil
	}
	return pod
}

// add says why the only node that can use a member's volume would not take its next Pod. Nothing is read unless that
// asks other things of nodes than the Pod that is there. Where several nodes can use the volume, or the operator may
// not read nodes, nothing is known.
func (p places) add(ctx context.Context, g gathered, r *facts.Replica) error {
	claim := found(g.volumes, func(claim corev1.PersistentVolumeClaim) bool { return claim.Name == r.Name })
	if claim == nil || r.Volume == nil || r.Volume.Phase != facts.VolumeBound || !p.isAskedAnew(r) {
		return nil
	}
	err := p.addOf(ctx, claim, r)
	if half := g.halfOf(claim); half != nil && err == nil && r.Volume.Misplaced == "" {
		err = p.addOf(ctx, half, r)
	}
	return err
}

// addOf does so for one half of a volume.
func (p places) addOf(ctx context.Context, claim *corev1.PersistentVolumeClaim, r *facts.Replica) error {
	volume, err := p.backing(ctx, claim)
	if err != nil || volume == nil {
		return err
	}
	node, err := p.onlyNode(ctx, volume, scheduledTo(claim, r.Pod))
	if err != nil || node == nil {
		return err
	}
	r.Volume.Misplaced = p.whyNot(node)
	return nil
}

// isAskedAnew reports a member that asks other things of nodes, or will, than the spec does.
func (p places) isAskedAnew(r *facts.Replica) bool {
	in, err := resources.DecodeInputs(r.RunsWith().Inputs)
	if err != nil { // or it does not say what it was made from
		return false
	}
	has, wants := askingOf(p.cluster, in.Pod).Spec, p.wanted.Spec
	return !equality.Semantic.DeepEqual(has.NodeSelector, wants.NodeSelector) ||
		!equality.Semantic.DeepEqual(has.Affinity, wants.Affinity) ||
		!equality.Semantic.DeepEqual(has.Tolerations, wants.Tolerations)
}

// onlyNode is the one node that can use a volume; nil where there are several, and where it is not certain which it is.
func (s *nodeSearch) onlyNode(ctx context.Context, volume *corev1.PersistentVolume,
	scheduled string) (*corev1.Node, error) {
	name, host := pinned(volume, nodeName), pinned(volume, hostName)
	if name == "" && host == "" {
		return nil, nil
	}
	answer, err := s.node(ctx, cmp.Or(name, scheduled, host))
	if err != nil || answer.node == nil || name == "" && answer.node.Labels[corev1.LabelHostname] != host {
		return nil, err
	}
	return answer.node, nil
}

// whyNot says why the only node that can use a volume would not take the Pod, as a part of a sentence, or "".
func (p places) whyNot(node *corev1.Node) string {
	fits, err := nodeaffinity.GetRequiredNodeAffinity(p.wanted).Match(node)
	switch why := keptOut(node, p.wanted.Spec.Tolerations); {
	case err != nil: // an affinity that cannot be read keeps every Pod from starting, and the API server refuses it
	case !fits:
		return fmt.Sprintf("only node %s can use its volume, and spec.pod asks for others", node.Name)
	case why != "":
		return fmt.Sprintf("only node %s can use its volume, and %s", node.Name, why)
	}
	return ""
}
