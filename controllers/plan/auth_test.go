package plan

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// asking is a cluster whose spec says this of authentication, which is off.
func asking(o scene, wish facts.AuthWish) scene {
	o.Desired.Auth, o.Desired.ClientUser, o.Auth = wish, "demo-client", facts.Auth{Known: true}
	return o
}

// Steps of turning authentication on.
func hasUsers(o scene) scene  { o.Auth.HasUsers = true; return o }
func ownsAuth(o scene) scene  { o.Current.Bootstrap.Auth = true; return o }
func hasAuthOn(o scene) scene { o.Auth.On, o.Auth.HasUsers = true, false; return o }
func unheardAuth(o scene) scene {
	o.Auth = facts.Auth{Why: "context deadline exceeded"}
	return o
}

// authenticated are worlds in which the spec speaks of authentication, or spoke of it.
func authenticated() []row {
	on, off, asItIs := asking(settledWorld(3), facts.AuthOn), asking(settledWorld(3), facts.AuthOff),
		asking(settledWorld(3), facts.AuthAsItIs)
	settled := func(name string, o scene) row {
		return row{name, o, Settled, RuleSettled, facts.ReasonSettled, "", ""}
	}
	act := func(name string, o scene, change, says string) row {
		return row{name, o, Act, "authentication", "", change, says}
	}
	return []row{
		act("users come before authentication", on, "MakeUsers", "root is the operator, and demo-client is every client"),
		act("then it is written down who turns it on", hasUsers(on), "OwnAuth", "known later who turned it on"),
		act("then it is turned on", ownsAuth(hasUsers(on)), "EnableAuth", "Turn etcd's authentication on"),
		settled("and that is all", hasAuthOn(ownsAuth(on))),
		act("turned off by hand it is turned on again, and users are looked at again", ownsAuth(on), "MakeUsers", ""),
		act("turned on by hand it becomes the spec's, and no user is made", hasAuthOn(on), "OwnAuth",
			"it is on already. Users stay as they are"),
		{"it is not turned on while a member is away", ownsAuth(hasUsers(on)).edit(1, silent), Refuse, "member-health",
			facts.ReasonNotReady, "", "demo-1"},
		settled("taken out of the spec it stays on", hasAuthOn(ownsAuth(asItIs))),
		act("false turns it off", hasAuthOn(ownsAuth(off)), "DisableAuth", "Users and roles stay"),
		act("and once it is off, that is written down", ownsAuth(asItIs), "OwnAuth",
			"authentication is off for the spec"),
		settled("then nothing is left of it", asItIs),
		settled("nor where the spec says that it is off", off),
		settled("people may turn it on where the spec says nothing", hasAuthOn(asItIs)),
		{"they are told where the spec says that it is off, and it stays on", hasAuthOn(off), Refuse, "authentication",
			facts.ReasonAuthByHand, "", "or came with a backup, so the operator leaves it on"},
		{"what no member says is not guessed", unheardAuth(hasUsers(on)), Wait, "authentication", facts.ReasonAuthSpec,
			"", "is not known (context deadline exceeded)"},
		{"it keeps nothing else from being done", unheardAuth(asking(settledWorld(3), facts.AuthOn)).sized(5), Act, "grow",
			"", "PrepareMember", ""},
		{"a roll comes first", wanting(on, other), Act, "roll", "", "WriteSettings", ""},
	}
}

// guardedAuth are rows of who keeps clients out, and lets them in.
func guardedAuth() []guardRow {
	asked, off, gone := asking(settledWorld(3), facts.AuthOn), asking(settledWorld(3), facts.AuthOff),
		asking(settledWorld(3), facts.AuthAsItIs)
	ready := ownsAuth(hasUsers(asked))
	plain := desire(ready, func(d *facts.Desired) { d.TLS = false })
	isOn := hasAuthOn(ownsAuth(off))
	makeUsers, enable, disable := changes.MakeUsers{}, changes.EnableAuth{}, changes.DisableAuth{}
	own, disown := changes.OwnAuth{Own: true}, changes.OwnAuth{}
	return []guardRow{
		{"users get rights only where everyone has all of them", asked, makeUsers, hasAuthOn(asked), makeUsers,
			"only while authentication is off"},
		{"which is known of it", asked, makeUsers, unheardAuth(asked), makeUsers, "only while authentication is off"},
		{"and only for a spec that asks for authentication", asked, makeUsers, off, makeUsers, "spec.auth.enabled is not true"},
		{"users are made by who knows the list", asked, makeUsers, asked.blind(), makeUsers, "the member list is not known"},
		{"authentication is turned on once its users are there", ready, enable, ownsAuth(asked), enable,
			"the users root and demo-client are not known to be there"},
		{"which is known of them", ready, enable, unheardAuth(ready), enable, "are not known to be there"},
		{"once it is written down who asked for it", ready, enable, hasUsers(asked), enable, "it is not written down"},
		{"once every voter serves, and knows them", ready, enable, ready.edit(1, silent), enable, "not every voter serves"},
		{"once the list of members is known", ready, enable, ready.blind(), enable, "not every voter serves"},
		{"where the operator has a certificate", ready, enable, plain, enable, "the operator would be kept out"},
		{"for a spec that asks for authentication", ready, enable, ownsAuth(hasUsers(off)), enable, "spec.auth.enabled is not true"},
		{"it is turned off where it was turned on for the spec", isOn, disable, hasAuthOn(off), disable,
			"people turned it on"},
		{"and for a spec that asks for it no more", isOn, disable, hasAuthOn(ready), disable, "spec.auth.enabled is not false"},
		{"and not where it was taken out of the spec", isOn, disable, hasAuthOn(ownsAuth(gone)), disable, "spec.auth.enabled is not false"},
		{"authentication is turned off by who knows the list", isOn, disable, isOn.blind(), disable, "the member list is not known"},
		{"it is called the spec's where that asks for it", asked, own, off, own, "spec.auth.enabled is not true"},
		{"and no more the spec's once it is off", ownsAuth(off), disown, isOn, disown, "may still be on"},
		{"which is known before that is written down", ownsAuth(off), disown, unheardAuth(isOn), disown, "may still be on"},
		{"and which the spec asks for no more", ownsAuth(off), disown, ready, disown, "may still be on"},
	}
}
