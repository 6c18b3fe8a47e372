package changes

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// SetPeerScheme changes the scheme of a member's URL in etcd's list. Its peers dial that from then on, once a
// connection that they have ends.
type SetPeerScheme struct {
	Name   string
	ID     etcdutil.ID
	Scheme string
}

func (SetPeerScheme) traits() Traits { return Traits{} }

func (c SetPeerScheme) words() Words {
	return says("List", "lists", "Listed", "the peer URL of "+c.Name+" with "+c.Scheme, EventPeerURL).about(c.Name)
}

// veto has a member dialled otherwise only where every other one can do that, and where it will listen so. Of two that
// are dialled otherwise than they listen, neither reaches the other: so that of one ends before that of another begins.
// To list one as it listens already mends that.
func (c SetPeerScheme) veto(o facts.View) Veto {
	r := o.Find(c.Name)
	switch {
	case !o.Membership.Known || r.Member == nil || r.Member.ID != c.ID:
		return identityAtRisk("it is not certain that %s is member %s.", c.Name, c.ID)
	case !r.IsYetToStart() && (r.Settings().IsZero() || r.Settings().Transport.PeerScheme() != c.Scheme):
		return quorumAtRisk("%s is not to listen with %s.", c.Name, c.Scheme)
	case len(o.HealthyVoters()) < etcdutil.Quorum(len(o.Voters())):
		return quorumAtRisk("the voters have no quorum.")
	}
	mends := r.ListensAsNext()
	for _, other := range o.Members {
		switch isListed := other.Member != nil && other.Name != c.Name; {
		case isListed && c.Scheme == etcdutil.SchemeHTTPS && !other.HasCertificates():
			return quorumAtRisk("%s has no certificate to dial %s with.", other.Name, c.Name)
		case isListed && !mends && !other.IsDialled():
			return quorumAtRisk("%s is dialled otherwise than it listens, and has to be restarted first.", other.Name)
		}
	}
	return Veto{}
}

func isWithoutCertificates(r facts.Replica) bool { return !r.HasCertificates() }

// guardTransport starts no member with a peer listener that the others cannot dial, nor without certificates that it
// needs.
func guardTransport(o facts.View, r facts.Replica, s Start) Veto {
	transport := s.Settings.Transport
	loses := r.Pod != nil && r.Pod.Transport.HasCertificates() && !transport.HasCertificates()
	switch why := o.WhyNotTransport(r, transport); {
	case s.Settings.IsZero():
	case why != "":
		return quorumAtRisk("%s must not be started so: %s.", r.Name, why)
	case loses && o.WhyKeepTLS() != "":
		return accessAtRisk("%s", o.WhyKeepTLS())
	}
	return Veto{}
}

// guardDialling adds no member that another one could not dial, or that could not dial another one.
func guardDialling(o facts.View, name string, transport etcdutil.Transport) Veto {
	isTLS := transport.PeerScheme() == etcdutil.SchemeHTTPS
	for _, other := range o.Members {
		switch isListed := other.Member != nil; {
		case isListed && isTLS && !other.HasCertificates():
			return quorumAtRisk("%s has no certificate to dial %s with.", other.Name, name)
		case isListed && !transport.HasCertificates() && !other.IsListedFor(etcdutil.TransportPrepared):
			return quorumAtRisk("%s would have no certificate to dial %s with.", name, other.Name)
		}
	}
	if !transport.HasCertificates() && o.WhyKeepTLS() != "" {
		return accessAtRisk("%s", o.WhyKeepTLS())
	}
	return Veto{}
}
