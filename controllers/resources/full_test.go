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
		SecurityContext: &v1alpha1.PodSecurityContext{
			RunAsUser: new(int64(1000)), RunAsGroup: new(int64(0)), FSGroup: new(int64(2000)), FSGroupChangePolicy: corev1.FSGroupChangeAlways,
			SupplementalGroups: []int64{3000}, SupplementalGroupsPolicy: corev1.SupplementalGroupsPolicyStrict, SELinuxOptions: &corev1.SELinuxOptions{Level: "s0:c123,c456"},
		},
		HostUsers:                 new(false),
		NodeSelector:              map[string]string{"disk": "ssd"},
		Tolerations:               []corev1.Toleration{{Key: "dedicated", Value: "etcd", Effect: corev1.TaintEffectNoSchedule}},
		Affinity:                  &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname}}}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule}},
		PriorityClassName:         "important",
		SchedulerName:             "packs",
		DNSConfig: &corev1.PodDNSConfig{Nameservers: []string{"203.0.113.53"}, Searches: []string{"example.com"},
			Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: new("2")}, {Name: "edns0"}}},
		TerminationGracePeriodSeconds: new(int64(120)),
		Sidecars:                      []v1alpha1.Sidecar{fullSidecar()},
	}
	c.Spec.Service = &v1alpha1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Annotations: map[string]string{"example.com/lb": "internal"}, LoadBalancerClass: new("example.com/lb"),
		Labels: map[string]string{"example.com/pool": "etcd"}, LoadBalancerSourceRanges: []string{"203.0.113.0/24", "2001:db8::/64"},
		ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		IPFamilies:            []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}, IPFamilyPolicy: corev1.IPFamilyPolicyRequireDualStack,
	}
}

// fullSidecar has every field set that is not refused, to something that is not its default.
func fullSidecar() v1alpha1.Sidecar {
	return v1alpha1.Sidecar{
		Name: "shipper", Image: "registry.example:5000/shipper:1", ImagePullPolicy: corev1.PullAlways, Command: []string{"/shipper"}, Args: []string{"$(NODE)"},
		Env: []v1alpha1.SidecarEnv{
			{Name: "LEVEL", Value: "debug"},
			{Name: "NODE", ValueFrom: &v1alpha1.SidecarEnvSource{FieldRef: &v1alpha1.SidecarFieldRef{FieldPath: "spec.nodeName"}}},
			{Name: "TOKEN", ValueFrom: &v1alpha1.SidecarEnvSource{SecretKeyRef: &v1alpha1.SidecarKeyRef{Name: "shipper", Key: "token"}}},
			{Name: "ZONE", ValueFrom: &v1alpha1.SidecarEnvSource{ConfigMapKeyRef: &v1alpha1.SidecarKeyRef{Name: "where", Key: "zone"}}},
		},
		Ports:     []v1alpha1.SidecarPort{{Name: "http", ContainerPort: 8080}, {ContainerPort: 8125, Protocol: corev1.ProtocolUDP}},
		Resources: &v1alpha1.ResourceRequirements{Limits: map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceMemory: "64Mi"}},
		ReadinessProbe: &v1alpha1.SidecarProbe{HTTPGet: &v1alpha1.SidecarHTTPGet{Path: "/ready", Port: 8080, Scheme: corev1.URISchemeHTTPS},
			InitialDelaySeconds: 1, PeriodSeconds: 5, TimeoutSeconds: 2, FailureThreshold: 1},
		LivenessProbe: &v1alpha1.SidecarProbe{Exec: &v1alpha1.SidecarExec{Command: []string{"/shipper", "check"}}},
		Mounts: []v1alpha1.SidecarMount{
			{MountPath: "/cache", EmptyDir: &v1alpha1.SidecarEmptyDir{Medium: corev1.StorageMediumMemory, SizeLimit: "64Mi"}},
			{MountPath: "/conf", ConfigMap: &v1alpha1.SidecarObjectRef{Name: "shipper"}},
			{MountPath: "/keys", Secret: &v1alpha1.SidecarObjectRef{Name: "keys"}},
			{MountPath: "/etcd", ClientCertificate: &v1alpha1.SidecarClientCertificate{}},
		},
		SecurityContext: &v1alpha1.SidecarSecurityContext{ReadOnlyRootFilesystem: new(false), RunAsUser: new(int64(1000))},
	}
}
