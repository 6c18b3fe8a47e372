package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// issuersCA is the CA that ClusterIssuer corp signs with.
var issuersCA = facts.CA{Print: "corp-1", Identity: "corp", Origin: facts.OriginIssuer, From: "ClusterIssuer corp", HasKey: true,
	Made: now.Add(-48 * time.Hour), NotAfter: now.AddDate(0, 3, 0)}

// issuer has it answer as it did.
var issuer = facts.CASource{Origin: facts.OriginIssuer, From: "ClusterIssuer corp", Print: "corp-1", Identity: "corp",
	NotAfter: issuersCA.NotAfter, Asked: now.Add(-time.Hour)}

func notAnswered(why string) facts.CASource {
	return facts.CASource{Origin: facts.OriginIssuer, From: issuer.From, Fault: "the CertificateRequest demo-ca-ask-0" + why,
		IsAbsent: true, Asked: now.Add(-time.Minute)}
}

func refusingIssuer(source facts.CASource) facts.CASource { source.IsAbsent = false; return source }
func toAsk() facts.CASource {
	source := notAnswered("")
	source.Fault, source.Ask = "it has yet to be asked which CA it signs with", true
	return source
}
func askedLongAgo() facts.CASource { source := issuer; source.Ask = true; return source }
func signsOtherwise() facts.CASource {
	source := issuer
	source.Print, source.Identity = "corp-2", "corp two"
	return source
}

func issuersBeside() scene {
	return holding(settledWorld(3), facts.CAs{firstCA, issuersCA}, ownCA, "corp-1")
}
func issuersSwapped() scene {
	return holding(settledWorld(3), facts.CAs{issuersCA, firstCA}, ownCA, "corp-1")
}
func issuersAlone() scene { return holding(settledWorld(3), facts.CAs{issuersCA}, "corp-1") }

// awaits has a Secret wait for its issuer.
func awaits(isRefused bool) func(*facts.Object) {
	return func(secret *facts.Object) {
		secret.State = facts.ObjectDrifted
		secret.Awaits = facts.Awaited{Request: secret.Name + "-clients", Why: "no approver has approved it", Since: now.Add(-time.Minute),
			IsRefused: isRefused}
	}
}

func awaiting(r *facts.Replica)   { r.Secret.Name = r.Name + "-tls"; awaits(false)(&r.Secret) }
func refusedOne(r *facts.Replica) { r.Secret.Name = r.Name + "-tls"; awaits(true)(&r.Secret) }
func signedByAnother(r *facts.Replica) {
	awaiting(r)
	r.Secret.Awaits.IsOtherCA = true
}
func unborn(o scene) scene {
	o.Objects = slices.Clone(o.Objects)
	o.Objects[0].State, o.Objects[0].Port = facts.ObjectAbsent, facts.ForClients
	return o
}

func issuerRows() []row {
	leavesDead := naming(issuersAlone().edit(1, awaiting), facts.CASource{})
	back := naming(holding(settledWorld(3), facts.CAs{issuersCA, firstCA}, ownCA, "corp-1").edit(1, refusedOne), facts.CASource{})
	moved := issuersAlone()
	moved.Objects[0].CAs[0].From = "Issuer former"
	answered := naming(issuersAlone(), issuer)
	answered.Answered = []facts.RequestRef{{Name: "demo-9-tls-clients", UID: "r9"}}
	bare := unborn(atBootstrap(3))
	for i := range bare.Current.Members {
		r := &bare.Current.Members[i]
		r.Pod, r.Secret = nil, facts.Object{Kind: "Secret", Name: r.Name + "-tls"}
		awaits(false)(&r.Secret)
		r.Secret.State = facts.ObjectAbsent
	}
	bare.Objects[0].State = facts.ObjectCurrent
	return []row{
		{"an issuer is asked before its CA is trusted", naming(steady(), toAsk()), Act, "ask-issuer", "", "AskIssuer",
			"Ask ClusterIssuer corp which CA it signs with"},
		{"and once more after a day", naming(issuersAlone(), askedLongAgo()), Act, "ask-issuer", "", "AskIssuer", ""},
		{"its answer is waited for", naming(steady(), notAnswered(" is not answered")), Wait, "ca-source", facts.ReasonCASource, "",
			"spec.tls.clientCA names ClusterIssuer corp for the CA for clients, and that cannot be used: the CertificateRequest demo-ca-ask-0 is not answered"},
		{"one that refuses is told, and nothing is replaced", naming(steady(), refusingIssuer(notAnswered(": it was denied"))), Refuse, "ca-source",
			facts.ReasonCASource, "", "The operator asks it again an hour later, or as soon as that CertificateRequest is deleted."},
		{"a cluster does not begin before its issuer was asked", naming(unborn(notBootstrapped(3)), toAsk()), Act, "ask-issuer", "", "AskIssuer", ""},
		{"nor before it answered", naming(unborn(notBootstrapped(3)), notAnswered(" is not answered")), Wait, "ca-source", facts.ReasonCASource, "",
			"The cluster begins as soon as it can be used. It goes on by itself"},
		{"its CA is taken in beside the one that signs", naming(steady(), issuer), Act, "roll-ca", "", "TurnCA",
			"Take the CA of ClusterIssuer corp in beside the one in Secret demo-ca: spec.tls.clientCA names that issuer."},
		{"it signs once all trust it", naming(issuersBeside(), issuer), Act, "roll-ca", "", "TurnCA", "sign from now on"},
		{"and nothing is left to do", naming(issuersAlone(), issuer), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"the earlier CA stays while a certificate waits for the issuer", naming(issuersSwapped().edit(1, awaiting), issuer), Wait, "signing",
			facts.ReasonAwaitsIssuer, "", "The certificates in Secret demo-1-tls wait for their issuer: CertificateRequest demo-1-tls-clients"},
		{"so it does while clients' wait", naming(issuersSwapped().clients(awaits(false)), issuer), Wait, "signing", facts.ReasonAwaitsIssuer, "",
			"Secret demo-client-tls"},
		{"a request that was refused is for a person", naming(issuersAlone().edit(1, refusedOne), issuer), Refuse, "signing", facts.ReasonAwaitsIssuer, "",
			"Members and clients go on with those that they have. Put the issuer right."},
		{"a new member with its data in its Pod waits for a person where the issuer signs with another CA by itself",
			toPods(inMemory(naming(issuersAlone().edit(1, signedByAnother), issuer))), Refuse, "signing",
			facts.ReasonAwaitsIssuer, "", "Have the issuer sign with that one until all trust both."},
		{"one with a volume does not: it trusts both after a restart", naming(issuersAlone().edit(1, signedByAnother), issuer), Wait, "signing",
			facts.ReasonAwaitsIssuer, "", "It goes on by itself"},
		{"other certificates are written meanwhile", naming(issuersAlone().edit(1, awaiting).edit(2, outOfDate), issuer), Act, "scaffold", "",
			"ApplyObjects", "Apply the certificates of demo-2"},
		{"members are looked after meanwhile", naming(issuersAlone().edit(1, awaiting).edit(1, noData), issuer), Act, "replace", "", "RemoveMember", "demo-1"},
		{"an issuer that signs no more can be left", leavesDead, Act, "roll-ca", "", "TurnCA", "Make a new CA beside the one in Secret demo-ca"},
		{"also once it is to sign", back, Act, "roll-ca", "", "TurnCA", "sign from now on"},
		{"an issuer that signs with another CA by itself begins a roll", naming(issuersAlone(), signsOtherwise()), Act, "roll-ca", "", "TurnCA",
			"it signs with another CA by now"},
		{"another issuer with the same CA is asked from then on, and no member is restarted", naming(moved, issuer), Act, "roll-ca", "", "TurnCA",
			"it is the same CA. No member is restarted."},
		{"an issuer of the CA that a person gave takes over as well", naming(givenAlone(), issuer), Act, "roll-ca", "", "TurnCA",
			"Renew the certificate of the CA in Secret demo-ca from ClusterIssuer corp"},
		{"what signs already signs on while it is asked again", naming(issuersAlone(), notAnswered(" is not answered")), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"requests that nothing waits for are deleted", answered, Act, "collect", "", "DeleteRequests", "Delete the CertificateRequests demo-9-tls-clients"},
		{"no Pod is made before its certificates are there", naming(bare, issuer), Wait, "bootstrap", facts.ReasonAwaitsIssuer, "", "demo-0-tls"},
	}
}

func guardedRequests() []guardRow {
	ask := changes.AskIssuer{CA: "demo-ca", From: issuer.From}
	take := turnOf(naming(steady(), issuer).Objects[0], facts.TurnWiden)
	narrow := changes.TurnCA{CA: "demo-ca", Turn: facts.TurnNarrow, Signs: "corp-1", Other: ownCA}
	left := naming(issuersAlone(), issuer)
	left.Answered = []facts.RequestRef{{Name: "demo-9-tls-clients", UID: "r9"}}
	drop := changes.DeleteRequests{Requests: left.Answered}
	return []guardRow{
		{"an issuer that the spec does not name", naming(steady(), toAsk()), ask, naming(steady(), givenSource), ask, "the spec does not name ClusterIssuer corp"},
		{"a CA of an issuer that has not answered", naming(steady(), issuer), take, naming(steady(), func() facts.CASource {
			source := issuer
			source.Fault = "it failed"
			return source
		}()), take, "the CA of ClusterIssuer corp cannot be used"},
		{"a CA that is given up while a certificate waits for its issuer", naming(issuersSwapped(), issuer), narrow,
			naming(issuersSwapped().edit(1, awaiting), issuer), narrow, "the certificates of demo-1 are about to be written"},
		{"a CA that is given up while clients' wait", naming(issuersSwapped(), issuer), narrow,
			naming(issuersSwapped().clients(awaits(false)), issuer), narrow, "Secret demo-client-tls is about to be written"},
		{"a request that may be waited for", left, drop, naming(issuersAlone(), issuer), drop, "may be waited for"},
	}
}

func TestWhatWasAskedLongAgoIsLookedAtSeldom(t *testing.T) {
	for ago, most := range map[time.Duration]time.Duration{0: recheckWait, time.Minute: 15 * time.Second, time.Hour: time.Minute} {
		o := naming(issuersAlone().edit(1, awaiting), issuer)
		o.Current.Members[1].Secret.Awaits.Since = now.Add(-ago)
		if d := Decide(o.Observation); d.Recheck > most || d.Recheck < most/2 {
			t.Errorf("asked %s ago, it looks again after %s", ago, d.Recheck)
		}
		source := notAnswered(" is not answered")
		source.Asked = now.Add(-ago)
		if d := Decide(naming(unborn(notBootstrapped(3)), source).Observation); d.Recheck > most || d.Recheck < most/2 {
			t.Errorf("asked which CA signs %s ago, it looks again after %s", ago, d.Recheck)
		}
	}
}

func TestNoMemberIsPreparedAnewWhileItsCertificatesWait(t *testing.T) {
	o := naming(issuersAlone(), issuer)
	o.Desired.Size = 4
	o.Current.Bootstrap.Promised = "demo-3"
	o.Current.Members = append(slices.Clone(o.Current.Members), facts.Replica{Name: "demo-3", Ordinal: 3,
		Secret: facts.Object{Kind: "Secret", Name: "demo-3-tls"}})
	awaits(false)(&o.Current.Members[3].Secret)
	o.Current.Members[3].Secret.State = facts.ObjectAbsent
	d := Decide(o.Observation)
	if d.Change != nil || d.Rule != "signing" || !strings.Contains(d.Message, "demo-3-tls") {
		t.Errorf("%s: %s", d.Rule, d.Message)
	}
}
