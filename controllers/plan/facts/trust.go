package facts

import (
	"slices"
	"strings"
	"time"
)

// Trust is a set of CAs. etcd reads at its start which ones it trusts, and its own certificate at each handshake. So
// what a member trusts is part of what its Pod is made from. See docs/decisions/0052.

// Port is what a CA is for: the port on which what it signs is shown.
type Port string

// The ports.
const (
	ForClients Port = "clients"
	ForPeers   Port = "peers"
)

// CA is one CA that is held in the Secret of a CA.
type CA struct {
	Print          string // its fingerprint
	Identity       string // the same for another certificate of its name and key: see pki.Identity
	Origin         Origin
	From           string // in words, such as "Secret x" or "Issuer y"; empty of one that the operator made
	IsFirst        bool   // the cluster was made with it
	HasKey         bool   // it signs, or may. Without one clients alone still trust it. Of an issuer's CA it is no key
	Made, NotAfter time.Time
}

// CAs is a list of those that the Secret of a CA holds: the one that signs, and another one while one takes the place
// of the other.
type CAs [2]CA

// Held are those that there are.
func (c CAs) Held() []CA { return Filter(c[:], func(ca CA) bool { return ca.Print != "" }) }

// Trust are CAs by their fingerprints, in order, with spaces between: what a member's Pod was made to read, where empty
// is the CA that the cluster was made with, or what a Secret names.
type Trust struct{ Clients, Peers string }

// On are those for one port.
func (t Trust) On(port Port) []string {
	if port == ForPeers {
		return strings.Fields(t.Peers)
	}
	return strings.Fields(t.Clients)
}

// With is the same with others for one port.
func (t Trust) With(port Port, prints []string) Trust {
	all := strings.Join(slices.Sorted(slices.Values(prints)), " ")
	if port == ForPeers {
		t.Peers = all
	} else {
		t.Clients = all
	}
	return t
}

// Made is when the last certificate for each port was issued, by the CA of that port; zero where there is none.
type Made struct{ Clients, Peers time.Time }

// On is that of one port.
func (m Made) On(port Port) time.Time {
	if port == ForPeers {
		return m.Peers
	}
	return m.Clients
}

// With is the same with another certificate for one port.
func (m Made) With(port Port, at time.Time) Made {
	last := &m.Clients
	if port == ForPeers {
		last = &m.Peers
	}
	if at.After(*last) {
		*last = at
	}
	return m
}

// Trusts reports settings of which a process reads this CA at its start.
func (c Settings) Trusts(port Port, ca CA) bool {
	read := c.Trust.On(port)
	return slices.Contains(read, ca.Print) || len(read) == 0 && ca.IsFirst
}

// TrustOf are the CAs that a member reads which starts now. They change only once the Secret of every member says so,
// so no Pod is ever said to have read a CA that it may not have found.
func (o Incarnation) TrustOf(objects []Object) Trust {
	var all Trust
	for _, ca := range objects {
		if ca.CA && ca.Port != "" {
			all = all.With(ca.Port, o.trustOn(ca))
		}
	}
	return all
}

func (o Incarnation) trustOn(ca Object) []string {
	if ca.State != ObjectCurrent || ca.IsAnother() || ca.CAs[0].Print == "" {
		return o.readBefore(ca.Port)
	}
	wanted := ca.forMembers()
	switch {
	case o.nameOnly(ca, wanted):
	case ca.isWidening():
		wanted = ca.CAs[:1]
	default:
		wanted = ca.CAs.Held()
	}
	if len(wanted) == 1 && wanted[0].IsFirst {
		return nil
	}
	return prints(wanted)
}

// readBefore is what a member was made to read, by what is written down of the first that says so. It stays while no
// certificate can be issued.
func (o Incarnation) readBefore(port Port) []string {
	for _, r := range o.Members {
		if o.NeedsCertificates(r) && !r.Settings().IsZero() {
			return r.Settings().Trust.On(port)
		}
	}
	return nil
}

// nameOnly reports that the Secret of each member names these CAs, and no others of those that are held. One that names
// none of them says nothing.
func (o Incarnation) nameOnly(ca Object, wanted []CA) bool {
	return !slices.ContainsFunc(o.Members, func(r Replica) bool {
		named := Filter(ca.CAs.Held(), func(held CA) bool {
			return slices.Contains(r.Secret.Names.On(ca.Port), held.Print)
		})
		return o.NeedsCertificates(r) && len(named) > 0 && !slices.Equal(named, wanted)
	})
}

// IsRollingCA reports that one CA takes the place of another, or gives it up.
func (o Observation) IsRollingCA() bool {
	return slices.ContainsFunc(o.Objects, func(object Object) bool { return object.CAs[1].Print != "" })
}

// forMembers are the CAs that members are to trust: those that sign, or may.
func (o Object) forMembers() []CA {
	return Filter(o.CAs.Held(), func(ca CA) bool { return ca.HasKey || ca == o.CAs[0] })
}

// isWidening reports a CA beside which a later one is that has signed nothing yet.
func (o Object) isWidening() bool { return o.CAs[1].HasKey && o.CAs[1].Made.After(o.CAs[0].Made) }

func prints(cas []CA) []string {
	out := make([]string, 0, len(cas))
	for _, ca := range cas {
		out = append(out, ca.Print)
	}
	return out
}

// Turn is one step of a roll of a CA. Each is one write of its Secret; what follows from it is done by the rules that
// renew certificates and restart members.
type Turn string

// The turns, in their order. Before the third one a roll can be called off: then the second one leads back.
const (
	TurnRenew  Turn = "Renew"  // the CA that signs gets another certificate of its name and key; see source.go
	TurnWiden  Turn = "Widen"  // a new CA is made, and everyone is to trust it beside the one that signs
	TurnSwap   Turn = "Swap"   // the other one signs from now on
	TurnNarrow Turn = "Narrow" // the one that does not sign loses its key, and members are to trust it no more
	TurnForget Turn = "Forget" // clients are to trust it no more
)

// endsTrust reports a turn before which each certificate has to be of the CA that signs. Before another one it may be
// of either, and so wait for its issuer: a CA can be left whose issuer signs no more.
func (t Turn) endsTrust() bool { return t == TurnNarrow || t == TurnForget }

// Rotation says when CAs are replaced.
type Rotation struct {
	Asked   time.Time     // each CA that was made before this time is; zero for none
	Overlap time.Duration // for how long clients may trust what they read, and show what they have, before that changes
}

const (
	// settledFor is how long kubelets take to give a Secret to containers that run, with as much to spare.
	settledFor = 3 * time.Minute
	// expiring is the part of its life, one in so many, before whose end a CA is replaced by itself.
	expiring = 5
	// overlapUnasked is the overlap of a roll that no person asked for, overlapBack that of one that was called off.
	overlapUnasked, overlapBack = 30 * 24 * time.Hour, 24 * time.Hour
)

// IsDue reports a CA that another one is to replace: a person asked for that, or it ends soon.
func (r Rotation) IsDue(ca CA, now time.Time) bool {
	isAsked := !r.Asked.After(now) && ca.Made.Before(r.Asked)
	return isAsked || ca.endsSoon(now)
}

func (ca CA) endsSoon(now time.Time) bool { return now.After(ca.ReplacedFrom()) }

// ReplacedFrom is when a CA is replaced by itself.
func (ca CA) ReplacedFrom() time.Time { return ca.NotAfter.Add(-ca.NotAfter.Sub(ca.Made) / expiring) }

// overlapOf is the overlap for the earlier of two CAs.
func (r Rotation) overlapOf(earlier CA, now time.Time) time.Duration {
	switch {
	case earlier.Made.Before(r.Asked):
		return r.Overlap
	case earlier.Origin == OriginManaged && earlier.endsSoon(now): // a person's may end before that time is over
		return overlapUnasked
	}
	return overlapBack
}

// NextTurn is the next turn of a CA; "" where there is none.
func (o View) NextTurn(ca Object) Turn {
	signs, other := ca.CAs[0], ca.CAs[1]
	switch {
	case ca.State != ObjectCurrent || signs.Print == "" || ca.IsAnother():
		return ""
	case !o.Desired.TLS: // no certificate can follow. What was begun goes on once TLS is back, by what the Secret holds
		return ""
	case other.Print != "" && !other.HasKey:
		return TurnForget
	case ca.Source.Fault != "": // what is wanted is not known, and what there is can stay
		return ""
	case other.Print == "" && ca.hasRenewed():
		return TurnRenew
	case other.Print == "" && o.isToGo(ca, signs):
		return TurnWiden
	case other.Print == "":
		return ""
	case other == o.wanted(ca):
		return TurnSwap
	}
	return TurnNarrow
}

// wanted is which of two CAs is to sign: the later one, unless the roll was called off. Where the spec wants neither,
// the one that signs does so until the other is gone.
func (o View) wanted(ca Object) CA {
	earlier, later := ca.CAs[0], ca.CAs[1]
	if later.Made.Before(earlier.Made) {
		earlier, later = later, earlier
	}
	switch {
	case !o.isToGo(ca, earlier):
		return earlier
	case ca.IsOfSource(later):
		return later
	}
	return ca.CAs[0]
}

// Waiting says what a turn waits for, and until when, where that is known.
type Waiting struct {
	Why   string // the rest of a sentence; empty for nothing
	Until time.Time
	WayOn string // as sentences, what ends it where it does not end by itself; or empty
	// Member is who does not run, or is not well: how it is says whether the wait ends by itself
	Member string

	isDown, toRestart bool // of a member: it does not run; it is still to be restarted
}

// WhyNotTurn says why a turn would leave a member, or a client, without trust in one that it meets. It is asked by the
// rule, and by the guard.
func (o View) WhyNotTurn(ca Object, turn Turn) Waiting {
	switch {
	case !o.Membership.Known:
		return Waiting{Why: "it is not known who is a member"}
	case o.IsPreparing() || o.Next.Bootstrap.Exists() || len(o.Next.Members) > 0:
		return Waiting{Why: "an EtcdRestore prepares other members"}
	case !o.Desired.TLS:
		return Waiting{Why: "TLS is off"}
	}
	if why := o.whyMembersHold(ca, turn); why.Why != "" {
		return why
	}
	return o.whyClientsHold(ca, turn)
}

// whyMembersHold speaks of the first member that holds a turn, and of one that does not run before one that was not
// restarted yet: members are restarted only while all others are well. So it names who keeps them from that, too.
func (o View) whyMembersHold(ca Object, turn Turn) Waiting {
	var first Waiting
	for _, r := range o.Members {
		if !o.NeedsCertificates(r) {
			continue
		}
		why := o.whyMemberHolds(ca, turn, r)
		if why.isDown {
			return why
		}
		if first.Why == "" {
			first = why
		}
	}
	if !first.toRestart {
		return first
	}
	for _, r := range o.Members {
		if r.Member != nil && !r.IsHealthy(o.Membership) {
			first.Why += ", and no member is restarted while " + r.Name + " is not well"
			first.Member = r.Name
			break
		}
	}
	return first
}

func (o View) whyMemberHolds(ca Object, turn Turn, r Replica) Waiting {
	isFresh := r.Secret.State == ObjectCurrent || !turn.endsTrust() && r.Secret.isWritten()
	isRunning := r.IsRunning() && !r.Pod.Settings.IsZero()
	switch {
	case !isFresh:
		return Waiting{Why: "the certificates of " + r.Name + " are about to be written"}
	case turn == TurnWiden || turn == TurnRenew:
	case r.Pod != nil && r.Pod.Terminating:
		return leaves(r)
	case !isRunning:
		return Waiting{Why: r.Name + " does not run", Member: r.Name, isDown: true}
	case turn == TurnSwap && !r.Pod.Settings.Trusts(ca.Port, ca.CAs[1]):
		return Waiting{Why: r.Name + " was not restarted yet with trust in the CA that is to sign", toRestart: true}
	case turn == TurnForget && r.Pod.Settings.Trusts(ca.Port, ca.CAs[1]):
		return Waiting{Why: r.Name + " was not restarted yet without trust in the earlier CA", toRestart: true}
	case turn == TurnNarrow && !r.Pod.NodeUnheard.IsZero():
		return Waiting{Why: "the kubelet of " + r.Name + " is not heard of, and may not have given it its certificate",
			WayOn: r.Pod.WayOn()}
	case turn == TurnNarrow && o.Now.Sub(r.Secret.Made.On(ca.Port)) < settledFor:
		return Waiting{Why: r.Name + " may still show its certificate of the earlier CA",
			Until: r.Secret.Made.On(ca.Port).Add(settledFor)}
	}
	return Waiting{}
}

// leaves says it of a member whose Pod is terminating.
func leaves(r Replica) Waiting {
	w := Waiting{Why: "the Pod of " + r.Name + " is terminating", isDown: true}
	if why := r.Pod.WhyNotStopped(); why != "" {
		w.WayOn = why + " " + r.Pod.WayOn()
	}
	return w
}

// whyClientsHold says it of clients and of the operator. Neither ever shows a certificate to a peer port.
func (o View) whyClientsHold(ca Object, turn Turn) Waiting {
	if ca.Port == ForPeers {
		return Waiting{}
	}
	for _, secret := range o.Objects {
		overlap := o.Desired.Rotation.overlapOf(ca.earlier(), o.Now)
		// before the first swap clients know the earlier CA alone; on the way back they have known it all the time
		isNews := turn == TurnNarrow || turn == TurnSwap && ca.isWidening()
		switch isOfClients := secret.Kind == "Secret" && !secret.CA; {
		case !isOfClients:
		case secret.State != ObjectCurrent && (turn.endsTrust() || !secret.isWritten()):
			return Waiting{Why: "Secret " + secret.Name + " is about to be written"}
		case turn == TurnSwap && !slices.Contains(secret.Names.On(ca.Port), ca.CAs[1].Print):
			return Waiting{Why: "Secret " + secret.Name + " does not name the CA that is to sign"}
		case isNews && o.Now.Sub(secret.Made.On(ca.Port)) < overlap:
			return Waiting{Why: "clients have yet to read what Secret " + secret.Name + " holds by now",
				Until: secret.Made.On(ca.Port).Add(overlap)}
		}
	}
	return Waiting{}
}

// earlier is the CA that was made first.
func (o Object) earlier() CA {
	if signs, other := o.CAs[0], o.CAs[1]; other.Print == "" || signs.Made.Before(other.Made) {
		return signs
	}
	return o.CAs[1]
}
