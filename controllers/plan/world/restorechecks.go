package world

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// checkBeginning holds a bootstrap to what the spec asks for at that moment.
func (w *World) checkBeginning(origin record.Origin) {
	if (origin.Hash != w.Spec.Restore.Hash || w.Spec.Restore.Fault != "") && !w.trouble.isRaced {
		w.violate("a bootstrap begins with %q, and the spec asks for %+v", origin.Hash, w.Spec.Restore)
	}
	if origin.AuthEnabled && !w.Spec.TLS {
		w.violate("a bootstrap begins with authentication on, and there are no certificates")
	}
}

// checkVoid lets nothing be given up that answers with data.
func (w *World) checkVoid() {
	for name, a := range w.answers(w.objects) {
		if a.Revision > 1 {
			w.violate("a bootstrap was abandoned, and %s answers with revision %d", name, a.Revision)
		}
	}
}

// checkRestored holds what is written on a volume to what lies there.
func (w *World) checkRestored(name, diskUID string) {
	bootstrap, incarnation := w.objects.bootstrap, w.objects.volumes[name].Incarnation
	origin := bootstrap.Origin
	switch incarnation {
	case bootstrap.Next.Incarnation:
		origin = bootstrap.Next.Origin
	case bootstrap.Incarnation:
	default:
		return // given up meanwhile
	}
	if d := w.disks[diskUID]; d != nil && !d.isEmpty() && !isFrom(d.from, origin) {
		w.violate("the volume of %s is called restored, and holds %q", name, d.from)
	}
}

// checkFirstStart holds a first member that starts from data to the backup of the record, and lets none start empty
// beside one.
func (w *World) checkFirstStart(name string, p pod, d *disk) {
	origin := w.objects.bootstrap.Origin
	if origin.IsZero() || p.Incarnation != w.objects.bootstrap.Incarnation ||
		!slices.Contains(w.objects.bootstrap.Names, name) {
		return
	}
	if p.seen == facts.FlagsBootstrap {
		w.violate("%s starts as at the bootstrap, in a cluster that begins with a backup", name)
	}
	if !d.isEmpty() && !isFrom(d.from, origin) {
		w.violate("%s starts from %q, and the cluster began with %q", name, d.from, origin.SHA256)
	}
}

// checkOrigin says of a cluster whose identity is written down that it holds what it was to begin with. A record that
// was written anew does not say that any more: its volumes were looked at when they were called restored.
func (w *World) checkOrigin(id etcdutil.ID) {
	c, bootstrap := w.clusters[id], w.objects.bootstrap
	origin := bootstrap.Origin
	if origin.IsZero() && w.isOnVolumes(bootstrap.Incarnation) {
		return
	}
	if c != nil && !isFrom(c.from, origin) {
		w.violate("the cluster holds %q and was to begin with %q", c.from, origin.SHA256)
	}
}
