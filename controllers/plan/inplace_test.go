package plan

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Worlds of restores in place. The incarnation that serves is demo-0 to demo-2; the one that is restored beside it begins at demo-3.

var asked = Request{Name: "back", ID: "r1", Created: now.Add(-time.Minute), Source: record.SourceBackup, WantedBackup: WantedBackup{Hash: "wish"}, Bump: 1e9}

// requesting has an EtcdRestore, which is approved on the evidence there is.
func requesting(o Observation, edits ...func(*Request)) Observation {
	r := asked
	r.Approval = o.Evidence().Digest
	for _, edit := range edits {
		edit(&r)
	}
	o.Requests = append(append([]Request(nil), o.Requests...), r)
	return o
}

func unapproved(r *Request)    { r.Approval = "" }
func staleApproval(r *Request) { r.Approval = "0123456789abcdef" }
func forNothing(r *Request)    { r.Source, r.WantedBackup = record.SourceEmpty, WantedBackup{} }
func ofDemo0(r *Request) {
	r.Source, r.WantedBackup, r.Survivor = record.SourceSurvivor, WantedBackup{}, "demo-0"
}
func givingUp(r *Request) { r.DeletesOld = true }

// lookedAt has found the backup that the first EtcdRestore asks for.
func lookedAt(o Observation, edits ...func(*Preflight)) Observation {
	asking := looking(o.current().asking(o.Requests[0]).Observation, edits...)
	o.Preflight = asking.Preflight
	return o
}

// coming is a member of the next incarnation: its volume, and the Pod that restores it.
func coming(ordinal int) Replica {
	name, incarnation := etcdutil.MemberName("demo", ordinal), IncarnationID("u1", 1)
	return Replica{
		Name: name, Ordinal: ordinal, Secret: Object{Kind: "Secret", Name: name + "-tls", State: ObjectCurrent},
		Volume:    &Volume{UID: "volume-" + name, Created: now.Add(-2 * time.Second), Phase: VolumeBound, Incarnation: incarnation, Choices: choices, Bytes: 8 << 30},
		Restoring: &RestorePod{Incarnation: incarnation, Choices: choices, Task: Task{UID: "restore-" + name, Created: now.Add(-time.Second), Phase: PodRunning, Started: true}},
	}
}

// layingWorld restores an incarnation of three beside one of three, for the first EtcdRestore.
func layingWorld(o Observation) Observation {
	r := o.Requests[0]
	life := record.Next{Incarnation: IncarnationID("u1", 1), Counter: 1, Token: token("u1", IncarnationID("u1", 1)), Source: r.Source, Survivor: r.Survivor, Bump: r.Bump, Restore: r.ID}
	n := o.Desired.Size
	switch r.Source {
	case record.SourceBackup:
		life.Origin = backupOf
	case record.SourceSurvivor:
		n, life.Origin = 1, record.Origin{Hash: r.ID, Revision: 10, Version: choices.Version}
	case record.SourceEmpty:
	}
	for i := range n {
		c := coming(o.Current.Birth.NextOrdinal + i)
		if r.Source == record.SourceEmpty {
			c.Restoring = nil
		}
		life.Names, o.Next.Members = append(life.Names, c.Name), append(o.Next.Members, c)
	}
	o.Current.Birth.Next, o.Current.Birth.LastCounter, o.Current.Birth.NextOrdinal = life, 1, o.Current.Birth.NextOrdinal+n
	return o
}

// next changes the member of an ordinal in the next incarnation.
func (o Observation) next(ordinal int, changes ...func(*Replica)) Observation {
	o.Next.Members = changed(o.Next.Members, ordinal, changes)
	return o
}

// former changes the member of an ordinal in the former incarnation.
func (o Observation) former(ordinal int, changes ...func(*Replica)) Observation {
	o.Former = []Incarnation{{Birth: o.Former[0].Birth, Members: changed(o.Former[0].Members, ordinal, changes)}}
	return o
}

func changed(in []Replica, ordinal int, changes []func(*Replica)) []Replica {
	out := make([]Replica, len(in))
	for i, r := range in {
		out[i] = copied(r)
		for _, change := range changes {
			if r.Ordinal == ordinal {
				change(&out[i])
			}
		}
	}
	return out
}

// laidWorld has all of the next incarnation.
func laidWorld(o Observation) Observation {
	o = layingWorld(o)
	for _, r := range o.Next.Members {
		if r.Restoring != nil {
			o = o.next(r.Ordinal, written, cleared)
		}
	}
	return o
}

// movedWorld has just moved to the next incarnation: the record is of it, and the members of the one before still run.
func movedWorld(o Observation) Observation {
	o = laidWorld(o)
	life := o.Current.Birth.Next
	o.Current.Birth.Former = []record.Former{{Incarnation: o.Current.Birth.Incarnation, Voters: o.current().knownVoters()}}
	o.Current.Birth.Incarnation, o.Current.Birth.Counter, o.Current.Birth.Token, o.Current.Birth.Names = life.Incarnation, life.Counter, life.Token, life.Names
	o.Current.Birth.Origin, o.Current.Birth.Restore, o.Current.Birth.ClusterID, o.Current.Birth.Promised, o.Current.Birth.Begun = life.Origin, life.Restore, 0, "", true
	o.Current.Birth.Next, o.Current.Birth.Volumes = record.Next{}, map[string]string{}
	for _, r := range o.Next.Members {
		o.Current.Birth.Volumes[r.Name] = r.Volume.UID
	}
	ended := Incarnation{Birth: record.Birth{Incarnation: o.Current.Birth.Former[0].Incarnation}}
	o.Current.Members, o.Next.Members = o.Next.Members, nil
	for _, r := range settledWorld(len(o.Current.Birth.Former[0].Voters)).Current.Members {
		r.Member, r.Answer = nil, nil
		ended.Members = append(ended.Members, r)
	}
	o.Former = []Incarnation{ended}
	o.Current.Membership = Membership{Why: "nobody there"}
	return o
}

func markedOld(r *Replica)     { r.Volume.Superseded = IncarnationID("u1", 1) }
func stoppedOld(r *Replica)    { r.Pod, r.Secret.State = nil, ObjectAbsent }
func leavingOld(r *Replica)    { leaving(r); r.Secret.State = ObjectAbsent }
func unlabelledOld(r *Replica) { r.Pod.Role = "" }
func notLeftOld(r *Replica)    { leavingOld(r); r.Pod.Node, r.Pod.GoneBy = "node-7", now.Add(-time.Hour) }
func (o Observation) everyFormer(changes ...func(*Replica)) Observation {
	for _, r := range o.Former[0].Members {
		o = o.former(r.Ordinal, changes...)
	}
	return o
}

// unbudgeted has no disruption budget.
func (o Observation) unbudgeted() Observation {
	o.Budget = Budget{Object: Object{Kind: "PodDisruptionBudget", Name: "demo", State: ObjectAbsent}}
	return o
}

// fencedWorld has stopped the previous incarnation.
func fencedWorld(o Observation) Observation {
	return movedWorld(o).unbudgeted().everyFormer(markedOld, stoppedOld)
}

// servingWorld is a cluster that was restored in place and serves again.
func servingWorld(o Observation) Observation {
	o = fencedWorld(o)
	o.Current.Birth.ClusterID = clusterID
	for i, r := range o.Current.Members {
		v := voter(r.Ordinal)
		v.Pod.Incarnation, v.Volume.Incarnation, v.Volume.Restored = o.Current.Birth.Incarnation, o.Current.Birth.Incarnation, o.Current.Birth.Incarnation
		v.Answer.Leader = etcdutil.ID(o.Current.Members[0].Ordinal + 1)
		o.Current.Members[i] = v
	}
	o.Current.Membership = Membership{Known: true, ClusterID: clusterID, Leader: etcdutil.ID(o.Current.Members[0].Ordinal + 1)}
	o.Budget = Budget{Object: Object{Kind: "PodDisruptionBudget", Name: "demo", State: ObjectCurrent}, MinAvailable: budgetFor(o.current(), 3)}
	o = o.joined()
	o.Budget.MinAvailable = budgetFor(o.current(), len(o.Current.Members))
	return o
}

// lostWorld has one of three members left, which answers without a quorum.
func lostWorld() Observation {
	o := settledWorld(3).edit(1, noData).edit(2, noData)
	members := settledWorld(3).Current.Membership.Members
	o = o.blind()
	o.Current.Membership.LastKnown = members
	o.Current.Members[0].Answer = &Answer{ID: 1, ClusterID: clusterID, Version: choices.Version, Revision: 10, Applied: 5000}
	return o
}

// inPlace are restores in place.
func inPlace() []row {
	three := settledWorld(3)
	begin := requesting(three)
	laying, laid := layingWorld(begin), laidWorld(begin)
	const rule = "restore-prepare"
	return []row{
		{"an EtcdRestore that nobody approved changes nothing", requesting(three, unapproved), Settled, RuleSettled, ReasonSettled, "", ""},
		{"nor does an approval of other evidence", requesting(three, staleApproval), Settled, RuleSettled, ReasonSettled, "", ""},
		{"nor one that this incarnation came of", func() Observation { o := begin; o.Current.Birth.Restore = "r1"; return o }(), Settled, RuleSettled, ReasonSettled, "", ""},
		{"nor one that an earlier incarnation came of", func() Observation {
			o := begin
			o.Current.Birth.Former = []record.Former{{Incarnation: "old", Restore: "r1"}}
			return requesting(o, func(r *Request) { r.ID = "r2"; r.Approval = "" })
		}(),
			Settled, RuleSettled, ReasonSettled, "", ""},
		{"a paused cluster is not restored", desire(begin, func(d *Desired) { d.Paused = true }), Wait, "hands-off", ReasonPaused, "", ""},
		{"nor one that is being deleted", desire(laid, func(d *Desired) { d.Deleting = true }), Wait, "hands-off", ReasonDeleting, "", ""},
		{"nor one whose spec is refused", desire(laid, func(d *Desired) { d.Fault = "no such version" }), Refuse, "spec-refused", ReasonSpecRefused, "", ""},
		{"the backup of an approved EtcdRestore is looked at", begin, Act, "restore-begin", ReasonPreflight, "StartPreflight", ""},
		{"the cluster is looked after meanwhile", lookedAt(begin).edit(1, noPod), Act, "pods", ReasonPodMissing, "StartPods", "demo-1"},
		{"a backup that cannot be used is refused, and the cluster goes on", lookedAt(begin, hasFailed(time.Second)), Refuse, "restore-begin", ReasonPreflight, "", "the credentials are refused"},
		{"one that was looked at for somebody else is looked at anew", looking(begin, hasFound), Act, "restore-begin", ReasonPreflight, "DeletePreflight", ""},
		{"an EtcdRestore that names nothing is refused", requesting(three, func(r *Request) { r.WantedBackup = WantedBackup{Fault: "there is no EtcdBackup b"} }), Refuse, "restore-begin", ReasonRestoreHeld, "", "there is no EtcdBackup"},
		{"so is one where the data lives in Pods", requesting(inMemory(three)), Refuse, "restore-begin", ReasonRestoreHeld, "", "ephemeral"},
		{"and one whose members nobody would trust", withoutAuthority(begin),
			Refuse, "restore-begin", ReasonRestoreHeld, "", "put it back"},
		{"and one for which a name is taken", taken(begin), Refuse, "restore-begin", ReasonRestoreHeld, "", "Service demo exists"},
		{"for a backup of another version nobody is told to bend the spec of what serves", lookedAt(begin, hasFound, ofNewer), Refuse, "restore-begin", ReasonPreflight, "",
			"create another EtcdCluster with it in spec.bootstrap.restore and spec.version of 3.7"},
		{"nor to delete it for one with authentication", lookedAt(requesting(plain(three)), hasFound, withAuth), Refuse, "restore-begin", ReasonPreflight, "",
			"create another EtcdCluster with it in spec.bootstrap.restore and with spec.tls.mode Managed"},
		{"nor to change it where the same would be found again", lookedAt(begin, hasFailed(time.Hour), because("StoreNotFound")), Refuse, "restore-begin", ReasonPreflight, "",
			"delete the EtcdRestore and create another"},
		{"without a backup nothing is given up while a quorum holds", requesting(three, forNothing), Refuse, "restore-begin", ReasonRestoreHeld, "", "not certainly lost"},
		{"nor is a member rebuilt from", requesting(three, ofDemo0), Refuse, "restore-begin", ReasonRestoreHeld, "", "not certainly lost"},
		{"what was found is promised beside what serves", lookedAt(begin, hasFound), Act, "restore-begin", ReasonInPlace, "BeginNext", "demo-3, demo-4, demo-5"},
		{"so it is without a quorum", lookedAt(requesting(lostWorld()), hasFound), Act, "restore-begin", ReasonInPlace, "BeginNext", "demo-3"},
		{"what the preflight found is written down; its Pod is a leftover", func() Observation { o := lookedAt(begin, hasFound); l := laying; l.Preflight = o.Preflight; return l }(),
			Act, "restore-leftover", ReasonLeftover, "DeletePreflight", ""},
		{"nobody deletes it before", lookedAt(begin), Wait, "restore-begin", ReasonPreflight, "", ""},

		{"what the next incarnation needs is made", func() Observation { o := laying; o.Next.Members = nil; return o }(), Act, rule, ReasonInPlace, "PrepareNext", "next 3 members"},
		{"what is restored is waited for", laying, Wait, rule, ReasonRestore, "", "demo-3, demo-4, demo-5"},
		{"and the cluster is looked after", laying.edit(1, noPod), Act, "pods", ReasonPodMissing, "StartPods", "demo-1"},
		{"a member that lost its data is removed meanwhile", laying.edit(1, noData), Act, "replace", ReasonRepair, "RemoveMember", "demo-1"},
		{"but the cluster does not grow", desire(laying, func(d *Desired) { d.Size = 5 }), Wait, rule, ReasonRestore, "", ""},
		{"nor shrink", desire(laying, func(d *Desired) { d.Size = 1 }), Wait, rule, ReasonRestore, "", ""},
		{"unless it waits for a person: then lost members are made up for", staled(laying.edit(2, gone)), Act, "grow", ReasonGrow, "PrepareMember", "demo-6"},
		{"a volume that is not its own keeps a member from being restored", laying.next(4, cleared, func(r *Replica) { r.Volume.Incarnation, r.Volume.Restored = "old", "old" }).next(3, written, cleared).next(5, written, cleared),
			Refuse, rule, ReasonRestoreHeld, "", "demo-4"},
		{"nor roll: the next members take the settings", wanting(laying, other), Act, rule, ReasonNewChoices, "SetChoices", "demo-3"},
		{"and so do those whose restore Pods Kubernetes did not admit", wanting(laying.next(4, cleared), other), Act, rule, ReasonNewChoices, "SetChoices", "spec: demo-4."},
		{"then these are made", wanting(laying.next(4, cleared, given(other)), other), Act, rule, ReasonInPlace, "PrepareNext", ""},
		{"where it lies is written down", laying.next(4, laid1), Act, rule, ReasonRestore, "RecordRestored", "demo-4"},
		{"then the Pod that restored it there goes", laying.next(4, laid1, written), Act, rule, ReasonRestore, "DeleteRestores", "demo-4"},
		{"what failed is said, and the cluster goes on", laying.next(4, failed(time.Second)), Refuse, rule, ReasonRestoreFailed, "", "no room"},
		{"and tried again", laying.next(4, failed(time.Hour)), Act, rule, ReasonRestore, "DeleteRestores", "demo-4"},
		{"what was restored on a volume that is gone says nothing of the next one", laying.next(4, laid1, func(r *Replica) { r.Volume = nil }), Act, rule, ReasonInPlace, "DeleteRestores", "demo-4"},
		{"nor on one that is going", laying.next(4, laid1, doomed), Act, rule, ReasonInPlace, "DeleteRestores", "demo-4"},
		{"then another volume is made", laying.next(4, cleared, func(r *Replica) { r.Volume = nil }), Act, rule, ReasonInPlace, "PrepareNext", ""},
		{"a new volume whose node is gone is another one", laying.next(4, written, cleared, stranded1), Act, rule, ReasonInPlace, "DeleteVolumes", "demo-4"},
		{"an approval that went stale meanwhile drops nothing", staled(laying), Wait, rule, ReasonRestore, "", ""},

		{"an EtcdRestore that is deleted is called off", unrequested(laying), Act, "restore-call-off", ReasonCallOff, "DeleteRestores", "demo-3, demo-4, demo-5"},
		{"so is one whose approval is taken back", requesting(unrequested(laid), unapproved), Act, "restore-call-off", ReasonCallOff, "DeleteVolumes", "demo-3, demo-4, demo-5"},
		{"and one that asks for something else by now", requesting(unrequested(laid), func(r *Request) { r.ID = "r2" }), Act, "restore-call-off", ReasonCallOff, "DeleteVolumes", ""},
		{"a Pod on a node that does not answer asks for a person", unrequested(laying.next(3, cleared).next(4, lostTask).next(5, cleared)), Refuse, "restore-call-off", ReasonCallOff, "",
			"out-of-service, or delete the Pod by force"},
		{"so it does while something is restored", laying.next(4, lostTask), Refuse, rule, ReasonPodLeaving, "", "out-of-service, or delete the Pod by force"},
		{"and beside a volume that is gone", laying.next(4, lostTask, func(r *Replica) { r.Volume = nil }), Refuse, rule, ReasonInPlace, "", "out-of-service, or delete the Pod by force"},
		{"volumes wait for the Pods on them", unrequested(laying.next(3, cleared).next(4, goingTask).next(5, cleared)), Wait, "restore-call-off", ReasonCallOff, "", "demo-4"},
		{"the cluster is looked after meanwhile, too", unrequested(laying.next(3, cleared).next(4, goingTask).next(5, cleared)).edit(1, noPod), Act, "pods", ReasonPodMissing, "StartPods", ""},
		{"then the certificates go", unrequested(emptied(laid)), Act, "restore-call-off", ReasonCallOff, "DeleteSecret", "demo-3"},
		{"then the promise", unrequested(emptied(laid).next(3, noSecret).next(4, noSecret).next(5, noSecret)), Act, "restore-call-off", ReasonCallOff, "DropNext", ""},

		{"the cluster switches over once all of it is restored", laid, Act, "restore-switch-over", ReasonInPlace, "SwitchOver", "cannot be called off"},
		{"not while a restore Pod is there", laid.next(4, func(r *Replica) { r.Restoring = coming(4).Restoring }, written), Act, rule, ReasonRestore, "DeleteRestores", ""},
		{"not without a member's certificates", laid.next(4, noSecret), Act, rule, ReasonInPlace, "PrepareNext", ""},
		{"not while a name that its members need is taken", taken(laid), Refuse, "restore-switch-over", ReasonRestoreHeld, "", "serve on: something that the cluster needs is not to be had. Service demo exists"},
		{"nor while the spec is refused", refusing(laid), Refuse, "spec-refused", ReasonSpecRefused, "", ""},
		{"nor while something that failed would be the same again", laying.next(4, task(func(p *RestorePod) {
			p.Phase, p.Finished, p.Reason, p.Failure = PodFailed, now, "DataExists", "it is so"
		})),
			Refuse, rule, ReasonRestoreFailed, "", "delete the EtcdRestore and create another"},
		{"not on an approval of other evidence", staled(laid), Refuse, "restore-switch-over", ReasonRestoreHeld, "", "approve that"},
		{"not to another minor version than the spec asks for", wanting(laid, newer), Refuse, "restore-switch-over", ReasonRestoreHeld, "", "Put spec.version back"},
		{"what cannot be moved to keeps nobody from looking after the cluster", laid.next(4, func(r *Replica) { r.Pod = voter(4).Pod }).edit(1, noPod), Act, "pods", ReasonPodMissing, "StartPods", "demo-1"},
		{"a backup that is not named any more is said", layingWorld(requesting(three, func(r *Request) { r.WantedBackup.Fault = "there is no EtcdBackup b" })), Refuse, rule, ReasonRestoreHeld, "", "there is no EtcdBackup"},
		{"so is one that is another backup by now, and the cluster is looked after", layingWorld(requesting(three, func(r *Request) { r.WantedBackup.Hash = "another" })), Refuse, rule, ReasonRestoreHeld, "", "Delete the EtcdRestore, and make another"},
		{"the next members take the settings before it moves", wanting(laid, other), Act, "restore-switch-over", ReasonNewChoices, "SetChoices", "spec: demo-3, demo-4, demo-5."},
		{"a name that turns out to be a member's is given back", namesake(laid), Act, "restore-call-off", ReasonCallOff, "DeleteVolumes", "demo-3, demo-4, demo-5"},
		{"and nobody is counted until then", desire(namesake(laying.next(3, cleared).next(4, goingTask).next(5, cleared)), func(d *Desired) { d.Size = 1 }), Wait, "membership", ReasonCallOff, "", "nothing is added or removed"},
		{"not while a member that somebody added could go on without the others", strangers(laid), Refuse, "membership", ReasonStranger, "", ""},
		{"not while the authority is gone that clients trust", withoutAuthority(laid), Refuse, "restore-switch-over", ReasonRestoreHeld, "", "demo-ca, which holds the authority"},
		{"once it is restored nobody needs its name", laidWorld(requesting(three, func(r *Request) { r.WantedBackup.Fault = "there is no EtcdBackup b" })), Act, "restore-switch-over", ReasonInPlace, "SwitchOver", ""},
		{"a member that was replaced meanwhile needs another approval", laid.edit(2, gone).with(voter(9)), Refuse, "restore-switch-over", ReasonRestoreHeld, "", "approve that"},
	}
}

// withoutAuthority has lost the Secret of an authority.
func withoutAuthority(o Observation) Observation {
	o.Objects = append([]Object(nil), o.Objects...)
	o.Objects[0].State = ObjectAbsent
	return o
}

// namesake has a member that nobody knew of when its name was given to another one.
func namesake(o Observation) Observation {
	o.Current.Membership.Members = append(slices.Clone(o.Current.Membership.Members), etcdutil.Member{ID: 77, Name: "demo-3", PeerURLs: []string{o.current().peerURL("demo-3")}})
	return o
}

// strangers has a member that was added by hand.
func strangers(o Observation) Observation {
	o.Current.Membership.Strangers = []etcdutil.Member{{ID: 77, Name: "theirs", PeerURLs: []string{"http://elsewhere:2380"}}}
	return o
}

// outvoted has no quorum, and one member that remembers as many that were added by hand.
func outvoted(o Observation, strangers int) Observation {
	list := slices.Clone(o.Current.Membership.Members)
	for i := range strangers {
		list = append(list, etcdutil.Member{ID: etcdutil.ID(77 + i), Name: "theirs", PeerURLs: []string{"http://elsewhere:2380"}})
	}
	o = reticent(o)
	o.Current.Membership.LastKnown = list
	return requesting(unrequested(o))
}

// reticent has no quorum, and one member that answers and does not say who else there is.
func reticent(o Observation) Observation {
	return requesting(unrequested(o.blind().edit(0, func(r *Replica) { r.Answer = voter(0).Answer })))
}

func laid1(r *Replica)     { laid(r) }
func stranded1(r *Replica) { r.Volume.Stranded = "node-2 was deleted" }

func ofNewer(p *Preflight) { p.Found.Version = newer.Version }

var lostTask = task(func(p *RestorePod) { p.Terminating, p.GoneBy = true, now.Add(-time.Hour) })

var goingTask = task(func(p *RestorePod) { p.Terminating, p.GoneBy = true, now.Add(time.Minute) })

func unrequested(o Observation) Observation { o.Requests = nil; return o }
func staled(o Observation) Observation {
	return requesting(unrequested(o), staleApproval)
}

// emptied has lost the volumes of the next incarnation.
func emptied(o Observation) Observation {
	for _, r := range o.Next.Members {
		o = o.next(r.Ordinal, func(r *Replica) { r.Volume = nil })
	}
	return o
}
