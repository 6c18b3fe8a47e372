package resources

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// full has every field set to something that is not its default.
func full(c *v1alpha1.EtcdCluster) {
	c.Spec.Image = &v1alpha1.ImageSpec{
		Repository: "registry.example:5000/mirror/etcd", PullPolicy: corev1.PullAlways,
		Digests: map[string]v1alpha1.Digest{
			"3.6.16": "sha256:1111111111111111111111111111111111111111111111111111111111111111",
			"3.4.0":  "sha256:2222222222222222222222222222222222222222222222222222222222222222",
		},
		PullSecrets: []corev1.LocalObjectReference{{Name: "registry"}},
	}
	c.Spec.Etcd = &v1alpha1.EtcdSpec{
		QuotaBackendBytes: new(resource.MustParse("4Gi")),
		AutoCompaction:    &v1alpha1.AutoCompactionSpec{Mode: "revision", Retention: "10000"},
		SnapshotCount:     new(int64(20000)),
		HeartbeatInterval: &metav1.Duration{Duration: 250 * time.Millisecond},
		ElectionTimeout:   &metav1.Duration{Duration: 2500 * time.Millisecond},
		ExtraArgs:         map[string]v1alpha1.ArgValue{"max-txn-ops": "256", "log-level": "$(HOME) $$ --force-new-cluster"},
	}
	c.Spec.Pod = &v1alpha1.PodSpec{
		Labels:      map[string]string{"team": "storage"},
		Annotations: map[string]string{"example.com/note": "hello"},
		Resources: &v1alpha1.ResourceRequirements{
			Requests: map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceCPU: "1500m", corev1.ResourceMemory: "1024Mi"},
			Limits:   map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceMemory: "2147483648"},
		},
		NodeSelector:                  map[string]string{"disk": "ssd"},
		Tolerations:                   []corev1.Toleration{{Key: "dedicated", Value: "etcd", Effect: corev1.TaintEffectNoSchedule}},
		Affinity:                      &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname}}}},
		TopologySpreadConstraints:     []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule}},
		PriorityClassName:             "important",
		TerminationGracePeriodSeconds: new(int64(120)),
	}
	c.Spec.Service = &v1alpha1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Annotations: map[string]string{"example.com/lb": "internal"}, LoadBalancerClass: new("example.com/lb"),
	}
}
