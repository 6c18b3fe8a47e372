package apply

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

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
		resources.MemberCertificates(i.cluster, member, i.ClusterDomain, i.view.LoadBalancer...),
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
		if want.Data, err = i.issue(ctx, nil, certificates); err != nil {
			return err
		}
		if found, err = i.create(ctx, resources.KindSecret, want); err != nil || found == ctrlclient.Object(want) {
			return err
		}
	}
	have := found.(*corev1.Secret)
	change := resources.Remarking(i.cluster, have, record.Birth{})
	renewed, err := i.issue(ctx, have.Data, certificates)
	if err != nil || len(renewed) == 0 && change.IsZero() {
		return err
	}
	return i.update(ctx, resources.KindSecret, have, func() {
		have.Data = merged(have.Data, renewed)
		change.Put(have)
		have.Labels = merged(have.Labels, want.Labels)
	})
}

// issue returns what has to change in a Secret's data, by key.
func (i *issuer) issue(ctx context.Context, have map[string][]byte,
	certificates []resources.Certificate) (map[string][]byte, error) {
	changed := map[string][]byte{}
	for _, certificate := range certificates {
		authority, err := i.authority(ctx, certificate.Authority)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(have[certificate.CAKey], authority.CertPEM()) {
			changed[certificate.CAKey] = authority.CertPEM()
		}
		if i.isGood(have, certificate, authority) {
			continue
		}
		pair, err := authority.Issue(pki.Leaf(certificate.Leaf), i.Now())
		if err != nil {
			return nil, Rejected{Reason: RejectedUnreadable,
				Message: fmt.Sprintf("CA %s: %v", certificate.Authority, err)}
		}
		changed[certificate.CertKey], changed[certificate.KeyKey] = pair.Cert, pair.Key
	}
	return changed, nil
}

// isGood reports whether a certificate can stay: it says what it has to, is of this authority, and has its key beside
// it.
func (i *issuer) isGood(have map[string][]byte, certificate resources.Certificate, authority pki.Authority) bool {
	cert, key := have[certificate.CertKey], have[certificate.KeyKey]
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		return false
	}
	_, renew := pki.NeedsRenewal(cert, authority.CertPEM(), pki.Leaf(certificate.Leaf), i.Now())
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
