package apply

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// ensureAuthority makes an authority that is not there. What one that is there holds is never touched: members live by
// it.
func (s step) ensureAuthority(ctx context.Context, object facts.Object) error {
	like := resources.BuildAuthority(s.cluster, object.Name, nil)
	existing, err := s.find(ctx, resources.KindSecret, like)
	if err != nil {
		return err
	}
	if existing != nil {
		return s.remark(ctx, resources.KindSecret, existing)
	}
	ports := "clients"
	if object.Name == resources.PeerCASecret(s.cluster.Name) {
		ports = "peers"
	}
	pair, err := pki.NewAuthority(fmt.Sprintf("%s of etcd %s/%s", ports, s.cluster.Namespace, s.cluster.Name),
		s.Now(), 0)
	if err != nil {
		return fmt.Errorf("making CA %s: %w", object.Name, err)
	}
	_, err = s.create(ctx, resources.KindSecret, resources.BuildAuthority(s.cluster, object.Name, map[string][]byte{
		resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key, resources.KeyCA: pair.Cert,
	}))
	return err
}

// readAuthority reads an authority back from the API server: of two that make one at the same time, only one's is
// there.
func (s step) readAuthority(ctx context.Context, name string) (pki.Authority, error) {
	found, err := s.find(ctx, resources.KindSecret, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil {
		return pki.Authority{}, err
	}
	if found == nil {
		return pki.Authority{}, Later{Reason: LaterMissing, Message: fmt.Sprintf("CA %s is not there yet", name)}
	}
	data := found.(*corev1.Secret).Data
	authority, err := pki.ParseAuthority(pki.Pair{Cert: data[resources.KeyCert], Key: data[resources.KeyKey]})
	if err != nil {
		return pki.Authority{}, Rejected{Reason: RejectedUnreadable, Message: fmt.Sprintf("Secret %s: %v", name, err)}
	}
	return authority, nil
}

// issuer issues certificates in one step. It reads each authority once, when it is first needed.
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
	if i.authorities == nil {
		i.authorities = map[string]pki.Authority{}
	}
	i.authorities[name] = authority
	return authority, nil
}
