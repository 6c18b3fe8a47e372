package apply

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// ensureAuthority makes an authority that is not there. What one that is there holds is never touched: members live by
// it. Of two that make one at the same time, only one's is there, and both issue from that one.
func (i *issuer) ensureAuthority(ctx context.Context, object facts.Object) error {
	if object.State != facts.ObjectAbsent {
		existing, err := i.find(ctx, resources.KindSecret, resources.BuildAuthority(i.cluster, object.Name, nil))
		switch {
		case err != nil:
			return err
		case existing == nil: // it went after the look, and members may live by it
			return ErrStale
		}
		return i.remark(ctx, resources.KindSecret, existing)
	}
	ports := "clients"
	if object.Name == resources.PeerCASecret(i.cluster.Name) {
		ports = "peers"
	}
	pair, err := pki.NewAuthority(fmt.Sprintf("%s of etcd %s/%s", ports, i.cluster.Namespace, i.cluster.Name),
		i.Now(), 0)
	if err != nil {
		return fmt.Errorf("making CA %s: %w", object.Name, err)
	}
	there, err := i.create(ctx, resources.KindSecret, resources.BuildAuthority(i.cluster, object.Name,
		map[string][]byte{resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key, resources.KeyCA: pair.Cert}))
	if err != nil {
		return err
	}
	if authority, err := authorityIn(there.(*corev1.Secret)); err == nil {
		i.keep(object.Name, authority)
	}
	return nil
}

// readAuthority reads an authority from the API server. One that holds another CA than the change was decided on signs
// nothing: whether members trust it was not looked at.
func (s step) readAuthority(ctx context.Context, name string) (pki.Authority, error) {
	found, err := s.find(ctx, resources.KindSecret, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil {
		return pki.Authority{}, err
	}
	if found == nil {
		return pki.Authority{}, Later{Reason: LaterMissing, Message: fmt.Sprintf("CA %s is not there yet", name)}
	}
	secret := found.(*corev1.Secret)
	held := pki.Fingerprint(secret.Data[resources.KeyCert])
	isSeen := func(object facts.Object) bool { return object.Name == name && object.Holds == held }
	if !slices.ContainsFunc(s.view.Objects, isSeen) {
		return pki.Authority{}, ErrStale
	}
	authority, err := authorityIn(secret)
	if err != nil {
		return pki.Authority{}, Rejected{Reason: RejectedUnreadable, Message: fmt.Sprintf("Secret %s: %v", name, err)}
	}
	return authority, nil
}

func authorityIn(secret *corev1.Secret) (pki.Authority, error) {
	return pki.ParseAuthority(pki.Pair{Cert: secret.Data[resources.KeyCert], Key: secret.Data[resources.KeyKey]})
}

// issuer issues certificates in one step. It reads each authority that it did not make once, when it is first needed.
type issuer struct {
	step
	mu          sync.Mutex
	authorities map[string]pki.Authority
}

func (i *issuer) authority(ctx context.Context, name string) (pki.Authority, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if authority, ok := i.authorities[name]; ok {
		return authority, nil
	}
	authority, err := i.readAuthority(ctx, name)
	if err != nil {
		return pki.Authority{}, err
	}
	i.put(name, authority)
	return authority, nil
}

func (i *issuer) keep(name string, authority pki.Authority) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.put(name, authority)
}

// put is for callers that hold the lock.
func (i *issuer) put(name string, authority pki.Authority) {
	if i.authorities == nil {
		i.authorities = map[string]pki.Authority{}
	}
	i.authorities[name] = authority
}
