package ahead

import (
	"cmp"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// How incarnations begin: by a bootstrap, or by a restore in place.

func (w *model) makeBootstrap(c changes.Change) {
	b := &w.o.Current.Bootstrap
	switch c := c.(type) {
	case changes.BeginBootstrap:
		*b, w.o.ClaimedBy = record.Bootstrap(c), w.o.Cluster.Operator
		for _, name := range b.Names {
			w.edit(&w.o.Current, name, func(*facts.Replica) {})
		}
	case changes.Bootstrap:
		w.applyObjects(c.Objects, c.Secrets)
		w.createVolumes(&w.o.Current, c.Volumes, b.Incarnation)
		b.Begun, b.Volumes, b.NextOrdinal = true, map[string]string{}, max(b.NextOrdinal, len(b.Names))
		for _, name := range b.Names {
			if v := w.o.Current.Find(name).Volume; v != nil {
				b.Volumes[name] = v.UID
			}
		}
		w.createRestores(&w.o.Current, c.Restores, b.Incarnation)
		w.createPods(c.Pods)
	case changes.RecordBootstrap:
		b.ClusterID = c.ClusterID
	case changes.FallAsleep:
		b.Asleep = true
	case changes.WakeUp:
		b.Asleep = false
	case changes.OwnAuth:
		b.Auth = c.Own
	default:
	}
}

func (w *model) createRestores(in *facts.Incarnation, restores []changes.Restoring, incarnation string) {
	for _, l := range restores {
		w.edit(in, l.Name, func(r *facts.Replica) {
			r.Restoring = &facts.RestorePod{Incarnation: incarnation, Settings: l.Settings, Holds: l.Holds,
				Task: facts.Task{UID: w.uid(), Created: w.o.Now, Phase: facts.PodPending}}
		})
	}
}

// makeNext is what a restore in place does.
func (w *model) makeNext(c changes.Change) {
	b := &w.o.Current.Bootstrap
	switch c := c.(type) {
	case changes.BeginNext:
		b.BeginNext(c.From, c.Next, c.NextOrdinal)
		for _, name := range c.Names {
			w.edit(&w.o.Next, name, func(*facts.Replica) {})
		}
	case changes.PrepareNext:
		for _, name := range c.Secrets {
			w.issue(name)
		}
		w.createVolumes(&w.o.Next, c.Volumes, c.Incarnation)
		w.createRestores(&w.o.Next, c.Restores, c.Incarnation)
	case changes.RecordRestored:
		for _, ref := range c.Volumes {
			w.editVolume(ref, func(r *facts.Replica) { r.Volume.Restored = c.Incarnation })
		}
	case changes.DeleteRestores:
		for _, ref := range c.Pods {
			w.eachReplica(func(r facts.Replica) bool { return r.Restoring != nil && r.Restoring.UID == ref.UID },
				func(r *facts.Replica) { r.Restoring.Terminating = true })
		}
	case changes.DropNext:
		b.Next = record.Next{}
	case changes.SwitchOver:
		w.switchOver(c)
	case changes.MarkFormer:
		for _, ref := range c.Volumes {
			w.editVolume(ref, func(r *facts.Replica) { r.Volume.Superseded = cmp.Or(r.Volume.Superseded, c.By) })
		}
	default:
	}
}

// switchOver makes the next incarnation the current one. Its cluster has yet to form.
func (w *model) switchOver(c changes.SwitchOver) {
	old := w.o.Current
	old.Bootstrap = record.Bootstrap{Incarnation: c.From}
	next := w.o.Next
	next.Bootstrap = w.o.Current.Bootstrap
	next.Bootstrap.SwitchOver(c.From, c.To, c.Volumes, c.Voters)
	w.o.Current, w.o.Next, w.o.Former = next, facts.Incarnation{}, append(w.o.Former, old)
	w.etcd = etcd{answers: map[string]facts.Answer{}, unknown: facts.Membership{Why: "no member runs"}}
}
