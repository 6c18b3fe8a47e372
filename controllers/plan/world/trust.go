package world

import (
	"fmt"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// ownCA is the CA that the cluster was made with. Its Secret may hold another one, once a person wrote that there.
const ownCA = "ca-1"

// ReplaceCA writes another CA into the Secret of the CA.
func (w *World) ReplaceCA() {
	if w.objects.made["demo-ca"] {
		w.replaced++
		w.objects.ca = fmt.Sprintf("ca-%d", 1+w.replaced)
		w.logf("user: the Secret of the CA holds %s by now", w.objects.ca)
	}
}

// PutCABack writes the one there again that members trust.
func (w *World) PutCABack() {
	if trusted := w.trusted(w.objects); trusted != "" && trusted != w.objects.ca {
		w.objects.ca = trusted
		w.logf("user: the Secret of the CA holds %s again", trusted)
	}
}

// trusted is the CA that the certificates of members are of; "" where there are none. They are all of one: none is
// issued from another.
func (w *World) trusted(from objects) string {
	for _, name := range sortedKeys(from.secrets) {
		_, isVolume := from.volumes[name]
		if _, isPod := from.pods[name]; isPod || isVolume {
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
}

// observeTrust tells which CA the Secret of the CA holds, and which one members trust.
func (w *World) observeTrust(from objects, ca *facts.Object) {
	ca.Trusted = w.trusted(from)
	if ca.State == facts.ObjectCurrent {
		ca.Holds = from.ca
	}
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
	w.objects.secrets[name] = w.objects.ca
}
