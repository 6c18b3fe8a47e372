package resources

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// schedule fills in where a member may run, what it asks for names, and how long it may take to stop.
func schedule(spec *corev1.PodSpec, c *v1alpha1.EtcdCluster, in *PodInputs) {
	if in == nil {
		in = &PodInputs{}
	}
	spec.NodeSelector = in.NodeSelector
	spec.Affinity = in.Affinity.DeepCopy()
	spec.PriorityClassName, spec.SchedulerName = in.PriorityClassName, in.SchedulerName
	spec.DNSConfig = in.DNSConfig.DeepCopy()
	spec.Tolerations = append(defaultTolerations(), in.Tolerations...)
	spec.TopologySpreadConstraints = spread(c, in.TopologySpreadConstraints)
	spec.TerminationGracePeriodSeconds = new(DefaultGraceSeconds)
	if in.TerminationGracePeriodSeconds != nil {
		spec.TerminationGracePeriodSeconds = new(*in.TerminationGracePeriodSeconds)
	}
}

// defaultTolerations have no time limit: a node that comes back finds its member where it was, and a deadline of the
// operator's own, not the taint manager's, decides about a replacement.
func defaultTolerations() []corev1.Toleration {
	return []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	}
}

// spread prefers members on different zones and nodes, and lets them share where there are too few. A user's constraint
// without a selector would count no Pod at all, and so gets the members'.
func spread(c *v1alpha1.EtcdCluster, user []corev1.TopologySpreadConstraint) []corev1.TopologySpreadConstraint {
	members := &metav1.LabelSelector{MatchLabels: MemberSelector(c.Name)}
	if len(user) == 0 {
		return []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: members},
			{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: members.DeepCopy()},
		}
	}
	constraints := make([]corev1.TopologySpreadConstraint, len(user))
	for i := range user {
		user[i].DeepCopyInto(&constraints[i])
		if constraints[i].LabelSelector == nil {
			constraints[i].LabelSelector = members.DeepCopy()
		}
	}
	return constraints
}

// SpreadsOverZones reports a rule of the spec that keeps members apart by their zone. The default is no such rule: all
// clusters have it, also where there is one zone.
func SpreadsOverZones(c *v1alpha1.EtcdCluster) bool {
	if c.Spec.Pod == nil {
		return false
	}
	member, pod := memberFound(c, "", ""), c.Spec.Pod
	isOverZones := func(s corev1.TopologySpreadConstraint) bool {
		return s.TopologyKey == corev1.LabelTopologyZone && member.isFoundBy(s.LabelSelector)
	}
	if len(pod.TopologySpreadConstraints) > 0 &&
		slices.ContainsFunc(spread(c, pod.TopologySpreadConstraints), isOverZones) {
		return true
	}
	if pod.Affinity == nil || pod.Affinity.PodAntiAffinity == nil {
		return false
	}
	apart := pod.Affinity.PodAntiAffinity
	terms := slices.Clone(apart.RequiredDuringSchedulingIgnoredDuringExecution)
	for _, preferred := range apart.PreferredDuringSchedulingIgnoredDuringExecution {
		terms = append(terms, preferred.PodAffinityTerm)
	}
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool {
		return t.TopologyKey == corev1.LabelTopologyZone && member.isMeantBy(t)
	})
}
