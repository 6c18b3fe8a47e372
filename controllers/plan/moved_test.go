package plan

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// moves are clusters whose record has moved to another incarnation.
func moves() []row {
	moved := movedWorld(requesting(settledWorld(3)))
	marked := moved.everyFormer(markedOld)
	quiet := marked.unbudgeted().everyFormer(unlabelledOld)
	stopping := quiet.everyFormer(leavingOld)
	fenced := fencedWorld(requesting(settledWorld(3)))
	up := fenced
	for _, r := range up.Current.Members {
		up = up.edit(r.Ordinal, upAgain)
	}
	idle := up.edit(3, unpullable).edit(4, unpullable).edit(5, unpullable)
	serving := servingWorld(requesting(settledWorld(3)))
	const rule = "restore-fence"
	return []row{
		{"what the cluster switched over from is marked first", moved, Act, rule, "", "MarkFormer",
			"demo-0, demo-1, demo-2"},
		{"then its budget goes", marked, Act, rule, "", "SetBudget", ""},
		{"then nobody is led to it", marked.unbudgeted(), Act, rule, "", "LabelRole", "demo-0"},
		{"then it is stopped", quiet, Act, rule, "", "DeletePods", "demo-0, demo-1, demo-2"},
		{"what etcd says of data that is gone is written down before its Pod goes", quiet.former(1, wiped), Act, rule, "",
			"MarkVolume", "Mark the volume of demo-1 to be kept: etcd stopped, because its directory is empty."},
		{"once", quiet.former(1, wiped, saidGone), Act, rule, "", "DeletePods", "demo-0, demo-1, demo-2"},
		{"then its certificates go", quiet.everyFormer(leaving), Act, rule, "", "DeleteSecret",
			"demo-0"},
		{"the next members wait until it is gone", stopping, Wait, rule, facts.ReasonFence, "", "demo-0"},
		{"a majority that does not go asks for a person", stopping.former(0, notLeftOld).former(1, notLeftOld).former(2,
			stoppedOld), Refuse, rule, facts.ReasonFence, "", "demo-1 on node node-7"},
		{"a minority on a node that does not answer can serve no write", stopping.former(0, notLeftOld).former(1,
			stoppedOld).former(2, stoppedOld), Act, "bootstrap", "", "Bootstrap", ""},
		{"where nobody could say who had a vote, one is too many",
			unvoiced(stopping.former(0, notLeftOld).former(1, stoppedOld).former(2, stoppedOld)), Refuse, rule,
			facts.ReasonFence, "", "out-of-service"},
		{"once it is gone the next members start", fenced, Act, "bootstrap", "", "Bootstrap", ""},
		{"an EtcdRestore that is deleted now changes nothing", unrequested(fenced), Act, "bootstrap",
			"", "Bootstrap", ""},
		{"they look for each other", up, Wait, "first-quorum", facts.ReasonFirstQuorum, "", "3 of 3"},
		{"one that lost its volume is made up for later",
			up.edit(4, func(r *facts.Replica) { r.Volume, r.Pod = nil, nil }), Wait, "first-quorum",
			facts.ReasonFirstQuorum, "", "2 of 3"},
		{"nor does one whose volume is going keep the others from following the spec",
			wanting(idle.edit(3, doomed), other), Act, "settings", "", "WriteSettings",
			"demo-4, demo-5"},
		{"and from being made anew", wanting(idle.edit(3, doomed).edit(4, adopted).edit(5, adopted), other), Act,
			"pods", "", "DeletePods", "Delete the Pods of demo-4, demo-5: demo-4 was made from other settings than it"},
		{"nobody waits for it", fenced.edit(4, func(r *facts.Replica) { r.Volume = nil }), Act, "bootstrap",
			"", "Bootstrap", ""},
		{"an incarnation that cannot serve any more is never begun again empty",
			fenced.edit(4, func(r *facts.Replica) { r.Volume = nil }).edit(5, doomed), Refuse, "void-birth",
			facts.ReasonRestoreLost, "", "demo-4, demo-5"},
		{"a paused cluster warns of what is still written to the previous incarnation",
			desire(quiet, func(d *facts.Desired) { d.Paused = true }), Wait, "hands-off", facts.ReasonPaused, "",
			"what is written to them is lost"},
		{"not once they are stopped", desire(fenced, func(d *facts.Desired) { d.Paused = true }), Wait, "hands-off",
			facts.ReasonPaused, "", "changes nothing."},
		{"a spec that is refused keeps no incarnation that was moved to from starting", refusing(fenced), Act,
			"bootstrap", "", "Bootstrap", ""},
		{"and none of it follows that spec", refusing(wanting(up.edit(4, unpullable), other)), Wait, "first-quorum",
			facts.ReasonImagePull, "", "demo-4"},
		{"nor does an object of somebody else", taken(fenced), Act, "bootstrap", "", "Bootstrap",
			""},
		{"but where something has to be made it does", taken(fenced.edit(4, noSecret)), Refuse, "name-taken",
			facts.ReasonNameTaken, "", "Service demo"},
		{"and so does the spec", refusing(fenced.edit(4, noSecret)), Refuse, "spec-refused", facts.ReasonSpecRefused,
			"", "no such version"},
		{"those who have certificates start without the authority, if they are a quorum",
			withoutCA(fenced.edit(4, noSecret)), Act, "bootstrap", "", "Bootstrap", ""},
		{"then they look for each other", withoutCA(up.edit(4, noSecret).edit(4, noPod)), Wait, "first-quorum",
			facts.ReasonFirstQuorum, "", "2 of 3"},
		{"no authority is made anew for it", withoutCA(fenced.edit(4, noSecret).edit(5, noSecret)), Refuse,
			"bootstrap", facts.ReasonCALost, "", "put it back from a copy"},
		{"nor keeps one that is gone its members from starting", withoutCA(fenced), Act, "bootstrap",
			"", "Bootstrap", ""},
		{"what was restored is not restored over when somebody takes the word of it away",
			fenced.edit(4, func(r *facts.Replica) { r.Volume.Restored = "" }), Refuse, "bootstrap",
			facts.ReasonRestoreHeld, "",
			"kubectl annotate pvc demo-4 -n default etcdsteward.dev/restored=" + facts.IncarnationID("u1", 1)},
		{"whatever the spec asks for by now",
			desire(up, func(d *facts.Desired) { d.Restore = facts.WantedBackup{Hash: "another"}; d.Size = 1 }), Wait,
			"first-quorum", facts.ReasonFirstQuorum, "", ""},
		{"another EtcdRestore can follow it",
			requesting(fenced.edit(4, func(r *facts.Replica) { r.Volume = nil }).edit(5, doomed),
				func(r *facts.Request) { r.ID = "r2" }),
			Act, "restore-begin", "", "StartPreflight", ""},
		{"a cluster that was restored in place is settled", serving, Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"a Pod of the previous incarnation that turns up is stopped",
			serving.former(1, func(r *facts.Replica) { r.Pod = voter(1).Pod; r.Pod.Role = "" }), Act, rule,
			"", "DeletePods", "demo-1"},
		{"what is overdue on a dead node keeps nobody waiting",
			serving.former(1, func(r *facts.Replica) { r.Pod = voter(1).Pod; notLeftOld(r) }), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"old volumes are kept", unrequested(serving), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"until the EtcdRestore gives them up", requesting(unrequested(serving), givingUp), Act, "collect",
			"", "DeleteVolumes", "demo-0, demo-1, demo-2"},
		{"not while what followed does not serve", requesting(unrequested(serving), givingUp).blind(), Refuse,
			"membership", facts.ReasonMembershipUnknown, "", ""},
		{"not by another EtcdRestore", requesting(unrequested(serving), givingUp,
			func(r *facts.Request) { r.ID = "r2" }, staleApproval), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"a lost record is written anew from what lives, not from what ended",
			serving.unwritten(), Act, "birth-record", "", "BeginBootstrap", ""},
		{"nor from a volume that is said to be of another incarnation than the rest of what ended",
			relabelled(marked).unwritten(), Refuse, "birth-record", facts.ReasonRecordLost, "",
			"demo-1 is of the same etcd cluster as demo-0"},
		{"nothing is born beside what ended", func() scene {
			o := notBootstrapped(3)
			o.Former = fenced.Former
			return o
		}(), Refuse, "birth-record", facts.ReasonRecordLost, "",
			"demo-0, demo-1, demo-2. Nothing is bootstrapped over it, and no data is lost"},
		{"an incarnation whose successor served is not taken up again unknowingly", returning(), Refuse, "retained-data",
			facts.ReasonRetainedData, "", "annotate pvc demo-0 demo-1 demo-2 -n default " +
				"etcdsteward.dev/goes-back-from=" + facts.IncarnationID("u0", 1)},
		{"it is by a person who says so", returning(knowingly), Act, "retained-data", "", "AdoptData",
			""},
		{"not by one who said so of another incarnation",
			returning(func(r *facts.Retained) { r.GoesBackFrom = facts.IncarnationID("u0", 0) }), Refuse,
			"retained-data", facts.ReasonRetainedData, "", "goes-back-from="},
		{"the successor goes on without a word", forward(), Act, "retained-data", "", "AdoptData", ""},
		{"what a restore ended is not taken up again by itself", retainingFormer(), Refuse, "retained-data",
			facts.ReasonRetainedData, "",
			"take the annotation etcdsteward.dev/superseded-by off all of one incarnation"},
	}
}

// relabelled has a member of the previous incarnation, on whose volume a person changed the incarnation before it was
// marked.
func relabelled(o scene) scene {
	r := copied(o.Former[0].Members[1])
	r.Volume.Superseded = ""
	ofEdit(&r)
	o.Former = []facts.Incarnation{{Bootstrap: o.Former[0].Bootstrap,
		Members: slices.Delete(slices.Clone(o.Former[0].Members), 1, 2)}}
	o.Current.Members = append([]facts.Replica{r}, o.Current.Members...)
	return o
}

// ofEdit is on a volume of which a person changed the incarnation.
func ofEdit(r *facts.Replica) { r.Volume.Incarnation = "edited" }

func refusing(o scene) scene {
	return desire(o, func(d *facts.Desired) { d.Fault = "no such version" })
}

// taken has a Service of somebody else in the place of the cluster's.
func taken(o scene) scene {
	o.Objects = append([]facts.Object(nil), o.Objects...)
	o.Objects[1].State = facts.ObjectForeign
	return o
}

func upAgain(r *facts.Replica) {
	p := voter(r.Ordinal).Pod
	p.Incarnation, p.Role, p.Ready, p.Created, p.ReadySince = r.Volume.Incarnation, "", false, now.Add(-time.Second),
		time.Time{}
	r.Pod = p
}

// unvoiced does not know who had a vote in the previous incarnation.
func unvoiced(o scene) scene {
	o.Current.Bootstrap.Former = []record.Former{{Incarnation: o.Current.Bootstrap.Former[0].Incarnation}}
	return o
}

// retainingFormer has nothing but volumes that a restore in place switched over from.
func retainingFormer() scene {
	o := retaining(notBootstrapped(3))
	o.Retained = append([]facts.Retained(nil), o.Retained...)
	for i := range o.Retained {
		o.Retained[i].Superseded = "later"
	}
	return o
}

// returning has the volumes of two incarnations, of which the later one served. A person took up the earlier one again.
func returning(edits ...func(*facts.Retained)) scene {
	o := retaining(notBootstrapped(3))
	first := slices.Clone(o.Retained)
	for i := range first {
		later := first[i]
		later.Name, later.Incarnation = etcdutil.MemberName("demo", 3+i), facts.IncarnationID("u0", 1)
		later.Superseded, later.Record.MemberID = first[i].Incarnation, etcdutil.ID(9+i)
		for _, edit := range edits {
			edit(&first[i])
		}
		o.Retained = append(o.Retained, later)
	}
	copy(o.Retained, first)
	return o
}

// knowingly says on a volume that a person goes back from the later incarnation.
func knowingly(r *facts.Retained) { r.GoesBackFrom = facts.IncarnationID("u0", 1) }

// forward has the volumes of two incarnations as a restore in place left them.
func forward() scene {
	o := returning()
	for i := range o.Retained {
		r := &o.Retained[i]
		if r.Superseded = ""; i < 3 {
			r.Superseded = facts.IncarnationID("u0", 1)
		}
	}
	return o
}

// losses are clusters without a quorum that a person rebuilds.
func losses() []row {
	lost := lostWorld()
	all := settledWorld(3).edit(0, noData).edit(1, noData).edit(2, noData).blind()
	back := putBackWorld()
	return []row{
		{"on volumes that were put back nothing starts", back, Refuse, "quorum-lost", facts.ReasonQuorumLost, "",
			"demo-0"},
		{"one of them may be begun with", requesting(back, ofDemo0), Act, "restore-begin", "",
			"BeginNext", "demo-3"},
		{"it is read as it is, and not started", reading(back), Act, "restore-prepare", "",
			"MarkFlushed", "put back"},
		{"the next member gets what is on it", reading(back.edit2(0, flushed)), Act, "restore-prepare",
			"", "PrepareNext", "the next incarnation is to have demo-3,"},
		{"volumes that were put back are taken over from an earlier cluster",
			retaining(notBootstrapped(3), func(r *facts.Retained) { r.Record.VolumeUID = "another" }), Act, "retained-data",
			"", "AdoptData", "demo-2"},
		{"not beside one that nothing tells for a copy", halfPutBack(), Refuse, "retained-data",
			facts.ReasonRetainedData, "", "nothing says whether demo-2 was as well"},
		{"without a quorum nothing is rebuilt by itself", lost, Refuse, "quorum-lost", facts.ReasonQuorumLost, "",
			"demo-1"},
		{"nor on an approval of what was there before",
			requesting(lost,
				func(r *facts.Request) { ofDemo0(r); r.Approval = EvidenceOf(settledWorld(3).Observation).Digest }),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "", ""},
		{"nor does it need a member that remembers the others: their certificates do", forgetful(mutedFor(time.Minute)),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "", "2 of 3"},
		{"a member that was removed leaves none", forgetful(mutedFor(time.Minute)).edit2(1, noSecret).edit2(2,
			noSecret), Wait, "membership", facts.ReasonMembershipUnknown, "", ""},
		{"what such a survivor holds can be restored", requesting(forgetful(mutedFor(time.Minute)), ofDemo0), Act,
			"restore-begin", "", "BeginNext", "Begin a restore in place with demo-3: the EtcdRestore back is approved"},
		{"and moved to", filledWorld(requesting(forgetful(mutedFor(time.Minute).edit2(0, flushed, noPod)), ofDemo0)), Act,
			"restore-switch-over", "", "SwitchOver", ""},
		{"the next incarnation is made of one survivor", requesting(lost, ofDemo0), Act, "restore-begin",
			"", "BeginNext", "Begin a restore in place with demo-3: the EtcdRestore back is approved"},
		{"not of one that never was a member",
			requesting(lost, ofDemo0, func(r *facts.Request) { r.Survivor = "demo-9" }), Refuse, "quorum-lost",
			facts.ReasonQuorumLost, "", ""},
		{"not of one that lost its data", requesting(lost, ofDemo0, func(r *facts.Request) { r.Survivor = "demo-1" }),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "", ""},
		{"not of one of another cluster",
			requesting(lost.edit2(0, func(r *facts.Replica) { r.Volume.Record.ClusterID = 77 }), ofDemo0), Refuse,
			"quorum-lost", facts.ReasonQuorumLost, "", ""},
		{"not of one that answers as somebody else",
			requesting(lost.edit2(0, func(r *facts.Replica) { r.Answer.ClusterID, r.Pod.Role = 77, "" }), ofDemo0),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "", ""},
		{"a survivor's data is restored on a volume of its own",
			func() scene { o := fillingWorld(requesting(lost, ofDemo0)); o.Next.Members = nil; return o }(), Act,
			"restore-prepare", "", "PrepareNext", ""},
		{"one that does not answer runs alone first", reading(mutedFor(time.Second)), Wait, "quorum-lost",
			facts.ReasonQuorumLost, "", "demo-0 does not answer"},
		{"one that is away is started for that", reading(lost.edit2(0, noPod)), Act, "pods", "",
			"StartPods", "demo-0"},
		{"that it wrote out all it had is written down", reading(mutedFor(time.Minute)), Act, "restore-prepare",
			"", "MarkFlushed", "demo-0"},
		{"but first the Pod that did not get it by asking goes", restoredInPart(mutedFor(time.Minute)).next(3,
			failed(time.Second)), Act, "restore-prepare", "", "DeleteRestores", "demo-3"},
		{"and its volume, which may lie where nobody could mount both", restoredInPart(mutedFor(time.Minute)).next(3,
			cleared), Act, "restore-prepare", "", "DeleteVolumes", "demo-3"},
		{"then it is stopped", reading(mutedFor(time.Minute).edit2(0, flushed)), Act, "restore-prepare",
			"", "DeletePods", "demo-0"},
		{"its volume is read once it is gone", reading(mutedFor(time.Minute).edit2(0, flushed, noPod)), Act,
			"restore-prepare", "", "PrepareNext", ""},
		{"it is not started meanwhile", restoredInPart(mutedFor(time.Minute).edit2(0, flushed, noPod)), Wait, "quorum-lost",
			facts.ReasonQuorumLost, "", "demo-3"},
		{"but once the restore was called off", lost.edit2(0, flushed, noPod), Act, "pods", "",
			"StartPods", "demo-0"},
		{"one that served since it started is never stopped",
			reading(lost.edit2(0, silent, func(r *facts.Replica) { r.Pod.RunningSince = now.Add(-2 * time.Hour) })),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "", "has served"},
		{"one that cannot start is no survivor", requesting(lost.edit2(0, silent, crashing), ofDemo0), Refuse,
			"quorum-lost", facts.ReasonQuorumLost, "", ""},
		{"then the cluster switches over to it", filledWorld(requesting(lost, ofDemo0)), Act, "restore-switch-over",
			"", "SwitchOver", ""},
		{"when the quorum came back what was restored is of the past", filledWorld(requesting(settledWorld(3), ofDemo0)),
			Act, "restore-call-off", "", "DeleteVolumes", "demo-3"},
		{"so it is when the survivor went on meanwhile", filledWorld(requesting(lost, ofDemo0)).edit2(0,
			func(r *facts.Replica) { r.Answer.Revision = 11 }), Act, "restore-call-off", "",
			"DeleteVolumes", "demo-3"},
		{"and when others may come back while it is stopped",
			staled(filledWorld(requesting(mutedFor(time.Minute).edit2(0, flushed, noPod), ofDemo0))), Act,
			"restore-call-off", "", "DeleteVolumes", "demo-3"},
		{"not when it was stopped to be read",
			filledWorld(requesting(mutedFor(time.Minute).edit2(0, flushed, noPod), ofDemo0)), Act, "restore-switch-over",
			"", "SwitchOver", ""},
		{"a survivor that fell silent since may have gone on", filledWorld(requesting(lost, ofDemo0)).edit2(0, silent),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "", "still holds just what was restored"},
		{"where all is lost the next incarnation begins empty", requesting(all, forNothing), Act, "restore-begin",
			"", "BeginNext", "demo-3, demo-4, demo-5"},
		{"its volumes are made before the cluster switches over",
			func() scene { o := fillingWorld(requesting(all, forNothing)); o.Next.Members = nil; return o }(), Act,
			"restore-prepare", "", "PrepareNext", ""},
		{"then it moves", filledWorld(requesting(all, forNothing)), Act, "restore-switch-over", "",
			"SwitchOver", ""},
		{"then it is born", fencedWorld(requesting(all, forNothing)), Act, "bootstrap", "",
			"Bootstrap", ""},
	}
}

// mutedFor has a survivor that was started without the others, so long ago.
func mutedFor(ago time.Duration) scene {
	return lostWorld().edit2(0, silent, func(r *facts.Replica) {
		r.Pod.RunningSince, r.Pod.ReadySince = now.Add(-ago),
			now.Add(-ago)
	})
}

// forgetful has nobody left who remembers the member list.
func forgetful(o scene) scene { o.Current.Membership.LastKnown = nil; return o }

// reading restores an incarnation that begins with what demo-0 holds, of which nothing is there yet.
func reading(o scene) scene {
	o = fillingWorld(requesting(o, ofDemo0))
	return o.next(3, cleared, func(r *facts.Replica) { r.Volume = nil })
}

// restoredInPart has a restore Pod that reads what demo-0 holds.
func restoredInPart(o scene) scene { return fillingWorld(requesting(o, ofDemo0)) }

func flushed(r *facts.Replica) { r.Volume.Flushed = facts.IncarnationID("u1", 1) }

// edit2 changes a replica and leaves the member list as it is.
func (o scene) edit2(ordinal int, changes ...func(*facts.Replica)) scene {
	o.Current.Members = changed(o.Current.Members, ordinal, changes)
	return o
}
