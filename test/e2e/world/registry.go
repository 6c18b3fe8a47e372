package world

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Registry is the private registry of a localkube, which holds the images of etcd.
type Registry struct {
	Host, User, Password string
	// Repository is where the images of etcd are, and Digests are theirs by version.
	Repository string
	Digests    map[string]v1alpha1.Digest
}

// Registry puts the images of etcd into it, which are there already after the first story.
func (w *World) Registry(ctx context.Context) Registry {
	ginkgo.GinkgoHelper()
	w.NeedLocalkube()
	said, err := w.localkube(ctx, "registry")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	words := strings.Fields(said)
	gomega.Expect(words).To(gomega.HaveLen(3), said)
	r := Registry{Host: words[0], User: words[1], Password: words[2], Digests: map[string]v1alpha1.Digest{}}
	said, err = w.localkube(ctx, "push")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for _, name := range strings.Fields(said) {
		tagged, digest, _ := strings.Cut(name, "@")
		repository, version, _ := strings.Cut(tagged, ":v")
		r.Repository, r.Digests[version] = repository, v1alpha1.Digest(digest)
	}
	return r
}

// Reference is how a Pod names the image of a version by its digest.
func (r Registry) Reference(version string) string {
	return r.Repository + "@" + string(r.Digests[version])
}

// PullSecret makes the Secret of that name, or writes another password into it.
func (s *Story) PullSecret(ctx context.Context, name string, r Registry, password string) {
	ginkgo.GinkgoHelper()
	login := map[string]any{"auths": map[string]any{r.Host: map[string]string{
		"auth": base64.StdEncoding.EncodeToString([]byte(r.User + ":" + password))}}}
	text, err := json.Marshal(login)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: text}}
	if err = s.Client.Create(ctx, secret); apierrors.IsAlreadyExists(err) {
		err = s.Client.Update(ctx, secret)
	}
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), fmt.Sprintf("the Secret %s", name))
}
