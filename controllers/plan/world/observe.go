package world

import (
	"cmp"
	"maps"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Observe is what the operator sees now.
func (w *World) Observe() facts.Observation { return w.observe(w.objects) }

// ObserveStale is what an operator with a lagging cache sees: old objects, and etcd as it answers now.
func (w *World) ObserveStale() facts.Observation {
	if len(w.past) == 0 {
		return w.Observe()
	}
	back := w.doCount(deedStale, w.chance(len(w.past), "moment that is seen", ""), -1)
	if back < 0 || back >= len(w.past) {
		return w.Observe()
	}
	o := w.observe(w.lagging(w.past[len(w.past)-1-back]))
	if w.sometimes(w.trouble.StaleSpecs, 2, "a stale spec") {
		o.Desired = w.specs[w.chance(len(w.specs), "spec that is seen", "")]
		o.Desired = w.asks(o)
	}
	return o
}

// asks is what is asked for, by an observation that is whole otherwise.
func (w *World) asks(o facts.Observation) facts.Desired {
	o.Desired = atStop(o)
	o.Desired.Window, o.Desired.Lead, o.Desired.Rotation = w.window(), w.lead(), w.Rotation
	o.Desired = reached(o)
	return w.trusting(o)
}

func (w *World) observe(from objects) facts.Observation {
	now, ahead := w.clocks()
	o := facts.Observation{
		Now: now, Ahead: ahead, Cluster: w.Cluster, Desired: w.Spec,
		Current: facts.Incarnation{Bootstrap: from.bootstrap}, ClaimedBy: from.claim, DataClaim: w.dataClaim(from),
		Budget: facts.Budget{Object: facts.Object{Kind: "PodDisruptionBudget", Name: "demo",
			State: state(from.budget > 0)}, MinAvailable: from.budget},
		Objects: []facts.Object{
			{Kind: "Secret", Name: "demo-ca", State: state(from.made["demo-ca"]), CA: true},
			{Kind: "Service", Name: "demo", State: state(from.made["demo"])},
		},
	}
	w.observeMetadata(from, &o)
	o.Preflight = from.preflight
	o.History = w.history(from.bootstrap.ClusterID)
	w.observeRetained(from, &o)
	w.observeTrust(from, &o.Objects[0])
	o.Requests = from.requests
	o.Schedules = []facts.Schedule{{Name: "nightly", UpToDate: !w.trouble.isLate}}
	names := map[string]bool{}
	for _, name := range slices.Concat(from.bootstrap.Names, from.bootstrap.Next.Names) {
		names[name] = true
	}
	if from.bootstrap.Promised != "" {
		names[from.bootstrap.Promised] = true
	}
	for _, set := range []map[string]bool{keys(from.pods), keys(from.restores), keys(from.defrags), w.ownVolumes(from),
		keys(from.secrets)} {
		maps.Copy(names, set)
	}
	answers := w.answers(from)
	o.Current.Membership = w.membership(answers)
	for _, m := range o.Current.Membership.Members {
		names[w.nameOfURL(m.PeerURLs[0])] = true
	}
	for _, name := range sortedKeys(names) {
		list := w.incarnationOf(from, name, &o)
		*list = append(*list, w.replica(from, o.Current.Membership, answers, name))
	}
	w.addHashes(&o)
	w.addSnapshots(&o)
	o.Desired = w.asks(o)
	w.observeAuth(&o)
	for _, in := range append([]facts.Incarnation{o.Current, o.Next}, o.Former...) {
		slices.SortFunc(in.Members, func(a, b facts.Replica) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	}
	return o
}

// observeRetained tells what an earlier object left from what is ours.
func (w *World) observeRetained(from objects, o *facts.Observation) {
	for _, name := range sortedKeys(from.volumes) {
		v := from.volumes[name]
		if v.kept != facts.NoCause && v.owner == w.Cluster.UID && !v.Terminating {
			ordinal, _ := etcdutil.Ordinal(w.Cluster.Name, name)
			o.Kept = append(o.Kept, facts.KeptVolume{Name: name, UID: v.UID, Ordinal: ordinal, For: v.kept,
				ClusterID: v.Record.ClusterID, Since: v.keptSince})
		}
		if v.owner != w.Cluster.UID && !v.Terminating {
			o.Retained = append(o.Retained, facts.Retained{Kind: "PersistentVolumeClaim", Name: name, UID: v.UID,
				Owner: v.owner, Backing: v.Backing, Kept: v.kept != facts.NoCause, Incarnation: v.Incarnation,
				Record: v.Record, Superseded: v.Superseded, TLS: w.Spec.TLS})
		}
	}
	if from.made["demo-ca"] && from.caOwner != w.Cluster.UID {
		o.Retained = append(o.Retained, facts.Retained{Kind: kindSecret, Name: "demo-ca", UID: "ca",
			Owner: from.caOwner})
		o.Objects[0].State = facts.ObjectForeign
	}
}

// lagging is what the operator's caches show: all of one moment, or each kind of another one.
func (w *World) lagging(from objects) objects {
	if !w.trouble.SkewedCaches {
		return from
	}
	other := func() objects { return w.past[w.chance(len(w.past), "moment of another cache", "")] }
	from.pods, from.volumes, from.bootstrap = other().pods, other().volumes, other().bootstrap
	secrets := other()
	from.secrets, from.trusts, from.requests = secrets.secrets, secrets.trusts, other().requests
	services, budget, tasks := other(), other(), other()
	from.made, from.caOwner, from.ca, from.budget = services.made, services.caOwner, services.ca, budget.budget
	from.beside = services.beside
	from.preflight, from.restores, from.defrags = tasks.preflight, tasks.restores, tasks.defrags
	return from
}

func (w *World) ownVolumes(from objects) map[string]bool {
	out := map[string]bool{}
	for name, v := range from.volumes {
		if v.owner == w.Cluster.UID && v.kept == facts.NoCause {
			out[name] = true
		}
	}
	return out
}

func state(there bool) facts.ObjectState {
	if there {
		return facts.ObjectCurrent
	}
	return facts.ObjectAbsent
}

// secretUID is that of certificates. It is the same in old objects and in new ones: here a name gets them once.
func secretUID(from objects, name string) string {
	if from.secrets[name] == "" {
		return ""
	}
	return name + "-tls"
}

func (w *World) replica(from objects, m facts.Membership, answers map[string]*facts.Answer, name string) facts.Replica {
	ordinal, _ := etcdutil.Ordinal(w.Cluster.Name, name)
	r := facts.Replica{Name: name, Ordinal: ordinal, Answer: answers[name], IsUnwanted: name == w.Unwanted,
		ToFence: name == w.Fenced,
		Secret:  facts.Object{State: state(from.secrets[name] != ""), UID: secretUID(from, name)}}
	w.observeCertificates(from, name, &r.Secret)
	if p, ok := from.pods[name]; ok {
		copied := w.dated(p)
		copied.Drain = w.drainOf(p)
		if proc := w.procs[p.UID]; proc != nil && proc.instead != "" {
			r.Impostor = w.answerInstead(proc)
		}
		r.Pod = &copied
	}
	if t, ok := from.restores[name]; ok {
		copied := t.RestorePod
		r.Restoring = &copied
	}
	if p, ok := from.defrags[name]; ok {
		r.Defragmenting = &p
	}
	if v, ok := from.volumes[name]; ok && v.owner == w.Cluster.UID && v.kept == facts.NoCause {
		copied := v.Volume
		r.Volume = &copied
	}
	if r.Volume != nil {
		r.Volume.Misplaced = w.misplaced(from.volumes[name], r)
	}
	r.Storage = w.storageOf(from, r)
	if r.Ephemeral {
		r.Volume = nil
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
func (w *World) answers(from objects) map[string]*facts.Answer {
	out := map[string]*facts.Answer{}
	for _, name := range sortedKeys(from.pods) {
		p := w.procs[from.pods[name].UID]
		if !p.isHeard() || w.Unheard[plain(from.pods[name].made)] || isFormer(from, name) {
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
		raised, size, inUse := c.alarmed(w.Spec.Settings.QuotaBytes, p.disk)
		out[name] = &facts.Answer{
			Alarms: append(raised, c.corruptAlarms()...), DBSize: size, DBSizeInUse: inUse,
			ID: p.disk.member, ClusterID: c.id, Leader: leader, Version: from.pods[name].made.Version,
			Revision: c.at(p.disk.applied), Applied: uint64(p.disk.applied + p.disk.entries),
			Learner: c.members[i].Learner, Versions: c.says(from.pods[name].made.Version, p.disk),
		}
	}
	return out
}

// answerInstead is what another etcd says at the address of a member.
func (w *World) answerInstead(p *process) *facts.Answer {
	if other := w.procs[w.objects.pods[p.instead].UID]; other != nil {
		c := w.clusters[other.disk.cluster]
		return &facts.Answer{ID: other.disk.member, ClusterID: c.id, Leader: c.leader, Version: w.Spec.Settings.Version,
			Revision: int64(other.disk.applied) + 1, Applied: uint64(other.disk.applied)}
	}
	return &facts.Answer{ID: 0xfeed, ClusterID: 0xbeef, Leader: 0xfeed, Version: w.Spec.Settings.Version, Revision: 7,
		Applied: 7}
}

// addHashes has every member that answers asked for its hash, where copies are in doubt.
func (w *World) addHashes(o *facts.Observation) {
	if !plan.AsksForHashes(*o) {
		return
	}
	for _, r := range o.Current.Members {
		if sum, ok := w.Hash(r.Name); ok && r.Answer != nil {
			r.Answer.Hash = &facts.Hash{Sum: sum, Revision: 1}
		}
	}
}

// at is the revision after so many writes. Nothing is at revision 1.
func (c *cluster) at(writes int) int64 { return max(c.base, 1) + int64(writes) }

func (w *World) membership(answers map[string]*facts.Answer) facts.Membership {
	m := facts.Membership{Why: "no member answers"}
	for _, name := range sortedKeys(answers) {
		a := answers[name]
		c := w.clusters[a.ClusterID]
		if m.ClusterID != 0 && m.ClusterID != c.id {
			return facts.Membership{Conflict: "two clusters", Why: "members disagree"}
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
