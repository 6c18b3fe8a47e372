package resources

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// TrialPod is the name of the Pod that tries another version of etcd beside a member. No member has such a name.
func TrialPod(member string) string { return member + "-trial" }

// TriedMember is the member beside which a Pod of that name tries a version; false for all other names.
func TriedMember(pod string) (string, bool) { return strings.CutSuffix(pod, TrialPod("")) }

// TrialStart says what is tried, beside which member and where.
type TrialStart struct {
	Member string
	Node   string
	Inputs RollInputs // what the member is made from next
}

// BuildTrialPod builds a Pod that starts the member's etcd of another version on the member's node, with the member's
// own flags and --version. etcd reads all its flags, prints its version and ends
// (etcd-io/etcd:server/etcdmain/config.go). So its image is on the node by then, and takes the flags. The Pod mounts
// nothing, opens no port and asks for no room, as the member goes on beside it. There is nothing to wait for when it is
// deleted.
func BuildTrialPod(c *v1alpha1.EtcdCluster, s TrialStart) (*corev1.Pod, error) {
	version, requirements, err := s.Inputs.parse()
	if err != nil {
		return nil, fmt.Errorf("building the trial Pod of member %s: %w", s.Member, err)
	}
	sealed := PodStart{Name: s.Member, Flags: StartSealed, Inputs: s.Inputs}
	member := buildContainer(c, sealed, version)
	step := task(Container, member.Image, member.Command, nil)
	step.Args = append(member.Args, "--version") // the member's own refer to variables
	step.Env, step.ImagePullPolicy = member.Env, member.ImagePullPolicy
	step.Resources = trialResources(requirements)
	pod := &corev1.Pod{ObjectMeta: ownedMeta(c, TrialPod(s.Member))}
	// what admits and injects by the user's labels and annotations treats it as the member
	pod.Labels = merged(userLabels(c), taskLabels(c, v1alpha1.ComponentTrial))
	pod.Annotations = podAnnotations(c, sealed)
	pod.Spec = taskPod(step)
	schedule(&pod.Spec, c, s.Inputs.Pod)
	pod.Spec.NodeName = s.Node
	// its node is given, and is the member's: what would choose one has nothing to choose
	pod.Spec.Affinity, pod.Spec.NodeSelector, pod.Spec.TopologySpreadConstraints = nil, nil, nil
	pod.Spec.TerminationGracePeriodSeconds = new(int64(0))
	pod.Spec.ImagePullSecrets = pullSecrets(s.Inputs)
	return pod, nil
}

// trialLimits are more than etcd needs to print its version.
var trialLimits = corev1.ResourceList{
	corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("128Mi"),
}

// trialResources ask for nothing, so that a node that the member fills takes the trial as well. What the member limits
// is limited, since a quota of the namespace may ask for that.
func trialResources(member corev1.ResourceRequirements) corev1.ResourceRequirements {
	trial := corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.Quantity{}, corev1.ResourceMemory: resource.Quantity{},
	}}
	for name, most := range trialLimits {
		limit, isLimited := member.Limits[name]
		switch {
		case !isLimited:
			continue
		case trial.Limits == nil:
			trial.Limits = corev1.ResourceList{}
		}
		trial.Limits[name] = most
		if limit.Cmp(most) < 0 {
			trial.Limits[name] = limit
		}
	}
	return trial
}
