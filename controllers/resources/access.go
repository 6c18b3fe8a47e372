package resources

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// KindClient is the kind that owns the Secrets of clients.
const KindClient = "EtcdClient"

// Keys of the Secret of an EtcdClient, beside those of a certificate: where it connects to, as URLs and without a
// scheme, and as whom.
const (
	KeyEndpoints = "endpoints"
	KeyAddresses = "addresses"
	KeyUser      = "user"
	KeyPassword  = "password"
)

// Keys of that Secret with spec.pkcs12: the stores, and their password.
const (
	KeyKeyStore      = "keystore.p12"
	KeyTrustStore    = "truststore.p12"
	KeyStorePassword = "pkcs12-password"
)

// BuildAccessSecret builds the Secret of an EtcdClient, which goes with that. What the cluster's spec puts on objects
// stays in its namespace: tools act on it.
func BuildAccessSecret(c *v1alpha1.EtcdCluster, owner *v1alpha1.EtcdClient, data map[string][]byte) *corev1.Secret {
	labels := ownLabels(c, v1alpha1.ComponentClient)
	labels[v1alpha1.LabelName], labels[v1alpha1.LabelClient] = v1alpha1.NameValue, owner.Name
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.SecretNameOrDefault(), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(KindClient))}},
		Type: corev1.SecretTypeTLS, Data: data,
	}
	if owner.IsFromOutside() {
		return secret
	}
	return dress(c, secret)
}

// AccessCertificate is what the Secret of an EtcdClient holds: a certificate of its user, and the CAs that clients
// trust. Where the user logs in by a password the certificate has no common name, so that it is no user by itself, and
// etcd's gateway takes it: that refuses each certificate with a name, also beside a password.
func AccessCertificate(cluster, user string, hasPassword bool) Certificate {
	leaf := pki.Leaf{CommonName: user, Client: true}
	if hasPassword {
		leaf = pki.Leaf{Organization: []string{user}, Client: true}
	}
	return Certificate{CertKey: KeyCert, KeyKey: KeyKey, CAKey: KeyCA, CA: CASecret(cluster), Leaf: leaf}
}

// AccessFiles are what stands beside the certificate.
func AccessFiles(c *v1alpha1.EtcdCluster, user string, ca map[string][]byte) map[string][]byte {
	address := net.JoinHostPort(ClientService(c.Name)+"."+c.Namespace+".svc", strconv.Itoa(etcdutil.ClientPort))
	return map[string][]byte{
		KeyCA: ClientsTrust(ca), KeyUser: []byte(user), KeyAddresses: []byte(address),
		KeyEndpoints: []byte(etcdutil.SchemeHTTPS + "://" + address),
	}
}

// WhyCertificateIsDue says why a certificate has to be issued anew; empty when it has not. One that was made before the
// time that a person asked for is due, once that time has come.
func WhyCertificateIsDue(have map[string][]byte, certificate Certificate, ca map[string][]byte,
	asked, now time.Time) string {
	cert := have[certificate.CertKey]
	if reason, renew := pki.NeedsRenewal(cert, ca[KeyCert], certificate.LeafUnder(ca), now); renew {
		return "the certificate is " + reason
	}
	if _, err := tls.X509KeyPair(cert, have[certificate.KeyKey]); err != nil {
		return "the certificate and its key are not of each other" // the cause may quote from what is there
	}
	if IsAskedFor(certificate.Made(have), asked, now) {
		return "a new certificate was asked for"
	}
	return ""
}

// IsAskedFor reports a certificate that was made before the time that a person asked for, once that has come.
func IsAskedFor(made, asked, now time.Time) bool {
	return made.Before(asked) && !asked.After(now)
}

// WhyFilesAreDue names the first file that is not as it has to be; empty when all are.
func WhyFilesAreDue(have, want map[string][]byte) string {
	for _, key := range []string{KeyCA, KeyEndpoints, KeyAddresses, KeyUser} {
		if !bytes.Equal(have[key], want[key]) {
			return key + " is not as it has to be"
		}
	}
	return ""
}

// Stores are the files of PKCS#12 that go with what a Secret holds. One that cannot be made of it is left out: it
// follows with what it lacks.
func Stores(data map[string][]byte) map[string][]byte {
	password := string(data[KeyStorePassword])
	if !IsPassword(password) {
		return nil
	}
	stores := map[string][]byte{}
	if store, err := pki.KeyStore(pki.Pair{Cert: data[KeyCert], Key: data[KeyKey]}, password); err == nil {
		stores[KeyKeyStore] = store
	}
	if store, err := pki.TrustStore(data[KeyCA], password); err == nil {
		stores[KeyTrustStore] = store
	}
	return stores
}

// WhyStoresAreDue names the first key of PKCS#12 that is not as it has to be; empty when all are.
func WhyStoresAreDue(have map[string][]byte) string {
	if !IsPassword(string(have[KeyStorePassword])) {
		return KeyStorePassword + " is not as it has to be"
	}
	want := Stores(have)
	for _, key := range []string{KeyKeyStore, KeyTrustStore} {
		if store, isMade := want[key]; isMade && !bytes.Equal(have[key], store) {
			return key + " is not as it has to be"
		}
	}
	return ""
}

// Digest tells contents apart.
type Digest [sha256.Size]byte

// StoresDigest is of the stores in a Secret, and of all that they are made of.
func StoresDigest(have map[string][]byte) Digest {
	var all []byte
	for _, key := range []string{KeyCert, KeyKey, KeyCA, KeyStorePassword, KeyKeyStore, KeyTrustStore} {
		sum := sha256.Sum256(have[key])
		all = append(all, sum[:]...)
	}
	return sha256.Sum256(all)
}

// CopyKeys writes values of a Secret under further keys.
func CopyKeys(data map[string][]byte, keys []v1alpha1.ClientSecretKey) {
	for _, one := range keys {
		if value, isThere := data[one.Key]; isThere {
			data[one.Name] = value
		}
	}
}

// WhyCopiesAreDue names the first further key that does not have the value of the usual one; empty when all do.
func WhyCopiesAreDue(have map[string][]byte, keys []v1alpha1.ClientSecretKey) string {
	for _, one := range keys {
		if !bytes.Equal(have[one.Key], have[one.Name]) {
			return one.Name + " is not as it has to be"
		}
	}
	return ""
}

// passwordBytes is how many bytes a password is drawn from. They are too many to find it out from its digest.
const passwordBytes = 32

// NewPassword draws a password.
func NewPassword() string {
	drawn := make([]byte, passwordBytes)
	_, _ = rand.Read(drawn) // it never fails
	return base64.RawURLEncoding.EncodeToString(drawn)
}

// IsPassword reports what NewPassword may have drawn. What people write into a Secret becomes no password.
func IsPassword(text string) bool {
	drawn, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(drawn) == passwordBytes
}

// PasswordDigest tells passwords apart.
func PasswordDigest(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:16])
}
