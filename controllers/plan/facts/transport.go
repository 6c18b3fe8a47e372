package facts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// How members are reached, on the way from one mode of TLS to another. It is read from what each Pod was started with,
// from what its volume asks for next, and from the URLs in etcd's list. See docs/decisions/0057.

// transports are those of a member: of its process, and of the one that its volume asks for next. Of one that has
// neither yet, the list says how its peers are to dial it.
func (r Replica) transports() []etcdutil.Transport {
	var out []etcdutil.Transport
	if r.Pod != nil {
		out = append(out, r.Pod.Transport)
	}
	if r.Volume != nil && !r.Volume.Settings.IsZero() {
		out = append(out, r.Volume.Settings.Transport)
	}
	if len(out) == 0 && r.Member != nil {
		listed := etcdutil.TransportPlain
		if etcdutil.SchemeOf(FirstURL(*r.Member)) == etcdutil.SchemeHTTPS {
			listed = etcdutil.TransportTLS
		}
		out = append(out, listed)
	}
	return out
}

// transports are those of all members, and of one that is about to be added.
func (o Incarnation) transports() []etcdutil.Transport {
	var out []etcdutil.Transport
	for _, r := range o.Members {
		if o.NeedsCertificates(r) || r.Name == o.Bootstrap.Promised || !o.IsAlive() {
			out = append(out, r.transports()...)
		}
	}
	return out
}

func bySteps(a, b etcdutil.Transport) int { return a.Steps() - b.Steps() }

// NextTransport is how members are made to be reached next, on the way to how the spec asks. Each step leaves every
// member able to dial every other one, whichever of them has made it. So peers are dialled with TLS only once all have
// certificates, and certificates go only once no peer is. The first members of a cluster begin alike, since their
// identities follow from their URLs, and change once they are a cluster.
func (o Incarnation) NextTransport(asked etcdutil.Transport) etcdutil.Transport {
	all := o.transports()
	if len(all) == 0 {
		return asked
	}
	if !o.IsAlive() {
		return all[0]
	}
	least, most := slices.MinFunc(all, bySteps), slices.MaxFunc(all, bySteps)
	isPlain := func(t etcdutil.Transport) bool { return t.PeerScheme() == etcdutil.SchemeHTTP }
	switch {
	case !o.Membership.Known && least == most:
		return least // what cannot be asked is not restarted for this
	case asked.HasCertificates() && !least.HasCertificates():
		return etcdutil.TransportPrepared
	case !asked.HasCertificates() && isPlain(most):
		return asked
	case isPlain(least) != isPlain(most): // begun
	case isPlain(least) == isPlain(asked):
		return asked
	case o.whyNotTurnPeers().Why != "":
		return least
	}
	if asked.HasCertificates() {
		return asked
	}
	return etcdutil.TransportPrepared
}

// NextTransport is that of the members that there are. While their first certificates cannot be had, which may take an
// issuer days, they stay as they are: one that was restarted for them would not start.
func (o Observation) NextTransport() etcdutil.Transport {
	if o.LacksFirstCertificates() {
		return o.Current.NextTransport(etcdutil.TransportPlain)
	}
	return o.Current.NextTransport(o.Desired.Transport)
}

// LacksFirstCertificates reports members without certificates that are to get some, where an issuer has yet to sign
// one, or a CA of a person's cannot be used.
func (o Observation) LacksFirstCertificates() bool {
	if !o.Desired.Transport.HasCertificates() || !o.Current.IsAlive() ||
		o.Current.KeepsCertificates(etcdutil.TransportPlain) {
		return false
	}
	lacks := func(object Object) bool {
		return object.State == ObjectAbsent && (object.IsAwaited() || object.Source.Fault != "")
	}
	return slices.ContainsFunc(o.Objects, lacks) || slices.ContainsFunc(o.Current.Members, func(r Replica) bool {
		return (o.Current.NeedsCertificates(r) || r.Name == o.Current.Bootstrap.Promised) && lacks(r.Secret)
	})
}

// WhyTransportWaits says what keeps members from the next step.
func (o View) WhyTransportWaits() Waiting {
	all := o.transports()
	isThere := func(t etcdutil.Transport) bool { return t == o.Desired.Settings.Transport }
	if o.Desired.Settings.Transport == o.Desired.Transport || !o.IsAlive() || len(Filter(all, isThere)) < len(all) {
		return Waiting{}
	}
	return o.whyNotTurnPeers()
}

// whyNotTurnPeers says why the scheme by which members dial each other cannot change now. All are to serve: of two that
// are dialled otherwise than they listen neither reaches the other.
func (o Incarnation) whyNotTurnPeers() Waiting {
	switch {
	case !o.Membership.Known:
		return Waiting{Why: "it is not known who is a member"}
	case o.IsPreparing():
		return Waiting{Why: "an EtcdRestore prepares other members"}
	case len(o.Membership.Strangers) > 0:
		return Waiting{Why: "there is a member that the operator did not add"}
	case len(o.Learners()) > 0:
		learner := o.Learners()[0].Name
		return Waiting{Why: learner + " does not vote yet", Member: learner}
	}
	for _, r := range o.Voters() {
		if !o.IsServing(r) || r.IsDoomed() {
			return Waiting{Why: r.Name + " does not serve, or not on data that stays", Member: r.Name}
		}
	}
	return Waiting{}
}

// KeepsCertificates reports members that have certificates, or are to have them.
func (o Incarnation) KeepsCertificates(asked etcdutil.Transport) bool {
	return asked.HasCertificates() || slices.ContainsFunc(o.transports(), etcdutil.Transport.HasCertificates)
}

// NeedsCertificates reports who is a member, as far as anything says.
func (o Incarnation) NeedsCertificates(r Replica) bool {
	return r.Member != nil || !o.Membership.Known && r.IsRecorded()
}

// HolderOf is who shows the certificates in a Secret of the cluster, clients or the operator; false of other objects.
func (o Object) HolderOf() (string, bool) {
	if o.Kind != "Secret" || o.CA {
		return "", false
	}
	return strings.CutSuffix(o.Name, "-tls")
}

// MayHaveCertificates reports members of which any has certificates, or of which nothing is known.
func (o Incarnation) MayHaveCertificates() bool {
	all := o.transports()
	return len(all) == 0 || slices.ContainsFunc(all, etcdutil.Transport.HasCertificates)
}

// IsTurningTLS reports members that are reached otherwise than the spec asks.
func (o View) IsTurningTLS() bool {
	return slices.ContainsFunc(o.transports(), func(t etcdutil.Transport) bool { return t != o.Desired.Transport })
}

// TakesTLS reports that clients are to connect with TLS: every member takes it, and the spec asks for it, or one takes
// nothing else yet.
func (o Observation) TakesTLS() bool {
	isAsked := o.Desired.Transport.HasCertificates()
	for _, r := range o.Current.Members {
		if r.Member == nil || r.Pod == nil {
			continue
		}
		if !r.Pod.Transport.HasCertificates() {
			return false
		}
		isAsked = isAsked || !r.Pod.Transport.TakesPlain()
	}
	return isAsked
}

// IsYetToStart reports a learner that nothing was made for yet. What it starts with is decided when it does.
func (r Replica) IsYetToStart() bool { return r.IsLearner() && r.Pod == nil && r.Settings().IsZero() }

// IsListedFor reports a member that its peers dial as one with this transport listens.
func (r Replica) IsListedFor(t etcdutil.Transport) bool {
	return r.Member == nil || etcdutil.SchemeOf(FirstURL(*r.Member)) == t.PeerScheme()
}

// ListensAsNext reports a process that listens already as the next one of its member will.
func (r Replica) ListensAsNext() bool {
	return r.Pod != nil && r.Pod.Transport.PeerScheme() == r.Settings().Transport.PeerScheme()
}

// IsDialled reports a member that its peers dial as its process listens.
func (r Replica) IsDialled() bool { return r.Pod == nil || r.IsListedFor(r.Pod.Transport) }

// HasCertificates reports a member that can dial peers with TLS, now and after its next start. One of which nothing is
// there dials no one, and starts with those that it needs.
func (r Replica) HasCertificates() bool {
	lacks := func(t etcdutil.Transport) bool { return !t.HasCertificates() }
	return r.Pod == nil && r.Volume == nil || !slices.ContainsFunc(r.transports(), lacks)
}

// WhyNotTransport says why a member must not be started so, in this list of members, or "". One that is alone has no
// peers.
func (o Incarnation) WhyNotTransport(r Replica, t etcdutil.Transport) string {
	if !o.Membership.Known || len(o.Membership.Members) < 2 {
		return ""
	}
	if !r.IsListedFor(t) {
		return fmt.Sprintf("it would listen with %s, and its peers dial %s", t.PeerScheme(), FirstURL(*r.Member))
	}
	if t.HasCertificates() {
		return ""
	}
	for _, other := range o.Membership.Members {
		if etcdutil.SchemeOf(FirstURL(other)) == etcdutil.SchemeHTTPS {
			return "it would have no certificate to dial " + FirstURL(other) + " with"
		}
	}
	return ""
}

// WhyNotUnlisted says why a member must not be given settings by which it listens otherwise, or "": while no list is
// known, no member can be asked to have its peers dial that. It may listen as it did, or as it was told before: of one
// that was told and is not listed so yet, the others make a quorum, and list it.
func (o Incarnation) WhyNotUnlisted(r Replica, t etcdutil.Transport) string {
	had := r.transports()
	listens := func(h etcdutil.Transport) bool { return h.PeerScheme() == t.PeerScheme() }
	if o.Membership.Known || !o.IsAlive() || o.IsAlone(r) || len(had) == 0 || slices.ContainsFunc(had, listens) {
		return ""
	}
	return fmt.Sprintf("it would listen with %s, and no member can be asked to have its peers dial that",
		t.PeerScheme())
}

// WhyKeepTLS says what keeps certificates where the spec wants them gone, as sentences, or "". Without them the
// operator has no user in etcd, and no EtcdClient has one.
func (o View) WhyKeepTLS() string {
	switch wayBack := " Or set spec.tls.mode to Permissive again."; {
	case o.Desired.Transport.HasCertificates() || !o.KeepsCertificates(o.Desired.Transport):
		return ""
	case len(o.AccessClients) > 0:
		return fmt.Sprintf("spec.tls.mode is Disabled, and members keep their certificates: EtcdClient %s needs "+
			"one. Delete it, and the operator takes the certificates away, one member at a time.%s",
			strings.Join(o.AccessClients, ", "), wayBack)
	case o.Auth.Known && o.Auth.On:
		return "spec.tls.mode is Disabled, and members keep their certificates: etcd's authentication is on, and " +
			"without a certificate the operator is no user. Turn it off first (etcdctl auth disable)." + wayBack
	case !o.Auth.Known && o.Membership.Known:
		return "spec.tls.mode is Disabled, and members keep their certificates until it is known whether etcd's " +
			"authentication is on (" + o.Auth.Why + "). The operator asks again." + wayBack
	}
	return ""
}
