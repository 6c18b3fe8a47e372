package resources

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// BuildBudget builds the PodDisruptionBudget that keeps so many voters ready. The bound is a number: a percentage would
// be counted by the owners' scale, which is what is wanted and not what there is.
func BuildBudget(c *v1alpha1.EtcdCluster, minAvailable int) *policyv1.PodDisruptionBudget {
	return dress(c, &policyv1.PodDisruptionBudget{
		ObjectMeta: ownedMeta(c, Budget(c.Name)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(int32(minAvailable))),
			Selector:     &metav1.LabelSelector{MatchLabels: VoterSelector(c.Name)},
		},
	})
}
