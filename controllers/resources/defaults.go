package resources

import (
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// Defaults of what a Pod is made from. They are in code and not in the schema, where a new default would appear in
// every stored object at once. To change one is to change what the renderer makes of the same choices: raise Renderer
// with it.
const (
	// DefaultRepository is where etcd's own releases are.
	DefaultRepository = "gcr.io/etcd-development/etcd"
	// DefaultPullPolicy of the image.
	DefaultPullPolicy = corev1.PullIfNotPresent
	// DefaultQuotaBackendBytes is also etcd's own default (etcd-io/etcd:server/storage/quota.go).
	DefaultQuotaBackendBytes int64 = 2 << 30
	// DefaultCompactionMode and DefaultCompactionRetention keep an hour of history.
	DefaultCompactionMode      = "periodic"
	DefaultCompactionRetention = "1h"
	// DefaultGraceSeconds is time enough to hand over leadership, which may take 7 s, and to close a large database.
	DefaultGraceSeconds int64 = 60
	// DefaultGroupChange keeps Kubernetes from walking through a store of backups at every start.
	DefaultGroupChange = corev1.FSGroupChangeOnRootMismatch

	defaultHeartbeat = 100  // milliseconds, as etcd has it
	defaultElection  = 1000 // milliseconds, as etcd has it
)

// defaultResources have no limit of CPU: a throttled member misses heartbeats.
func defaultResources() ResourceInputs {
	return ResourceInputs{Requests: map[corev1.ResourceName]string{corev1.ResourceCPU: "100m",
		corev1.ResourceMemory: "512Mi"}}
}

// StorageBytes is the size of a new volume, in bytes.
func StorageBytes(c *v1alpha1.EtcdCluster) int64 {
	size := c.Spec.StorageSizeOrDefault()
	return size.Value()
}

// withoutDefaults takes out everything that says no more than its absence would, and brings quantities into one form.
func (in RollInputs) withoutDefaults() RollInputs {
	in.Image = present(in.Image, ImageInputs.withoutDefaults)
	in.Etcd = present(in.Etcd, EtcdInputs.withoutDefaults)
	in.Pod = present(in.Pod, PodInputs.withoutDefaults)
	if in.TLS == string(v1alpha1.TLSManaged) {
		in.TLS = ""
	}
	return in
}

func (in ImageInputs) withoutDefaults() ImageInputs {
	in.Repository = unless(in.Repository, DefaultRepository)
	in.PullPolicy = unless(in.PullPolicy, DefaultPullPolicy)
	in.PullSecrets = orNil(in.PullSecrets)
	return in
}

func (in EtcdInputs) withoutDefaults() EtcdInputs {
	in.QuotaBackendBytes = unlessPointer(in.QuotaBackendBytes, DefaultQuotaBackendBytes)
	in.CompactionMode = unless(in.CompactionMode, DefaultCompactionMode)
	if in.CompactionMode == "" { // of another mode, "1h" would not be the default but a mistake to report
		in.CompactionRetention = unless(in.CompactionRetention, DefaultCompactionRetention)
	}
	in.HeartbeatInterval = unlessPointer(in.HeartbeatInterval, defaultHeartbeat)
	in.ElectionTimeout = unlessPointer(in.ElectionTimeout, defaultElection)
	in.CorruptionChecks = unlessPointer(in.CorruptionChecks, true)
	if len(in.ExtraArgs) == 0 {
		in.ExtraArgs = nil
	}
	return in
}

func (in PodInputs) withoutDefaults() PodInputs {
	in.Resources = present(in.Resources, ResourceInputs.canonical)
	if in.Resources != nil && record.JSON(*in.Resources) == record.JSON(defaultResources()) {
		in.Resources = nil
	}
	in.SecurityContext = present(in.SecurityContext, securityWithoutDefaults)
	if len(in.NodeSelector) == 0 {
		in.NodeSelector = nil
	}
	in.Tolerations = orNil(in.Tolerations)
	in.TopologySpreadConstraints = orNil(in.TopologySpreadConstraints)
	if in.Affinity != nil && equality.Semantic.DeepEqual(*in.Affinity, corev1.Affinity{}) {
		in.Affinity = nil
	}
	in.SchedulerName = unless(in.SchedulerName, corev1.DefaultSchedulerName)
	in.DNSConfig = present(in.DNSConfig, func(d corev1.PodDNSConfig) corev1.PodDNSConfig {
		return corev1.PodDNSConfig{Nameservers: orNil(d.Nameservers), Searches: orNil(d.Searches),
			Options: orNil(d.Options)}
	})
	in.TerminationGracePeriodSeconds = unlessPointer(in.TerminationGracePeriodSeconds, DefaultGraceSeconds)
	var sidecars []v1alpha1.Sidecar
	for _, sidecar := range in.Sidecars {
		sidecars = append(sidecars, sidecarWithoutDefaults(sidecar))
	}
	in.Sidecars = sidecars
	return in
}

// securityWithoutDefaults leaves the IDs: what they are by default is for the platform to say where it hands them out.
func securityWithoutDefaults(in v1alpha1.PodSecurityContext) v1alpha1.PodSecurityContext {
	in.FSGroupChangePolicy = unless(in.FSGroupChangePolicy, DefaultGroupChange)
	in.SupplementalGroups = orNil(in.SupplementalGroups)
	in.SELinuxOptions = present(in.SELinuxOptions, func(o corev1.SELinuxOptions) corev1.SELinuxOptions { return o })
	return in
}

// present applies f to what a pointer holds, and drops the pointer when nothing is left.
func present[T any](p *T, f func(T) T) *T {
	if p == nil {
		return nil
	}
	value := f(*p)
	if reflect.ValueOf(value).IsZero() {
		return nil
	}
	return &value
}

func unless[T comparable](value, byDefault T) T {
	if value == byDefault {
		var zero T
		return zero
	}
	return value
}

func unlessPointer[T comparable](value *T, byDefault T) *T {
	if value != nil && *value == byDefault {
		return nil
	}
	return value
}

func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

func milliseconds(d *metav1.Duration) *int64 {
	if d == nil {
		return nil
	}
	return new(int64(d.Duration / time.Millisecond))
}
