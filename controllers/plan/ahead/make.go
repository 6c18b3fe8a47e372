package ahead

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// make does to the world what a change does, and reports whether it is known what that is. It has one case per change
// and no default: the linter finds one that is missing.
func (w *model) make(c changes.Change) bool {
	switch c := c.(type) {
	case changes.AdoptData, changes.VoidBootstrap, changes.NextBootstrap, changes.GoBack, changes.MarkCurrent,
		changes.MarkFlushed, changes.Compact, changes.TurnCA:
		return false // what follows depends on what an earlier cluster left, or on what members hold or trust
	case changes.AskIssuer, changes.DeleteRequests: // an issuer is not foretold
	case changes.StartPreflight:
		w.o.Preflight = &facts.Preflight{Asked: c.Asked,
			Task: facts.Task{UID: w.uid(), Created: w.o.Now, Phase: facts.PodPending}}
	case changes.DeletePreflight:
		w.o.Preflight = nil
	case changes.TakeOver:
		w.o.ClaimedBy, w.o.DataClaim = w.o.Cluster.Operator, w.o.Cluster.Operator
	case changes.BeginBootstrap, changes.Bootstrap, changes.RecordBootstrap, changes.FallAsleep, changes.WakeUp,
		changes.OwnAuth:
		w.makeBootstrap(c)
	case changes.BeginNext, changes.PrepareNext, changes.DropNext, changes.SwitchOver, changes.MarkFormer,
		changes.RecordRestored, changes.DeleteRestores:
		w.makeNext(c)
	case changes.ApplyObjects:
		w.applyObjects(c.Objects, c.Secrets)
	case changes.SetBudget:
		w.o.Budget.MinAvailable, w.o.Budget.State, w.o.Budget.Detail = c.MinAvailable, facts.ObjectCurrent, ""
		if c.MinAvailable == 0 {
			w.o.Budget.State = facts.ObjectAbsent
		}
	case changes.FollowPolicy:
		w.o.Astray = slices.DeleteFunc(w.o.Astray, func(d facts.DataRef) bool { return slices.Contains(c.Items, d) })
	case changes.DeleteSecret:
		w.eachReplica(named(c.Name), func(r *facts.Replica) { r.Secret.State, r.Secret.UID = facts.ObjectAbsent, "" })
		w.o.Objects = slices.DeleteFunc(w.o.Objects, func(o facts.Object) bool {
			holder, isIt := o.HolderOf()
			return isIt && holder == c.Name
		})
	case changes.SealPods, changes.LabelRole, changes.DressPods, changes.RestoreInputs, changes.ResizePod,
		changes.StartPods, changes.DeletePods, changes.EvictPod, changes.StopMembers, changes.StartDefrag,
		changes.DeleteDefrag:
		w.makePods(c)
	case changes.RecordMembers, changes.WriteSettings, changes.ExpandVolume, changes.ModifyVolume, changes.MarkVolume,
		changes.KeepVolume, changes.DeleteVolumes:
		w.makeVolumeChange(c)
	case changes.PrepareMember:
		w.prepare(c)
	case changes.AddLearner, changes.SetPeerScheme, changes.Promote, changes.RemoveMember, changes.MoveLeader,
		changes.DisarmAlarms, changes.AppendEntries, changes.EnableDowngrade, changes.CancelDowngrade:
		w.askEtcd(c)
	case changes.MakeUsers:
		w.o.Auth.HasUsers = true
	case changes.EnableAuth:
		w.o.Auth.On = true
	case changes.DisableAuth:
		w.o.Auth.On = false
	}
	return true
}

func named(name string) func(facts.Replica) bool {
	return func(r facts.Replica) bool { return r.Name == name }
}

// applyObjects has objects be as they should. Pods and claims among them got labels or annotations of ours.
func (w *model) applyObjects(objects []facts.Object, secrets []string) {
	isWritten := func(o facts.Object) bool {
		return slices.ContainsFunc(objects, func(c facts.Object) bool { return c.Kind == o.Kind && c.Name == o.Name })
	}
	w.o.Objects = slices.DeleteFunc(w.o.Objects, func(o facts.Object) bool {
		return isWritten(o) && (o.Kind == "Pod" || o.Kind == "PersistentVolumeClaim")
	})
	for i := range w.o.Objects {
		if o := &w.o.Objects[i]; isWritten(*o) {
			o.State, o.Detail, o.Unmarked = facts.ObjectCurrent, "", false
		}
	}
	for _, name := range secrets {
		w.issue(name)
	}
}

func (w *model) issue(name string) {
	secret := facts.Object{Kind: "Secret", State: facts.ObjectCurrent, UID: w.uid()}
	isThere := false
	w.eachReplica(named(name), func(r *facts.Replica) { r.Secret, isThere = secret, true })
	if !isThere {
		w.edit(&w.o.Current, name, func(r *facts.Replica) { r.Secret = secret })
	}
}

func (w *model) createVolumes(in *facts.Incarnation, volumes []changes.NewVolume, incarnation string) {
	for _, v := range volumes {
		w.edit(in, v.Name, func(r *facts.Replica) {
			d := w.o.Desired
			r.Volume = &facts.Volume{UID: w.uid(), Created: w.o.Now, Phase: facts.VolumePending,
				Incarnation: incarnation, Settings: v.Settings, Bytes: v.Bytes, AskedBytes: d.StorageBytes,
				MadeFor: d.StorageClass, Class: d.StorageClass, AccessMode: d.AccessMode, WAL: d.WAL,
				Attributes: facts.Attributes{Asked: d.Attributes, For: d.Attributes}}
		})
	}
}

func (w *model) createPods(starts []changes.Start) {
	for _, s := range starts {
		w.edit(&w.o.Current, s.Name, func(r *facts.Replica) {
			if r.Pod != nil {
				return
			}
			r.Storage = facts.StorageOf(*r, w.o.Current.Bootstrap, w.o.Desired.Storage)
			r.Pod = &facts.Pod{UID: w.uid(), Created: w.o.Now, Phase: facts.PodPending, Flags: s.Flags, Role: s.Role,
				Incarnation: w.o.Current.Bootstrap.Incarnation, Settings: s.Settings, Transport: s.Settings.Transport,
				Uncompared: s.Flags == facts.FlagsSealed && w.spec.Compares,
				Drain:      facts.Drain{IsKnown: w.spec.SeesDrains}}
		})
	}
}

// prepare promises a name, and makes what its member needs.
func (w *model) prepare(c changes.PrepareMember) {
	name, b := c.Volume.Name, &w.o.Current.Bootstrap
	b.Promised, b.NextOrdinal = name, max(b.NextOrdinal, w.o.OrdinalOf(name)+1)
	w.edit(&w.o.Current, name, func(r *facts.Replica) { r.Storage = w.o.Desired.Storage })
	if c.Secret {
		w.issue(name)
	}
	if !w.o.Desired.Ephemeral {
		w.createVolumes(&w.o.Current, []changes.NewVolume{c.Volume}, b.Incarnation)
	}
}

func (w *model) makePods(c changes.Change) {
	switch c := c.(type) {
	case changes.SealPods:
		for _, s := range c.Pods {
			w.editPod(s.Pod, func(p *facts.Pod) { w.seal(p, s) })
		}
	case changes.LabelRole:
		w.editPod(c.Pod, func(p *facts.Pod) { p.Role = c.Role })
	case changes.DressPods:
		for _, ref := range c.Pods {
			w.editPod(ref, func(p *facts.Pod) { p.Undressed = false })
		}
	case changes.RestoreInputs:
		w.editPod(c.Pod, func(p *facts.Pod) { p.Settings = c.Settings })
	case changes.ResizePod:
		w.editPod(c.Pod, func(p *facts.Pod) { p.Settings, p.Resize = c.Settings, facts.Resize{} })
	case changes.StartPods:
		w.createPods(c.Pods)
	case changes.DeletePods:
		w.end(c.Pods...)
	case changes.EvictPod:
		w.end(c.Pod)
	case changes.StopMembers:
		w.end(c.Pods...)
	case changes.StartDefrag:
		w.eachReplica(named(c.Name), func(r *facts.Replica) {
			task := facts.Task{UID: w.uid(), Created: w.o.Now, Phase: facts.PodPending}
			r.Defragmenting = &facts.DefragPod{Task: task, Since: w.o.Now, Deadline: c.Deadline, Until: c.Until}
		})
	case changes.DeleteDefrag:
		w.eachReplica(named(c.Name), func(r *facts.Replica) { r.Defragmenting = nil })
	default:
	}
}

// seal is a Pod that starts from its data alone. Without a process that was compared its next one has yet to be.
func (w *model) seal(p *facts.Pod, s changes.Seal) {
	isCompared := s.Process == p.Process || p.Flags == facts.FlagsSealed && !p.Uncompared
	p.Uncompared = w.spec.Compares && !isCompared
	p.Flags = facts.FlagsSealed
	if s.Role != "" || s.LeadAway {
		p.Role = s.Role
	}
}

func (w *model) end(pods ...facts.PodRef) {
	for _, ref := range pods {
		w.editPod(ref, func(p *facts.Pod) { p.Terminating = true })
	}
}

func (w *model) editPod(ref facts.PodRef, change func(*facts.Pod)) {
	w.eachReplica(func(r facts.Replica) bool { return r.Pod != nil && r.Pod.UID == ref.UID },
		func(r *facts.Replica) { change(r.Pod) })
}

func (w *model) makeVolumeChange(c changes.Change) {
	switch c := c.(type) {
	case changes.RecordMembers:
		for _, m := range c.Members {
			w.eachReplica(named(m.Name), func(r *facts.Replica) {
				if r.Volume != nil {
					r.Volume.Record = m.Record
				} else if r.Pod != nil {
					r.Pod.Record = m.Record
				}
			})
		}
	case changes.WriteSettings:
		for _, ref := range c.Volumes {
			w.editVolume(ref, func(r *facts.Replica) { r.Volume.Settings = c.Settings })
		}
	case changes.ExpandVolume:
		w.expand(c)
	case changes.ModifyVolume:
		w.modify(c)
	case changes.MarkVolume:
		w.editVolume(c.Volume, func(r *facts.Replica) { r.Volume.RemovedFor = c.For })
	case changes.KeepVolume:
		w.keep(c)
	case changes.DeleteVolumes:
		for _, ref := range c.Volumes {
			w.editVolume(ref, func(r *facts.Replica) { r.Volume.Terminating = true })
			w.o.Kept = slices.DeleteFunc(w.o.Kept, func(v facts.KeptVolume) bool { return v.UID == ref.UID })
			w.o.Strays = slices.DeleteFunc(w.o.Strays, func(s facts.Stray) bool { return s.VolumeRef == ref })
		}
	default:
	}
}

func (w *model) editVolume(ref facts.VolumeRef, change func(*facts.Replica)) {
	w.eachReplica(func(r facts.Replica) bool { return r.HasVolume(ref) }, change)
}

// keep puts a volume aside, or dates one that was.
func (w *model) keep(c changes.KeepVolume) {
	for i := range w.o.Kept {
		if w.o.Kept[i].UID == c.Volume.UID {
			w.o.Kept[i].Since = w.o.Latest()
		}
	}
	w.editVolume(c.Volume, func(r *facts.Replica) {
		w.o.Kept = append(w.o.Kept, facts.KeptVolume{Name: r.Name, UID: r.Volume.UID, Ordinal: r.Ordinal, For: c.For,
			ClusterID: r.Volume.Record.ClusterID, Since: w.o.Latest()})
		r.Volume = nil
	})
}

// expand has a claim ask for another size.
func (w *model) expand(c changes.ExpandVolume) {
	grows := facts.Growth{State: facts.GrowthUnderWay, Since: w.o.Now}
	if c.LogOf != "" {
		w.eachReplica(named(c.LogOf), func(r *facts.Replica) {
			if v := r.Volume; v != nil {
				v.Half.Bytes, v.Half.Growth, v.WAL.Bytes = c.Bytes, grows, w.o.Desired.WAL.Bytes
			}
		})
		return
	}
	w.editVolume(c.Volume, func(r *facts.Replica) {
		r.Volume.Bytes, r.Volume.AskedBytes, r.Volume.Growth = c.Bytes, w.o.Desired.StorageBytes, grows
	})
}

// modify has a claim name another class.
func (w *model) modify(c changes.ModifyVolume) {
	if c.LogOf != "" {
		w.eachReplica(named(c.LogOf), func(r *facts.Replica) {
			if v := r.Volume; v != nil {
				v.Half.Attributes = facts.Attributes{Asked: c.Class, Has: v.Half.Attributes.Has,
					For: w.o.Desired.WAL.Attributes}
			}
		})
		return
	}
	w.editVolume(c.Volume, func(r *facts.Replica) {
		r.Volume.Attributes = facts.Attributes{Asked: c.Class, Has: r.Volume.Attributes.Has,
			For: w.o.Desired.Attributes}
	})
}

// covers is more entries than etcd writes to its log before it writes a snapshot of what they add up to.
const covers = 200_000

func (w *model) askEtcd(c changes.Change) {
	e := &w.etcd
	switch c := c.(type) {
	case changes.AddLearner:
		e.members = append(e.members, etcdutil.Member{ID: w.idOf(c.Name),
			PeerURLs: []string{w.url(c.Name, c.Transport)}, Learner: true})
	case changes.SetPeerScheme:
		if i := w.indexOf(c.Name); i >= 0 {
			e.members[i].PeerURLs = []string{etcdutil.PeerURL(c.Scheme, c.Name, w.o.Cluster.Name,
				w.o.Cluster.Namespace)}
		}
	case changes.Promote:
		if i := w.indexOf(c.Name); i >= 0 {
			e.members[i].Learner = false
		}
	case changes.RemoveMember:
		w.remove(c)
	case changes.MoveLeader:
		e.leader = c.ToID
	case changes.DisarmAlarms:
		e.says.Alarms = nil
	case changes.AppendEntries:
		if e.says.Applied++; c.Until > 0 {
			e.says.Applied, e.saved = c.Until+covers, e.saved+1
		}
	case changes.EnableDowngrade:
		e.says.Versions.Downgrade = c.Minor
	case changes.CancelDowngrade:
		e.says.Versions.Downgrade = etcdutil.Version{}
	default:
	}
}

// remove takes a member out of the list. Its process ends for that.
func (w *model) remove(c changes.RemoveMember) {
	b := &w.o.Current.Bootstrap
	if b.Promised == c.Name {
		b.Promised = ""
	}
	w.etcd.members = slices.DeleteFunc(w.etcd.members, func(m etcdutil.Member) bool { return m.ID == c.ID })
	w.eachReplica(named(c.Name), func(r *facts.Replica) {
		if p := r.Pod; p != nil && p.Running {
			delete(w.etcd.answers, p.UID)
			p.Running, p.Ready, p.ReadySince, p.Process = false, false, w.o.Now, ""
			p.Exit = &facts.Exit{Reason: etcdutil.ExitRemoved, At: w.o.Now}
		}
	})
}
