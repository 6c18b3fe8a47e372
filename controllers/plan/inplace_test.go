package plan

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Worlds of restores in place. The incarnation that serves is demo-0 to demo-2; the one that is restored beside it
// begins at demo-3.

var asked = facts.Request{Name: "back", ID: "r1", Created: now.Add(-time.Minute), Source: record.SourceBackup,
	WantedBackup: facts.WantedBackup{Hash: "wish"}, Bump: 1e9}

// requesting has an EtcdRestore, which is approved on the evidence there is.
func requesting(o scene, edits ...func(*facts.Request)) scene {
	r := asked
	r.Approval = EvidenceOf(o.Observation).Digest
	for _, edit := range edits {
		edit(&r)
	}
	o.Requests = append(append([]facts.Request(nil), o.Requests...), r)
	return o
}

func unapproved(r *facts.Request) { r.Approval = "" }

func staleApproval(r *facts.Request) { r.Approval = "0123456789abcdef" }

func forNothing(r *facts.Request) {
	r.Source, r.WantedBackup = record.SourceEmpty, facts.WantedBackup{}
}

func ofDemo0(r *facts.Request) {
	r.Source, r.WantedBackup, r.Survivor = record.SourceSurvivor, facts.WantedBackup{}, "demo-0"
}

func givingUp(r *facts.Request) { r.DeletesOld = true }

// lookedAt has found the backup that the first EtcdRestore asks for.
func lookedAt(o scene, edits ...func(*facts.Preflight)) scene {
	asking := looking(scene{current(o.Observation).Asking(o.Requests[0]).Observation}, edits...)
	o.Preflight = asking.Preflight
	return o
}

// coming is a member of the next incarnation: its volume, and the Pod that restores it.
func coming(ordinal int) facts.Replica {
	name, incarnation := etcdutil.MemberName("demo", ordinal), facts.IncarnationID("u1", 1)
	return facts.Replica{
		Name: name, Ordinal: ordinal, Secret: facts.Object{Kind: "Secret", Name: name + "-tls", UID: "secret-" + name,
			State: facts.ObjectCurrent},
		Volume: &facts.Volume{UID: "volume-" + name, Created: now.Add(-2 * time.Second), Phase: facts.VolumeBound,
			Incarnation: incarnation, Settings: settings, Bytes: 8 << 30},
		Restoring: &facts.RestorePod{Incarnation: incarnation, Settings: settings,
			Task: facts.Task{UID: "restore-" + name, Created: now.Add(-time.Second), Phase: facts.PodRunning,
				Started: true}},
	}
}

// fillingWorld restores an incarnation of three beside one of three, for the first EtcdRestore.
func fillingWorld(o scene) scene {
	r := o.Requests[0]
	incarnation := record.Next{Incarnation: facts.IncarnationID("u1", 1), Counter: 1,
		Token: token("u1", facts.IncarnationID("u1", 1)), Source: r.Source, Survivor: r.Survivor, Bump: r.Bump,
		Restore: r.ID}
	n := o.Desired.Size
	switch r.Source {
	case record.SourceBackup:
		incarnation.Origin = backupOf
	case record.SourceSurvivor:
		n, incarnation.Origin = 1, record.Origin{Hash: r.ID, Revision: 10, Version: settings.Version}
	case record.SourceEmpty, record.SourcePrevious:
	}
	for i := range n {
		c := coming(o.Current.Bootstrap.NextOrdinal + i)
		if r.Source == record.SourceEmpty {
			c.Restoring = nil
		}
		incarnation.Names, o.Next.Members = append(incarnation.Names, c.Name), append(o.Next.Members, c)
	}
	o.Current.Bootstrap.Next, o.Current.Bootstrap.LastCounter, o.Current.Bootstrap.NextOrdinal = incarnation, 1,
		o.Current.Bootstrap.NextOrdinal+n
	return o
}

// next changes the member of an ordinal in the next incarnation.
func (o scene) next(ordinal int, changes ...func(*facts.Replica)) scene {
	o.Next.Members = changed(o.Next.Members, ordinal, changes)
	return o
}

// former changes the member of an ordinal in the former incarnation.
func (o scene) former(ordinal int, changes ...func(*facts.Replica)) scene {
	o.Former = []facts.Incarnation{{Bootstrap: o.Former[0].Bootstrap, Members: changed(o.Former[0].Members, ordinal, changes)}}
	return o
}

func changed(in []facts.Replica, ordinal int, changes []func(*facts.Replica)) []facts.Replica {
	out := make([]facts.Replica, len(in))
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

// filledWorld has all of the next incarnation.
func filledWorld(o scene) scene {
	o = fillingWorld(o)
	for _, r := range o.Next.Members {
		if r.Restoring != nil {
			o = o.next(r.Ordinal, written, cleared)
		}
	}
	return o
}

// placed holds the place of a member whose volume is restored.
func placed(r *facts.Replica) {
	r.Restoring = &facts.RestorePod{Incarnation: r.Volume.Incarnation, Settings: r.Volume.Settings, Holds: true,
		Task: facts.Task{UID: "place-" + r.Name, Created: now.Add(-time.Second), Phase: facts.PodRunning, Started: true}}
}

// waiting has found no place yet.
func waiting(r *facts.Replica) {
	placed(r)
	r.Restoring.Phase, r.Restoring.Started = facts.PodPending, false
	r.Restoring.Waiting, r.Restoring.Message = "Unschedulable", "0/3 nodes are available: 1 had an untolerated taint"
}

func turnedAway(r *facts.Replica) { placed(r); r.Restoring.Unwanted = "node n2 is cordoned" }

// placedWorld has all of the next incarnation, and a place for each of its members.
func placedWorld(o scene) scene {
	o = filledWorld(o)
	for _, r := range o.Next.Members {
		o = o.next(r.Ordinal, placed)
	}
	return o
}

// movedWorld has just moved to the next incarnation: the record is of it, and the members of the one before still run.
func movedWorld(o scene) scene {
	o = filledWorld(o)
	incarnation := o.Current.Bootstrap.Next
	o.Current.Bootstrap.Former = []record.Former{{Incarnation: o.Current.Bootstrap.Incarnation,
		Voters: current(o.Observation).KnownVoters()}}
	o.Current.Bootstrap.Incarnation, o.Current.Bootstrap.Counter, o.Current.Bootstrap.Token,
		o.Current.Bootstrap.Names = incarnation.Incarnation, incarnation.Counter, incarnation.Token, incarnation.Names
	o.Current.Bootstrap.Origin, o.Current.Bootstrap.Restore, o.Current.Bootstrap.ClusterID, o.Current.Bootstrap.Promised,
		o.Current.Bootstrap.Begun = incarnation.Origin, incarnation.Restore, 0, "", true
	o.Current.Bootstrap.Next, o.Current.Bootstrap.Volumes = record.Next{}, map[string]string{}
	for _, r := range o.Next.Members {
		o.Current.Bootstrap.Volumes[r.Name] = r.Volume.UID
	}
	ended := facts.Incarnation{Bootstrap: record.Bootstrap{Incarnation: o.Current.Bootstrap.Former[0].Incarnation}}
	o.Current.Members, o.Next.Members = o.Next.Members, nil
	for _, r := range settledWorld(len(o.Current.Bootstrap.Former[0].Voters)).Current.Members {
		r.Member, r.Answer = nil, nil
		ended.Members = append(ended.Members, r)
	}
	o.Former = []facts.Incarnation{ended}
	o.Current.Membership = facts.Membership{Why: "nobody there"}
	return o
}

func markedOld(r *facts.Replica) { r.Volume.Superseded = facts.IncarnationID("u1", 1) }

func stoppedOld(r *facts.Replica) { r.Pod, r.Secret.State = nil, facts.ObjectAbsent }

func leavingOld(r *facts.Replica) { leaving(r); r.Secret.State = facts.ObjectAbsent }

func unlabelledOld(r *facts.Replica) { r.Pod.Role = "" }

func notLeftOld(r *facts.Replica) {
	leavingOld(r)
	r.Pod.Node, r.Pod.GoneBy = "node-7", now.Add(-time.Hour)
}

func (o scene) everyFormer(changes ...func(*facts.Replica)) scene {
	for _, r := range o.Former[0].Members {
		o = o.former(r.Ordinal, changes...)
	}
	return o
}

// unbudgeted has no disruption budget.
func (o scene) unbudgeted() scene {
	o.Budget = facts.Budget{Object: facts.Object{Kind: "PodDisruptionBudget", Name: "demo", State: facts.ObjectAbsent}}
	return o
}

// fencedWorld has stopped the previous incarnation.
func fencedWorld(o scene) scene {
	return movedWorld(o).unbudgeted().everyFormer(markedOld, stoppedOld)
}

// servingWorld is a cluster that was restored in place and serves again.
func servingWorld(o scene) scene {
	o = fencedWorld(o).everyFormer(ofOtherCluster)
	o.Current.Bootstrap.ClusterID = clusterID
	for i, r := range o.Current.Members {
		v := voter(r.Ordinal)
		v.Pod.Incarnation, v.Volume.Incarnation, v.Volume.Restored = o.Current.Bootstrap.Incarnation,
			o.Current.Bootstrap.Incarnation, o.Current.Bootstrap.Incarnation
		v.Answer.Leader = etcdutil.ID(o.Current.Members[0].Ordinal + 1)
		o.Current.Members[i] = v
	}
	o.Current.Membership = facts.Membership{Known: true, ClusterID: clusterID,
		Leader: etcdutil.ID(o.Current.Members[0].Ordinal + 1)}
	o.Budget = facts.Budget{Object: facts.Object{Kind: "PodDisruptionBudget", Name: "demo", State: facts.ObjectCurrent},
		MinAvailable: facts.BudgetFor(*current(o.Observation).View, 3)}
	o = o.joined()
	o.Budget.MinAvailable = facts.BudgetFor(*current(o.Observation).View, len(o.Current.Members))
	return o
}

// lostWorld has one of three members left, which answers without a quorum.
func lostWorld() scene {
	o := settledWorld(3).edit(1, noData).edit(2, noData)
	members := settledWorld(3).Current.Membership.Members
	o = o.blind()
	o.Current.Membership.LastKnown = members
	o.Current.Members[0].Answer = &facts.Answer{ID: 1, ClusterID: clusterID, Version: settings.Version, Revision: 10,
		Applied: 5000}
	return o
}

// putBackWorld has lost all it had, and a backup tool put the volumes of all members back.
func putBackWorld() scene {
	o := settledWorld(3)
	for i := range 3 {
		o = o.edit(i, noPod).edit(i, copiedClaim)
	}
	return o.blind()
}

// inPlace are restores in place.
func inPlace() []row {
	three := settledWorld(3)
	begin := requesting(three)
	restoring, taskDone, ready := fillingWorld(begin), filledWorld(begin), placedWorld(begin)
	const rule = "restore-prepare"
	return []row{
		{"an EtcdRestore that nobody approved changes nothing", requesting(three, unapproved), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"nor does an approval of other evidence", requesting(three, staleApproval), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"nor one that this incarnation came of",
			func() scene { o := begin; o.Current.Bootstrap.Restore = "r1"; return o }(), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"nor one that an earlier incarnation came of", func() scene {
			o := begin
			o.Current.Bootstrap.Former = []record.Former{{Incarnation: "old", Restore: "r1"}}
			return requesting(o, func(r *facts.Request) { r.ID = "r2"; r.Approval = "" })
		}(),
			Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"a paused cluster is not restored", desire(begin, func(d *facts.Desired) { d.Paused = true }), Wait,
			"hands-off", facts.ReasonPaused, "", ""},
		{"nor one that is being deleted", desire(taskDone, func(d *facts.Desired) { d.Deleting = true }), Wait, "hands-off",
			facts.ReasonDeleting, "", ""},
		{"nor one whose spec is refused", desire(taskDone, func(d *facts.Desired) { d.Fault = "no such version" }), Refuse,
			"spec-refused", facts.ReasonSpecRefused, "", "no such version. Until then members"},
		{"the backup of an approved EtcdRestore is looked at", begin, Act, "restore-begin", "",
			"StartPreflight", ""},
		{"the cluster is looked after meanwhile", lookedAt(begin).edit(1, noPod), Act, "pods", "",
			"StartPods", "demo-1"},
		{"a backup that cannot be used is refused, and the cluster goes on", lookedAt(begin, hasFailed(time.Second)),
			Refuse, "restore-begin", facts.ReasonUnusable, "", "the credentials are refused"},
		{"one that was looked at for somebody else is looked at anew", looking(begin, hasFound), Act, "restore-begin",
			"", "DeletePreflight", ""},
		{"an EtcdRestore that names nothing is refused",
			requesting(three,
				func(r *facts.Request) { r.WantedBackup = facts.WantedBackup{Fault: "there is no EtcdBackup b"} }),
			Refuse, "restore-begin", facts.ReasonRestoreHeld, "", "there is no EtcdBackup"},
		{"so is one where the data lives in Pods", requesting(inMemory(three)), Refuse, "restore-begin",
			facts.ReasonRestoreHeld, "", "ephemeral"},
		{"and one whose members nobody would trust", withoutCA(begin),
			Refuse, "restore-begin", facts.ReasonRestoreHeld, "", "put it back"},
		{"and one for which a name is taken", taken(begin), Refuse, "restore-begin", facts.ReasonRestoreHeld, "",
			"Service demo exists"},
		{"for a backup of another version nobody is told to bend the spec of what serves",
			lookedAt(begin, hasFound, ofNewer), Refuse, "restore-begin", facts.ReasonUnusable, "",
			"create another EtcdCluster with it in spec.bootstrap.restore and spec.version of 3.7"},
		{"nor to delete it for one with authentication", lookedAt(requesting(plain(three)), hasFound, withAuth), Refuse,
			"restore-begin", facts.ReasonUnusable, "",
			"set spec.tls.mode to Permissive"},
		{"nor to change it where the same would be found again",
			lookedAt(begin, hasFailed(time.Hour), because("StoreNotFound")), Refuse, "restore-begin",
			facts.ReasonUnusable, "",
			"Nothing was made, and the cluster goes on unchanged. If the EtcdRestore names the wrong backup, delete it, which ends this " +
				"restore, and create another: kubectl delete etcdrestore back -n default. If you put this one right in the store, have it " +
				"looked at again: kubectl delete pod demo-preflight -n default. The restore goes on with it, without another approval."},
		{"without a backup nothing is given up while a quorum holds", requesting(three, forNothing), Refuse,
			"restore-begin", facts.ReasonRestoreHeld, "", "not certainly lost"},
		{"a member in memory that says that its data is gone has lost it",
			requesting(inMemory(settledWorld(1).edit(0, wiped)).blind(), forNothing), Act, "restore-begin",
			"", "BeginNext", "demo-1"},
		{"nor is a member rebuilt from", requesting(three, ofDemo0), Refuse, "restore-begin", facts.ReasonRestoreHeld,
			"", "not certainly lost"},
		{"what was found is promised beside what serves", lookedAt(begin, hasFound), Act, "restore-begin",
			"", "BeginNext", "demo-3, demo-4, demo-5"},
		{"one member alone reads a store that one node mounts",
			lookedAt(requesting(three, func(r *facts.Request) { r.WantedBackup.OneNode = true }), hasFound), Act,
			"restore-begin", "", "BeginNext", "Begin a restore in place with demo-3: the EtcdRestore back is approved"},
		{"so it is without a quorum", lookedAt(requesting(lostWorld()), hasFound), Act, "restore-begin",
			"", "BeginNext", "demo-3"},
		{"what the preflight found is written down; its Pod is a leftover",
			func() scene { o := lookedAt(begin, hasFound); l := restoring; l.Preflight = o.Preflight; return l }(),
			Act, "restore-leftover", "", "DeletePreflight", ""},
		{"nobody deletes it before", lookedAt(begin), Wait, "restore-begin", facts.ReasonPreflight, "", ""},

		{"what the next incarnation needs is made", func() scene { o := restoring; o.Next.Members = nil; return o }(), Act,
			rule, "", "PrepareNext", "the next incarnation is to have demo-3, demo-4, demo-5,"},
		{"what is restored is waited for", restoring, Wait, rule, facts.ReasonRestore, "", "demo-3, demo-4, demo-5"},
		{"and the cluster is looked after", restoring.edit(1, noPod), Act, "pods", "", "StartPods",
			"demo-1"},
		{"a member that lost its data is removed meanwhile", restoring.edit(1, noData), Act, "replace", "",
			"RemoveMember", "demo-1"},
		{"but the cluster does not grow", desire(restoring, func(d *facts.Desired) { d.Size = 5 }), Wait, rule,
			facts.ReasonRestore, "", ""},
		{"nor shrink", desire(restoring, func(d *facts.Desired) { d.Size = 1 }), Wait, rule, facts.ReasonRestore, "", ""},
		{"unless it waits for a person: then lost members are made up for", staled(restoring.edit(2, gone)), Act, "grow",
			"", "PrepareMember", "demo-6"},
		{"a volume that is not its own keeps a member from being restored",
			restoring.next(4, cleared, func(r *facts.Replica) {
				r.Volume.Incarnation, r.Volume.Restored = "old",
					"old"
			}).next(3, written, cleared).next(5, written, cleared),
			Refuse, rule, facts.ReasonRestoreHeld, "", "demo-4"},
		{"nor roll: the next members take the settings", wanting(restoring, other), Act, rule, "",
			"WriteSettings", "demo-3"},
		{"and so do those whose restore Pods Kubernetes did not admit", wanting(restoring.next(4, cleared), other), Act,
			rule, "", "WriteSettings", "Write settings on the volume of demo-4: the members have not started yet, and"},
		{"then these are made", wanting(restoring.next(4, cleared, given(other)), other), Act, rule, "",
			"PrepareNext", ""},
		{"where it lies is written down", restoring.next(4, restored1), Act, rule, "", "RecordRestored",
			"Mark the volume of demo-4 as restored: the backup is restored there completely."},
		{"and of a survivor whose data it is", fillingWorld(requesting(lostWorld(), ofDemo0)).next(3, restored1), Act, rule,
			"", "RecordRestored", "as restored: the data of member demo-0 is restored there completely."},
		{"then the Pod that restored it there goes", restoring.next(4, restored1, written), Act, rule, "",
			"DeleteRestores", "demo-4"},
		{"what failed is said, and the cluster goes on", restoring.next(4, failed(time.Second)), Refuse, rule,
			facts.ReasonRestoreFailed, "", "no room"},
		{"and tried again", restoring.next(4, failed(time.Hour)), Act, rule, "", "DeleteRestores",
			"demo-4"},
		{"what was restored on a volume that is gone says nothing of the next one",
			restoring.next(4, restored1, func(r *facts.Replica) { r.Volume = nil }), Act, rule, "",
			"DeleteRestores", "demo-4"},
		{"nor on one that is going", restoring.next(4, restored1, doomed), Act, rule, "", "DeleteRestores",
			"demo-4"},
		{"then another volume is made", restoring.next(4, cleared, func(r *facts.Replica) { r.Volume = nil }), Act, rule,
			"", "PrepareNext", ""},
		{"a new volume whose node is gone is another one", restoring.next(4, written, cleared, stranded1), Act, rule,
			"", "DeleteVolumes", "demo-4"},
		{"an approval that went stale meanwhile drops nothing", staled(restoring), Wait, rule, facts.ReasonRestore, "",
			""},

		{"an EtcdRestore that is deleted is called off", unrequested(restoring), Act, "restore-call-off",
			"", "DeleteRestores", "demo-3, demo-4, demo-5"},
		{"so is one whose approval is taken back", requesting(unrequested(taskDone), unapproved), Act, "restore-call-off",
			"", "DeleteVolumes", "demo-3, demo-4, demo-5"},
		{"and one that asks for something else by now",
			requesting(unrequested(taskDone), func(r *facts.Request) { r.ID = "r2" }), Act, "restore-call-off",
			"", "DeleteVolumes", ""},
		{"a Pod on a node that does not answer asks for a person",
			unrequested(restoring.next(3, cleared).next(4, lostTask).next(5, cleared)), Refuse, "restore-call-off",
			facts.ReasonCallOff, "",
			"out-of-service=nodeshutdown:NoExecute. Or delete the Pod by force"},
		{"so it does while something is restored", restoring.next(4, lostTask), Refuse, rule, facts.ReasonPodLeaving, "",
			"out-of-service=nodeshutdown:NoExecute. Or delete the Pod by force"},
		{"and beside a volume that is gone", restoring.next(4, lostTask, func(r *facts.Replica) { r.Volume = nil }),
			Refuse, rule, facts.ReasonInPlace, "", "out-of-service=nodeshutdown:NoExecute. Or delete the Pod by force"},
		{"volumes wait for the Pods on them", unrequested(restoring.next(3, cleared).next(4, goingTask).next(5, cleared)),
			Wait, "restore-call-off", facts.ReasonCallOff, "", "demo-4"},
		{"the cluster is looked after meanwhile, too",
			unrequested(restoring.next(3, cleared).next(4, goingTask).next(5, cleared)).edit(1, noPod), Act, "pods",
			"", "StartPods", ""},
		{"then the certificates go", unrequested(emptied(taskDone)), Act, "restore-call-off", "",
			"DeleteSecret", "demo-3"},
		{"then the promise", unrequested(emptied(taskDone).next(3, noSecret).next(4, noSecret).next(5, noSecret)), Act,
			"restore-call-off", "", "DropNext", ""},

		{"once all of it is restored, places are held for those who serve next", taskDone, Act, "restore-switch-over",
			"", "PrepareNext", "demo-3, demo-4, demo-5 where their volumes are"},
		{"a place that a member lacks is looked for again", ready.next(4, cleared), Act, "restore-switch-over",
			"", "PrepareNext", "nodes take demo-4"},
		{"while no node takes a member, those that there are serve on", ready.next(4, waiting), Wait,
			"restore-switch-over", facts.ReasonUnschedulable, "", "No node has taken demo-4 yet"},
		{"and the cluster is looked after", ready.next(4, waiting).edit(1, noPod), Act, "pods", "",
			"StartPods", "demo-1"},
		{"a node that takes it no more is no place", ready.next(4, turnedAway), Act, "restore-switch-over",
			"", "DeleteRestores", "node n2 is cordoned"},
		{"nor is one that a member with other settings got", ready.next(4, placed, given(other)), Act,
			"restore-switch-over", "", "WriteSettings", "demo-4"},
		{"which is looked for anew", wanting(ready.next(3, given(other)).next(4, given(other)).next(5, given(other)),
			other), Act, "restore-switch-over", "", "DeleteRestores", "demo-3, demo-4, demo-5"},
		{"a Pod that failed to hold a place rests", ready.next(4, failed(time.Second)), Refuse, "restore-switch-over",
			facts.ReasonInPlace, "", "no room"},
		{"and is made anew", ready.next(4, failed(time.Hour)), Act, "restore-switch-over", "",
			"DeleteRestores", "demo-4"},
		{"places that are not needed now are given back", staled(ready), Act, "restore-switch-over",
			"", "DeleteRestores", "demo-3, demo-4, demo-5"},
		{"they go with a restore that is called off", unrequested(ready), Act, "restore-call-off", "",
			"DeleteRestores", "demo-3, demo-4, demo-5"},
		{"the cluster switches over once all of it is restored, and has its place", ready, Act, "restore-switch-over",
			"", "SwitchOver", "cannot be called off"},
		{"not while a restore Pod is there", taskDone.next(4, func(r *facts.Replica) { r.Restoring = coming(4).Restoring },
			written), Act, rule, "", "DeleteRestores", ""},
		{"not without a member's certificates", taskDone.next(4, noSecret), Act, rule, "", "PrepareNext",
			""},
		{"not while a name that its members need is taken", taken(taskDone), Refuse, "restore-switch-over",
			facts.ReasonRestoreHeld, "",
			"serve on: an object that the cluster needs is not the cluster's own. Service demo exists"},
		{"nor while the spec is refused", refusing(taskDone), Refuse, "spec-refused", facts.ReasonSpecRefused, "", ""},
		{"nor while something that failed would be the same again", restoring.next(4, task(func(p *facts.RestorePod) {
			p.Phase, p.Finished, p.Reason, p.Failure = facts.PodFailed, now, "DataExists", "it is so"
		})),
			Refuse, rule, facts.ReasonRestoreFailed, "", "delete the EtcdRestore and create another"},
		{"not on an approval of other evidence", staled(taskDone), Refuse, "restore-switch-over", facts.ReasonRestoreHeld,
			"", "approve that"},
		{"not where the spec asks for an older minor version by now", wanting(taskDone, older), Refuse,
			"restore-switch-over", facts.ReasonRestoreHeld, "", "Put spec.version back"},
		{"nor where it asks for data in Pods by now", desire(taskDone, func(d *facts.Desired) { d.Ephemeral = true }),
			Refuse, "restore-switch-over", facts.ReasonRestoreHeld, "", "Take spec.storage.ephemeral out"},
		{"but where it asks for a newer one: members go up from there", wanting(ready, newer), Act,
			"restore-switch-over", "", "SwitchOver", ""},
		{"what cannot be moved to keeps nobody from looking after the cluster",
			taskDone.next(4, func(r *facts.Replica) { r.Pod = voter(4).Pod }).edit(1, noPod), Act, "pods",
			"", "StartPods", "demo-1"},
		{"a backup that is not named any more is said",
			fillingWorld(requesting(three,
				func(r *facts.Request) { r.WantedBackup.Fault = "there is no EtcdBackup b" })), Refuse, rule,
			facts.ReasonRestoreHeld, "", "there is no EtcdBackup"},
		{"so is one that is another backup by now, and the cluster is looked after",
			fillingWorld(requesting(three, func(r *facts.Request) { r.WantedBackup.Hash = "another" })), Refuse, rule,
			facts.ReasonRestoreHeld, "", "Delete the EtcdRestore, and make another"},
		{"the next members take the settings before it moves", wanting(taskDone, other), Act, "restore-switch-over",
			"", "WriteSettings", "Write settings on the volumes of demo-3, demo-4, demo-5: the members have not"},
		{"a name that turns out to be a member's is given back", namesake(taskDone), Act, "restore-call-off",
			"", "DeleteVolumes", "demo-3, demo-4, demo-5"},
		{"and nobody is counted until then",
			desire(namesake(restoring.next(3, cleared).next(4, goingTask).next(5, cleared)),
				func(d *facts.Desired) { d.Size = 1 }), Wait, "membership", facts.ReasonCallOff, "",
			"nothing is added or removed"},
		{"not while a member that somebody relabelled would not be stopped with the others", taskDone.edit(1, ofEdit), Refuse,
			"restore-switch-over", facts.ReasonRestoreHeld, "",
			"kubectl label pvc demo-1 -n default --overwrite etcdsteward.dev/incarnation=" + facts.IncarnationID("u1", 0)},
		{"not while a member that somebody added could go on without the others", strangers(taskDone).budgeting(3), Refuse,
			"membership", facts.ReasonStranger, "", ""},
		{"not while the authority is gone that clients trust", withoutCA(taskDone), Refuse, "restore-switch-over",
			facts.ReasonRestoreHeld, "", "demo-ca, which holds a CA of this cluster"},
		{"once it is restored nobody needs its name",
			placedWorld(requesting(three, func(r *facts.Request) { r.WantedBackup.Fault = "there is no EtcdBackup b" })),
			Act, "restore-switch-over", "", "SwitchOver", ""},
		{"a member that was replaced meanwhile needs another approval", taskDone.edit(2, gone).with(voter(9)), Refuse,
			"restore-switch-over", facts.ReasonRestoreHeld, "", "approve that"},
	}
}

// withoutCA has lost the Secret of a CA.
func withoutCA(o scene) scene {
	o.Objects = append([]facts.Object(nil), o.Objects...)
	o.Objects[0].State = facts.ObjectAbsent
	return o
}

// namesake has a member that nobody knew of when its name was given to another one.
func namesake(o scene) scene {
	o.Current.Membership.Members = append(slices.Clone(o.Current.Membership.Members),
		etcdutil.Member{ID: 77, Name: "demo-3",
			PeerURLs: []string{peerURL(current(o.Observation).Observation, "demo-3")}})
	return o
}

// strangers has a member that was added by hand.
func strangers(o scene) scene {
	o.Current.Membership.Strangers = []etcdutil.Member{{ID: 77, Name: "theirs",
		PeerURLs: []string{"http://elsewhere:2380"}}}
	return o
}

// outvoted has no quorum, and one member that remembers as many that were added by hand.
func outvoted(o scene, strangers int) scene {
	list := slices.Clone(o.Current.Membership.Members)
	for i := range strangers {
		list = append(list, etcdutil.Member{ID: etcdutil.ID(77 + i), Name: "theirs",
			PeerURLs: []string{"http://elsewhere:2380"}})
	}
	o = reticent(o)
	o.Current.Membership.LastKnown = list
	return requesting(unrequested(o))
}

// reticent has no quorum, and one member that answers and does not say who else there is.
func reticent(o scene) scene {
	return requesting(unrequested(o.blind().edit(0, func(r *facts.Replica) { r.Answer = voter(0).Answer })))
}

func restored1(r *facts.Replica) { taskDone(r) }

func stranded1(r *facts.Replica) { r.Volume.Stranded = "node-2 was deleted" }

func ofNewer(p *facts.Preflight) { p.Found.Version = newer.Version }

var lostTask = task(func(p *facts.RestorePod) { p.Terminating, p.GoneBy = true, now.Add(-time.Hour) })

var goingTask = task(func(p *facts.RestorePod) { p.Terminating, p.GoneBy = true, now.Add(time.Minute) })

func unrequested(o scene) scene { o.Requests = nil; return o }

func staled(o scene) scene {
	return requesting(unrequested(o), staleApproval)
}

// emptied has lost the volumes of the next incarnation.
func emptied(o scene) scene {
	for _, r := range o.Next.Members {
		o = o.next(r.Ordinal, func(r *facts.Replica) { r.Volume = nil })
	}
	return o
}
