package world

import (
	"errors"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
)

// What happens between an operator's look and its effect, and other operators.

// errLost says that no reply came. What was asked for may have happened.
var errLost = errors.New("the reply was lost")

// meanwhile lets the world move on in the middle of a pass: by itself, by another operator, or by a fault.
func (w *World) meanwhile() {
	if w.trouble.isMoved || !w.sometimes(w.trouble.Restless, 4, "meanwhile") {
		return
	}
	w.trouble.isMoved = true
	acting, ca, identity, isRaced := w.ledger.acting, w.ledger.ca, w.Cluster, w.trouble.isRaced
	w.logf("meanwhile, in the middle of a pass:")
	switch w.chance(3, "what happens meanwhile", "") {
	case 0:
		w.advance()
	case 1:
		w.StalePass()
	default:
		w.Fault()
		isRaced = true
	}
	w.trouble.isRaced = isRaced // a pass of another operator looked anew, and the one in whose middle it was did not
	w.ledger.acting, w.ledger.ca, w.ledger.isFresh = acting, ca, false
	if w.Cluster.UID == identity.UID {
		w.Cluster = identity
	}
	w.ledger.before = w.health()
	w.trouble.isMoved = false
}

// otherPass is a pass of an operator beside the usual one: a replica that looked before another one acted, or
// another install.
func (w *World) otherPass(effects int) plan.Decision {
	identity := w.Cluster
	defer func() {
		if w.Cluster.UID == identity.UID {
			w.Cluster = identity
		}
	}()
	switch {
	case w.sometimes(w.trouble.Installs, 2, "another install"):
		w.Cluster.Operator = "another install"
		w.logf("another install looks")
	case w.trouble.Overlap:
		return w.overlap(effects)
	}
	return w.take(w.ObserveStale(), effects)
}

// overlap is a pass of one replica within another's: between its look and its decision.
func (w *World) overlap(effects int) plan.Decision {
	w.ledger.looks++
	look, o := w.ledger.looks, w.Observe()
	w.logf("another replica acts between look and decision:")
	uid := w.Cluster.UID
	w.take(w.ObserveStale(), immortal)
	w.advance()
	if w.Cluster.UID != uid {
		return plan.Decision{} // what it looked at is gone, with all its objects
	}
	return w.takeOn(look, o, effects)
}

// checkInstall is I7: an operator changes nothing of a cluster that another install looks after. Who deletes the peer
// Service deletes one claim, and the data has the other.
func (w *World) checkInstall(before snapshot) {
	keeper := w.keeper(before.objects)
	if keeper != "" && keeper != w.Cluster.Operator && !w.trouble.isRaced && w.hasChanged(before) {
		w.violate("I7: %s changed what %s looks after", w.Cluster.Operator, keeper)
	}
}
