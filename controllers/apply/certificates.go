package apply

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// ensureCA makes a CA that is not there. What one that is there holds is never touched: members live by
// it. Of two that make one at the same time, only one's is there, and both issue from that one.
func (i *issuer) ensureCA(ctx context.Context, object facts.Object) error {
	if object.State != facts.ObjectAbsent {
		existing, err := i.findSeen(ctx, resources.KindSecret, resources.BuildCA(i.cluster, object.Name, nil), "")
		if err != nil { // one that went after the look is not made anew: members may live by it
			return err
		}
		return i.remark(ctx, resources.KindSecret, existing)
	}
	data, err := i.firstCA(ctx, object)
	if err != nil {
		return err
	}
	there, err := i.create(ctx, resources.KindSecret, resources.BuildCA(i.cluster, object.Name, data))
	if err != nil {
		return err
	}
	if ca, err := authorityIn(there.(*corev1.Secret)); err == nil {
		i.keep(object.Name, ca)
	}
	return nil
}

// firstCA is the CA that the cluster begins with: one that is made, a person's, or an issuer's. The key of records
// follows from the first one's key; a person's may sign for others too, so then it is one of its own.
func (i *issuer) firstCA(ctx context.Context, object facts.Object) (map[string][]byte, error) {
	data := map[string][]byte{}
	if err := i.keepRecords(ctx, object, data); err != nil {
		return nil, err
	}
	if from := object.Source; from.From != "" {
		if err := i.take(ctx, data, signing, wantedCA{object.Name, from.From, from.Print}, i.Now()); err != nil {
			return nil, err
		}
		origin := resources.OriginIn(data, resources.KeyOrigin)
		origin.IsFirst = true
		data[resources.KeyOrigin] = origin.Encode()
		data[resources.KeyCA] = data[resources.KeyCert]
		if _, isKept := data[resources.KeyRecords]; !isKept {
			data[resources.KeyRecords] = []byte(rand.Text())
		}
		return data, nil
	}
	pair, err := pki.NewCA(i.nameOfCA(object.Name), i.Now(), 0)
	if err != nil {
		return nil, fmt.Errorf("making CA %s: %w", object.Name, err)
	}
	data[resources.KeyCert], data[resources.KeyKey], data[resources.KeyCA] = pair.Cert, pair.Key, pair.Cert
	return data, nil
}

// keepRecords has the records of backups signed with the key that they had before the cluster got TLS.
func (i *issuer) keepRecords(ctx context.Context, object facts.Object, data map[string][]byte) error {
	if object.Port == facts.ForPeers || !i.view.Current.IsAlive() {
		return nil
	}
	named := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: resources.RecordsSecret(i.cluster.Name)}}
	found, err := i.find(ctx, resources.KindSecret, named)
	if records, isThere := found.(*corev1.Secret); isThere && err == nil {
		data[resources.KeyRecords] = resources.RecordSecret(records.Data)
	}
	return err
}

// readCA reads a CA from the API server. One that holds another CA than the change was decided on signs
// nothing: whether members trust it was not looked at.
func (s step) readCA(ctx context.Context, name string) (authority, error) {
	found, err := s.find(ctx, resources.KindSecret, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil {
		return authority{}, err
	}
	if found == nil {
		return authority{}, Later{Reason: LaterMissing, Message: fmt.Sprintf("CA %s is not there yet", name)}
	}
	secret := found.(*corev1.Secret)
	held := pki.Fingerprint(secret.Data[resources.KeyCert])
	isSeen := func(object facts.Object) bool { return object.Name == name && object.Holds == held }
	if !slices.ContainsFunc(s.view.Objects, isSeen) {
		return authority{}, ErrStale
	}
	ca, err := authorityIn(secret)
	if err != nil {
		return authority{}, Rejected{Reason: RejectedUnreadable, Message: fmt.Sprintf("Secret %s: %v", name, err)}
	}
	return ca, nil
}

// authority is a CA that signs, with all that its Secret holds: another one may be trusted beside it.
type authority struct {
	pki.CA
	data map[string][]byte
}

// authorityIn reads it. The CA of an issuer has no key there: it signs nothing here.
func authorityIn(secret *corev1.Secret) (authority, error) {
	ca, err := resources.SignerIn(secret.Data)
	return authority{CA: ca.WithChain(secret.Data[resources.KeyChain]), data: secret.Data}, err
}

// issuer issues certificates in one step. It reads each CA that it did not make once, when it is first needed.
type issuer struct {
	step
	mu  sync.Mutex
	cas map[string]authority
}

// issued is what a Secret is to hold by key, where nil takes a key away; which requests that took; and what is not
// there yet because its issuer has not signed it.
type issued struct {
	data  map[string][]byte
	taken []*resources.CertificateRequest
	later error
}

func (i *issuer) ca(ctx context.Context, name string) (authority, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if ca, ok := i.cas[name]; ok {
		return ca, nil
	}
	ca, err := i.readCA(ctx, name)
	if err != nil {
		return authority{}, err
	}
	i.put(name, ca)
	return ca, nil
}

func (i *issuer) keep(name string, ca authority) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.put(name, ca)
}

// put is for callers that hold the lock.
func (i *issuer) put(name string, ca authority) {
	if i.cas == nil {
		i.cas = map[string]authority{}
	}
	i.cas[name] = ca
}

// ensureNamed makes or renews the Secret of clients or of the operator.
func (i *issuer) ensureNamed(ctx context.Context, object facts.Object) error {
	certificates := resources.Certificates(i.cluster, object.Name)
	if len(certificates) == 0 {
		return fmt.Errorf("applying Secret %s: this cluster has no such Secret", object.Name)
	}
	return i.ensure(ctx, resources.BuildLeafSecret(i.cluster, object.Name, nil), certificates, object.State)
}

// ensureMember makes or renews a member's Secret.
func (i *issuer) ensureMember(ctx context.Context, member string) error {
	return i.ensure(ctx, resources.BuildMemberSecret(i.cluster, member, nil),
		resources.MemberCertificates(i.cluster, member, i.Domain, i.view.LoadBalancer...),
		i.view.Current.Find(member).Secret.State)
}

// ensure brings a Secret to what its certificates have to be; a second time it finds nothing to do. It does not look
// for one that the look before found absent: that one is there by now fails its creation.
func (i *issuer) ensure(ctx context.Context, want *corev1.Secret, certificates []resources.Certificate,
	seen facts.ObjectState) (err error) {
	var found ctrlclient.Object
	if seen != facts.ObjectAbsent {
		if found, err = i.find(ctx, resources.KindSecret, want); err != nil {
			return err
		}
	}
	if found == nil {
		made, err := i.issue(ctx, want.Name, nil, certificates)
		if err = cmp.Or(err, made.later); err != nil { // it is made once all of it is there
			return err
		}
		want.Data = made.data
		if found, err = i.create(ctx, resources.KindSecret, want); err != nil {
			return err
		}
		if found == ctrlclient.Object(want) {
			return i.deleteTaken(ctx, made)
		}
	}
	have := found.(*corev1.Secret)
	change := resources.Remarking(i.cluster, have, record.Bootstrap{})
	renewed, err := i.issue(ctx, have.Name, have.Data, certificates)
	if err != nil {
		return err
	}
	if len(renewed.data) == 0 && change.IsZero() {
		return renewed.later
	}
	err = i.update(ctx, resources.KindSecret, have, func() {
		have.Data = merged(have.Data, renewed.data)
		maps.DeleteFunc(have.Data, func(_ string, value []byte) bool { return value == nil })
		change.Put(have)
		have.Labels = merged(have.Labels, want.Labels)
	})
	return cmp.Or(err, i.deleteTaken(ctx, renewed), renewed.later)
}

// issue returns what has to change in a Secret.
func (i *issuer) issue(ctx context.Context, secret string, have map[string][]byte,
	certificates []resources.Certificate) (issued, error) {
	made := issued{data: map[string][]byte{}}
	for _, certificate := range certificates {
		ca, err := i.ca(ctx, certificate.CA)
		if err != nil {
			return made, err
		}
		trusted := certificate.Trusts(ca.data)
		isSame := bytes.Equal(have[certificate.CAKey], trusted)
		if !isSame {
			made.data[certificate.CAKey] = trusted
		}
		isGood := i.isGood(have, certificate, ca)
		asking, byIssuer := resources.AskingFor(secret, certificate, ca.data)
		switch {
		case isGood && (isSame || len(ca.data[resources.KeyOtherCert]) == 0):
		case isGood && byIssuer: // what stands beside it is new, and that can be said without another one
			made.data[certificate.OriginKey()] = i.signedBy(asking)
		case byIssuer:
			err = i.takeSigned(ctx, asking, certificate, ca, &made)
		default:
			err = i.sign(certificate, ca, have, &made)
		}
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// sign issues a certificate with the key of the CA.
func (i *issuer) sign(certificate resources.Certificate, ca authority, have map[string][]byte, made *issued) error {
	pair, err := ca.Issue(certificate.Leaf, i.Now())
	if err != nil {
		return Rejected{Reason: RejectedUnreadable, Message: fmt.Sprintf("CA %s: %v", certificate.CA, err)}
	}
	made.data[certificate.CertKey], made.data[certificate.KeyKey] = pair.Cert, pair.Key
	if len(have[certificate.OriginKey()]) > 0 {
		made.data[certificate.OriginKey()] = nil
	}
	return nil
}

// isGood reports whether a certificate can stay: it says what it has to, is of this CA, and has its key beside
// it.
func (i *issuer) isGood(have map[string][]byte, certificate resources.Certificate, ca authority) bool {
	cert, key := have[certificate.CertKey], have[certificate.KeyKey]
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		return false
	}
	_, renew := pki.NeedsRenewal(cert, ca.CertPEM(), certificate.LeafUnder(ca.data), i.Now())
	return !renew
}

func merged[V any](base, over map[string]V) map[string]V {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]V{}
	}
	maps.Copy(out, over)
	return out
}
