package resources

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// RollInputs are the user's settings that a member's Pod is made from and that need a restart when they change. They
// are written on Pods and volumes, so that a new operator can tell what the user changed from what it would itself
// render differently: only the former restarts a member.
//
// What is absent is the default. A default of ours is never written down, and a field is never renamed, retyped or
// given another meaning. What is in the form of v1alpha1 stays so: a later form of the API is converted to it.
type RollInputs struct {
	Version   string                  `json:"version"` // without a leading v
	Image     *ImageInputs            `json:"image,omitempty"`
	Etcd      *EtcdInputs             `json:"etcd,omitempty"`
	Pod       *v1alpha1.PodSpec       `json:"pod,omitempty"`       // but labels and annotations, which change in place
	Ephemeral *v1alpha1.EphemeralSpec `json:"ephemeral,omitempty"` // present: data is in the Pod's emptyDir
	TLS       etcdutil.Transport      `json:"tls,omitempty"`       // absent: Managed

	// RestartedAt is for what a person had the members restarted; absent: never.
	RestartedAt string `json:"restartedAt,omitempty"`

	// Trust are the CAs that etcd reads at its start. No user sets them: they follow the Secrets. Absent: the CAs that
	// the cluster was made with.
	Trust *TrustInputs `json:"trust,omitempty"`
}

// TrustInputs are CAs by their fingerprints, in order. Empty: the one that the cluster was made with.
type TrustInputs struct {
	Clients []string `json:"clients,omitempty"`
	Peers   []string `json:"peers,omitempty"`
}

// ImageInputs are the settings about the image.
type ImageInputs struct {
	Repository  string            `json:"repository,omitempty"`
	Digest      string            `json:"digest,omitempty"` // of this version
	PullPolicy  corev1.PullPolicy `json:"pullPolicy,omitempty"`
	PullSecrets []string          `json:"pullSecrets,omitempty"`
}

// EtcdInputs are the settings about the etcd process.
type EtcdInputs struct {
	QuotaBackendBytes   *int64            `json:"quotaBackendBytes,omitempty"` // bytes
	CompactionMode      string            `json:"compactionMode,omitempty"`
	CompactionRetention string            `json:"compactionRetention,omitempty"`
	SnapshotCount       *int64            `json:"snapshotCount,omitempty"`
	HeartbeatInterval   *int64            `json:"heartbeatInterval,omitempty"` // milliseconds
	ElectionTimeout     *int64            `json:"electionTimeout,omitempty"`   // milliseconds
	CorruptionChecks    *bool             `json:"corruptionChecks,omitempty"`
	ExtraArgs           map[string]string `json:"extraArgs,omitempty"`
}

// Inputs are the settings of a cluster as its spec has them now.
func Inputs(c *v1alpha1.EtcdCluster) RollInputs {
	return inputsAt(c, strings.TrimPrefix(c.Spec.Version, "v"))
}

// InputsAt are the settings of a cluster at a stop on the way to the version of its spec: with the digest of that
// version, and without the extra flags and the feature gates that its minor does not know.
func InputsAt(c *v1alpha1.EtcdCluster, stop etcdutil.Version) RollInputs {
	in := inputsAt(c, stop.String())
	if in.Etcd != nil {
		in.Etcd.ExtraArgs = etcdutil.ArgsFor(stop, in.Etcd.ExtraArgs)
	}
	return in.withoutDefaults()
}

func inputsAt(c *v1alpha1.EtcdCluster, version string) RollInputs {
	in := RollInputs{
		Version: version,
		Image:   imageInputs(c.Spec.Image, version),
		Etcd:    etcdInputs(c.Spec.Etcd),
		Pod:     c.Spec.Pod,

		RestartedAt: c.RestartedAt(),
	}
	if c.Spec.IsEphemeral() {
		in.Ephemeral = c.Spec.Storage.Ephemeral
	}
	in.TLS = TransportAsked(c)
	return in.withoutDefaults()
}

// Canonical is the settings as text: two texts are equal exactly when the settings are.
func (in RollInputs) Canonical() string { return record.JSON(in.withoutDefaults()) }

// DecodeInputs reads settings that were written down. Fields that it does not know are passed over, so that an older
// operator can go on where a newer one was.
func DecodeInputs(text string) (RollInputs, error) {
	var in RollInputs
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return RollInputs{}, fmt.Errorf("reading what a member's Pod is made from: %w", err)
	}
	version, err := etcdutil.ParseVersion(in.Version)
	if err == nil && version.IsZero() {
		err = errors.New("there is no version 0.0.0")
	}
	if err != nil {
		return RollInputs{}, fmt.Errorf("reading what a member's Pod is made from: %w", err)
	}
	return in.withoutDefaults(), nil
}

// QuotaBytes is the size of the database at which etcd stops accepting keys.
func (in RollInputs) QuotaBytes() int64 { return in.Etcd.quotaBytes() }

func (in *EtcdInputs) quotaBytes() int64 {
	if in == nil || in.QuotaBackendBytes == nil {
		return DefaultQuotaBackendBytes
	}
	return *in.QuotaBackendBytes
}

// Sidecars are the sidecars as text; empty for none.
func (in RollInputs) Sidecars() string {
	if in.Pod == nil || len(in.Pod.Sidecars) == 0 {
		return ""
	}
	return record.JSON(in.Pod.Sidecars)
}

// MemoryBytes is the limit of the container's memory; 0 for none, and where it is no quantity.
func (in RollInputs) MemoryBytes() int64 {
	limit, err := parseQuantity(resourcesOf(in.Pod).Limits[corev1.ResourceMemory])
	if err != nil {
		return 0
	}
	return limit.Value()
}

// NormalizeInputs reads settings that were written down, by any release of the operator, and gives the text that
// Canonical gives for the same settings, with their version.
func NormalizeInputs(annotation string) (canonical string, version etcdutil.Version, err error) {
	in, err := DecodeInputs(annotation)
	if err != nil {
		return "", etcdutil.Version{}, err
	}
	version, err = etcdutil.ParseVersion(in.Version)
	return in.Canonical(), version, err
}

func imageInputs(image *v1alpha1.ImageSpec, version string) *ImageInputs {
	if image == nil {
		return nil
	}
	in := &ImageInputs{Repository: image.Repository, PullPolicy: image.PullPolicy}
	for _, key := range []string{version, "v" + version} {
		if digest := image.Digests[key]; digest != "" {
			in.Digest = string(digest)
			break
		}
	}
	for _, secret := range image.PullSecrets {
		in.PullSecrets = append(in.PullSecrets, secret.Name)
	}
	return in
}

func etcdInputs(etcd *v1alpha1.EtcdSpec) *EtcdInputs {
	if etcd == nil {
		return nil
	}
	in := &EtcdInputs{
		SnapshotCount:     etcd.SnapshotCount,
		HeartbeatInterval: milliseconds(etcd.HeartbeatInterval),
		ElectionTimeout:   milliseconds(etcd.ElectionTimeout),
		CorruptionChecks:  etcd.CorruptionChecks,
	}
	if etcd.QuotaBackendBytes != nil {
		in.QuotaBackendBytes = new(etcd.QuotaBackendBytes.Value())
	}
	if etcd.AutoCompaction != nil {
		in.CompactionMode, in.CompactionRetention = etcd.AutoCompaction.Mode, etcd.AutoCompaction.Retention
	}
	if len(etcd.ExtraArgs) > 0 {
		in.ExtraArgs = map[string]string{}
	}
	for name, value := range etcd.ExtraArgs {
		in.ExtraArgs[name] = string(value)
	}
	return in
}

// earthly is a quantity that can be calculated with. Kubernetes accepts 1e-2000000000 too, and takes minutes to read
// it.
var earthly = regexp.MustCompile(`^[+-]?[0-9.]{1,32}([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`)

func parseQuantity(amount v1alpha1.Amount) (resource.Quantity, error) {
	if !earthly.MatchString(string(amount)) {
		return resource.Quantity{}, fmt.Errorf("%.40q is not a quantity of anything that a Pod may have", amount)
	}
	return resource.ParseQuantity(string(amount))
}

// canonicalResources writes equal quantities equally: "1" and "1000m", "1Gi" and "1073741824". What is no quantity
// stays as it is, for BuildPod to refuse.
func canonicalResources(r v1alpha1.ResourceRequirements) v1alpha1.ResourceRequirements {
	return v1alpha1.ResourceRequirements{Limits: canonicalList(r.Limits), Requests: canonicalList(r.Requests)}
}

func canonicalList(list map[corev1.ResourceName]v1alpha1.Amount) map[corev1.ResourceName]v1alpha1.Amount {
	if len(list) == 0 {
		return nil
	}
	out := map[corev1.ResourceName]v1alpha1.Amount{}
	for name, amount := range list {
		out[name] = canonicalAmount(name, amount)
	}
	return out
}

func canonicalAmount(name corev1.ResourceName, amount v1alpha1.Amount) v1alpha1.Amount {
	quantity, err := parseQuantity(amount)
	if err != nil {
		return amount
	}
	quantity.Format = resource.BinarySI
	if name == corev1.ResourceCPU {
		quantity.Format = resource.DecimalSI
	}
	number, suffix := quantity.CanonicalizeBytes(make([]byte, 0, 32)) // String would give what was once read
	return v1alpha1.Amount(string(number) + string(suffix))
}

// requirements are the resources of a container.
func requirements(r v1alpha1.ResourceRequirements) (corev1.ResourceRequirements, error) {
	limits, err := quantities(r.Limits)
	if err != nil {
		return corev1.ResourceRequirements{}, fmt.Errorf("limits: %w", err)
	}
	requests, err := quantities(r.Requests)
	if err != nil {
		return corev1.ResourceRequirements{}, fmt.Errorf("requests: %w", err)
	}
	return corev1.ResourceRequirements{Limits: limits, Requests: requests}, nil
}

func quantities(list map[corev1.ResourceName]v1alpha1.Amount) (corev1.ResourceList, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := corev1.ResourceList{}
	for name, amount := range list {
		quantity, err := parseQuantity(amount)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = quantity
	}
	return out, nil
}

// parse reads the version and the resources. What is neither is refused here.
func (in RollInputs) parse() (etcdutil.Version, corev1.ResourceRequirements, error) {
	version, err := etcdutil.ParseVersion(in.Version)
	if err != nil {
		return version, corev1.ResourceRequirements{}, err
	}
	resources, err := requirements(resourcesOf(in.Pod))
	return version, resources, err
}

func resourcesOf(pod *v1alpha1.PodSpec) v1alpha1.ResourceRequirements {
	if pod == nil || pod.Resources == nil {
		return defaultResources()
	}
	return *pod.Resources
}

// Fixed is the settings without the amounts of CPU and memory, as text: Kubernetes changes these in a Pod that runs.
func (in RollInputs) Fixed() string {
	rest := resourcesOf(in.Pod)
	rest.Limits, rest.Requests = maps.Clone(rest.Limits), maps.Clone(rest.Requests)
	for _, list := range []map[corev1.ResourceName]v1alpha1.Amount{rest.Limits, rest.Requests} {
		delete(list, corev1.ResourceCPU)
		delete(list, corev1.ResourceMemory)
	}
	var pod v1alpha1.PodSpec
	if in.Pod != nil {
		pod = *in.Pod
	}
	pod.Resources = &rest
	in.Pod = &pod
	return in.Canonical()
}
