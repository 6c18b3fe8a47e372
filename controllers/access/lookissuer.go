package access

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// signed is what an issuer is asked for, and how it answered.
type signed struct {
	asking  resources.Asking
	request *resources.CertificateRequest // nil: there is none
}

// lookAtIssuer reads what the issuer of the CA answered, where a certificate is due that it signs.
func (r *Reconciler) lookAtIssuer(ctx context.Context, c *v1alpha1.EtcdClient, seen *view, due string) error {
	if !seen.CA.Known || due == "" {
		return nil
	}
	asking, byIssuer := resources.AskingFor(seen.Client.Secret, seen.certificate(), seen.ca)
	if !byIssuer {
		return nil
	}
	signing, err := r.judgeRequest(ctx, c, seen, asking)
	if err != nil {
		return err
	}
	switch signing.State {
	case resources.SigningDone:
		return nil
	case resources.SigningToAsk:
		seen.Secret.ToAsk = asking.Name
	case resources.SigningWaits, resources.SigningRefused, resources.SigningOtherCA:
		seen.Secret.Awaits = fmt.Sprintf("CertificateRequest %s: %s", asking.Name, signing.Why)
		seen.Secret.IsRefused = signing.State == resources.SigningRefused
	}
	seen.renew = ""
	return nil
}

func (r *Reconciler) judgeRequest(ctx context.Context, c *v1alpha1.EtcdClient, seen *view,
	asking resources.Asking) (resources.Signing, error) {
	if c.Namespace != seen.cluster.Namespace && asking.Issuer.Kind == v1alpha1.DefaultIssuerKind {
		return resources.Signing{State: resources.SigningRefused, Why: fmt.Sprintf("%s signs only in namespace %s. "+
			"Have a ClusterIssuer sign for the cluster", asking.Issuer, seen.cluster.Namespace)}, nil
	}
	by, err := resources.SignerIn(seen.ca)
	if err != nil {
		return resources.Signing{}, fmt.Errorf("reading the CA: %w", err)
	}
	request, err := observe.Find[resources.CertificateRequest](ctx, r.Live, c.Namespace, asking.Name)
	switch {
	case meta.IsNoMatchError(err):
		return resources.Signing{State: resources.SigningWaits, Why: "cert-manager is not installed"}, nil
	case apierrors.IsForbidden(err):
		return resources.Signing{State: resources.SigningRefused, Why: "the operator may not get it"}, nil
	case err != nil:
		return resources.Signing{}, err
	case request != nil && !resources.IsControlledBy(request, c.UID):
		return resources.Signing{State: resources.SigningRefused, Why: "it is not of this EtcdClient"}, nil
	}
	seen.signed = &signed{asking, request}
	return asking.Judge(request, &by, seen.Now), nil
}
