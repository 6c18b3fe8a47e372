package world

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Authentication: who turned it on, and whether clients are let in.

// auth is how authentication stands in a cluster. The user root is there wherever it is on: etcd sees to that.
type auth struct {
	isOn     bool
	byPeople bool // who turned it on did so where the spec had not asked for it
	hasUsers bool // those of the operator and of clients are there, with a role each
}

// AskForAuth is a user who asks for authentication, for none, or says nothing about it. The API refuses the first one
// without certificates.
func (w *World) AskForAuth() {
	wishes := []facts.AuthWish{facts.AuthOn, facts.AuthOff, facts.AuthAsItIs}
	w.Spec.Auth = wishes[w.chance(3, "authentication", "")]
	if !w.Spec.TLS {
		w.Spec.Auth = facts.AuthAsItIs
	}
	w.logf("spec: authentication %q", w.Spec.Auth)
}

// TurnAuthByHand is a person with etcdctl, who turns authentication on or off. etcd refuses the first one without root;
// who has that has the user of clients as well, or they would be kept out at once.
func (w *World) TurnAuthByHand() {
	c := w.written()
	if c == nil || !w.hasQuorum(c) {
		return
	}
	c.auth = auth{isOn: !c.auth.isOn, hasUsers: true, byPeople: !c.auth.isOn && !w.objects.bootstrap.Auth}
	w.logf("a person turns authentication on: %v", c.auth.isOn)
}

// DeleteUser is a person who deletes the user of clients.
func (w *World) DeleteUser() {
	if c := w.written(); c != nil && w.hasQuorum(c) {
		c.auth.hasUsers = false
		w.logf("a person deletes the user of clients")
	}
}

// authBegun is what a new cluster has of the backup that it may have begun with.
func (w *World) authBegun() auth {
	if !w.trouble.Auth || len(w.clusters) == 0 || w.chance(3, "the backup has authentication on", "") > 0 {
		return auth{}
	}
	return auth{isOn: true, byPeople: true, hasUsers: w.chance(2, "and the user of clients", "") == 0}
}

// observeAuth is what the leader says of it, where it is asked.
func (w *World) observeAuth(o *facts.Observation) {
	c := w.clusters[o.Current.Membership.ClusterID]
	if !o.MustKnowAuth() || !o.Current.Membership.Known || c == nil {
		return
	}
	o.Auth = facts.Auth{Known: true, On: c.auth.isOn, HasUsers: c.auth.hasUsers && !c.auth.isOn}
}

// commitAuth is I22 as well: the operator keeps no client out, gives no rights where they make a difference, and leaves
// on what people turned on.
func (w *World) commitAuth(c *cluster, change changes.Change) {
	switch change.(type) {
	case changes.MakeUsers:
		w.holdAuth(!c.auth.isOn, "users get rights while authentication is on")
		c.auth.hasUsers = true
	case changes.EnableAuth:
		w.holdAuth(c.auth.hasUsers, "authentication is turned on, and the user of clients is not there")
		w.holdAuth(w.Spec.Auth == facts.AuthOn, "authentication is turned on unasked")
		c.auth.isOn = true
	case changes.DisableAuth:
		w.holdAuth(!c.auth.byPeople, "authentication that people turned on is turned off")
		w.holdAuth(w.Spec.Auth == facts.AuthOff, "authentication is turned off unasked")
		c.auth.isOn = false
	default:
	}
}

// holdAuth is I22, unless the world or the spec changed between the last look and the effect.
func (w *World) holdAuth(holds bool, says string) {
	if !holds && !w.trouble.isRaced && !w.trouble.StaleSpecs && !w.trouble.SlowEtcd {
		w.violate("I22: %s", says)
	}
}

func (w *World) ownAuth(c changes.OwnAuth) error {
	if !w.objects.bootstrap.OwnAuth(w.objects.bootstrap.Incarnation, c.Own) {
		return errStale
	}
	if cl := w.written(); cl != nil && c.Own {
		cl.auth.byPeople = false // the spec asks for what they did
	}
	return nil
}

// checkAuth is I9: authentication is as the spec asks. One that says nothing leaves it as it is.
func (w *World) checkAuth(c *cluster) {
	isOwned, isOn := w.objects.bootstrap.Auth, c.auth.isOn
	isSo := isOn || !isOwned
	switch w.Spec.Auth {
	case facts.AuthOn:
		isSo = isOn && isOwned
	case facts.AuthOff:
		isSo = !isOn && !isOwned
	case facts.AuthAsItIs:
	}
	if !isSo {
		w.violate("I9: settled, and authentication is on: %v, for the spec: %v; it asks for %q", isOn, isOwned,
			w.Spec.Auth)
	}
}
