package plan

import (
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// authentication turns etcd's authentication on and off as the spec asks. Users come first, then the note that it is on
// for the spec, and it last: so it never keeps out a client that the shared certificate let in, and what people turned
// on is told and left as it is. See docs/decisions/0053.
func authentication(o pass) *proposal {
	switch {
	case !o.MustKnowAuth():
		return nil
	case !o.Auth.Known:
		return wait(facts.ReasonAuthSpec, "Whether etcd's authentication is on is not known (%s). The operator asks "+
			"again, and until then turns it neither on nor off.", o.Auth.Why).yielding()
	case o.Desired.Auth == facts.AuthOn:
		return turnAuthOn(o)
	case o.Bootstrap.Auth && !o.Auth.On:
		return act(changes.OwnAuth{}, "the spec asks for none.")
	case o.Desired.Auth == facts.AuthAsItIs:
		return nil // what no longer stands in the spec lets no one in: report tells of it
	case o.Bootstrap.Auth:
		return act(changes.DisableAuth{}, "spec.auth.enabled is false. Every client that a certificate lets in may "+
			"then read and write all keys. Users and roles stay.")
	case o.Auth.On:
		return refuse(facts.ReasonAuthByHand, "spec.auth.enabled is false, and etcd's authentication is on. It was "+
			"turned on with etcdctl, or came with a backup, so the operator leaves it on. Turn it off with etcdctl "+
			"auth disable, or set spec.auth.enabled to true, or take spec.auth out.").byHuman().yielding()
	}
	return nil
}

func turnAuthOn(o pass) *proposal {
	isAway := func(r facts.Replica) bool { return !r.IsHealthy(o.Membership) }
	away := facts.Filter(o.Voters(), isAway)
	switch {
	case o.Auth.On && o.Bootstrap.Auth:
		return nil
	case o.Auth.On:
		return act(changes.OwnAuth{Own: true}, "spec.auth.enabled is true, and it is on already. Users stay as they "+
			"are.")
	case o.IsTurningTLS():
		return wait(facts.ReasonAuthSpec, "spec.auth.enabled is true. The operator turns authentication on once every "+
			"member takes TLS alone, as spec.tls.mode asks.").yielding()
	case len(away) > 0:
		return wait(facts.ReasonAuthSpec, "spec.auth.enabled is true. The operator turns authentication on once "+
			"every member serves. It waits for %s.", strings.Join(facts.Names(away), ", ")).yielding()
	case !o.Auth.HasUsers:
		return act(changes.MakeUsers{}, "spec.auth.enabled is true. root is the operator, and %s is every client of "+
			"the Secret %s-tls. Where one has no role yet, it gets the role root.", o.Desired.ClientUser,
			o.Desired.ClientUser)
	case !o.Bootstrap.Auth:
		return act(changes.OwnAuth{Own: true}, "spec.auth.enabled is true. So it is known later who turned it on.")
	}
	return act(changes.EnableAuth{}, "spec.auth.enabled is true. Each certificate is then the user that its common "+
		"name says.")
}
