package ahead

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// goOn lets all happen that Kubernetes and etcd do by themselves when all goes well. It reports whether anything was
// under way.
func (w *model) goOn() (moved bool) {
	w.o.Now = w.o.Now.Add(step)
	for again := true; again; moved = moved || again {
		again = w.endPods()
		again = w.makeVolumes() || again
		again = w.runTasks() || again
		again = w.startPods() || again
		again = w.serve() || again
	}
	w.lead()
	w.catchUp()
	w.forget()
	return moved
}

// endPods lets Pods go that were asked to, and volumes that nothing uses any more.
func (w *model) endPods() (moved bool) {
	w.eachReplica(func(r facts.Replica) bool { return r.Pod != nil && r.Pod.Terminating && r.Pod.HeldBy == "" },
		func(r *facts.Replica) { r.Pod, moved = nil, true })
	w.eachReplica(func(r facts.Replica) bool {
		return r.Volume != nil && r.Volume.Terminating && r.Volume.HeldBy == "" && r.Pod == nil && r.Restoring == nil
	}, func(r *facts.Replica) { r.Volume, moved = nil, true })
	return moved
}

// makeVolumes has volumes be there that a Pod waits for, and those that grow have what they were asked for.
func (w *model) makeVolumes() (moved bool) {
	w.eachReplica(func(r facts.Replica) bool {
		return r.Volume != nil && r.Volume.IsUnbound() && (r.Pod != nil || r.Restoring != nil) && r.Volume.Unmade == ""
	}, func(r *facts.Replica) {
		v := r.Volume
		v.Phase, v.Backing, v.Capacity, moved = facts.VolumeBound, v.UID, v.Bytes, true
		v.Attributes.Has = v.Attributes.Asked
		if !v.WAL.IsZero() {
			v.Half = facts.Half{VolumeRef: facts.VolumeRef{Name: r.Name + "-wal", UID: v.UID + "-wal"},
				Bytes: v.WAL.Bytes, Capacity: v.WAL.Bytes, Class: v.WAL.StorageClass,
				Attributes: facts.Attributes{Asked: v.WAL.Attributes, Has: v.WAL.Attributes, For: v.WAL.Attributes}}
		}
	})
	isUnderWay := func(g facts.Growth) bool {
		return g.State == facts.GrowthUnderWay || g.State == facts.GrowthAtNode
	}
	w.eachReplica(func(r facts.Replica) bool {
		return r.Volume != nil && (isUnderWay(r.Volume.Growth) || isUnderWay(r.Volume.Half.Growth))
	}, func(r *facts.Replica) {
		v := r.Volume
		if moved = true; isUnderWay(v.Growth) {
			v.Capacity, v.Growth = v.Bytes, facts.Growth{}
		}
		if isUnderWay(v.Half.Growth) {
			v.Half.Capacity, v.Half.Growth = v.Half.Bytes, facts.Growth{}
		}
	})
	return w.giveAttributes() || moved
}

// giveAttributes has volumes get the class that their claims name, where something works on it or nothing is known of
// it.
func (w *model) giveAttributes() (moved bool) {
	isComing := func(a facts.Attributes) bool {
		return a.Asked != a.Has && (a.State == facts.AttributesUnderWay || a.State == facts.AttributesNotBegun)
	}
	w.eachReplica(func(r facts.Replica) bool {
		return r.Volume != nil && r.Volume.Phase == facts.VolumeBound &&
			(isComing(r.Volume.Attributes) || isComing(r.Volume.Half.Attributes))
	}, func(r *facts.Replica) {
		for _, a := range []*facts.Attributes{&r.Volume.Attributes, &r.Volume.Half.Attributes} {
			if isComing(*a) {
				a.Has, a.State, moved = a.Asked, facts.AttributesNotBegun, true
			}
		}
	})
	return moved
}

// runTasks has Pods that run once end well, and those go that were asked to.
func (w *model) runTasks() (moved bool) {
	run := func(t *facts.Task) {
		if t.Terminating || t.HasSucceeded() || t.HasFailed() || facts.StartProblems[t.Waiting] != "" {
			return
		}
		t.Phase, t.Started, t.Finished, moved = facts.PodSucceeded, true, w.o.Now, true
	}
	if p := copyOf(w.o.Preflight); p != nil && p.Found.IsZero() {
		if run(&p.Task); p.HasSucceeded() {
			p.Found, w.o.Preflight = foundFor(p.Asked), p
		}
	}
	w.eachReplica(func(r facts.Replica) bool { return r.Restoring != nil }, func(r *facts.Replica) {
		if r.Restoring.Terminating {
			r.Restoring, moved = nil, true
			return
		}
		if r.Restoring.Holds && r.Restoring.Phase == facts.PodPending {
			r.Restoring.Phase, r.Restoring.Started, moved = facts.PodRunning, true, true
		} else if !r.Restoring.Holds {
			run(&r.Restoring.Task)
		}
	})
	return w.runDefrags(run) || moved
}

// runDefrags has defragmentations end well, and give their space back.
func (w *model) runDefrags(run func(*facts.Task)) (moved bool) {
	w.eachReplica(func(r facts.Replica) bool { return r.Defragmenting != nil }, func(r *facts.Replica) {
		if r.Defragmenting.Terminating {
			r.Defragmenting, moved = nil, true
			return
		}
		if p := r.Defragmenting; !p.HasSucceeded() && !p.HasFailed() {
			if run(&p.Task); !p.HasSucceeded() {
				return
			}
			p.Before, p.After = p.Until+1, max(1, p.Until-1)
			w.shrink(r)
		}
	})
	return moved
}

// foundFor is a backup as one wants it: small, and of the version that the spec asks for.
func foundFor(asked facts.Inquiry) record.Origin {
	return record.Origin{Hash: asked.Hash, Key: "foretold", SHA256: "foretold", SizeBytes: 1, Revision: 1,
		Version: asked.Version}
}

// shrink is a file without the space that was not in use.
func (w *model) shrink(r *facts.Replica) {
	if r.Pod == nil {
		return
	}
	if answer, answers := w.etcd.answers[r.Pod.UID]; answers {
		answer.DBSize = answer.DBSizeInUse
		w.etcd.answers[r.Pod.UID] = answer
	}
}

// startPods runs what is young and has no trouble. What was in trouble when it was looked at stays so.
func (w *model) startPods() (moved bool) {
	w.eachReplica(func(r facts.Replica) bool {
		return r.Pod != nil && !r.Pod.Terminating && w.isStarting(r)
	}, func(r *facts.Replica) {
		p := r.Pod
		p.Phase, p.Scheduled, p.Started, p.Running, p.Booted = facts.PodRunning, true, true, true, true
		p.RunningSince, p.Process, p.Waiting, p.Message = w.o.Now, "process of "+p.UID, "", ""
		p.UnplacedFrom, moved = time.Time{}, true
	})
	w.eachReplica(func(r facts.Replica) bool {
		return r.Pod != nil && r.Pod.Resize.State == facts.ResizeInProgress
	}, func(r *facts.Replica) { r.Pod.Resize, moved = facts.Resize{}, true })
	return moved
}

func (w *model) isStarting(r facts.Replica) bool {
	p := r.Pod
	isTroubled := p.HasEnded() || p.Exit != nil || p.NodeGone != "" || !p.NodeUnheard.IsZero() || r.CannotStart() ||
		r.Volume != nil && (r.Volume.Unmade != "" || r.Volume.Terminating || r.Volume.IsSpoilt())
	return !p.Running && !isTroubled
}

// serve has members answer that run, and form a cluster where they are the first ones. A kubelet calls them ready.
func (w *model) serve() (moved bool) {
	in := &w.o.Current
	if len(w.etcd.members) == 0 && in.Bootstrap.ClusterID == 0 && w.isComplete() {
		w.form()
	}
	for i := range in.Members {
		r := &in.Members[i]
		if r.Pod == nil || r.Pod.Terminating || !r.Pod.Running || w.memberOf(r.Name) == nil {
			continue
		}
		p := r.Pod
		if _, answers := w.etcd.answers[p.UID]; !answers && !p.HadStartTime(w.o.Now) {
			answer := w.etcd.says
			answer.Version = p.Settings.Version
			w.etcd.answers[p.UID], moved = answer, true
		}
		if _, answers := w.etcd.answers[p.UID]; answers && !p.Ready && !p.HeldUnready && p.NodeNotReady == "" {
			p.Ready, p.ReadySince, p.StatusAt, moved = true, w.o.Now, w.o.Now, true
		}
	}
	return moved
}

// isComplete reports that each first member runs.
func (w *model) isComplete() bool {
	names := w.o.Current.Bootstrap.Names
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		return !w.o.Current.Find(name).IsRunning()
	})
}

// form makes a cluster of the first members.
func (w *model) form() {
	b := w.o.Current.Bootstrap
	w.etcd.id, w.etcd.leader = w.idOf("cluster "+b.Incarnation), w.idOf(b.Names[0])
	w.etcd.says = facts.Answer{Revision: max(1, b.Origin.Revision), Applied: uint64(2 * len(b.Names))}
	for _, name := range b.Names {
		url := w.url(name, w.o.Current.Find(name).RunsWith().Transport)
		w.etcd.members = append(w.etcd.members, etcdutil.Member{ID: w.idOf(name), Name: name,
			PeerURLs: []string{url}, ClientURLs: []string{url}})
	}
}

// lead has a member lead that answers.
func (w *model) lead() {
	for _, m := range w.etcd.members {
		if _, answers := w.serving(m); m.ID == w.etcd.leader && answers {
			return
		}
	}
	for _, m := range w.etcd.members {
		if _, answers := w.serving(m); answers && !m.Learner {
			w.etcd.leader = m.ID
			return
		}
	}
}

// catchUp has all that serve say the same, and the version of the cluster follow theirs.
func (w *model) catchUp() {
	says := &w.etcd.says
	w.moveVersion()
	for i := range w.etcd.members {
		r, answers := w.serving(w.etcd.members[i])
		if !answers {
			continue
		}
		w.etcd.members[i].Name = r.Name
		answer := w.etcd.answers[r.Pod.UID]
		answer.Revision, answer.Applied, answer.Alarms = says.Revision, says.Applied, says.Alarms
		answer.Versions = facts.Versions{Cluster: says.Versions.Cluster}
		if answer.Version.Minor >= 6 {
			answer.Versions.Storage, answer.Versions.Downgrade = says.Versions.Cluster, says.Versions.Downgrade
		}
		w.etcd.answers[r.Pod.UID] = answer
	}
}

// moveVersion is etcd's monitor: once every member runs a higher minor, the cluster is of that version. A downgrade
// lowers it, and ends once every member runs its target.
func (w *model) moveVersion() {
	says := &w.etcd.says
	var lowest, highest etcdutil.Version
	for i, m := range w.etcd.members {
		r, answers := w.serving(m)
		if !answers {
			return
		}
		runs := w.etcd.answers[r.Pod.UID].Version.OfMinor()
		if i == 0 || runs.Compare(lowest) < 0 {
			lowest = runs
		}
		if runs.Compare(highest) > 0 {
			highest = runs
		}
	}
	switch down := says.Versions.Downgrade; {
	case down.IsZero():
		if lowest.Compare(says.Versions.Cluster) > 0 {
			says.Versions.Cluster = lowest
		}
	case highest.Compare(down) <= 0:
		says.Versions.Downgrade, says.Versions.Cluster = etcdutil.Version{}, down
	default:
		if says.Versions.Cluster != down {
			w.etcd.saved++ // at once, as etcd does
		}
		says.Versions.Cluster = down
	}
}

// forget leaves out names of which nothing is left.
func (w *model) forget() {
	b := w.o.Current.Bootstrap
	isLeft := func(r facts.Replica) bool {
		hasSecret := r.Secret.State != "" && r.Secret.State != facts.ObjectAbsent
		return r.Pod != nil || r.Volume != nil || r.Restoring != nil || r.Defragmenting != nil || hasSecret ||
			w.memberOf(r.Name) != nil || r.Name == b.Promised || slices.Contains(b.Names, r.Name) ||
			slices.Contains(b.Next.Names, r.Name)
	}
	for _, in := range w.eachIncarnation() {
		in.Members = facts.Filter(in.Members, isLeft)
	}
	w.o.Former = slices.DeleteFunc(w.o.Former, func(in facts.Incarnation) bool { return len(in.Members) == 0 })
}
