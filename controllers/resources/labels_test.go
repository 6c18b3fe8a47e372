package resources

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// Charts of etcd, and what `helm create` makes, select by name and instance. The operator selects the Pods of releases
// that had the same pair as well.
func TestWhatSelectsAsChartsOfEtcdDoSelectsNoMember(t *testing.T) {
	c := cluster(full, func(c *v1alpha1.EtcdCluster) { c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{} })
	now := labels.Set(mustPod(t, c, sealed(c)).Labels)
	before := maps.Clone(now)
	before[v1alpha1.LabelName] = "etcd"
	release := labels.SelectorFromSet(labels.Set{v1alpha1.LabelName: "etcd", v1alpha1.LabelInstance: c.Name})
	if release.Matches(now) || !release.Matches(before) {
		t.Errorf("selected: %v, and %v before", now, before)
	}
	for what, selector := range map[string]map[string]string{
		"peers": BuildPeerService(c, record.Bootstrap{}, "").Spec.Selector, "clients": BuildClientService(c).Spec.Selector,
		"budget": BuildBudget(c, 2).Spec.Selector.MatchLabels,
		"policy": BuildNetworkPolicy(c, "ops/etcd-steward").Spec.PodSelector.MatchLabels,
	} {
		if s := labels.SelectorFromSet(selector); !s.Matches(now) || !s.Matches(before) {
			t.Errorf("%s: %v", what, selector)
		}
	}
}
