package resources

import (
	"cmp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// asStored is what the API server makes of a Service: it fills in what nobody asked for.
func asStored(service *corev1.Service) *corev1.Service {
	stored := service.DeepCopy()
	stored.Labels["kubernetes.example/of-somebody"] = "x"
	stored.Annotations = merged(service.Annotations, map[string]string{"example.com/of-somebody": "x"})
	stored.Spec.ClusterIPs = []string{"10.0.0.1"}
	stored.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	stored.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicySingleStack)
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
		"selector":     func(s *corev1.Service) { delete(s.Spec.Selector, v1alpha1.LabelRole) },
		"not ready":    func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true },
		"type":         func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort },
		"class":        func(s *corev1.Service) { s.Spec.LoadBalancerClass = nil },
		"port":         func(s *corev1.Service) { s.Spec.Ports[0].Port = 1 },
		"target":       func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(2380) },
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
