package observe

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// addSources tells of each CA where the spec wants it from, and whether that can be used. Secrets of people are in no
// cache, so each look reads them.
func (k *keyring) addSources(ctx context.Context, objects []facts.Object) error {
	clients, peers := k.cluster.Spec.CASources()
	wanted := map[facts.Port]v1alpha1.CASource{facts.ForClients: clients, facts.ForPeers: peers}
	for i := range objects {
		ca := &objects[i]
		from := wanted[ca.Port]
		switch {
		case !ca.CA || from.String() == "":
		case from.IssuerRef != nil:
			ca.Source = k.askedSource(*ca, from)
		default:
			secret, err := k.secret(ctx, from.SecretName())
			if err != nil {
				return err
			}
			ca.Source = k.source(*ca, from, secret)
		}
	}
	unshare(objects)
	return nil
}

// source is what a person's Secret offers for a CA. What the operator has a copy of was checked before.
func (k *keyring) source(ca facts.Object, from v1alpha1.CASource, secret *corev1.Secret) facts.CASource {
	source := facts.CASource{Origin: facts.OriginSecret, From: from.String()}
	if secret == nil {
		source.Fault, source.IsAbsent = "there is no such Secret", true
		return source
	}
	if secret.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue {
		source.Fault = "the operator made that Secret, and changes it"
		return source
	}
	cert := secret.Data[resources.KeyCert]
	source.Print, source.Identity = pki.Fingerprint(cert), pki.Identity(cert)
	source.NotAfter = endOf(secret.Data, resources.KeyCert)
	for _, held := range ca.CAs.Held() {
		if held.HasKey && held.Print == source.Print && held.Origin != facts.OriginIssuer {
			return source
		}
	}
	if err := k.check(ca.Port, secret); err != nil {
		source.Fault = err.Error()
	}
	return source
}

// check asks whether a CA is whole, lasts, and may sign all that it is to sign.
func (k *keyring) check(port facts.Port, secret *corev1.Secret) error {
	taken, err := resources.GivenIn(secret.Data).Take(k.now)
	if err != nil {
		return err
	}
	return taken.Allows(resources.LeavesOf(k.cluster, port == facts.ForPeers, k.domain, k.addresses...), k.now)
}

// unshare lets no CA sign for clients and for peers: who has the certificate of a client could connect as a member. The
// port that has the CA keeps it. Where both are to get it, that for peers does not.
func unshare(objects []facts.Object) {
	for i := range objects {
		ca := &objects[i]
		wanted := ca.Source.Identity
		if wanted == "" || ca.Source.Fault != "" || holds(*ca, wanted) {
			continue
		}
		for _, other := range objects {
			isWanted := ca.Port == facts.ForPeers && other.Source.Identity == wanted
			if other.CA && other.Port != ca.Port && (isWanted || holds(other, wanted)) {
				ca.Source.Fault = fmt.Sprintf("it is the CA for %s as well, and anyone who has the certificate of a "+
					"client could connect as a member", other.Port)
			}
		}
	}
}

// holds reports a CA that signs on a port, or may.
func holds(ca facts.Object, identity string) bool {
	return slices.ContainsFunc(ca.CAs[:], func(held facts.CA) bool { return held.HasKey && held.Identity == identity })
}
