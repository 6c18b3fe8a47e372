package world

import (
	"cmp"
	"maps"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Observe is what the operator sees now.
func (w *World) Observe() plan.Observation { return w.observe(w.objects) }

// ObserveStale is what an operator with a lagging cache sees: old objects, and etcd as it answers now.
func (w *World) ObserveStale() plan.Observation {
	if len(w.past) == 0 {
		return w.Observe()
	}
	return w.observe(w.past[w.rng.IntN(len(w.past))])
}

func (w *World) observe(from objects) plan.Observation {
	o := plan.Observation{
		Now: w.Now, Cluster: w.Cluster, Desired: w.Spec, Birth: from.birth,
		Budget: plan.Budget{Object: plan.Object{Kind: "PodDisruptionBudget", Name: "demo", State: state(from.budget > 0)}, MinAvailable: from.budget},
		Objects: []plan.Object{
			{Kind: "Secret", Name: "demo-ca", State: state(from.made["demo-ca"]), Authority: true},
			{Kind: "Service", Name: "demo", State: state(from.made["demo"])},
		},
	}
	o.Preflight = from.preflight
	w.observeRetained(from, &o)
	o.Requests = from.requests
	names := map[string]bool{}
	for _, name := range from.birth.Coming.Names {
		names[name] = true
	}
	for _, set := range []map[string]bool{keys(from.pods), keys(from.restores), w.ownVolumes(from), from.secrets} {
		maps.Copy(names, set)
	}
	answers := w.answers(from)
	o.Membership = w.membership(answers)
	for _, m := range o.Membership.Members {
		names[w.nameOfURL(m.PeerURLs[0])] = true
	}
	for _, name := range sortedKeys(names) {
		list := w.lifeOf(from, name, &o)
		*list = append(*list, w.replica(from, o.Membership, answers, name))
	}
	for _, list := range [][]plan.Replica{o.Replicas, o.Coming, o.Former} {
		slices.SortFunc(list, func(a, b plan.Replica) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	}
	return o
}

// observeRetained tells what an earlier object left from what is ours.
func (w *World) observeRetained(from objects, o *plan.Observation) {
	for _, name := range sortedKeys(from.volumes) {
		if v := from.volumes[name]; v.owner != w.Cluster.UID && !v.Terminating {
			o.Retained = append(o.Retained, plan.Retained{Kind: "PersistentVolumeClaim", Name: name, UID: v.UID, Owner: v.owner,
				Incarnation: v.Incarnation, Record: v.Record, Superseded: v.Superseded, TLS: w.Spec.TLS})
		}
	}
	if from.made["demo-ca"] && from.caOwner != w.Cluster.UID {
		o.Retained = append(o.Retained, plan.Retained{Kind: kindSecret, Name: "demo-ca", UID: "ca", Owner: from.caOwner})
		o.Objects[0].State = plan.ObjectForeign
	}
}

func (w *World) ownVolumes(from objects) map[string]bool {
	out := map[string]bool{}
	for name, v := range from.volumes {
		if v.owner == w.Cluster.UID {
			out[name] = true
		}
	}
	return out
}

func state(there bool) plan.ObjectState {
	if there {
		return plan.ObjectCurrent
	}
	return plan.ObjectAbsent
}

func (w *World) replica(from objects, m plan.Membership, answers map[string]*plan.Answer, name string) plan.Replica {
	ordinal, _ := etcdutil.Ordinal(w.Cluster.Name, name)
	r := plan.Replica{Name: name, Ordinal: ordinal, Ephemeral: w.Spec.Ephemeral, Answer: answers[name], Secret: plan.Object{State: state(from.secrets[name])}}
	if p, ok := from.pods[name]; ok {
		copied := p.Pod
		r.Pod = &copied
	}
	if t, ok := from.restores[name]; ok {
		copied := t.RestorePod
		r.Restoring = &copied
	}
	if v, ok := from.volumes[name]; ok && v.owner == w.Cluster.UID {
		copied := v.Volume
		r.Volume = &copied
	}
	for _, member := range m.Members {
		if w.nameOfURL(member.PeerURLs[0]) == name {
			copied := member
			r.Member = &copied
		}
	}
	return r
}

// answers asks every Pod that the operator sees and that serves. A process serves from the first quorum it was part of.
func (w *World) answers(from objects) map[string]*plan.Answer {
	out := map[string]*plan.Answer{}
	for _, name := range sortedKeys(from.pods) {
		p := w.procs[from.pods[name].UID]
		if p == nil || !p.served || p.ill == frozen || p.ill == hidden || w.Unheard[from.pods[name].made] || isFormer(from, name) {
			continue
		}
		c := w.clusters[p.disk.cluster]
		i := c.find(p.disk.member)
		if i < 0 {
			continue
		}
		leader := c.leader
		if p.ill == isolated {
			leader = 0
		}
		raised, size := c.alarmed(w.Spec.QuotaBytes)
		out[name] = &plan.Answer{
			Alarms: raised, DBSize: size,
			ID: p.disk.member, ClusterID: c.id, Leader: leader, Version: from.pods[name].made.Version,
			Revision: c.bump() + int64(p.disk.applied) + 1, Applied: uint64(p.disk.applied), Learner: c.members[i].Learner,
		}
	}
	return out
}

// bump is by how much a restore raises revisions.
func (c *cluster) bump() int64 {
	if c.from == "" {
		return 0
	}
	return 1e9
}

func (w *World) membership(answers map[string]*plan.Answer) plan.Membership {
	m := plan.Membership{Why: "no member answers"}
	for _, name := range sortedKeys(answers) {
		a := answers[name]
		c := w.clusters[a.ClusterID]
		if m.ClusterID != 0 && m.ClusterID != c.id {
			return plan.Membership{Conflict: "two clusters", Why: "members disagree"}
		}
		m.ClusterID, m.LastKnown = c.id, slices.Clone(c.members)
		if w.hasQuorum(c) && !a.Learner && a.Leader != 0 {
			m.Known, m.Leader, m.Members = true, c.leader, slices.Clone(c.members)
		}
	}
	if m.Known {
		m.Why, m.LastKnown = "", nil
	}
	return m
}
