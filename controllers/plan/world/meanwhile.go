package world

import (
	"errors"
	"maps"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/record"
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
	acting, identity, isOlder := w.ledger.acting, w.Cluster, w.trouble.isOlder
	w.trouble.isOlder = false
	w.logf("meanwhile, in the middle of a pass:")
	switch w.chance(3, "what happens meanwhile", "") {
	case 0:
		w.advance()
	case 1:
		w.StalePass()
	default:
		w.Fault()
		w.trouble.isRaced = true
	}
	w.ledger.acting, w.ledger.isFresh, w.trouble.isOlder = acting, false, isOlder
	if w.Cluster.UID == identity.UID {
		w.Cluster = identity
	}
	w.ledger.before = w.health()
	w.trouble.isMoved = false
}

// isAny reports whether any of these is so.
func (w *World) isAny(all ...bool) bool {
	for _, one := range all {
		if one {
			return true
		}
	}
	return false
}

// otherPass is a pass of an operator beside the usual one: a replica that looked before another one acted, another
// install, or an older release.
func (w *World) otherPass(life int) plan.Decision {
	identity := w.Cluster
	defer func() {
		w.trouble.isOlder = false
		if w.Cluster.UID == identity.UID {
			w.Cluster = identity
		}
	}()
	switch {
	case w.sometimes(w.trouble.Installs, 2, "another install"):
		w.Cluster.Operator = "another install"
		w.logf("another install looks")
	case w.sometimes(w.trouble.OlderRelease, 2, "an older release"):
		w.trouble.isOlder = true
		w.logf("an older release looks")
	case w.trouble.Overlap:
		return w.overlap(life)
	}
	return w.take(w.ObserveStale(), life)
}

// overlap is a pass of one replica within another's: between its look and its decision.
func (w *World) overlap(life int) plan.Decision {
	w.ledger.looks++
	look, o := w.ledger.looks, w.Observe()
	w.logf("another replica acts between look and decision:")
	uid := w.Cluster.UID
	w.take(w.ObserveStale(), immortal)
	w.advance()
	if w.Cluster.UID != uid {
		return plan.Decision{} // what it looked at is gone, with all its objects
	}
	return w.takeOn(look, o, life)
}

// checkInstall is I7: an operator changes nothing of a cluster that another install looks after. Who deletes the peer
// Service deletes the claim as well, and two installs may both act for a moment.
func (w *World) checkInstall(before snapshot) {
	claim := before.objects.claim
	if claim != "" && claim != w.Cluster.Operator && !w.trouble.isRaced && !w.recordLost && w.hasChanged(before) {
		w.violate("I7: %s changed what %s looks after", w.Cluster.Operator, claim)
	}
}

// knownToOlder is a birth record as a release reads and writes it that does not know restores in place.
func knownToOlder(birth record.Birth) record.Birth {
	birth.Next, birth.Former, birth.Restore, birth.LastCounter = record.Next{}, nil, "", 0
	return birth
}

// shown is what the operator that acts understands of the objects that it sees.
func (w *World) shown(from objects) objects {
	if w.trouble.isOlder {
		from.birth, from.requests = knownToOlder(from.birth), nil
	}
	return from
}

// forgetAsOlder drops what an older release does not know of a birth record that it wrote.
func (w *World) forgetAsOlder(before record.Birth) {
	if w.trouble.isOlder && !isSameBirth(before, w.objects.birth) {
		w.objects.birth = knownToOlder(w.objects.birth)
	}
}

func isSameBirth(a, b record.Birth) bool {
	return a.Incarnation == b.Incarnation && a.Void == b.Void && a.ClusterID == b.ClusterID && a.Begun == b.Begun &&
		a.Promised == b.Promised &&
		a.NextOrdinal == b.NextOrdinal && a.Next.Incarnation == b.Next.Incarnation && maps.Equal(a.Volumes, b.Volumes)
}
