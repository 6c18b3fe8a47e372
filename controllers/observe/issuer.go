package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// +kubebuilder:rbac:groups=cert-manager.io,resources=certificaterequests,verbs=get;list

// requests are the CertificateRequests of one cluster, and what became of them in this look.
type requests struct {
	reader client.Reader
	ours   map[string]*resources.CertificateRequest
	wanted map[string]bool      // by name: something waits for it
	moved  map[string]time.Time // by the name of a CA's Secret: when what was signed by another CA was asked for
	fault  string               // why they cannot be read
	mayEnd bool                 // that may end by itself
}

func newRequests(reader client.Reader) requests {
	return requests{reader: reader, ours: map[string]*resources.CertificateRequest{}, wanted: map[string]bool{},
		moved: map[string]time.Time{}}
}

// readRequests lists them, where an issuer signs or is to sign. Elsewhere nothing of cert-manager is read.
func (k *keyring) readRequests(ctx context.Context) error {
	if k.asked.reader == nil || !k.hasIssuer() {
		return nil
	}
	var list resources.CertificateRequestList
	err := k.asked.reader.List(ctx, &list, client.InNamespace(k.cluster.Namespace),
		client.MatchingLabels(resources.MemberSelector(k.cluster.Name)))
	switch {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		k.asked.fault = "cert-manager is not installed: this Kubernetes has no CertificateRequests"
		k.asked.mayEnd = true
	case apierrors.IsForbidden(err):
		k.asked.fault = "the operator may not list CertificateRequests, which its ClusterRole allows"
	case err != nil:
		return fmt.Errorf("listing the CertificateRequests of %s/%s: %w", k.cluster.Namespace, k.cluster.Name, err)
	}
	for i := range list.Items {
		if r := &list.Items[i]; resources.IsControlledBy(r, k.ours.uid) {
			k.asked.ours[r.Name] = r
		}
	}
	return nil
}

// hasIssuer reports that the spec names an issuer, or that a CA which is held is that of one.
func (k *keyring) hasIssuer() bool {
	clients, peers := k.cluster.Spec.CASources()
	if clients.IssuerRef != nil || peers.IssuerRef != nil {
		return true
	}
	return slices.ContainsFunc([]string{resources.CASecret(k.cluster.Name), resources.PeerCASecret(k.cluster.Name)},
		func(name string) bool {
			ca := k.read[name]
			return ca != nil && (resources.OriginIn(ca.Data, resources.KeyOrigin).Issuer != nil ||
				resources.OriginIn(ca.Data, resources.KeyOtherOrigin).Issuer != nil)
		})
}

// askedSource is what an issuer answered to the questions which CA it signs with, and whether it signs all that it is
// to.
func (k *keyring) askedSource(ca facts.Object, from v1alpha1.CASource) facts.CASource {
	source := facts.CASource{Origin: facts.OriginIssuer, From: from.String()}
	if k.asked.fault != "" {
		source.Fault, source.IsAbsent = k.asked.fault, k.asked.mayEnd
		return source
	}
	for _, question := range resources.Questions(k.cluster, ca.Name, from.Issuer(), k.domain, k.addresses...) {
		k.asked.wanted[question.Name] = true
		k.addAnswer(&source, question)
	}
	if source.Fault != "" {
		source.Print, source.Identity, source.NotAfter = "", "", time.Time{}
	}
	return source
}

// addAnswer adds what one question showed. The first fault is told, and a CA that is refused before one that has yet to
// come.
func (k *keyring) addAnswer(source *facts.CASource, question resources.Asking) {
	request := k.asked.ours[question.Name]
	signing := question.Judge(request, nil, k.now)
	if source.Asked.IsZero() || signing.Since.Before(source.Asked) {
		source.Asked = signing.Since
	}
	says := func(fault string, isAbsent bool) {
		if source.Fault == "" || source.IsAbsent && !isAbsent {
			source.Fault, source.IsAbsent = words.Bounded(fault), isAbsent
		}
	}
	switch signing.State {
	case resources.SigningToAsk:
		source.Ask = true
		says("it has yet to be asked which CA it signs with", true)
	case resources.SigningWaits:
		says(fmt.Sprintf("the CertificateRequest %s is not answered: %s", question.Name, signing.Why), true)
	case resources.SigningDone:
		source.Ask = source.Ask || k.now.Sub(signing.Since) >= resources.QuestionFor
		signer, err := question.Signer(request, k.now)
		if err != nil {
			return // it was read just now
		}
		if fingerprint := pki.Fingerprint(signer.CertPEM()); source.Print == "" {
			source.Print, source.Identity = fingerprint, pki.Identity(signer.CertPEM())
			source.NotAfter, _ = pki.NotAfter(signer.CertPEM())
		} else if source.Print != fingerprint {
			says("it signs with more than one CA, and members are to trust one", false)
		}
	case resources.SigningRefused, resources.SigningOtherCA:
		says(fmt.Sprintf("the CertificateRequest %s: %s", question.Name, signing.Why), false)
	}
}

// awaits says what a Secret that is missing, or not as it has to be, waits for; zero where something can be done with
// it now. A Secret is made only once all its certificates are there.
func (k *keyring) awaits(name string, secret *corev1.Secret, certificates []resources.Certificate) facts.Awaited {
	var data map[string][]byte
	if secret != nil {
		data = secret.Data
	}
	var all []signing
	for _, c := range certificates {
		ca, ok := k.trusted[c.CA]
		if !ok {
			continue
		}
		_, isDue := k.isDue(data, c, ca)
		asking, byIssuer := resources.AskingFor(name, c, ca)
		switch {
		case isDue && byIssuer:
			all = append(all, k.signing(asking, c.CA, ca))
		case isDue && secret != nil:
			all = append(all, signing{}) // the operator signs
		}
		if secret != nil && !namesThose(data, c, ca) {
			all = append(all, signing{})
		}
	}
	return gravest(all, secret == nil)
}

// gravest is what a person has to look after first; zero where something can be done now. One that can be taken is not
// enough for a Secret that is not there.
func gravest(all []signing, isAbsent bool) facts.Awaited {
	var awaited facts.Awaited
	for _, one := range all {
		switch {
		case one.isToAsk, one.Request == "" && !isAbsent:
			return facts.Awaited{}
		case awaited.Request == "", one.IsRefused && !awaited.IsRefused:
			awaited = one.Awaited
		}
	}
	return awaited
}

type signing struct {
	facts.Awaited
	isToAsk bool
}

// signing is what one certificate waits for.
func (k *keyring) signing(asking resources.Asking, ca string, held authority) signing {
	k.asked.wanted[asking.Name] = true
	if k.asked.fault != "" {
		return signing{Awaited: facts.Awaited{Request: asking.Name, Why: k.asked.fault, IsRefused: !k.asked.mayEnd}}
	}
	by, err := pki.ReadCA(held[resources.KeyCert])
	if err != nil {
		return signing{}
	}
	s := asking.Judge(k.asked.ours[asking.Name], &by, k.now)
	switch s.State {
	case resources.SigningToAsk:
		return signing{isToAsk: true}
	case resources.SigningDone:
		return signing{}
	case resources.SigningOtherCA:
		k.asked.moved[ca] = s.Since
	case resources.SigningWaits, resources.SigningRefused:
	}
	return signing{Awaited: facts.Awaited{Request: asking.Name, Why: words.Bounded(s.Why), Since: s.Since,
		IsRefused: s.State == resources.SigningRefused, IsOtherCA: s.State == resources.SigningOtherCA}}
}

// askAnew has an issuer asked which CA it signs with, where it signed with another one since it was asked.
func (k *keyring) askAnew(objects []facts.Object) {
	for i := range objects {
		source := &objects[i].Source
		if moved := k.asked.moved[objects[i].Name]; source.Origin == facts.OriginIssuer && source.Asked.Before(moved) {
			source.Ask, source.Moved = true, moved
		}
	}
}

// unwant says that nothing waits for the certificates of a member.
func (r requests) unwant(secret string) {
	for _, name := range resources.RequestsOfMember(secret) {
		delete(r.wanted, name)
	}
}

// answered are the requests that nothing waits for: all of them, once certificates are to go.
func (k *keyring) answered(isTLS bool) []facts.RequestRef {
	var left []facts.RequestRef
	for name, r := range k.asked.ours {
		if isWanted := isTLS && k.asked.wanted[name]; !isWanted && r.DeletionTimestamp == nil {
			left = append(left, facts.RequestRef{Name: name, UID: string(r.UID)})
		}
	}
	slices.SortFunc(left, func(a, b facts.RequestRef) int { return cmp.Compare(a.Name, b.Name) })
	return left
}
