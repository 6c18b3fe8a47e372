package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Certificates that an issuer signs: see docs/decisions/0058. What is asked of an issuer is answered by another
// process, at once or in days. So nothing here is waited for that something else could be done beside.

// askIssuer asks an issuer which CA it signs with. What cannot be asked, caSource tells.
func askIssuer(o pass) *proposal {
	for _, ca := range o.Objects {
		if ca.CA && ca.Source.Ask && (ca.State == facts.ObjectCurrent || isFirstCA(o, ca)) {
			return act(changes.AskIssuer{CA: ca.Name, From: ca.Source.From, Since: ca.Source.Moved},
				"that CA is trusted only once it is known, and only if it signs all that is needed.")
		}
	}
	return nil
}

// awaited are the Secrets that wait for an issuer: those of members, and of one that will be added or restored.
func awaited(o pass) []facts.Object {
	all := facts.Filter(o.Objects, facts.Object.IsAwaited)
	for _, r := range slices.Concat(o.Members, o.Next.Members) {
		if r.Secret.IsAwaited() {
			all = append(all, r.Secret)
		}
	}
	return all
}

// signing tells what the certificates wait for.
func signing(o pass) *proposal {
	if p := awaitIssuer(o); p != nil {
		return p.yielding()
	}
	return nil
}

// awaitIssuer tells it of the request that a person has to look after, or else of the one that waits for the longest.
func awaitIssuer(o pass) *proposal {
	all := awaited(o)
	if len(all) == 0 {
		return nil
	}
	told := slices.MinFunc(all, func(a, b facts.Object) int {
		if a.Awaits.IsRefused != b.Awaits.IsRefused {
			return map[bool]int{true: -1, false: 1}[a.Awaits.IsRefused]
		}
		return a.Awaits.Since.Compare(b.Awaits.Since)
	}).Awaits
	says := fmt.Sprintf("The certificates in %s wait for their issuer: CertificateRequest %s%s: %s.", secretsIn(all),
		told.Request, madeAt(told), told.Why)
	if o.IsAlive() {
		says += " Members and clients go on with those that they have."
	}
	if told.IsOtherCA && o.Desired.Ephemeral {
		return refuse(facts.ReasonAwaitsIssuer, "%s Members with their data in Pods get to trust another CA by new "+
			"members alone, whose certificates the former CA has to sign. Have the issuer sign with that one until "+
			"all trust both. The operator asks it again an hour later, or as soon as the CertificateRequest is "+
			"deleted.", says).byHuman()
	}
	if told.IsRefused {
		return refuse(facts.ReasonAwaitsIssuer, "%s Put the issuer right. The operator asks it again an hour later, "+
			"or as soon as the CertificateRequest is deleted.", says).byHuman()
	}
	p := wait(facts.ReasonAwaitsIssuer, "%s It goes on by itself.", says)
	p.Recheck = askedAgain(o.Now.Sub(told.Since))
	return p
}

func madeAt(told facts.Awaited) string {
	if told.Since.IsZero() {
		return ""
	}
	return ", of " + told.Since.UTC().Format(time.RFC3339)
}

// secretsIn names a few of these, so that a message stays short.
func secretsIn(all []facts.Object) string {
	const most = 4
	var names []string
	for _, object := range all[:min(len(all), most)] {
		names = append(names, "Secret "+object.Name)
	}
	says := strings.Join(names, ", ")
	if more := len(all) - most; more > 0 {
		says += fmt.Sprintf(" and %d more", more)
	}
	return says
}

// askedAgain is when to look again at what was asked that long ago: nothing tells that it was answered.
func askedAgain(ago time.Duration) time.Duration {
	const part = 4
	return min(max(recheckWait, ago/part), recheckHashes)
}

// collectRequests deletes requests whose certificates were taken, or that nothing wants any more.
func collectRequests(o pass) *proposal {
	if len(o.Answered) == 0 {
		return nil
	}
	return act(changes.DeleteRequests{Requests: o.Answered}, "nothing waits for them any more.")
}
