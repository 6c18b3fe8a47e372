package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// givenCA is a CA that a person has in a Secret, or that of an issuer, and that the spec names; zero where it names
// none.
type givenCA struct {
	print    string
	isWrong  bool // something in the Secret is not as it should be; the issuer refuses
	isThere  bool // the Secret is there; the issuer answers
	isIssuer bool
}

// own begins the names of CAs that a person has. A renewed certificate of one has the name of the CA, and marks behind
// it.
const (
	own     = "own-"
	renewed = "'"
)

func isOwn(ca string) bool { return strings.HasPrefix(ca, own) }

// issuers begins the names of the CAs that the issuer signs with.
const issuers = own + "i"

func isIssuers(ca string) bool { return strings.HasPrefix(ca, issuers) }

// identity is the same for all certificates of one CA.
func identity(ca string) string { return strings.TrimRight(ca, renewed) }

// isUsable reports what a CA can be taken from: a Secret from which a CA can be taken.
func (g givenCA) isUsable() bool { return g.print != "" && g.isThere && !g.isWrong }

// asSource is what the operator sees of it.
func (g givenCA) asSource(held facts.CAs) facts.CASource {
	if g.print == "" {
		return facts.CASource{}
	}
	source := facts.CASource{Origin: facts.OriginSecret, From: "Secret own"}
	if g.isIssuer {
		source.Origin, source.From, held = facts.OriginIssuer, "Issuer own", facts.CAs{}
	}
	if !g.isThere {
		source.Fault, source.IsAbsent = "it is not there", true
		return source
	}
	source.Print, source.Identity = g.print, identity(g.print)
	isHeld := slices.ContainsFunc(held[:], func(ca facts.CA) bool { return ca.HasKey && ca.Print == g.print })
	if g.isWrong && !isHeld {
		source.Fault = "tls.key is missing"
	}
	return source
}

// GiveCA is a person who has the spec name a Secret with another CA.
func (w *World) GiveCA() {
	w.given++
	w.Given, w.hasRolled = givenCA{print: fmt.Sprintf("%s%d", own, w.given), isThere: true}, true
	w.logf("a person gives the CA %s", w.Given.print)
}

// NameIssuer is a person who has the spec name the issuer.
func (w *World) NameIssuer() {
	if w.issuer.print == "" {
		w.issuer = givenCA{print: issuers + "1", isThere: true, isIssuer: true}
	}
	w.Given, w.hasRolled = w.issuer, true
	w.logf("a person names the issuer, which is %+v", w.issuer)
}

// ChangeIssuer is what becomes of the issuer: it takes its time, refuses, signs with another CA, or is well again.
func (w *World) ChangeIssuer() {
	drawn := w.chance(8, "what becomes of the issuer", "")
	if w.issuer.print == "" || drawn <= 1 {
		w.NameIssuer()
		return
	}
	w.turnIssuer(func(i *givenCA) {
		switch drawn {
		case 2:
			i.isThere = false
		case 3:
			i.isWrong = true
		case 4:
			i.print = fmt.Sprintf("%s%d", issuers, len(w.madeAt)+2)
		default:
			i.isThere, i.isWrong = true, false
		}
	})
	w.logf("the issuer is %+v by now", w.issuer)
}

// turnIssuer changes the issuer, whether the spec names it or not.
func (w *World) turnIssuer(change func(*givenCA)) {
	if change(&w.issuer); w.Given.isIssuer {
		w.Given = w.issuer
	}
}

// takeSigned asks the issuer for the certificate of a member, or takes what it signed. I26: of no other CA.
func (w *World) takeSigned(name string) bool {
	if identity(w.objects.secrets[name]) == identity(w.objects.ca) {
		return true
	}
	w.objects.asked = maps.Clone(w.objects.asked)
	switch by := w.objects.asked[name]; {
	case by == "" || by != w.objects.ca && w.issuer.print == w.objects.ca:
		if w.objects.asked == nil {
			w.objects.asked = map[string]string{}
		}
		w.objects.asked[name] = w.issuer.print // it signs with the one that it has when it is asked
		return false
	case !w.hasSigned(by):
		return false
	}
	delete(w.objects.asked, name)
	return true
}

// hasSigned reports an answer that can be taken.
func (w *World) hasSigned(by string) bool {
	return by == w.objects.ca && w.issuer.isThere && !w.issuer.isWrong
}

// awaits is what the certificates of a member wait for, of which nothing else has to be written.
func (w *World) awaits(from objects, name string) facts.Awaited {
	by := from.asked[name]
	isToAsk := by == "" || by != from.ca && w.issuer.print == from.ca
	if !isIssuers(from.ca) || isToAsk || by == from.ca && w.issuer.isThere && !w.issuer.isWrong {
		return facts.Awaited{}
	}
	return facts.Awaited{Request: name + "-tls-peers", Why: "it is not signed", IsRefused: w.issuer.isWrong,
		IsOtherCA: by != from.ca}
}

// ChangeGiven is a person, or cert-manager, who changes what the spec names for the CA, or what its Secret holds.
func (w *World) ChangeGiven() {
	before := w.Given
	switch drawn := w.chance(12, "what becomes of the CA that is given", ""); {
	case drawn <= 1 || before.print == "" || before.isIssuer && drawn != 2:
		w.GiveCA()
		return
	case drawn == 2:
		w.Given = givenCA{}
	case drawn == 3 || drawn > 8:
		w.Given = givenCA{print: before.print + renewed, isThere: true}
	case drawn == 4:
		w.Given.isWrong = true
	case drawn == 5:
		w.Given.isThere = false
	case drawn == 6 && w.given > 1:
		w.Given = givenCA{print: fmt.Sprintf("%s%d", own, w.given-1), isThere: true}
	default:
		w.PutGivenRight()
	}
	w.logf("a person had the CA %+v, and has %+v by now", before, w.Given)
}

// PutGivenRight ends what is wrong with the Secret, and with the issuer.
func (w *World) PutGivenRight() {
	w.Given.isWrong, w.Given.isThere = false, true
	w.turnIssuer(func(i *givenCA) { i.isWrong, i.isThere = false, true })
}

// beginCA has the Secret of the CA hold the first one.
func (w *World) beginCA() {
	next := w.objects.ca
	switch {
	case w.objects.made["demo-ca"]:
		return
	case w.Given.isUsable():
		next = w.Given.print
	case w.Given.print != "":
		w.checkMade()
		return
	case isOwn(next):
		next = w.newCA()
	}
	now, _ := w.clocks()
	if next != w.objects.ca {
		w.objects.ca, w.firstCA, w.objects.beside, w.madeAt[next] = next, next, caSecret{}, now
	}
}

// takeGiven copies the CA that a person gives, if that is the one that the change was decided on. I24: no CA comes that
// the spec does not want, or that cannot be used.
func (w *World) takeGiven(c changes.TurnCA) error {
	if c.Next == w.Given.print && w.Given.isUsable() {
		return nil
	}
	if !w.trouble.isRaced {
		w.violate("I24: the CA %s is taken, and a person gives %+v", c.Next, w.Given)
	}
	return errStale
}

// checkMade is I24 of a CA that the operator makes.
func (w *World) checkMade() {
	if w.Given.print != "" && !w.trouble.isRaced {
		w.violate("I24: the operator makes a CA, and a person gives %+v", w.Given)
	}
}

// renew gives the CA that signs another certificate.
func (w *World) renew(c changes.TurnCA) error {
	if err := w.takeGiven(c); err != nil {
		return err
	}
	w.madeAt[c.Next] = w.madeAt[w.objects.ca]
	if w.firstCA == w.objects.ca {
		w.firstCA = ""
	}
	w.objects.ca = c.Next
	return nil
}

// isAsAsked reports the CA that is to sign in a cluster that is called settled.
func (w *World) isAsAsked(ca string) bool {
	switch {
	case w.Given.isUsable():
		return ca == w.Given.print
	case w.Given.print != "":
		return isOwn(ca) // the operator goes on with its copy
	}
	return !isOwn(ca) && !w.madeAt[ca].Before(w.Rotation.Asked)
}

// takes reports that who trusts these CAs takes a certificate of that one.
func takes(trusts []string, ca string) bool {
	return slices.ContainsFunc(trusts, func(trusted string) bool { return identity(trusted) == identity(ca) })
}
