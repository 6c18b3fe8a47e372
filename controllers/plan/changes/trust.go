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
}

func (TurnCA) traits() Traits { return Traits{Secrets: true} }

func (c TurnCA) words() Words {
	switch where := "in Secret " + c.CA; c.Turn {
	case facts.TurnWiden:
		return says("Make", "Makes", "Made", "a new CA beside the one "+where, EventCATurned)
	case facts.TurnSwap:
		return says("Let", "Lets", "Let", "the other CA "+where+" sign from now on", EventCATurned)
	case facts.TurnNarrow:
		return says("Retire", "Retires", "Retired", "the CA "+where+" that does not sign", EventCATurned)
	default:
		return says("Remove", "Removes", "Removed", "the retired CA "+where, EventCATurned)
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
	isLikely := map[facts.Turn]bool{facts.TurnWiden: other.Print == "", facts.TurnSwap: other.HasKey,
		facts.TurnNarrow: other.HasKey, facts.TurnForget: other.Print != "" && !other.HasKey}
	switch {
	case signs.Print != c.Signs || other.Print != c.Other || !isLikely[c.Turn]:
		return identityAtRisk("Secret %s holds other CAs by now.", c.CA)
	case ca.State != facts.ObjectCurrent || ca.IsAnother():
		return identityAtRisk("Secret %s does not hold the CA that members trust.", c.CA)
	}
	if waits := o.WhyNotTurn(ca, c.Turn); waits.Why != "" {
		return identityAtRisk("%s.", waits.Why)
	}
	return Veto{}
}
