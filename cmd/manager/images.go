package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/etcdsteward/etcd-steward/controllers/admission"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// bindImages has flags say where the images of clusters come from. What is wrong with one of them, flag prints behind
// the name of that flag.
func bindImages(flags *flag.FlagSet, d *resources.ImageDefaults) {
	flags.Func("etcd-repository", "Repository of etcd's images, without tag and digest, for clusters that name none "+
		"in spec.image.repository; not given: "+resources.DefaultRepository+". Running members keep what they run.",
		func(text string) error { return setRepository(d, text) })
	flags.Func("etcd-digest", "Digest of one version of etcd in that repository, such as 3.6.16=sha256:<64 hex "+
		"digits>; give the flag once for each version.", func(text string) error { return addDigest(d, text) })
	flags.Func("image-pull-secret", "Name of a Secret with credentials of registries, in the namespace of each "+
		"cluster. All Pods of a cluster get it; give the flag once for each Secret.",
		func(text string) error { return addPullSecret(d, text) })
}

func setRepository(d *resources.ImageDefaults, text string) error {
	if text != "" && !admission.IsRepository(text) {
		return errors.New("it must be an image name without tag and digest, such as registry.example.com/etcd. The " +
			"tag is v<version>; digests are given by --etcd-digest")
	}
	d.Repository = text
	return nil
}

func addDigest(d *resources.ImageDefaults, text string) error {
	version, digest, _ := strings.Cut(text, "=")
	if v, err := etcdutil.ParseVersion(version); err != nil || v.String() != version || !admission.IsDigest(digest) {
		return errors.New("it must be a version and a digest, such as 3.6.16=sha256:<64 hex digits>")
	}
	if before := d.Digests[version]; before != "" && before != digest {
		return fmt.Errorf("version %s has the digest %s already; give one digest for each version", version, before)
	}
	if d.Digests == nil {
		d.Digests = map[string]string{}
	}
	d.Digests[version] = digest
	return nil
}

func addPullSecret(d *resources.ImageDefaults, name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("it must be the name of a Secret: %s", problems[0])
	}
	if !slices.Contains(d.PullSecrets, name) {
		d.PullSecrets = append(d.PullSecrets, name)
	}
	return nil
}
