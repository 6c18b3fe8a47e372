package resources

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// ImageDefaults say where the images of a cluster come from as far as its spec does not. They are flags of the operator
// and no choices of a user, so they are not among RollInputs: other flags restart no member, and count for each Pod
// that is made from then on.
type ImageDefaults struct {
	Repository  string            // empty: DefaultRepository
	Digests     map[string]string // of the images there, by version without a leading v
	PullSecrets []string          // of the namespace of each cluster
}

// For is what of them a Pod gets that is made from these choices. A repository of the spec goes with digests of the
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

// imageOf is what the choices say of the image, and the defaults where they say nothing.
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
