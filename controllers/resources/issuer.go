package resources

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// Asking is one certificate that an issuer is to sign: the one under these keys of a Secret or, without a seed, one
// that only shows which CA the issuer signs with. At most one request of its name is under way.
type Asking struct {
	Issuer v1alpha1.CAIssuerReference
	pki.Wanted
}

// AskingFor is what the issuer of a CA is asked for a certificate of a Secret. False: the operator signs it, with the
// key of the CA.
func AskingFor(secret string, c Certificate, ca map[string][]byte) (asking Asking, byIssuer bool) {
	issuer := OriginIn(ca, KeyOrigin).Issuer
	if issuer == nil {
		return Asking{}, false
	}
	return Asking{*issuer, pki.Wanted{Leaf: c.Leaf, Seed: ca[KeyKey], Name: requestName(secret, c)}}, true
}

func requestName(secret string, c Certificate) string {
	if c.CAKey == KeyPeerCA {
		return secret + "-peers"
	}
	return secret + "-clients"
}

// RequestsOfMember are the names of all requests for the certificates in a member's Secret.
func RequestsOfMember(secret string) []string {
	return []string{requestName(secret, Certificate{CAKey: KeyCA}), requestName(secret, Certificate{CAKey: KeyPeerCA})}
}

// Questions are what an issuer is asked to find out which CA it signs with, and whether it signs all that it is to: a
// certificate of each kind, which nothing ever shows.
func Questions(c *v1alpha1.EtcdCluster, ca string, issuer v1alpha1.CAIssuerReference, domain string,
	addresses ...string) []Asking {
	var all []Asking
	for i, leaf := range LeavesOf(c, ca == PeerCASecret(c.Name), domain, addresses...) {
		all = append(all, Asking{issuer, pki.Wanted{Leaf: leaf, Name: fmt.Sprintf("%s-ask-%d", ca, i)}})
	}
	return all
}

// Build builds the request of a cluster, which goes with it.
func (a Asking) Build(c *v1alpha1.EtcdCluster) (*CertificateRequest, error) {
	return a.build(dress(c, &CertificateRequest{ObjectMeta: ownedMeta(c, a.Name)}))
}

// BuildFor builds the request of an EtcdClient, which goes with that.
func (a Asking) BuildFor(c *v1alpha1.EtcdCluster, owner *v1alpha1.EtcdClient) (*CertificateRequest, error) {
	meta := BuildAccessSecret(c, owner, nil).ObjectMeta
	meta.Name = a.Name
	return a.build(&CertificateRequest{ObjectMeta: meta})
}

func (a Asking) build(r *CertificateRequest) (*CertificateRequest, error) {
	a.Draw = rand.Text()
	file, err := a.Wanted.Request()
	if err != nil {
		return nil, err
	}
	r.Annotations = merged(r.Annotations, map[string]string{v1alpha1.AnnotationDraw: a.Draw})
	r.Spec = RequestSpec{Duration: &metav1.Duration{Duration: pki.DefaultLeafValidity}, IssuerRef: a.ref(),
		Request: file, Usages: a.usages()}
	return r, nil
}

func (a Asking) ref() IssuerRef {
	return IssuerRef{Name: a.Issuer.Name, Kind: a.Issuer.Kind, Group: a.Issuer.Group}
}

func (a Asking) usages() []string {
	usages := []string{usageSignature}
	if a.Leaf.Server {
		usages = append(usages, usageServer)
	}
	if a.Leaf.Client {
		usages = append(usages, usageClient)
	}
	return usages
}

// isAskedBy reports a request that asks this issuer for this certificate, with its key. Anyone may have made it.
func (a Asking) isAskedBy(r *CertificateRequest) bool {
	a.Draw = r.Annotations[v1alpha1.AnnotationDraw]
	return r.Spec.IssuerRef == a.ref() && !r.Spec.IsCA && slices.Equal(r.Spec.Usages, a.usages()) &&
		a.IsAskedBy(r.Spec.Request)
}

// SigningState is how far the request for a certificate is.
type SigningState int

// The states.
const (
	SigningToAsk   SigningState = iota // there is none, or another one is wanted: one has to be made
	SigningWaits                       // it is not answered yet
	SigningRefused                     // it was refused, or answered with something else: it is made anew an hour later
	SigningOtherCA                     // all is well, but it is of another CA, which has to be trusted first
	SigningDone                        // the certificate can be taken
)

const (
	// askAgainAfter is how long a request stays that came to nothing. To delete it asks at once.
	askAgainAfter = time.Hour
	// QuestionFor is for how long it is believed which CA an issuer signs with.
	QuestionFor = 24 * time.Hour
)

// Signing is how a request stands.
type Signing struct {
	State SigningState
	Why   string    // what it waits for, or what is wrong, as a sentence without its end
	Since time.Time // when it was asked
}

// Judge says how the request for a certificate stands; nil is none. By is the CA that it has to be of; nil where it is
// to show that.
func (a Asking) Judge(r *CertificateRequest, by *pki.CA, now time.Time) Signing {
	if r == nil || !a.isAskedBy(r) {
		return Signing{}
	}
	s := Signing{State: SigningWaits, Since: r.CreationTimestamp.Time}
	refused, isRefused := whyRefused(r)
	switch {
	case r.DeletionTimestamp != nil:
		s.Why = "it is being deleted"
	case isRefused:
		s.State, s.Why = SigningRefused, refused
	case len(r.Status.Certificate) == 0:
		s.Why = whatItWaitsFor(r.Status)
	default:
		s.State, s.Why = a.read(r, by, now)
	}
	if s.State == SigningRefused || s.State == SigningOtherCA {
		if now.Sub(endOfRequest(r)) >= askAgainAfter {
			return Signing{}
		}
	}
	return s
}

// endOfRequest is when it came to nothing, or when it was made, where it does not say that.
func endOfRequest(r *CertificateRequest) time.Time {
	if failed := r.Status.FailureTime; failed != nil {
		return failed.Time
	}
	return r.CreationTimestamp.Time
}

func whyRefused(r *CertificateRequest) (why string, isRefused bool) {
	ready, invalid := r.Status.Find(RequestReady), r.Status.Find(RequestInvalid)
	denied := r.Status.Find(RequestDenied)
	switch {
	case r.Status.Is(RequestDenied):
		return "it was denied: " + cmp.Or(denied.Message, denied.Reason), true
	case r.Status.Is(RequestInvalid):
		return "it is called invalid: " + cmp.Or(invalid.Message, invalid.Reason), true
	case ready.Reason == RequestFailed || ready.Reason == RequestDenied ||
		r.Status.FailureTime != nil:
		return "it failed: " + cmp.Or(ready.Message, ready.Reason), true
	}
	return "", false
}

func whatItWaitsFor(status RequestStatus) string {
	ready := status.Find(RequestReady)
	switch {
	case !status.Is(RequestApproved):
		return "no approver has approved it"
	case ready.Message != "":
		return "the issuer has not signed it: " + ready.Message
	}
	return "the issuer has not signed it"
}

func (a Asking) read(r *CertificateRequest, by *pki.CA, now time.Time) (state SigningState, why string) {
	var err error
	if by == nil {
		_, err = answerIn(r).Signer(a.Leaf, now)
	} else {
		_, err = a.Take(r, *by, now)
	}
	switch {
	case err == nil:
		return SigningDone, ""
	case errors.Is(err, pki.ErrOtherCA):
		return SigningOtherCA, err.Error()
	case errors.As(err, new(pki.NotYet)):
		return SigningWaits, err.Error()
	}
	return SigningRefused, err.Error()
}

func answerIn(r *CertificateRequest) pki.Answer {
	return pki.Answer{Request: r.Spec.Request, Cert: r.Status.Certificate, CA: r.Status.CA}
}

// Take is the certificate that was signed, with its key.
func (a Asking) Take(r *CertificateRequest, by pki.CA, now time.Time) (pki.Pair, error) {
	a.Draw = r.Annotations[v1alpha1.AnnotationDraw]
	return a.Wanted.Take(answerIn(r), by, now)
}

// Signer is the CA that an issuer signed a certificate with.
func (a Asking) Signer(r *CertificateRequest, now time.Time) (pki.CA, error) {
	return answerIn(r).Signer(a.Leaf, now)
}

// SignerIn is the CA that the Secret of a CA holds. That of an issuer has no key, and signs nothing.
func SignerIn(data map[string][]byte) (pki.CA, error) {
	if OriginIn(data, KeyOrigin).Issuer != nil {
		return pki.ReadCA(data[KeyCert])
	}
	return pki.ParseCA(pki.Pair{Cert: data[KeyCert], Key: data[KeyKey]})
}

// LeafUnder is what a certificate has to say that this CA signs: an issuer may shorten it.
func (c Certificate) LeafUnder(ca map[string][]byte) pki.Leaf {
	if OriginIn(ca, KeyOrigin).Issuer != nil {
		return c.Leaf.OfIssuer()
	}
	return c.Leaf
}

// OriginKey is where a Secret says who signed its certificate, if an issuer did.
func (c Certificate) OriginKey() string {
	if c.CAKey == KeyPeerCA {
		return KeyPeerOrigin
	}
	return KeyOrigin
}

// Made is since when a Secret is as it is, by one of its certificates.
func (c Certificate) Made(data map[string][]byte) time.Time {
	if origin := OriginIn(data, c.OriginKey()); origin.Issuer != nil {
		return origin.Since
	}
	return pki.Made(data[c.CertKey])
}
