package plan

import (
	"fmt"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// The roll of a CA: widen, swap, narrow. What follows from each turn is done by scaffold, which writes certificates
// and the CAs beside them, and by roll, which restarts members that read other CAs. See docs/decisions/0052.

// turns are in the order in which they are made. Both CAs of a cluster go together, so that members are restarted once
// for both.
var turns = []facts.Turn{facts.TurnWiden, facts.TurnSwap, facts.TurnNarrow, facts.TurnForget}

// rollCA makes the next turn, once it leaves no member and no client without trust in one that it meets.
func rollCA(o pass) *proposal {
	turn, cas := nextTurn(o)
	for _, ca := range cas {
		if waits := o.WhyNotTurn(ca, turn); waits.Why != "" {
			return awaitTurn(o, turnOf(ca, turn), ca, waits)
		}
	}
	if len(cas) == 0 {
		return nil
	}
	return act(turnOf(cas[0], turn), "%s", whyTurn(o, cas[0], turn))
}

// nextTurn is the earliest that any CA has to make, with those that have to.
func nextTurn(o pass) (facts.Turn, []facts.Object) {
	for _, turn := range turns {
		cas := facts.Filter(o.Objects, func(ca facts.Object) bool { return ca.CA && o.NextTurn(ca) == turn })
		if len(cas) > 0 {
			return turn, cas
		}
	}
	return "", nil
}

func turnOf(ca facts.Object, turn facts.Turn) changes.TurnCA {
	return changes.TurnCA{CA: ca.Name, Turn: turn, Signs: ca.CAs[0].Print, Other: ca.CAs[1].Print}
}

func whyTurn(o pass, ca facts.Object, turn facts.Turn) string {
	switch {
	case turn == facts.TurnWiden && ca.CAs[0].Made.Before(o.Desired.Rotation.Asked):
		return "the annotation etcdsteward.dev/rotate-ca asks for another one. All trust both, before the new one " +
			"signs."
	case turn == facts.TurnWiden:
		return fmt.Sprintf("that one ends on %s. All trust both, before the new one signs.",
			ca.CAs[0].NotAfter.UTC().Format(time.DateOnly))
	case turn == facts.TurnSwap:
		return "every member was restarted with trust in both, and clients had the time to read both."
	case turn == facts.TurnNarrow:
		return "all certificates are of the other one."
	}
	return "no member trusts it any more."
}

// awaitTurn says what the next turn waits for. It goes on by itself.
func awaitTurn(o pass, c changes.TurnCA, ca facts.Object, waits facts.Waiting) *proposal {
	until, callOff := "", ""
	if !waits.Until.IsZero() {
		until = " Until then: " + waits.Until.UTC().Format(time.RFC3339) + "."
	}
	if !o.Desired.Rotation.Asked.IsZero() && (c.Turn == facts.TurnWiden || ca.CAs[1].HasKey) {
		callOff = " To call it off, take the annotation etcdsteward.dev/rotate-ca out."
	}
	p := wait(facts.ReasonRollCA, "A CA is replaced. The next step is to %s, and the operator waits with it: %s.%s It "+
		"goes on by itself.%s", changes.WordsOf(c).Name(), waits.Why, until, callOff)
	p.Recheck = recheckSettled
	if left := waits.Until.Sub(o.Now); waits.Until.IsZero() || left < recheckSettled {
		p.Recheck = max(recheckWait, left)
	}
	return p.yielding()
}
