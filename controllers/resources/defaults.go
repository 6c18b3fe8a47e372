package resources

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Defaults of what a Pod is made from. They are in code and not in the schema, where a new default would appear in
// every stored object at once. To change one is to change what the renderer makes of the same settings: raise Renderer
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
func defaultResources() v1alpha1.ResourceRequirements {
	return v1alpha1.ResourceRequirements{Requests: map[corev1.ResourceName]v1alpha1.Amount{
		corev1.ResourceCPU: "100m", corev1.ResourceMemory: "512Mi"}}
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
	in.Pod = present(in.Pod, podWithoutDefaults)
	if in.TLS == etcdutil.Transport(v1alpha1.TLSManaged) {
		in.TLS = etcdutil.TransportTLS
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

// podWithoutDefaults leaves out labels and annotations as well.
func podWithoutDefaults(in v1alpha1.PodSpec) v1alpha1.PodSpec {
	in.Labels, in.Annotations = nil, nil
	in.Resources = present(in.Resources, canonicalResources)
	if in.Resources != nil && record.JSON(*in.Resources) == record.JSON(defaultResources()) {
		in.Resources = nil
	}
	in.SecurityContext = present(in.SecurityContext, securityWithoutDefaults)
	in.HostUsers = unlessPointer(in.HostUsers, true)
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
	in.SupplementalGroupsPolicy = unless(in.SupplementalGroupsPolicy, corev1.SupplementalGroupsPolicyMerge)
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

// Platform is what the operator knows of the Kubernetes that it runs on. Nothing of it is a setting of a user, so it is
// not among RollInputs: another platform restarts no member, and counts for each Pod that is made from then on.
type Platform struct {
	Domain      string // DNS domain of Services, for names in certificates; empty when it is not known
	AgentImage  string // that Pods of the agent run from; empty when it is not known
	PlatformIDs bool   // the platform chooses the user and the groups that the spec does not name
	Images      ImageDefaults
}

// ImageDefaults say where the images of a cluster come from as far as its spec does not.
type ImageDefaults struct {
	Repository  string            // empty: DefaultRepository
	Digests     map[string]string // of the images there, by version without a leading v
	PullSecrets []string          // of the namespace of each cluster
}

// For is what of them a Pod gets that is made from these settings. A repository of the spec goes with digests of the
// spec: those of another one need not be there. Pull secrets are added to those of the spec, because images of the
// operator and of etcd may run in one Pod.
func (d ImageDefaults) For(c *v1alpha1.EtcdCluster, in RollInputs) ImageInputs {
	own := imageOf(in)
	var given ImageInputs
	if own.Repository == "" && !namesRepository(c) {
		given.Repository = unless(d.Repository, DefaultRepository)
		if own.Digest == "" {
			given.Digest = d.Digests[in.Version]
		}
	}
	for _, secret := range d.PullSecrets {
		if !slices.Contains(own.PullSecrets, secret) {
			given.PullSecrets = append(given.PullSecrets, secret)
		}
	}
	return given
}

// WithDigests is a copy of the cluster whose spec has all digests that count for it. It is no spec to make Pods from.
func (d ImageDefaults) WithDigests(c *v1alpha1.EtcdCluster) *v1alpha1.EtcdCluster {
	if len(d.Digests) == 0 || namesRepository(c) {
		return c
	}
	c = c.DeepCopy()
	if c.Spec.Image == nil {
		c.Spec.Image = &v1alpha1.ImageSpec{}
	}
	digests := map[string]v1alpha1.Digest{}
	for version, digest := range d.Digests {
		digests[version] = v1alpha1.Digest(digest)
	}
	maps.Copy(digests, c.Spec.Image.Digests)
	c.Spec.Image.Digests = digests
	return c
}

// DifferFrom reports a Pod whose images would come from elsewhere if it were made now. What the Pod was made with is
// written on it: webhooks may have put other images into it.
func (d ImageDefaults) DifferFrom(c *v1alpha1.EtcdCluster, pod *corev1.Pod) bool {
	in, err := DecodeInputs(pod.Annotations[v1alpha1.AnnotationInputs])
	if err != nil { // a look at a backup, which is made from none
		in = Inputs(c)
	}
	return pod.Annotations[v1alpha1.AnnotationImageDefaults] != d.For(c, in).canonical()
}

// put gives a Pod its pull secrets, and writes down what it has from the defaults.
func (d ImageDefaults) put(pod *corev1.Pod, c *v1alpha1.EtcdCluster, in RollInputs) {
	if text := d.For(c, in).canonical(); text != "" {
		pod.Annotations[v1alpha1.AnnotationImageDefaults] = text
	}
	pod.Spec.ImagePullSecrets = nil
	for _, name := range d.imageOf(c, in).PullSecrets {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
}

// AddSecrets gives the pull secrets of a task, of which some are known from a member's Pod.
func (d ImageDefaults) AddSecrets(to []corev1.LocalObjectReference) []corev1.LocalObjectReference {
	all := slices.Clone(to)
	for _, name := range d.PullSecrets {
		if reference := (corev1.LocalObjectReference{Name: name}); !slices.Contains(all, reference) {
			all = append(all, reference)
		}
	}
	return all
}

// reference names the image of etcd that a Pod runs. A digest stands alone: not every runtime accepts a tag beside it.
func (d ImageDefaults) reference(c *v1alpha1.EtcdCluster, in RollInputs, version etcdutil.Version) string {
	image := d.imageOf(c, in)
	repository := cmp.Or(image.Repository, DefaultRepository)
	if image.Digest != "" {
		return repository + "@" + image.Digest
	}
	return repository + ":v" + version.String()
}

// imageOf is what the settings say of the image, and the defaults where they say nothing.
func (d ImageDefaults) imageOf(c *v1alpha1.EtcdCluster, in RollInputs) ImageInputs {
	own, given := imageOf(in), d.For(c, in)
	return ImageInputs{
		Repository: cmp.Or(own.Repository, given.Repository), Digest: cmp.Or(own.Digest, given.Digest),
		PullPolicy: own.PullPolicy, PullSecrets: slices.Concat(own.PullSecrets, given.PullSecrets),
	}
}

// canonical is empty where nothing is said.
func (in ImageInputs) canonical() string {
	if in = in.withoutDefaults(); in.isZero() {
		return ""
	}
	return record.JSON(in)
}

func (in ImageInputs) isZero() bool {
	return in.Repository == "" && in.Digest == "" && in.PullPolicy == "" && len(in.PullSecrets) == 0
}

// namesRepository reports a spec that says where its images come from. That may be the default one, which RollInputs do
// not have.
func namesRepository(c *v1alpha1.EtcdCluster) bool {
	return c.Spec.Image != nil && c.Spec.Image.Repository != ""
}

func imageOf(in RollInputs) ImageInputs {
	if in.Image == nil {
		return ImageInputs{}
	}
	return *in.Image
}
