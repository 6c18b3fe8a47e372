package changes

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// MakeUsers makes the users without whom authentication would keep the operator, and clients that are let in now, out.
// One that is there with a role stays as it is.
type MakeUsers struct{}

func (MakeUsers) traits() Traits { return Traits{} }

func (MakeUsers) words() Words {
	return says("Make", "Makes", "Made", "the users that authentication needs", EventUsersMade)
}

// veto gives rights only where everyone has all of them: who may do what is for people to say once it makes a
// difference.
func (MakeUsers) veto(o facts.View) Veto {
	switch {
	case o.Desired.Auth != facts.AuthOn:
		return accessAtRisk("spec.auth.enabled is not true.")
	case !o.Membership.Known:
		return quorumAtRisk("the member list is not known.")
	case !o.Auth.Known || o.Auth.On:
		return accessAtRisk("users are made only while authentication is off.")
	}
	return Veto{}
}

// OwnAuth writes into the bootstrap record that authentication is on because the spec asks for that, or takes it back.
// Authentication that people turned on is never turned off.
type OwnAuth struct{ Own bool }

func (OwnAuth) traits() Traits {
	return Traits{Unconfirmed: "it is a note, and what follows from it is looked at again"}
}

func (c OwnAuth) words() Words {
	if c.Own {
		return says("Write", "Writes", "Wrote", "down that authentication is on for the spec", EventRecorded)
	}
	return says("Write", "Writes", "Wrote", "down that authentication is off for the spec", EventRecorded)
}

// veto writes down what is asked for, and takes back only what is over.
func (c OwnAuth) veto(o facts.View) Veto {
	switch isAsked := o.Desired.Auth == facts.AuthOn; {
	case c.Own && !isAsked:
		return accessAtRisk("spec.auth.enabled is not true.")
	case !c.Own && (isAsked || !o.Auth.Known || o.Auth.On):
		return accessAtRisk("authentication may still be on for the spec.")
	}
	return Veto{}
}

// EnableAuth turns authentication on.
type EnableAuth struct{}

func (EnableAuth) traits() Traits { return Traits{} }

func (EnableAuth) words() Words {
	return says("Turn", "Turns", "Turned", "etcd's authentication on", EventAuth)
}

// veto keeps no client out whom the shared certificate let in. Each member is to know the users: one that lags would
// have writes fail that it takes (package contract).
func (EnableAuth) veto(o facts.View) Veto {
	switch {
	case o.Desired.Auth != facts.AuthOn:
		return accessAtRisk("spec.auth.enabled is not true.")
	case !o.Desired.TLS || slices.ContainsFunc(o.Voters(), isWithoutCertificates):
		return accessAtRisk("without certificates the operator would be kept out.")
	case !o.Auth.Known || !o.Auth.HasUsers:
		return accessAtRisk("the users root and %s are not known to be there with their roles.", o.Desired.ClientUser)
	case !o.Bootstrap.Auth:
		return accessAtRisk("it is not written down that the spec asked for it.")
	case !o.Membership.Known || len(o.HealthyVoters()) < len(o.Voters()):
		return accessAtRisk("not every voter serves, and one that lags would have writes of its clients fail.")
	}
	return Veto{}
}

// DisableAuth turns authentication off.
type DisableAuth struct{}

func (DisableAuth) traits() Traits { return Traits{} }

func (DisableAuth) words() Words {
	return says("Turn", "Turns", "Turned", "etcd's authentication off", EventAuth)
}

// veto opens to everyone only what the operator itself had closed, and only where a person asks for that.
func (DisableAuth) veto(o facts.View) Veto {
	switch {
	case o.Desired.Auth != facts.AuthOff:
		return accessAtRisk("spec.auth.enabled is not false.")
	case !o.Bootstrap.Auth:
		return accessAtRisk("people turned it on.")
	case !o.Membership.Known:
		return quorumAtRisk("the member list is not known.")
	}
	return Veto{}
}
