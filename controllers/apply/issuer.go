package apply

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// +kubebuilder:rbac:groups=cert-manager.io,resources=certificaterequests,verbs=create;delete

// askIssuer asks an issuer which CA it signs with, and whether it signs all that it is to. What was asked lately is
// left alone.
func (s step) askIssuer(ctx context.Context, c changes.AskIssuer) error {
	source := s.wantedOf(c.CA)
	if source.IssuerRef == nil || source.String() != c.From {
		return ErrStale
	}
	return each(ctx, s.questions(c.CA, source.Issuer()), func(ctx context.Context, question resources.Asking) error {
		return s.ask(ctx, question, nil, func(r *resources.CertificateRequest) bool {
			made := r.CreationTimestamp.Time
			return made.Before(c.Since) || s.Now().Sub(made) >= resources.QuestionFor
		})
	})
}

func (s step) questions(ca string, issuer v1alpha1.CAIssuerReference) []resources.Asking {
	return resources.Questions(s.cluster, ca, issuer, s.Domain, s.view.LoadBalancer...)
}

// ask makes a request that is not there, or another one in the place of an old one.
func (s step) ask(ctx context.Context, asking resources.Asking, by *pki.CA,
	isOld func(*resources.CertificateRequest) bool) error {
	r, err := s.request(ctx, asking.Name)
	switch {
	case err != nil:
		return err
	case r != nil && asking.Judge(r, by, s.Now()).State != resources.SigningToAsk && !isOld(r) && s.isMarked(r):
		return nil
	case r != nil:
		if err := s.delete(ctx, resources.KindRequest, requestNamed(asking.Name), string(r.UID)); err != nil {
			return err
		}
	}
	want, err := asking.Build(s.cluster)
	if err != nil {
		return fmt.Errorf("asking %s: %w", asking.Issuer, err)
	}
	err = s.Client.Create(ctx, want, FieldOwner)
	if apierrors.IsAlreadyExists(err) { // the one before is still being deleted, or another pass was faster
		return Later{Reason: LaterSigning, Message: "the CertificateRequest " + asking.Name + " is there already"}
	}
	return Answer(err, "creating CertificateRequest "+asking.Name)
}

// isMarked reports a request that the next look will find.
func (s step) isMarked(r *resources.CertificateRequest) bool {
	return labels.SelectorFromSet(resources.MemberSelector(s.cluster.Name)).Matches(labels.Set(r.Labels))
}

// request is one of ours as it is now; nil when there is none.
func (s step) request(ctx context.Context, name string) (*resources.CertificateRequest, error) {
	found, err := s.find(ctx, resources.KindRequest, requestNamed(name))
	if found == nil || err != nil {
		return nil, err
	}
	return found.(*resources.CertificateRequest), nil
}

func requestNamed(name string) *resources.CertificateRequest {
	return &resources.CertificateRequest{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// signerOf is the CA that an issuer signs with, by its answers to all questions.
func (s step) signerOf(ctx context.Context, ca string, issuer v1alpha1.CAIssuerReference) (signer pki.CA, err error) {
	for i, question := range s.questions(ca, issuer) {
		r, err := s.request(ctx, question.Name)
		if err != nil {
			return pki.CA{}, err
		}
		if question.Judge(r, nil, s.Now()).State != resources.SigningDone {
			return pki.CA{}, ErrStale // the next look says why
		}
		one, err := question.Signer(r, s.Now())
		if err != nil || i > 0 && pki.Fingerprint(one.CertPEM()) != pki.Fingerprint(signer.CertPEM()) {
			return pki.CA{}, ErrStale
		}
		signer = one
	}
	return signer, nil
}

// takeSigned takes what an issuer signed, if it is what was asked for, or asks.
func (i *issuer) takeSigned(ctx context.Context, asking resources.Asking, certificate resources.Certificate,
	ca authority, made *issued) error {
	r, err := i.request(ctx, asking.Name)
	if err != nil {
		return err
	}
	if asking.Judge(r, &ca.CA, i.Now()).State == resources.SigningDone {
		pair, err := asking.Take(r, ca.CA, i.Now())
		if err != nil {
			return ErrStale
		}
		made.data[certificate.CertKey], made.data[certificate.KeyKey] = pair.Cert, pair.Key
		made.data[certificate.OriginKey()] = i.signedBy(asking)
		made.taken = append(made.taken, r)
		return nil
	}
	err = i.ask(ctx, asking, &ca.CA, func(*resources.CertificateRequest) bool { return false })
	if err != nil && !errors.As(err, new(Later)) {
		return err
	}
	made.later = Later{Reason: LaterSigning, Message: fmt.Sprintf("%s is asked for a certificate, by the "+
		"CertificateRequest %s", asking.Issuer, asking.Name)}
	return nil
}

// signedBy is what is written beside a certificate that an issuer signed.
func (i *issuer) signedBy(asking resources.Asking) []byte {
	return resources.Origin{Issuer: &asking.Issuer, Since: i.Now().UTC()}.Encode()
}

// deleteTaken deletes the requests whose certificates are in their Secret.
func (i *issuer) deleteTaken(ctx context.Context, made issued) error {
	return each(ctx, made.taken, func(ctx context.Context, r *resources.CertificateRequest) error {
		return i.delete(ctx, resources.KindRequest, requestNamed(r.Name), string(r.UID))
	})
}

// deleteRequests deletes requests that nothing waits for.
func (s step) deleteRequests(ctx context.Context, c changes.DeleteRequests) error {
	return each(ctx, c.Requests, func(ctx context.Context, ref facts.RequestRef) error {
		return s.delete(ctx, resources.KindRequest, requestNamed(ref.Name), ref.UID)
	})
}
