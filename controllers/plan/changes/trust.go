package changes

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// TurnCA makes one turn of the roll of a CA: one write of its Secret.
type TurnCA struct {
	CA           string // the name of its Secret
	Turn         facts.Turn
	Signs, Other string // what that holds, by fingerprints
	From, Next   string // whence the CA that is taken in comes, and its fingerprint; empty to make one
}

func (TurnCA) traits() Traits { return Traits{Secrets: true} }

func (c TurnCA) words() Words {
	switch where := "in Secret " + c.CA; c.Turn {
	case facts.TurnRenew:
		return says("Renew", "renews", "Renewed", "the certificate of the CA "+where+" from "+c.From,
			EventCATurned)
	case facts.TurnWiden:
		if c.From != "" {
			return says("Take", "takes", "Took", "the CA of "+c.From+" in beside the one "+where, EventCATurned)
		}
		return says("Make", "makes", "Made", "a new CA beside the one "+where, EventCATurned)
	case facts.TurnSwap:
		return says("Let", "lets", "Let", "the other CA "+where+" sign from now on", EventCATurned)
	case facts.TurnNarrow:
		return says("Retire", "retires", "Retired", "the CA "+where+" that does not sign", EventCATurned)
	default:
		return says("Remove", "removes", "Removed", "the retired CA "+where, EventCATurned)
	}
}

// veto is the rule of trust first: no certificate is of a CA before all whom its holder meets trust it, and no CA goes
// while a certificate of it may still be shown.
func (c TurnCA) veto(o facts.View) Veto {
	i := slices.IndexFunc(o.Objects, func(object facts.Object) bool { return object.CA && object.Name == c.CA })
	if i < 0 {
		return identityAtRisk("nothing is known of Secret %s.", c.CA)
	}
	ca := o.Objects[i]
	signs, other := ca.CAs[0], ca.CAs[1]
	isLikely := map[facts.Turn]bool{facts.TurnRenew: other.Print == "", facts.TurnWiden: other.Print == "",
		facts.TurnSwap: other.HasKey, facts.TurnNarrow: other.HasKey,
		facts.TurnForget: other.Print != "" && !other.HasKey}
	switch {
	case signs.Print != c.Signs || other.Print != c.Other || !isLikely[c.Turn]:
		return identityAtRisk("Secret %s holds other CAs by now.", c.CA)
	case ca.State != facts.ObjectCurrent || ca.IsAnother():
		return identityAtRisk("Secret %s does not hold the CA that members trust.", c.CA)
	}
	if why := guardWantedCA(ca, c); why.Holds() {
		return why
	}
	if waits := o.WhyNotTurn(ca, c.Turn); waits.Why != "" {
		return identityAtRisk("%s.", waits.Why)
	}
	return Veto{}
}

// guardWantedCA has no CA come in, and none sign, that the spec does not want: the operator makes none over a person's
// choice, and takes no other than the one that was checked.
func guardWantedCA(ca facts.Object, c TurnCA) Veto {
	from, comes := ca.Source, c.Turn == facts.TurnWiden || c.Turn == facts.TurnRenew
	switch {
	case comes && (c.From != from.From || c.Next != from.Print):
		return identityAtRisk("the spec wants the CA in Secret %s from elsewhere by now.", c.CA)
	case comes && from.Fault != "":
		return identityAtRisk("the CA of %s cannot be used: %s.", from.From, from.Fault)
	case c.Turn == facts.TurnRenew && ca.CAs[0].Identity != from.Identity:
		return identityAtRisk("%s holds another CA than the one that signs.", from.From)
	case c.Turn == facts.TurnSwap && (from.Fault != "" || !ca.IsOfSource(ca.CAs[1])):
		return identityAtRisk("the spec does not want the other CA in Secret %s to sign.", c.CA)
	}
	return Veto{}
}
