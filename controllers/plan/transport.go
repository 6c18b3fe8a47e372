package plan

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// TLS on and off on a cluster that serves. The settings of each step are found by facts.NextTransport, and members get
// them by roll. See docs/decisions/0057.

// peerURLs has etcd list a member as it will listen for its peers. One that listens otherwise goes on by the
// connections that it has, and is restarted next. So all others have to be well.
func peerURLs(o pass) *proposal {
	for _, r := range o.Members {
		isAmiss := func(other facts.Replica) bool { return other.Name != r.Name && !isWell(o.Incarnation, other) }
		settings := startSettings(o, r)
		if r.Settings().IsZero() && !r.IsYetToStart() || r.IsListedFor(settings.Transport) {
			continue
		}
		if r.IsRunning() && !r.ListensAsNext() && slices.ContainsFunc(o.Voters(), isAmiss) {
			continue
		}
		scheme := settings.Transport.PeerScheme()
		why := "it is restarted next, and its peers are to dial it so from then on."
		if r.ListensAsNext() {
			why = "it listens so."
		}
		return act(changes.SetPeerScheme{Name: r.Name, ID: r.Member.ID, Scheme: scheme}, "%s", why)
	}
	return nil
}

// tlsMode says what the next step waits for, where no member is restarted for one.
func tlsMode(o pass) *proposal {
	waits := o.WhyTransportWaits()
	if waits.Why == "" || o.due.HeldBy != "" {
		return nil
	}
	goes := "with TLS"
	if !o.Desired.Transport.HasCertificates() {
		goes = "without TLS"
	}
	p := wait(facts.ReasonTLSMode, "Members will be dialled %s by each other, once all of them serve: %s. %s To "+
		"call it off, put spec.tls.mode back.", goes, waits.Why, goesOn(o, waits))
	p.Recheck = recheckSettled
	return p.yielding()
}
