package resources

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	podresources "k8s.io/component-helpers/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// BuildPlacePod builds the Pod that holds the place of a member whose volume is restored. It is a restore Pod with
// nothing left to restore: it waits where the member will run, with that volume mounted, and asks for all that the
// member and the containers beside it will ask for.
func BuildPlacePod(c *v1alpha1.EtcdCluster, s RestoreStart) (*corev1.Pod, error) {
	_, requirements, err := s.Inputs.parse()
	member := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: requirements}}}}
	if err == nil {
		err = addSidecars(&member.Spec, c, s.Inputs.Pod)
	}
	if err != nil {
		return nil, fmt.Errorf("building the Pod that holds the place of member %s: %w", s.Member, err)
	}
	step := s.step(StepHold, s.AgentImage, []string{agentProgram}, []string{StepHold})
	step.Resources = wholeOf(member)
	return s.podOf(c, []corev1.Container{step}, nil), nil
}

// wholeOf is what a Pod asks for, as one container would. One of its containers may have no limit where another one
// has, so no limit is below what is asked for.
func wholeOf(pod *corev1.Pod) corev1.ResourceRequirements {
	all := corev1.ResourceRequirements{
		Requests: podresources.PodRequests(pod, podresources.PodResourcesOptions{}),
		Limits:   podresources.PodLimits(pod, podresources.PodResourcesOptions{}),
	}
	for name, limit := range all.Limits {
		if asked := all.Requests[name]; asked.Cmp(limit) > 0 {
			all.Limits[name] = asked
		}
	}
	return all
}

// HoldsPlace reports a restore Pod that only holds a place.
func HoldsPlace(pod *corev1.Pod) bool {
	steps := Steps(pod)
	return len(steps) == 1 && steps[0].Name == StepHold
}
