package admission

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

var (
	repository = regexp.MustCompile(`^(([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?/)?` +
		`[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)
	digest = regexp.MustCompile(`^sha256:[a-f0-9]{64}$`)
)

// IsRepository reports the name of an image without tag and digest.
func IsRepository(name string) bool { return repository.MatchString(name) }

// IsDigest reports the content address of an image.
func IsDigest(text string) bool { return digest.MatchString(text) }

func validateImage(image *v1alpha1.ImageSpec, at *field.Path) field.ErrorList {
	if image == nil {
		return nil
	}
	var errs field.ErrorList
	if image.Repository != "" && !IsRepository(image.Repository) {
		errs = invalid(at.Child("repository"), image.Repository,
			"it must be an image name without tag and digest, such as "+
				"registry.example.com/etcd: the tag is v<version>, digests stand in spec.image.digests")
	}
	errs = append(errs, validateDigests(image.Digests, at.Child("digests"))...)
	errs = append(errs, oneOf(at.Child("pullPolicy"), image.PullPolicy, corev1.PullAlways, corev1.PullIfNotPresent,
		corev1.PullNever)...)
	for _, secret := range image.PullSecrets {
		if secret.Name == "" {
			errs = append(errs, field.Invalid(at.Child("pullSecrets"), "",
				"spec.image.pullSecrets must each name a Secret of this namespace; a name is empty"))
		}
	}
	return errs
}

func validateDigests(digests map[string]v1alpha1.Digest, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(digests)) {
		if v, err := etcdutil.ParseVersion(key); err != nil || v.String() != key {
			errs = append(errs, field.Invalid(at, key,
				"spec.image.digests must have versions without a leading v as keys, such as 3.6.16"))
		}
		if value := string(digests[key]); !IsDigest(value) {
			errs = append(errs, field.Invalid(at.Key(key), value, fmt.Sprintf(
				"a value of spec.image.digests is %q; it must be of the form sha256:<64 hex digits>", value)))
		}
	}
	return errs
}
