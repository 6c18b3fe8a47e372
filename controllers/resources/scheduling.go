package resources

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// aMember is how rules of scheduling find a member.
type aMember struct {
	labels labels.Set // of its Pod
	home   string     // its namespace
}

func memberFound(c *v1alpha1.EtcdCluster, name, incarnation string) aMember {
	return aMember{home: c.Namespace, labels: dress(c, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: MemberLabels(c, name, incarnation)}}).Labels}
}

// isFoundBy reports a selector that finds it.
func (m aMember) isFoundBy(selector *metav1.LabelSelector) bool {
	fits, err := metav1.LabelSelectorAsSelector(selector) // none selects nothing
	return err == nil && fits.Matches(m.labels)
}

// isMeantBy reports a term that finds it.
func (m aMember) isMeantBy(term corev1.PodAffinityTerm) bool {
	isHome := term.NamespaceSelector != nil || len(term.Namespaces) == 0 || slices.Contains(term.Namespaces, m.home)
	return isHome && m.isFoundBy(term.LabelSelector)
}

// beside is what rules about this cluster's members mean for a Pod that restores one: where it lands, its volume stays,
// and with it the member. They mean the members of the same incarnation, and the Pods that restore those. Members of
// another incarnation are gone when these start, and take no place from them.
type beside struct {
	member  aMember
	its     *metav1.LabelSelector
	another metav1.LabelSelectorRequirement // fits all that is not of this cluster
}

func besideMembers(spec *corev1.PodSpec, c *v1alpha1.EtcdCluster, s RestoreStart) {
	b := beside{member: memberFound(c, s.Member, s.Incarnation),
		its: &metav1.LabelSelector{
			MatchLabels: map[string]string{
				v1alpha1.LabelClusterUID: string(c.UID), v1alpha1.LabelIncarnation: s.Incarnation,
			},
			MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: v1alpha1.LabelComponent, Operator: metav1.LabelSelectorOpIn,
				Values: []string{v1alpha1.ComponentMember, v1alpha1.ComponentRestore},
			}},
		},
		another: metav1.LabelSelectorRequirement{Key: v1alpha1.LabelClusterUID,
			Operator: metav1.LabelSelectorOpNotIn, Values: []string{string(c.UID)}},
	}
	for i := range spec.TopologySpreadConstraints {
		if constraint := &spec.TopologySpreadConstraints[i]; b.member.isFoundBy(constraint.LabelSelector) {
			constraint.LabelSelector = b.its.DeepCopy()
		}
	}
	if spec.Affinity == nil {
		return
	}
	if together := spec.Affinity.PodAffinity; together != nil {
		together.RequiredDuringSchedulingIgnoredDuringExecution =
			b.terms(together.RequiredDuringSchedulingIgnoredDuringExecution, false)
		together.PreferredDuringSchedulingIgnoredDuringExecution =
			b.weighted(together.PreferredDuringSchedulingIgnoredDuringExecution, false)
	}
	if apart := spec.Affinity.PodAntiAffinity; apart != nil {
		apart.RequiredDuringSchedulingIgnoredDuringExecution =
			b.terms(apart.RequiredDuringSchedulingIgnoredDuringExecution, true)
		apart.PreferredDuringSchedulingIgnoredDuringExecution =
			b.weighted(apart.PreferredDuringSchedulingIgnoredDuringExecution, true)
	}
}

// terms says again what the terms say of this cluster's members. A term that keeps apart from others too goes on doing
// that.
func (b beside) terms(terms []corev1.PodAffinityTerm, isApart bool) []corev1.PodAffinityTerm {
	var all []corev1.PodAffinityTerm
	for _, term := range terms {
		all = append(all, b.term(term, isApart)...)
	}
	return all
}

func (b beside) weighted(terms []corev1.WeightedPodAffinityTerm, isApart bool) []corev1.WeightedPodAffinityTerm {
	var all []corev1.WeightedPodAffinityTerm
	for _, preferred := range terms {
		for _, term := range b.term(preferred.PodAffinityTerm, isApart) {
			all = append(all, corev1.WeightedPodAffinityTerm{Weight: preferred.Weight, PodAffinityTerm: term})
		}
	}
	return all
}

func (b beside) term(term corev1.PodAffinityTerm, isApart bool) []corev1.PodAffinityTerm {
	if !b.member.isMeantBy(term) {
		return []corev1.PodAffinityTerm{term}
	}
	its := corev1.PodAffinityTerm{LabelSelector: b.its.DeepCopy(), TopologyKey: term.TopologyKey}
	if !isApart {
		return []corev1.PodAffinityTerm{its}
	}
	others := *term.DeepCopy()
	others.LabelSelector.MatchExpressions = append(others.LabelSelector.MatchExpressions, b.another)
	return []corev1.PodAffinityTerm{its, others}
}

// Scheduling is where members made from these settings may run.
func Scheduling(c *v1alpha1.EtcdCluster, in *v1alpha1.PodSpec) (spec corev1.PodSpec) {
	schedule(&spec, c, in, nil)
	return spec
}

// schedule fills in where a member may run beside others, of which some leave, what it asks for names, and how long it
// may take to stop.
func schedule(spec *corev1.PodSpec, c *v1alpha1.EtcdCluster, in *v1alpha1.PodSpec, leaving []string) {
	if in == nil {
		in = &v1alpha1.PodSpec{}
	}
	spec.NodeSelector = in.NodeSelector
	spec.PriorityClassName, spec.SchedulerName = in.PriorityClassName, in.SchedulerName
	spec.DNSConfig = in.DNSConfig.DeepCopy()
	spec.Tolerations = append(defaultTolerations(), in.Tolerations...)
	spec.TopologySpreadConstraints = spread(c, in.TopologySpreadConstraints, leaving)
	spec.Affinity = apart(c, in, leaving)
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

// staying selects the members that a new one keeps apart from by default. Those that leave once it votes do not count:
// where each node has a member, no node would be better than another.
func staying(c *v1alpha1.EtcdCluster, leaving []string) *metav1.LabelSelector {
	selector := &metav1.LabelSelector{MatchLabels: MemberSelector(c.Name)}
	if len(leaving) > 0 {
		selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: v1alpha1.LabelMember,
			Operator: metav1.LabelSelectorOpNotIn, Values: slices.Clone(leaving)}}
	}
	return selector
}

// spread prefers members on different zones and nodes, and lets them share where there are too few. A user's constraint
// without a selector would count no Pod at all, and so gets all members'.
func spread(c *v1alpha1.EtcdCluster, user []corev1.TopologySpreadConstraint,
	leaving []string) []corev1.TopologySpreadConstraint {
	if len(user) == 0 {
		return []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: staying(c, leaving)},
			{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: staying(c, leaving)},
		}
	}
	constraints := make([]corev1.TopologySpreadConstraint, len(user))
	for i := range user {
		user[i].DeepCopyInto(&constraints[i])
		if constraints[i].LabelSelector == nil {
			constraints[i].LabelSelector = staying(c, nil)
		}
	}
	return constraints
}

// apart prefers members on different nodes once more, unless the spec itself says which Pods they keep apart from or
// run beside. The scheduler ignores all constraints that it may break on nodes which lack the label of one of them, and
// many clusters have no zones (kubernetes/kubernetes:pkg/scheduler/framework/plugins/podtopologyspread/scoring.go
// IgnoredNodes). It does not keep apart by zone: unlike a constraint it counts Pods that are being deleted, so a member
// on a dead node would keep its successor out of its zone.
func apart(c *v1alpha1.EtcdCluster, in *v1alpha1.PodSpec, leaving []string) *corev1.Affinity {
	user := in.Affinity.DeepCopy()
	if len(in.TopologySpreadConstraints) > 0 || saysOfPods(user) {
		return user
	}
	if user == nil {
		user = &corev1.Affinity{}
	}
	user.PodAntiAffinity = &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: mostWeight,
			PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname,
				LabelSelector: staying(c, leaving)}}}}
	return user
}

func saysOfPods(a *corev1.Affinity) bool {
	return a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil)
}

// mostWeight is the largest weight that a preference may have.
const mostWeight = 100

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
		slices.ContainsFunc(spread(c, pod.TopologySpreadConstraints, nil), isOverZones) {
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
