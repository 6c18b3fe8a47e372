package resources

import (
	"cmp"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// asStored is what the API server makes of a Service: it fills in what nobody asked for.
func asStored(service *corev1.Service) *corev1.Service {
	stored := service.DeepCopy()
	stored.Labels["kubernetes.example/of-somebody"] = "x"
	stored.Annotations = merged(service.Annotations, map[string]string{"example.com/of-somebody": "x"})
	stored.Spec.ClusterIPs = []string{"10.0.0.1"}
	if len(stored.Spec.IPFamilies) == 0 {
		stored.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	if stored.Spec.Type == corev1.ServiceTypeLoadBalancer {
		stored.Spec.AllocateLoadBalancerNodePorts = new(true)
		stored.Spec.HealthCheckNodePort = 30100
		stored.Spec.ExternalTrafficPolicy = cmp.Or(stored.Spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	stored.Spec.SessionAffinity = corev1.ServiceAffinityNone
	stored.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyCluster)
	for i := range stored.Spec.Ports {
		stored.Spec.Ports[i].NodePort = 30000 + int32(i)
	}
	if stored.Spec.Type == "" {
		stored.Spec.Type = corev1.ServiceTypeClusterIP
	}
	return stored
}

func TestWhatOthersAddToAServiceIsNotDrift(t *testing.T) {
	for _, c := range []*v1alpha1.EtcdCluster{cluster(), cluster(full)} {
		for _, want := range []*corev1.Service{BuildClientService(c), PeerServiceShape(c)} {
			have := asStored(want)
			have.Spec.Ports = append(have.Spec.Ports, corev1.ServicePort{Name: "extra", Port: 1})
			if drift := cmp.Or(ServiceDrift(have, want), MetadataDrift(c, have)); drift != "" {
				t.Errorf("%s: %s", want.Name, drift)
			}
		}
	}
}

func TestAChangeOfWhatIsOursIsDrift(t *testing.T) {
	want := BuildClientService(cluster(full))
	for name, change := range map[string]func(*corev1.Service){
		"selector":   func(s *corev1.Service) { delete(s.Spec.Selector, v1alpha1.LabelRole) },
		"not ready":  func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true },
		"type":       func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort },
		"class":      func(s *corev1.Service) { s.Spec.LoadBalancerClass = nil },
		"port":       func(s *corev1.Service) { s.Spec.Ports[0].Port = 1 },
		"target":     func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(2380) },
		"families":   func(s *corev1.Service) { slices.Reverse(s.Spec.IPFamilies) },
		"one family": func(s *corev1.Service) { s.Spec.IPFamilies = s.Spec.IPFamilies[:1] },
		"policy":     func(s *corev1.Service) { s.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyPreferDualStack) },
		"no ranges":  func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = nil },
		"a range more": func(s *corev1.Service) {
			s.Spec.LoadBalancerSourceRanges = append(s.Spec.LoadBalancerSourceRanges, "0.0.0.0/0")
		},
		"outside":      func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster },
		"no port":      func(s *corev1.Service) { s.Spec.Ports = nil },
		"label":        func(s *corev1.Service) { delete(s.Labels, v1alpha1.LabelClusterUID) },
		"other label":  func(s *corev1.Service) { s.Labels[v1alpha1.LabelInstance] = "other" },
		"annotation":   func(s *corev1.Service) { s.Annotations["example.com/lb"] = "public" },
		"all stripped": func(s *corev1.Service) { s.Labels, s.Annotations = nil, nil },
	} {
		have := asStored(want)
		change(have)
		if cmp.Or(ServiceDrift(have, want), MetadataDrift(cluster(full), have)) == "" {
			t.Errorf("%s changed, and nobody noticed", name)
		}
	}
}

var (
	v4, v6, v46, v64 = families(corev1.IPv4Protocol), families(corev1.IPv6Protocol), families(corev1.IPv4Protocol, corev1.IPv6Protocol),
		families(corev1.IPv6Protocol, corev1.IPv4Protocol)
	single, prefer, both = corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack
)

func families(f ...corev1.IPFamily) []corev1.IPFamily { return f }

// What a Service has, what the spec asks for, whether it is put right, and which families it is then told to have.
func TestFamiliesAreComparedAsFarAsTheyAreAskedFor(t *testing.T) {
	for name, row := range map[string]struct {
		have    []corev1.IPFamily
		policy  corev1.IPFamilyPolicy
		asked   []corev1.IPFamily
		asks    corev1.IPFamilyPolicy
		isDrift bool
		told    []corev1.IPFamily
	}{
		"nothing is asked for on one family":             {v4, prefer, nil, "", false, v4},
		"nothing is asked for on two":                    {v64, prefer, nil, "", false, v64},
		"the second family is filled in":                 {v46, prefer, v4, "", false, v46},
		"the second family is filled in as required":     {v64, both, v6, both, false, v64},
		"a policy leaves the spec":                       {v4, single, nil, "", true, v4},
		"the second family goes":                         {v46, prefer, nil, single, true, v46}, // the API server takes it away
		"the second family goes, by name of the first":   {v46, prefer, v4, single, true, v4},
		"the second family is required":                  {v4, prefer, nil, both, true, v4},
		"the second family is asked for":                 {v4, prefer, v46, "", true, v46},
		"the other family becomes the first":             {v46, prefer, v6, "", true, v64},
		"the other family becomes the only one":          {v46, prefer, v6, single, true, v6},
		"the order is another":                           {v46, prefer, v64, "", true, v64},
		"the only family is as asked":                    {v6, single, v6, single, false, v6},
		"the policy was changed by hand, without effect": {v46, both, nil, "", true, v46},
	} {
		have, want := BuildClientService(cluster()), PeerServiceShape(cluster(func(c *v1alpha1.EtcdCluster) {
			c.Spec.Service = &v1alpha1.ServiceSpec{IPFamilies: row.asked, IPFamilyPolicy: row.asks}
		}))
		have.Spec.IPFamilies, have.Spec.IPFamilyPolicy = row.have, &row.policy
		if drift := familyDrift(have, want); (drift != "") != row.isDrift {
			t.Errorf("%s: drift %q, want any: %v", name, drift, row.isDrift)
		}
		if KeepFamilies(have, want); !slices.Equal(want.Spec.IPFamilies, row.told) {
			t.Errorf("%s: it is told to have %v, want %v", name, want.Spec.IPFamilies, row.told)
		}
	}
}

// What left the spec is reset, and written down until it is. What others set on a Service stays.
func TestSourceRangesAndTrafficPolicyOfTheSpecLeaveWithItAndThoseOfOthersStay(t *testing.T) {
	const local, anywhere = corev1.ServiceExternalTrafficPolicyLocal, corev1.ServiceExternalTrafficPolicyCluster
	balanced := func(spec v1alpha1.ServiceSpec) *v1alpha1.EtcdCluster {
		return cluster(func(c *v1alpha1.EtcdCluster) {
			spec.Type = cmp.Or(spec.Type, corev1.ServiceTypeLoadBalancer)
			c.Spec.Service = &spec
		})
	}
	set := v1alpha1.ServiceSpec{LoadBalancerSourceRanges: []string{"203.0.113.0/24"}, ExternalTrafficPolicy: local}
	fromSpec := asStored(BuildClientService(balanced(set)))
	byOthers := asStored(BuildClientService(balanced(v1alpha1.ServiceSpec{})))
	byOthers.Spec.LoadBalancerSourceRanges, byOthers.Spec.ExternalTrafficPolicy = []string{"198.51.100.0/24"}, local
	for name, row := range map[string]struct {
		have    *corev1.Service
		asks    v1alpha1.ServiceSpec
		isDrift bool
		ranges  []string
		policy  corev1.ServiceExternalTrafficPolicy
	}{
		"of the spec, which has them":   {fromSpec, set, false, set.LoadBalancerSourceRanges, local},
		"of the spec, which lost them":  {fromSpec, v1alpha1.ServiceSpec{}, true, nil, anywhere},
		"of the spec, which lost one":   {fromSpec, v1alpha1.ServiceSpec{ExternalTrafficPolicy: local}, true, nil, local},
		"of others":                     {byOthers, v1alpha1.ServiceSpec{}, false, []string{"198.51.100.0/24"}, local},
		"of others, and the spec has":   {byOthers, set, true, set.LoadBalancerSourceRanges, local},
		"of others, for another type":   {byOthers, v1alpha1.ServiceSpec{Type: corev1.ServiceTypeNodePort}, true, nil, local},
		"of others, and not of outside": {byOthers, v1alpha1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}, true, nil, ""},
	} {
		c := balanced(row.asks)
		want := BuildClientService(c)
		if drift := ServiceDrift(row.have, want); (drift != "") != row.isDrift {
			t.Errorf("%s: drift %q, want any: %v", name, drift, row.isDrift)
		}
		if KeepAccess(row.have, want); !slices.Equal(want.Spec.LoadBalancerSourceRanges, row.ranges) || want.Spec.ExternalTrafficPolicy != row.policy {
			t.Errorf("%s: it is told to have %v and %q", name, want.Spec.LoadBalancerSourceRanges, want.Spec.ExternalTrafficPolicy)
		}
		marked := row.have.DeepCopy()
		Remarking(c, marked, record.Bootstrap{}).Put(marked)
		if row.have == fromSpec && ServiceDrift(marked, BuildClientService(c)) == "" && row.isDrift {
			t.Errorf("%s: it is no longer known that the spec had set it", name)
		}
		marked.Spec.LoadBalancerSourceRanges, marked.Spec.ExternalTrafficPolicy = row.ranges, row.policy
		Remarking(c, marked, record.Bootstrap{}).Put(marked)
		if before, _ := dressedOf(marked); len(before.Fields) > 0 != (len(row.asks.LoadBalancerSourceRanges) > 0 || row.asks.ExternalTrafficPolicy != "") {
			t.Errorf("%s: then it has %q from the spec", name, before.Fields)
		}
	}
}

func TestBothServicesHaveTheFamiliesThatAreAskedFor(t *testing.T) {
	for _, service := range []*corev1.Service{BuildClientService(cluster(full)), PeerServiceShape(cluster(full))} {
		if !slices.Equal(service.Spec.IPFamilies, v64) || *service.Spec.IPFamilyPolicy != both {
			t.Errorf("%s: %v, %s", service.Name, service.Spec.IPFamilies, *service.Spec.IPFamilyPolicy)
		}
	}
}

func TestABudgetDriftsInWhatItSelectsAndItsBoundIsReadApart(t *testing.T) {
	want := BuildBudget(cluster(), 2)
	if drift := BudgetDrift(want.DeepCopy(), want); drift != "" {
		t.Errorf("as built: %s", drift)
	}
	for name, change := range map[string]func(*policyv1.PodDisruptionBudget){
		"selector":        func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels[v1alpha1.LabelRole] = "learner" },
		"max unavailable": func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = new(intstr.FromInt32(1)) },
		"label":           func(b *policyv1.PodDisruptionBudget) { b.Labels = nil },
	} {
		have := want.DeepCopy()
		change(have)
		if cmp.Or(BudgetDrift(have, want), MetadataDrift(cluster(), have)) == "" {
			t.Errorf("%s changed, and nobody noticed", name)
		}
	}
	have := want.DeepCopy()
	if BudgetBound(have) != 2 {
		t.Errorf("bound %d", BudgetBound(have))
	}
	have.Spec.MinAvailable = new(intstr.FromString("50%"))
	if BudgetBound(have) != -1 {
		t.Errorf("a percentage is read as %d", BudgetBound(have))
	}
}

func TestOwnershipIsByUIDAndNeverByName(t *testing.T) {
	mine, other := cluster(), cluster(func(c *v1alpha1.EtcdCluster) { c.UID = "another" })
	service, volume := BuildClientService(mine), BuildVolume(mine, Volume{Name: "demo-0"})
	if !IsControlledBy(service, mine.UID) || IsControlledBy(service, other.UID) {
		t.Error("a Service is not told by its owner's UID")
	}
	if !IsDataOf(volume, mine.UID) || IsDataOf(volume, other.UID) || IsControlledBy(volume, mine.UID) {
		t.Error("a volume is not told by its cluster's UID")
	}
}
