package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// The roll of a CA: widen, swap, narrow. What follows from each turn is done by scaffold, which writes certificates
// and the CAs beside them, and by roll, which restarts members that read other CAs. See docs/decisions/0052.

// turns are in the order in which they are made. Both CAs of a cluster go together, so that members are restarted once
// for both.
var turns = []facts.Turn{facts.TurnRenew, facts.TurnWiden, facts.TurnSwap, facts.TurnNarrow, facts.TurnForget}

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

// turnWaits says that a roll of a CA goes on later, as a sentence with a space in front, or "".
func turnWaits(o pass) string {
	if _, cas := nextTurn(o); len(cas) == 0 {
		return ""
	}
	return " The rotation of the CA waits for this."
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
	c := changes.TurnCA{CA: ca.Name, Turn: turn, Signs: ca.CAs[0].Print, Other: ca.CAs[1].Print}
	if turn == facts.TurnRenew || turn == facts.TurnWiden {
		c.From, c.Next = ca.Source.From, ca.Source.Print
	}
	return c
}

func whyTurn(o pass, ca facts.Object, turn facts.Turn) string {
	field := facts.CAField(ca.Port)
	switch {
	case turn == facts.TurnRenew && ca.CAs[0].Print == ca.Source.Print:
		return field + " names it, and it is the same CA. No member is restarted."
	case turn == facts.TurnRenew:
		return fmt.Sprintf("it has the same name and key, and lasts until %s. Members are restarted once to read it.",
			ca.Source.NotAfter.UTC().Format(time.DateOnly))
	case turn == facts.TurnWiden && ca.CAs[0].From == ca.Source.From && ca.Source.Origin == facts.OriginIssuer:
		return "it signs with another CA by now. All trust both, before the new one signs."
	case turn == facts.TurnWiden && ca.Source.From != "":
		return field + " names that " + kindOf(ca.Source) + ". All trust both, before the new one signs."
	case turn == facts.TurnWiden && ca.CAs[0].Origin != facts.OriginManaged:
		return field + " is gone, so the CA is one of the operator again. All trust both, before the new one signs."
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

// awaitTurn says what the next turn waits for, and what a person does where it does not go on by itself.
func awaitTurn(o pass, c changes.TurnCA, ca facts.Object, waits facts.Waiting) *proposal {
	until, callOff := "", ""
	isPersons := slices.ContainsFunc(ca.CAs[:], func(held facts.CA) bool { return held.From != "" })
	if !waits.Until.IsZero() {
		until = " Until then: " + waits.Until.UTC().Format(time.RFC3339) + "."
	}
	switch mayGoBack := c.Turn == facts.TurnWiden || ca.CAs[1].HasKey; {
	case mayGoBack && (isPersons || ca.Source.From != ""):
		callOff = fmt.Sprintf(" To call it off, put %s back as it was%s.", facts.CAField(ca.Port), withWhatItHad(ca))
	case mayGoBack && !o.Desired.Rotation.Asked.IsZero():
		callOff = " To call it off, take the annotation etcdsteward.dev/rotate-ca out."
	}
	p := wait(facts.ReasonRollCA, "A CA is replaced. The next step is to %s, and the operator waits with it: %s.%s "+
		"%s%s", changes.WordsOf(c).Name(), waits.Why, until, goesOn(o, waits), callOff)
	p.Recheck = recheckSettled
	if left := waits.Until.Sub(o.Now); waits.Until.IsZero() || left < recheckSettled {
		p.Recheck = max(recheckWait, left)
	}
	return p.yielding()
}

// caSource tells of a CA that the spec wants and that cannot be used. What members live by stays, so all else goes on.
// Before the first CA is made, nothing is: the operator makes none over a person's choice.
func caSource(o pass) *proposal {
	for _, ca := range o.Objects {
		from, isThere := ca.Source, ca.State == facts.ObjectCurrent
		if from.Fault == "" || ca.HasCopy() || !isThere && !isFirstCA(o, ca) {
			continue
		}
		says := fmt.Sprintf("%s names %s for the CA for %s, and that cannot be used: %s.",
			facts.CAField(ca.Port), from.From, ca.Port, from.Fault)
		goesOn := fmt.Sprintf("Until it can be used, the CAs for %s stay those in Secret %s. ", ca.Port, ca.Name)
		if !isThere {
			goesOn = "The cluster begins as soon as it can be used. "
		}
		if !isThere && o.IsAlive() {
			goesOn = "Members get certificates as soon as it can be used. "
		}
		return whoseSource(o, from, says+" "+goesOn, isThere || o.IsAlive())
	}
	return nil
}

// isFirstCA reports a CA that comes first: there is none yet, and no member lives by another one in its place.
func isFirstCA(o pass, ca facts.Object) bool {
	isLost := func(lost facts.Object) bool { return lost.Name == ca.Name }
	return ca.State == facts.ObjectAbsent && ca.Trusted == "" && !slices.ContainsFunc(o.LostCAs(), isLost)
}

// whoseSource waits for a Secret or an issuer that may come, and leaves one that is wrong to a person.
func whoseSource(o pass, from facts.CASource, says string, yields bool) *proposal {
	come, right := "Create the Secret, or put", "Put the Secret right or name another one, and the operator goes on "+
		"with that. Or put"
	if from.Origin == facts.OriginIssuer {
		come = "It goes on by itself once that is there. If it does not come, put the issuer right, or put"
		right = "Put the issuer right. The operator asks it again an hour later, or as soon as that " +
			"CertificateRequest is deleted. Or put"
	}
	p := refuse(facts.ReasonCASource, "%s%s the field back as it was.", says, right).byHuman()
	if from.IsAbsent {
		p = wait(facts.ReasonCASource, "%s%s the field back as it was.", says, come)
		p.Recheck = recheckSlow
		if from.Origin == facts.OriginIssuer {
			p.Recheck = askedAgain(o.Now.Sub(from.Asked))
		}
	}
	if yields {
		p.yielding()
	}
	return p
}

func kindOf(from facts.CASource) string {
	if from.Origin == facts.OriginIssuer {
		return "issuer"
	}
	return "Secret"
}

// withWhatItHad says what has to be put back beside the field.
func withWhatItHad(ca facts.Object) string {
	isIssuers := func(held facts.CA) bool { return held.Origin == facts.OriginIssuer }
	if ca.Source.Origin == facts.OriginIssuer || slices.ContainsFunc(ca.CAs[:], isIssuers) {
		return ""
	}
	return ", with what its Secret held"
}
