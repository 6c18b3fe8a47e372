package observe

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// keyring reads and judges the Secrets of one cluster. Without TLS there are none.
type keyring struct {
	reader  SecretReader
	cluster *v1alpha1.EtcdCluster
	ours    ownership
	now     time.Time
	domain  string // see resources.Platform
	// of the load balancer, for names in certificates
	addresses []string

	read     map[string]*corev1.Secret // what was read in this look, by name; nil for one that is not there
	cas      []*corev1.Secret          // ours
	trusted  map[string]authority      // those that members trust, by the name of their Secret
	retained []facts.Retained          // CAs that an earlier cluster left
	asked    requests                  // what issuers are asked
}

func (o *Observer) keyringOf(cluster *v1alpha1.EtcdCluster, addresses []string) *keyring {
	return &keyring{reader: o.Secrets, cluster: cluster, ours: ownershipOf(cluster), now: o.Now(),
		domain: o.Domain, addresses: addresses, read: map[string]*corev1.Secret{}, trusted: map[string]authority{},
		asked: newRequests(o.Optional)}
}

// parallelReads bounds how many Secrets are read at a time. A bootstrap waits for these reads, and no cache has them
// yet.
const parallelReads = 8

// readSecret reads one Secret, as SecretReader does.
type readSecret func(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error)

// readAll reads Secrets by name, several at a time, for the judgements that follow. What was read stays as it is.
func (k *keyring) readAll(ctx context.Context, get readSecret, names []string) error {
	var (
		mu    sync.Mutex
		group errgroup.Group
	)
	group.SetLimit(parallelReads)
	unread := slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := k.read[name]; return ok })
	for _, name := range unread {
		group.Go(func() error {
			secret, err := k.get(ctx, get, name)
			mu.Lock()
			defer mu.Unlock()
			k.read[name] = secret
			return err
		})
	}
	return group.Wait()
}

// secret is one Secret as it was read in this look; nil when there is none.
func (k *keyring) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	if secret, ok := k.read[name]; ok {
		return secret, nil
	}
	return k.get(ctx, k.reader.Get, name)
}

func (k *keyring) get(ctx context.Context, get readSecret, name string) (*corev1.Secret, error) {
	secret, err := get(ctx, types.NamespacedName{Namespace: k.cluster.Namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s/%s: %w", k.cluster.Namespace, name, err)
	}
	return secret, nil
}

// objects judges the cluster's own Secrets, the CAs first: the others are held against those that are trusted,
// as the Secrets of these members tell.
func (k *keyring) objects(ctx context.Context, members []string) ([]facts.Object, error) {
	var names []string
	for _, needed := range resources.ClusterObjects(k.cluster) {
		if needed.Kind == resources.KindSecret {
			names = append(names, needed.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	witnesses := secretsOf(members)
	if err := k.readAll(ctx, k.reader.Get, slices.Concat(names, witnesses)); err != nil {
		return nil, err
	}
	if err := k.readRequests(ctx); err != nil {
		return nil, err
	}
	objects := make([]facts.Object, 0, len(names))
	for _, name := range names {
		object, err := k.object(ctx, name, witnesses)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, k.addSources(ctx, objects)
}

func secretsOf(members []string) []string {
	secrets := make([]string, 0, len(members))
	for _, name := range members {
		secrets = append(secrets, resources.MemberSecret(name))
	}
	return secrets
}

func (k *keyring) object(ctx context.Context, name string, witnesses []string) (facts.Object, error) {
	if !resources.IsCA(k.cluster, name) {
		return k.judge(ctx, name, resources.Certificates(k.cluster, name))
	}
	object, err := k.ca(ctx, name)
	if err != nil {
		return object, err
	}
	held := k.trusted[name][resources.KeyCert]
	if object.Holds, object.Trusted, err = k.trust(ctx, name, held, witnesses); object.IsAnother() {
		delete(k.trusted, name)
	}
	return object, err
}

// CA judges a CA's Secret. It belongs to the cluster that its label names, whether it has an owner or
// not. Whether members trust what it holds is another question.
func (k *keyring) ca(ctx context.Context, name string) (facts.Object, error) {
	object := facts.Object{Kind: resources.KindSecret, Name: name, CA: true, Port: k.port(name)}
	secret, err := k.secret(ctx, name)
	switch {
	case err != nil:
		return object, err
	case secret == nil:
		object.State = facts.ObjectAbsent
	case resources.IsDataOf(secret, k.ours.uid):
		object.State = facts.ObjectCurrent
		object.Unmarked = resources.MetadataDrift(k.cluster, secret) != ""
		k.cas = append(k.cas, secret)
		k.trusted[name] = secret.Data
		object.NotAfter, object.CAs = endOf(secret.Data, resources.KeyCert), casIn(secret.Data)
	case k.ours.goesWithAnother(secret):
		object.State, object.Detail = facts.ObjectTerminating, detailEarlier
	case k.ours.isRetained(secret):
		object.State, object.Detail = facts.ObjectForeign, "an earlier cluster of this name left it"
		k.retained = append(k.retained, retained(resources.KindSecret, secret))
	default:
		object.State, object.Detail = facts.ObjectForeign, "the operator did not make it"
	}
	return object, nil
}

// member judges the Secret of a member.
func (k *keyring) member(ctx context.Context, member string) (facts.Object, error) {
	return k.judge(ctx, resources.MemberSecret(member),
		resources.MemberCertificates(k.cluster, member, k.domain, k.addresses...))
}

func (k *keyring) judge(ctx context.Context, name string, certificates []resources.Certificate) (facts.Object, error) {
	secret, err := k.secret(ctx, name)
	if err != nil {
		return facts.Object{}, err
	}
	object := k.ours.judge(resources.KindSecret, name, secret, secret == nil, func() string {
		return k.drift(secret.Data, certificates)
	})
	if object.State == facts.ObjectAbsent || object.State == facts.ObjectDrifted {
		object.Awaits = k.awaits(name, secret, certificates)
	}
	if object.State == facts.ObjectCurrent || object.State == facts.ObjectDrifted {
		object.UID, object.Unmarked = string(secret.UID), resources.MetadataDrift(k.cluster, secret) != ""
		for _, c := range certificates {
			if end := endOf(secret.Data, c.CertKey); object.NotAfter.IsZero() || end.Before(object.NotAfter) {
				object.NotAfter = end
			}
			object.Made = object.Made.With(k.port(c.CA), c.Made(secret.Data))
			object.Names = object.Names.With(k.port(c.CA), pki.Fingerprints(secret.Data[c.CAKey]))
		}
	}
	return object, nil
}

// endOf is when a certificate ends; zero when it cannot be read.
func endOf(data map[string][]byte, key string) time.Time {
	end, err := pki.NotAfter(data[key])
	if err != nil {
		return time.Time{}
	}
	return end
}

// drift says why certificates have to be issued anew; empty when they need not be. While a CA cannot be read,
// or is another than members trust, no certificate is worse than another, and nothing is issued.
func (k *keyring) drift(data map[string][]byte, certificates []resources.Certificate) string {
	if !resources.HasEveryKey(data, certificates) {
		return "a key is missing"
	}
	for _, c := range certificates {
		ca, ok := k.trusted[c.CA]
		if !ok {
			continue
		}
		if reason, renew := k.isDue(data, c, ca); renew {
			return c.CertKey + ": " + reason
		}
		if !namesThose(data, c, ca) {
			return c.CAKey + " is not the certificate of the CA"
		}
	}
	return ""
}

func (k *keyring) isDue(data map[string][]byte, c resources.Certificate, ca authority) (reason string, renew bool) {
	return pki.NeedsRenewal(data[c.CertKey], ca[resources.KeyCert], c.LeafUnder(ca), k.now)
}

// namesThose reports that beside a certificate stand the CAs that its holder is to trust.
func namesThose(data map[string][]byte, c resources.Certificate, ca authority) bool {
	return bytes.Equal(bytes.TrimSpace(data[c.CAKey]), bytes.TrimSpace(c.Trusts(ca)))
}

// trust says which CA a CA's Secret holds, and which CA members trust, by their fingerprints. The Secrets of
// members tell the second: etcd reads at its start which CA they name, and its leaf at each handshake. Where no member
// has one, those of clients and of the operator tell it. Where none is there at all, it is empty.
func (k *keyring) trust(ctx context.Context, name string, held []byte, members []string) (holds, trusted string,
	err error) {
	holds = pki.Fingerprint(held)
	others := []string{resources.ClientSecret(k.cluster.Name), resources.OperatorSecret(k.cluster.Name)}
	for _, witnesses := range [][]string{members, others} {
		v := votes{others: map[string]int{}}
		for _, witness := range witnesses {
			cert, ca, err := k.witness(ctx, witness, name)
			if err != nil {
				return "", "", err
			}
			v.count(cert, ca, held)
		}
		if v.held+len(v.others) > 0 {
			return holds, v.trusted(holds), nil
		}
	}
	return holds, "", nil
}

// witness is the certificate that a CA signed in a Secret of ours, and the CA that the Secret names beside it;
// nothing where there is no such Secret.
func (k *keyring) witness(ctx context.Context, secret, named string) (cert, ca []byte, err error) {
	there, err := k.secret(ctx, secret)
	if err != nil || there == nil {
		return nil, nil, err
	}
	if state, _ := k.ours.stateOf(there); state != "" {
		return nil, nil, nil
	}
	if named == resources.PeerCASecret(k.cluster.Name) {
		return there.Data[resources.KeyPeerCert], there.Data[resources.KeyPeerCA], nil
	}
	return there.Data[resources.KeyCert], there.Data[resources.KeyCA], nil
}

// votes are how many Secrets name which CA.
type votes struct {
	held   int            // the one that is there
	others map[string]int // by fingerprint
}

func (v *votes) count(cert, ca, held []byte) {
	if pki.IsOf(cert, ca, held) {
		v.held++
	} else if name := pki.Fingerprint(ca); name != "" {
		v.others[name]++
	}
}

// trusted is the CA that is there, unless more name others. So a copy that is put back is believed as well where
// certificates of both were issued.
func (v *votes) trusted(held string) string {
	others, most := 0, ""
	for name, count := range v.others {
		others += count
		if most == "" || count > v.others[most] || count == v.others[most] && name < most {
			most = name
		}
	}
	if v.held >= others {
		return held
	}
	return most
}
