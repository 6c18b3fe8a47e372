package changes

import (
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// AskIssuer asks an issuer which CA it signs with, by CertificateRequests for certificates that nothing uses.
type AskIssuer struct {
	CA    string    // the name of the CA's Secret
	From  string    // the issuer, in words
	Since time.Time // what was asked before is asked anew; zero: what was asked a day ago
}

func (AskIssuer) traits() Traits {
	return Traits{Unconfirmed: "it asks, and changes nothing of the cluster"}
}

func (c AskIssuer) words() Words {
	return says("Ask", "asks", "Asked", c.From+" which CA it signs with", EventObjectsApplied)
}

// veto asks no issuer that the spec does not name: each answer is a certificate.
func (c AskIssuer) veto(o facts.View) Veto {
	if !slices.ContainsFunc(o.Objects, func(ca facts.Object) bool {
		return ca.CA && ca.Name == c.CA && ca.Source.Origin == facts.OriginIssuer && ca.Source.From == c.From
	}) {
		return identityAtRisk("the spec does not name %s for the CA in Secret %s.", c.From, c.CA)
	}
	return Veto{}
}

// DeleteRequests deletes CertificateRequests that nothing waits for.
type DeleteRequests struct{ Requests []facts.RequestRef }

func (DeleteRequests) traits() Traits {
	return Traits{Unconfirmed: "what is deleted is asked for again where something waits for it"}
}

func (c DeleteRequests) words() Words {
	return says("Delete", "deletes", "Deleted", "the CertificateRequests "+strings.Join(
		names(c.Requests, func(ref facts.RequestRef) string { return ref.Name }), ", "), EventObjectsApplied)
}

// veto deletes nothing that certificates wait for.
func (c DeleteRequests) veto(o facts.View) Veto {
	return first(c.Requests, func(ref facts.RequestRef) Veto {
		if !slices.Contains(o.Answered, ref) {
			return identityAtRisk("the CertificateRequest %s may be waited for.", ref.Name)
		}
		return Veto{}
	})
}
