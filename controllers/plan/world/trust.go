package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// ownCA is the CA that the cluster was made with. Its Secret may hold another one, once a person wrote that there.
const ownCA = "ca-1"

// trustIn is which CAs certificates name beside them, and when they were issued.
type trustIn struct {
	named []string
	made  time.Time
}

// caSecret is what the Secret of the CA holds beside the one that signs: another one, while that takes its place or
// gives it up.
type caSecret struct {
	other    string
	otherKey bool
}

// ReplaceCA writes another CA into the Secret of the CA.
func (w *World) ReplaceCA() {
	if w.objects.made["demo-ca"] {
		w.hasForeignCA = true
		w.objects.ca, w.objects.beside = w.newCA(), caSecret{}
		w.logf("user: the Secret of the CA holds %s by now", w.objects.ca)
	}
}

func (w *World) newCA() string {
	w.replaced++
	return fmt.Sprintf("ca-%d", 1+w.replaced)
}

// PutCABack writes the one there again that members trust.
func (w *World) PutCABack() {
	if trusted := w.trusted(w.objects); trusted != "" && trusted != w.objects.ca {
		w.objects.ca = trusted
		w.logf("user: the Secret of the CA holds %s again", trusted)
	}
}

// AskToRollCA is a person who wants another CA, or does not any more.
func (w *World) AskToRollCA() {
	w.Rotation = facts.Rotation{}
	if w.chance(3, "is the CA to be replaced", "") > 0 {
		now, _ := w.clocks()
		w.Rotation, w.hasRolled = facts.Rotation{Asked: now}, true
	}
	w.logf("a person asks for a CA made after %v", w.Rotation.Asked)
}

// trusted is the CA that members trust, as their certificates say: the one that is there, if they name it, or the one
// that theirs are of; "" where there are none.
func (w *World) trusted(from objects) string {
	for _, name := range sortedKeys(from.secrets) {
		_, isVolume := from.volumes[name]
		if _, isPod := from.pods[name]; isPod || isVolume {
			isRenewed := identity(from.secrets[name]) == identity(from.ca)
			if slices.Contains(from.trusts[name].named, from.ca) || isRenewed {
				return from.ca
			}
			return from.secrets[name]
		}
	}
	return ""
}

// checkCertificates holds a cluster that is called settled to having certificates of members alone.
func (w *World) checkCertificates(c *cluster) {
	isMember := map[string]bool{}
	for _, m := range c.members {
		isMember[w.nameOfURL(m.PeerURLs[0])] = true
	}
	for _, name := range sortedKeys(w.objects.secrets) {
		if !isMember[name] && w.objects.secrets[name] != "" {
			w.violate("I9: settled, and %s, which is no member, has certificates", name)
		}
	}
	w.checkTurned()
	w.checkTurnedTLS(c)
}

// checkTurned holds a cluster that is called settled to what a person asked of its CA.
func (w *World) checkTurned() {
	if !w.hasRolled || w.hasForeignCA || !w.Spec.TLS { // no CA is replaced while TLS is off
		return
	}
	if ca := w.objects.ca; !w.isAsAsked(ca) || w.objects.beside != (caSecret{}) {
		w.violate("I9: settled, and %s, made at %s, signs beside %+v", ca, w.madeAt[ca], w.objects.beside)
	}
	for _, name := range sortedKeys(w.objects.pods) {
		proc := w.procs[w.objects.pods[name].UID]
		if proc == nil {
			continue
		}
		if !slices.Contains(proc.trusts, w.objects.ca) || slices.ContainsFunc(proc.trusts, w.isReplaced) {
			w.violate("I9: settled, and %s trusts %v", name, proc.trusts)
		}
	}
}

// isReplaced reports a CA that is older than the one that signs. A member may trust a later one: a roll that was called
// off made it, and it never signs again.
func (w *World) isReplaced(ca string) bool { return w.madeAt[ca].Before(w.madeAt[w.objects.ca]) }

// observeTrust tells which CAs the Secret of the CA holds, and which one members trust.
func (w *World) observeTrust(from objects, ca *facts.Object) {
	ca.Trusted = w.trusted(from)
	if w.hasRolled {
		ca.Port = facts.ForPeers
		defer func() { ca.Source = w.Given.asSource(ca.CAs) }()
	}
	if ca.State != facts.ObjectCurrent {
		return
	}
	ca.Holds = from.ca
	if !w.hasRolled {
		return
	}
	ca.CAs[0] = w.fact(from.ca, true)
	if from.beside.other != "" {
		ca.CAs[1] = w.fact(from.beside.other, from.beside.otherKey)
	}
}

func (w *World) fact(ca string, hasKey bool) facts.CA {
	made := w.madeAt[ca]
	fact := facts.CA{Print: ca, Identity: identity(ca), Origin: facts.OriginManaged, IsFirst: ca == w.firstCA,
		HasKey: hasKey, Made: made, NotAfter: made.AddDate(10, 0, 0)}
	if isOwn(ca) {
		fact.Origin, fact.From = facts.OriginSecret, "Secret own"
	}
	if isIssuers(ca) {
		fact.Origin, fact.From = facts.OriginIssuer, "Issuer own"
	}
	return fact
}

// observeCertificates tells of a member's certificates what they are of and which CAs they name.
func (w *World) observeCertificates(from objects, name string, secret *facts.Object) {
	if secret.State == facts.ObjectAbsent {
		secret.Awaits = w.awaits(from, name)
	}
	if !w.hasRolled || secret.State != facts.ObjectCurrent {
		return
	}
	has := from.trusts[name]
	secret.Made, secret.Names = facts.Made{Peers: has.made}, facts.Trust{}.With(facts.ForPeers, has.named)
	if from.made["demo-ca"] && w.trusted(from) == from.ca &&
		(from.secrets[name] != from.ca || !slices.Equal(has.named, from.members())) {
		secret.State = facts.ObjectDrifted
		if slices.Equal(has.named, from.members()) {
			secret.Awaits = w.awaits(from, name)
		}
	}
}

// trusting has members read what the Secrets of all of them name.
func (w *World) trusting(o facts.Observation) facts.Desired {
	d := o.Desired
	trust := o.Current.TrustOf(o.Objects)
	for _, c := range []*facts.Settings{&d.Settings, &d.AtTarget, &d.NextSettings} {
		if c.IsZero() || trust == (facts.Trust{}) || !c.Transport.HasCertificates() {
			continue
		}
		if c.Trust = trust; c.Fixed != "" {
			c.Fixed += "|" + trust.Peers
		}
	}
	return d
}

// plain are settings as a user asks for them.
func plain(c facts.Settings) facts.Settings {
	c.Trust, c.Transport = facts.Trust{}, etcdutil.TransportTLS
	c.Fixed, _, _ = strings.Cut(c.Fixed, "|")
	return c
}

// members are the CAs that the certificates of members are to name.
func (o objects) members() []string {
	out := []string{o.ca}
	if o.beside.otherKey {
		out = append(out, o.beside.other)
	}
	slices.Sort(out)
	return out
}

// issue signs the certificates of a member with the CA that is there, if the operator saw that one. I17: members trust
// it.
func (w *World) issue(name string) {
	if w.objects.ca != w.ledger.ca {
		return
	}
	if trusted := w.trusted(w.objects); trusted != "" && trusted != w.objects.ca {
		w.violate("I17: %s gets certificates of %s, and members trust %s", name, w.objects.ca, trusted)
	}
	now, _ := w.clocks()
	if isIssuers(w.objects.ca) && !w.takeSigned(name) {
		if w.objects.secrets[name] == "" {
			return // it is made once its certificate is there
		}
	} else {
		w.objects.secrets[name] = w.objects.ca
	}
	w.objects.trusts = maps.Clone(w.objects.trusts)
	w.objects.trusts[name] = trustIn{w.objects.members(), now}
}

// isIssued reports that the certificates of a member are what they have to be.
func (w *World) isIssued(name string) bool {
	return w.objects.secrets[name] == w.objects.ca && slices.Equal(w.objects.trusts[name].named, w.objects.members())
}

// turnCA makes one turn of the roll of the CA, in one write.
func (w *World) turnCA(c changes.TurnCA) error {
	b := &w.objects.beside
	if w.objects.ca != c.Signs || b.other != c.Other {
		return errStale
	}
	now, _ := w.clocks()
	switch c.Turn {
	case facts.TurnRenew:
		return w.renew(c)
	case facts.TurnWiden:
		next := c.Next
		if c.From == "" {
			w.checkMade()
			next = w.newCA()
		} else if err := w.takeGiven(c); err != nil {
			return err
		}
		*b = caSecret{next, true}
		w.madeAt[next] = now
	case facts.TurnSwap:
		w.objects.ca, b.other = b.other, w.objects.ca
	case facts.TurnNarrow:
		b.otherKey = false
	case facts.TurnForget:
		*b = caSecret{}
	}
	return nil
}

// readTrust is what etcd does at its start: it reads the CAs beside its certificate, which the kubelet has written
// there by then.
func (w *World) readTrust(p *process) {
	p.trusts, p.shows = w.objects.trusts[p.pod].named, w.objects.secrets[p.pod]
}

// showCertificate has a process show the certificate that the kubelet gives it. That may be long after it was issued.
func (w *World) showCertificate(p pod) {
	if proc := w.procs[p.UID]; proc != nil && !p.cutOff {
		proc.shows = w.objects.secrets[proc.pod]
	}
}

// checkTrust is I23: what a member shows, each other one trusts. One that does not would not connect.
func (w *World) checkTrust() {
	if w.hasForeignCA || !w.hasRolled {
		return
	}
	for _, id := range sortedIDs(w.clusters) {
		running := w.running(w.clusters[id])
		for _, a := range running {
			for _, b := range running {
				if a.shows != "" && len(b.trusts) > 0 && !takes(b.trusts, a.shows) {
					w.violate("I23: %s shows a certificate of %s, and %s trusts %v", a.pod, a.shows, b.pod, b.trusts)
				}
			}
		}
	}
}
