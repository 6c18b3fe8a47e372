package access

import (
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// compose brings the content of a Secret up to date, and with it what is made of that. What people added stays.
func compose(c *v1alpha1.EtcdClient, content, due map[string][]byte) {
	maps.Copy(content, due)
	if c.Spec.PKCS12 {
		if !resources.IsPassword(string(content[resources.KeyStorePassword])) {
			content[resources.KeyStorePassword] = []byte(resources.NewPassword())
		}
		maps.Copy(content, resources.Stores(content))
	}
	resources.CopyKeys(content, c.Spec.SecretKeys)
	maps.DeleteFunc(content, func(_ string, value []byte) bool { return value == nil })
}

// whyStoresAreDue says why the stores of PKCS#12 have to be written; empty: they have not, or the client has none. To
// make them takes milliseconds of a processor, as PKCS#12 wants it. So what was found right is remembered by a digest.
func (r *Reconciler) whyStoresAreDue(c *v1alpha1.EtcdClient, have map[string][]byte) string {
	if !c.Spec.PKCS12 {
		return ""
	}
	key, digest := client.ObjectKeyFromObject(c), resources.StoresDigest(have)
	if last, isKept := r.rightStores.Get(key); isKept && last == digest {
		return ""
	}
	why := resources.WhyStoresAreDue(have)
	if why == "" {
		r.rightStores.Set(key, digest)
	}
	return why
}
