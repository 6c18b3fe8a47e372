package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

type guarded1 struct {
	name    string
	world   scene
	change  changes.Change
	allowed bool
}

func checkGuard(t *testing.T, rows []guarded1) {
	t.Helper()
	for _, row := range rows {
		if why := Veto(row.world.Observation, row.change); (why == "") != row.allowed {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}

// other changes a copy of the change.
func otherwise[C changes.Change](c C, change func(*C)) C {
	change(&c)
	return c
}

func TestAnIncarnationIsRestoredOnlyOnAnApprovalAndUnderNamesThatWereNeverUsed(t *testing.T) {
	begin := lookedAt(requesting(settledWorld(3)), hasFound)
	good := Decide(begin.Observation).Change.(changes.BeginNext)
	lost := lostWorld()
	survivor := Decide(requesting(lost, ofDemo0).Observation).Change.(changes.BeginNext)
	unheard := Decide(requesting(putBackWorld(), ofDemo0).Observation).Change.(changes.BeginNext)
	all := settledWorld(3).edit(0, noData).edit(1, noData).edit(2, noData).blind()
	empty := Decide(requesting(all, forNothing).Observation).Change.(changes.BeginNext)
	used := begin
	used.Former = []facts.Incarnation{{Members: []facts.Replica{voter(4)}}}
	checkGuard(t, []guarded1{
		{"as approved, with what was found", begin, good, true},
		{"without an EtcdRestore", unrequested(begin), good, false},
		{"unapproved", requesting(unrequested(begin), unapproved), good, false},
		{"approved on other evidence", staled(begin), good, false},
		{"approved, by then members were others", begin.edit(2, gone).with(voter(9)), good, false},
		{"once the cluster came of it", func() scene { o := begin; o.Current.Bootstrap.Restore = "r1"; return o }(), good,
			false},
		{"beside another that is restored", fillingWorld(begin), good, false},
		{"after another incarnation than there is", begin,
			otherwise(good, func(c *changes.BeginNext) { c.From = "old" }), false},
		{"before the cluster was born", lookedAt(func() scene { o := begin; o.Current.Bootstrap.ClusterID = 0; return o }(),
			hasFound), good, false},
		{"with a backup that nobody looked at", requesting(settledWorld(3)), good, false},
		{"with another one than was found", begin,
			otherwise(good, func(c *changes.BeginNext) { c.Origin.Key = "another" }), false},
		{"with nothing, while a backup was approved", begin,
			otherwise(good, func(c *changes.BeginNext) { c.Source, c.Origin = record.SourceEmpty, record.Origin{} }),
			false},
		{"of a newer minor version than is asked for", wanting(begin, older), good, false},
		{"of an older one", wanting(begin, newer), good, true},
		{"under a name of this incarnation", begin,
			otherwise(good, func(c *changes.BeginNext) { c.Names = []string{"demo-1"} }), false},
		{"under a name of an incarnation before", used, good, false},
		{"under a name that was promised", func() scene { o := begin; o.Current.Bootstrap.NextOrdinal = 5; return o }(),
			good, false},
		{"under a name that stays free for others", begin,
			otherwise(good, func(c *changes.BeginNext) { c.NextOrdinal = 5 }), false},
		{"as the incarnation that lives", begin,
			otherwise(good, func(c *changes.BeginNext) { c.Incarnation, c.Counter = facts.IncarnationID("u1", 0), 0 }),
			false},
		{"as one that was restored before", func() scene { o := begin; o.Current.Bootstrap.LastCounter = 1; return o }(),
			good, false},
		{"of a survivor, without a quorum", requesting(lost, ofDemo0), survivor, true},
		{"of a survivor that can be started once more", requesting(lost.edit2(0, silent), ofDemo0),
			Decide(requesting(lost.edit2(0, silent), ofDemo0).Observation).Change, true},
		{"of a survivor that cannot", requesting(lost.edit2(0, silent, doomed), ofDemo0), survivor, false},
		{"of a survivor whose volume was put back", requesting(putBackWorld(), ofDemo0), unheard, true},
		{"of one on whose volume a process runs",
			requesting(putBackWorld().edit2(0, func(r *facts.Replica) { r.Pod = voter(0).Pod }), ofDemo0), unheard,
			false},
		{"of one whose volume is going", requesting(putBackWorld().edit2(0, func(r *facts.Replica) {
			r.Volume.Terminating = true
		}), ofDemo0), unheard, false},
		{"of a survivor of another cluster",
			requesting(lost.edit2(0, func(r *facts.Replica) { r.Volume.Record.ClusterID, r.Answer.ClusterID = 77, 77 }),
				ofDemo0), survivor, false},
		{"of a survivor that answers as another member",
			requesting(lost.edit2(0, func(r *facts.Replica) { r.Volume.Record.MemberID = 77 }), ofDemo0), survivor,
			false},
		{"of a survivor that was restored of another incarnation",
			requesting(lost.edit2(0, func(r *facts.Replica) { r.Volume.Incarnation = "old" }), ofDemo0), survivor,
			false},
		{"of a survivor with its data in its Pod", requesting(lost.edit2(0, inItsPod), ofDemo0), survivor, false},
		{"of a survivor, with a quorum", requesting(settledWorld(3), ofDemo0), survivor, false},
		{"of another survivor than was approved", requesting(lost, ofDemo0),
			otherwise(survivor, func(c *changes.BeginNext) { c.Survivor = "demo-1" }), false},
		{"of one survivor as three", requesting(lost, ofDemo0),
			otherwise(survivor, func(c *changes.BeginNext) {
				c.Names, c.NextOrdinal = []string{"demo-3", "demo-4"},
					5
			}), false},
		{"empty, where all is lost", requesting(all, forNothing), empty, true},
		{"empty, while nobody knows", requesting(settledWorld(3).blind(), forNothing), empty, false},
		{"empty, with a quorum", requesting(settledWorld(3), forNothing), empty, false},
	})
}

func TestWhatIsRestoredTouchesNothingOfTheIncarnationThatServes(t *testing.T) {
	begin := requesting(settledWorld(3))
	restoring, taskDone := fillingWorld(begin), filledWorld(begin)
	blank := restoring
	blank.Next.Members = nil
	restore := Decide(blank.Observation).Change.(changes.PrepareNext)
	volume := func(name string) changes.DeleteVolumes {
		return changes.DeleteVolumes{Volumes: []facts.VolumeRef{{Name: name, UID: "volume-" + name}}}
	}
	task := func(name string) changes.DeleteRestores {
		return changes.DeleteRestores{Pods: []facts.PodRef{{Name: name, UID: "restore-" + name}}}
	}
	record := func(name string) changes.RecordRestored {
		return changes.RecordRestored{Incarnation: facts.IncarnationID("u1", 1),
			Volumes: []facts.VolumeRef{{Name: name, UID: "volume-" + name}}}
	}
	off := unrequested(taskDone)
	checkGuard(t, []guarded1{
		{"what is missing is made", blank, restore, true},
		{"not for an incarnation that is not restored", begin, restore, false},
		{"not for the incarnation that serves", blank,
			otherwise(restore, func(c *changes.PrepareNext) { c.Incarnation = facts.IncarnationID("u1", 0) }), false},
		{"not under a name of this incarnation", blank, changes.PrepareNext{Incarnation: restore.Incarnation,
			Volumes: []changes.NewVolume{{Name: "demo-1"}}}, false},
		{"not the certificates of another", blank, changes.PrepareNext{Incarnation: restore.Incarnation,
			Secrets: []string{"demo-1"}}, false},
		{"not a volume beside one", taskDone, changes.PrepareNext{Incarnation: restore.Incarnation, Volumes: restore.Volumes[:1]},
			false},
		{"not a volume beside a Pod that restored on another",
			restoring.next(3, func(r *facts.Replica) { r.Volume = nil }), changes.PrepareNext{Incarnation: restore.Incarnation,
				Volumes: restore.Volumes[:1]}, false},
		{"not on a volume that has its data", taskDone, changes.PrepareNext{Incarnation: restore.Incarnation,
			Restores: restore.Restores[:1]}, false},
		{"not on one that is going", restoring.next(3, cleared, doomed), changes.PrepareNext{Incarnation: restore.Incarnation,
			Restores: restore.Restores[:1]}, false},
		{"not from a survivor that nobody chose", restoring.next(3, cleared),
			changes.PrepareNext{Incarnation: restore.Incarnation,
				Restores: []changes.Restoring{{Name: "demo-3", Settings: settings, Survivor: "demo-0"}}}, false},
		{"not with the tools of another minor version", restoring.next(3, cleared),
			changes.PrepareNext{Incarnation: restore.Incarnation,
				Restores: []changes.Restoring{{Name: "demo-3", Settings: newer}}}, false},
		{"a Pod that succeeded is believed", restoring.next(3, restored1), record("demo-3"), true},
		{"one that runs is not", restoring, record("demo-3"), false},
		{"nor of a volume that is going", restoring.next(3, restored1, doomed), record("demo-3"), false},
		{"what succeeded stays until it is written down", restoring.next(3, restored1), task("demo-3"), false},
		{"then it may go", restoring.next(3, restored1, written), task("demo-3"), true},
		{"or when its volume is gone", restoring.next(3, restored1, func(r *facts.Replica) { r.Volume = nil }), task("demo-3"),
			true},
		{"or when nobody wants it", unrequested(restoring.next(3, restored1)), task("demo-3"), true},
		{"what nobody wants is taken back", off, volume("demo-3"), true},
		{"not what somebody wants", taskDone, volume("demo-3"), false},
		{"even on an approval that is stale", staled(taskDone), volume("demo-3"), false},
		{"unless it is lost", taskDone.next(3, stranded1), volume("demo-3"), true},
		{"or was never made, and is of another StorageClass", restoring.next(3, cleared, unbound).ofClass("b"),
			volume("demo-3"), true},
		{"not of the one that is asked for", restoring.next(3, cleared, unbound).ofClass("a"), volume("demo-3"), false},
		{"not once it was made", restoring.next(3, cleared, volumeBound).ofClass("b"), volume("demo-3"), false},
		{"not what a backup was restored on", taskDone.next(3, unbound).ofClass("b"), volume("demo-3"), false},
		{"nor under a restore Pod", restoring.next(3, unbound).ofClass("b"), volume("demo-3"), false},
		{"not under a restore Pod", unrequested(restoring), volume("demo-3"), false},
		{"not what a member lived on", off.next(3, func(r *facts.Replica) { r.Volume.Record = voter(3).Volume.Record }),
			volume("demo-3"), false},
		{"not what is of the incarnation that serves",
			off.next(3, func(r *facts.Replica) { r.Volume.Incarnation = off.Current.Bootstrap.Incarnation }),
			volume("demo-3"), false},
		{"the promise goes with the last of it", emptied(off), changes.DropNext{Incarnation: restore.Incarnation}, true},
		{"not before", off, changes.DropNext{Incarnation: restore.Incarnation}, false},
		{"not while somebody wants it", emptied(taskDone), changes.DropNext{Incarnation: restore.Incarnation}, false},
		{"nor the incarnation that serves", emptied(off), changes.DropNext{Incarnation: off.Current.Bootstrap.Incarnation},
			false},
		{"a backup is looked at for an EtcdRestore", begin,
			changes.StartPreflight{Asked: judge.Of(current(begin.Observation).Asking(begin.Requests[0])).Inquiry()},
			true},
		{"not for one that nobody approved", staled(begin),
			changes.StartPreflight{Asked: judge.Of(current(begin.Observation).Asking(begin.Requests[0])).Inquiry()},
			false},
		{"not twice", lookedAt(begin),
			changes.StartPreflight{Asked: judge.Of(current(begin.Observation).Asking(begin.Requests[0])).Inquiry()},
			false},
	})
}

func TestAClusterMovesOnlyToWhatIsWholeAndWasApproved(t *testing.T) {
	taskDone := placedWorld(requesting(settledWorld(3)))
	good := Decide(taskDone.Observation).Change.(changes.SwitchOver)
	silently := otherwise(good, func(c *changes.SwitchOver) { c.Voters = nil })
	lost := filledWorld(requesting(lostWorld(), ofDemo0))
	survivor := Decide(lost.Observation).Change.(changes.SwitchOver)
	back := settledWorld(3)
	back.Current.Bootstrap.Next, back.Next.Members, back.Current.Bootstrap.NextOrdinal = lost.Current.Bootstrap.Next,
		lost.Next.Members, 4
	back.Requests = nil
	checkGuard(t, []guarded1{
		{"all is restored", taskDone, good, true},
		{"nobody wants it any more", unrequested(taskDone), good, false},
		{"the approval is of other evidence", staled(taskDone), good, false},
		{"the members are others", taskDone.edit(2, gone).with(voter(9)), good, false},
		{"a restore Pod is there", taskDone.next(4, func(r *facts.Replica) { r.Restoring = coming(4).Restoring }), good,
			false},
		{"nothing holds the place of a member", taskDone.next(4, cleared), good, false},
		{"no node took a member yet", taskDone.next(4, waiting), good, false},
		{"its node takes a member no more", taskDone.next(4, turnedAway), good, false},
		{"the place is of a member with other settings", taskDone.next(4, given(other)), good, false},
		{"the Pod that held a place is going", taskDone.next(4, placed, goingTask),
			good, false},
		{"a volume is not restored", taskDone.next(4, func(r *facts.Replica) { r.Volume.Restored = "" }), good, false},
		{"a volume was restored in another incarnation",
			taskDone.next(4, func(r *facts.Replica) { r.Volume.Restored = "old" }), good, false},
		{"a volume is of another incarnation",
			taskDone.next(4, func(r *facts.Replica) { r.Volume.Incarnation, r.Volume.Restored = "old", "old" }), good,
			false},
		{"a volume is another one", taskDone.next(4, func(r *facts.Replica) { r.Volume.UID = "another" }), good, false},
		{"a volume is gone", taskDone.next(4, func(r *facts.Replica) { r.Volume = nil }), good, false},
		{"a volume is going", taskDone.next(4, doomed), good, false},
		{"a volume is lost", taskDone.next(4, stranded1), good, false},
		{"a member has no certificates", taskDone.next(4, noSecret), good, false},
		{"a member's Pod is there", taskDone.next(4, func(r *facts.Replica) { r.Pod = voter(4).Pod }), good, false},
		{"the spec asks for an older minor version", wanting(taskDone, older), good, false},
		{"the spec asks for a newer one", wanting(taskDone, newer), good, true},
		{"the authority is gone", withoutCA(taskDone), good, false},
		{"a member was added by hand", strangers(taskDone), good, false},
		{"a person changed the incarnation of a volume", taskDone.edit(1, ofEdit), good, false},
		{"clients were served as much meanwhile", taskDone.at(record.DefaultBump), good, false},
		{"nobody answers", requesting(unrequested(taskDone.blind())), silently, true},
		{"one answers, and remembers only our own", outvoted(taskDone, 0), silently, true},
		{"one answers, and does not say who else there is", reticent(taskDone), silently, false},
		{"members that were added by hand are too few to serve on by themselves", outvoted(taskDone, 2), silently, true},
		{"they are a quorum by themselves", outvoted(taskDone, 4), silently, false},
		{"another incarnation lives", taskDone, otherwise(good, func(c *changes.SwitchOver) { c.From = "old" }), false},
		{"another incarnation is prepared", taskDone, otherwise(good, func(c *changes.SwitchOver) { c.To = "old" }), false},
		{"somebody else has a vote", taskDone,
			otherwise(good, func(c *changes.SwitchOver) { c.Voters = []string{"demo-0"} }), false},
		{"votes are made up while nobody knows", requesting(unrequested(taskDone.blind())),
			otherwise(good, func(*changes.SwitchOver) {}), false},
		{"what was restored is nothing, and a backup was approved",
			func() scene { o := taskDone; o.Current.Bootstrap.Next.Origin = record.Origin{}; return o }(), good, false},
		{"a survivor, without a quorum", lost, survivor, true},
		{"a survivor whose data is still being restored",
			lost.next(3, func(r *facts.Replica) { r.Restoring = coming(3).Restoring }), survivor, false},
		{"a survivor that went on since", lost.edit2(0, func(r *facts.Replica) { r.Answer.Revision = 11 }), survivor,
			false},
		{"a survivor that fell silent since", lost.edit2(0, silent), survivor, false},
		{"a survivor, and the quorum came back", requesting(back, ofDemo0),
			otherwise(survivor,
				func(c *changes.SwitchOver) { c.Voters = facts.Names(settledWorld(3).Current.Members) }), false},
	})
}

func TestNothingOfAnIncarnationThatEndedServesWhenTheNextOneStartsOrIsLost(t *testing.T) {
	moved := movedWorld(requesting(settledWorld(3)))
	marked := moved.everyFormer(markedOld)
	fenced := fencedWorld(requesting(settledWorld(3)))
	start := Decide(fenced.Observation).Change.(changes.Bootstrap)
	sealed := changes.StartPods{Pods: []changes.Start{start.Pods[0]}}
	stop := changes.DeletePods{Pods: []facts.PodRef{{Name: "demo-1", UID: "pod-demo-1"}}}
	mark := changes.MarkFormer{By: moved.Current.Bootstrap.Incarnation,
		Volumes: []facts.VolumeRef{{Name: "demo-1", UID: "volume-demo-1"}}}
	old := changes.DeleteVolumes{Volumes: []facts.VolumeRef{{Name: "demo-1", UID: "volume-demo-1"}}}
	serving := requesting(unrequested(servingWorld(requesting(settledWorld(3)))), givingUp)
	stopping := marked.everyFormer(leavingOld)
	checkGuard(t, []guarded1{
		{"what ended is marked", moved, mark, true},
		{"not as another incarnation's", moved, otherwise(mark, func(c *changes.MarkFormer) { c.By = "old" }), false},
		{"not twice", marked, mark, false},
		{"not what lives", moved, changes.MarkFormer{By: moved.Current.Bootstrap.Incarnation,
			Volumes: []facts.VolumeRef{{Name: "demo-3", UID: "volume-demo-3"}}}, false},
		{"then it is stopped", marked, stop, true},
		{"not before every volume says so", marked.former(2, func(r *facts.Replica) { r.Volume.Superseded = "" }), stop,
			false},
		{"not another Pod", marked.former(1, func(r *facts.Replica) { r.Pod.UID = "another" }), stop, false},
		{"the next incarnation starts after that", fenced, start, true},
		{"and so does each of its members", fenced, sealed, true},
		{"not while a Pod of what ended runs", fenced.former(1, func(r *facts.Replica) { r.Pod = voter(1).Pod }), start,
			false},
		{"nor does any member alone", fenced.former(1, func(r *facts.Replica) { r.Pod = voter(1).Pod }), sealed, false},
		{"not while one is terminating",
			fenced.former(1, func(r *facts.Replica) { r.Pod = voter(1).Pod; leavingOld(r) }), start, false},
		{"not while nothing says on a volume that it ended",
			fenced.former(1, func(r *facts.Replica) { r.Volume.Superseded = "" }), start, false},
		{"one of three that does not go can serve no write", stopping.former(0, notLeftOld).former(1,
			stoppedOld).former(2, stoppedOld), start, true},
		{"two of three can", stopping.former(0, notLeftOld).former(1, notLeftOld).former(2, stoppedOld), start, false},
		{"one of an unknown number can",
			unvoiced(stopping.former(0, notLeftOld).former(1, stoppedOld).former(2, stoppedOld)), start, false},
		{"one of an incarnation that nobody knows can", func() scene {
			o := stopping.former(0, notLeftOld).former(1, stoppedOld).former(2, stoppedOld)
			o.Current.Bootstrap.Former = nil
			return o
		}(), sealed, false},
		{"an incarnation that was moved to is never given up by itself", fenced,
			changes.VoidBootstrap{Incarnation: fenced.Current.Bootstrap.Incarnation}, false},
		{"old volumes go when the EtcdRestore says so", serving, old, true},
		{"not when nobody says so", servingWorld(requesting(settledWorld(3))), old, false},
		{"not for another EtcdRestore", requesting(unrequested(serving), givingUp,
			func(r *facts.Request) { r.ID = "r2" }), old, false},
		{"not while what followed is silent", serving.blind(), old, false},
		{"not without its quorum", serving.edit(3, silent).edit(4, silent), old, false},
		{"not while what followed has no name yet",
			func() scene { o := serving; o.Current.Bootstrap.ClusterID = 0; return o }(), old, false},
		{"not under a Pod", serving.former(1, func(r *facts.Replica) { r.Pod = voter(1).Pod }), old, false},
		{"not one that does not say that it ended",
			serving.former(1, func(r *facts.Replica) { r.Volume.Superseded = "" }), old, false},
		{"not one that another incarnation ended",
			serving.former(1, func(r *facts.Replica) { r.Volume.Superseded = "later" }), old, false},
		{"not another volume", serving.former(1, func(r *facts.Replica) { r.Volume.UID = "another" }), old, false},
	})
}

// Each next member is in each state, with each EtcdRestore: the cluster switches over only to what is whole, and
// nothing is taken back that is wanted.
func TestNothingIsMovedToOrTakenBackTooEarlyInEverySmallWorld(t *testing.T) {
	edits := map[string]func(*facts.Replica){
		"restoring": func(*facts.Replica) {}, "taskDone": taskDone, "failed": failed(0), "cleared": cleared, "going": goingTask,
		"written":             func(r *facts.Replica) { taskDone(r); written(r) },
		"ready":               func(r *facts.Replica) { written(r); cleared(r) },
		"no volume":           func(r *facts.Replica) { r.Volume = nil; cleared(r) },
		"no volume, restored": func(r *facts.Replica) { taskDone(r); r.Volume = nil },
		"doomed":              func(r *facts.Replica) { written(r); cleared(r); doomed(r) },
		"stranded":            func(r *facts.Replica) { written(r); cleared(r); stranded1(r) },
	}
	three := settledWorld(3)
	asking := map[string]scene{"approved": requesting(three), "unapproved": requesting(three, unapproved),
		"stale": requesting(three, staleApproval), "gone": three}
	verdicts := map[Verdict]int{}
	for how, o := range asking {
		of := fillingWorld(requesting(three))
		of.Requests = o.Requests
		for _, a := range edits {
			for _, b := range edits {
				for _, c := range edits {
					world := of.next(3, a).next(4, b).next(5, c)
					d := Decide(world.Observation)
					verdicts[d.Verdict]++
					if d.Message == "" || facts.IsVeto(d.Reason) || d.Verdict == Settled {
						t.Fatalf("%s: %+v", how, d)
					}
					holdInPlace(t, how, world, d)
				}
			}
		}
	}
	if verdicts[Act] == 0 || verdicts[Wait] == 0 || verdicts[Refuse] == 0 {
		t.Fatalf("%v", verdicts)
	}
}

func holdInPlace(t *testing.T, how string, o scene, d Decision) {
	t.Helper()
	isReady := func(r facts.Replica) bool {
		v := r.Volume
		return v != nil && v.Restored == v.Incarnation && !v.Terminating && v.Stranded == "" && r.Restoring == nil
	}
	switch c := d.Change.(type) {
	case changes.SwitchOver:
		if how != "approved" || slices.ContainsFunc(o.Next.Members, func(r facts.Replica) bool { return !isReady(r) }) {
			t.Fatalf("%s: the cluster switches over", how)
		}
	case changes.DropNext:
		if how != "gone" && how != "unapproved" {
			t.Fatalf("%s: what is wanted is dropped", how)
		}
	case changes.DeleteVolumes:
		for _, ref := range c.Volumes {
			r, isNext := facts.Find(o.Next.Members, ref.Name)
			if !isNext || (how == "approved" || how == "stale") && r.Volume.Stranded == "" {
				t.Fatalf("%s: the volume of %s is deleted", how, ref.Name)
			}
		}
	case changes.RecordRestored:
		for _, ref := range c.Volumes {
			if r, _ := facts.Find(o.Next.Members, ref.Name); r.Restoring == nil ||
				r.Restoring.Phase != facts.PodSucceeded {
				t.Fatalf("%s: %s is called restored", how, ref.Name)
			}
		}
	case changes.StartPods, changes.Bootstrap, changes.DeletePods, changes.EvictPod:
		t.Fatalf("%s: %s", how, changes.KindOf(c))
	default:
	}
}

func TestAnApprovalIsOfAnIncarnationAndItsMembersAndNotOfTheMoment(t *testing.T) {
	o := settledWorld(3)
	digest := EvidenceOf(o.Observation).Digest
	later := o.edit(1, func(r *facts.Replica) { r.Answer.Revision, r.Answer.Applied = 99, 9999 })
	later.Now = now.Add(1e12)
	for name, same := range map[string]scene{"later": later, "a member is silent": o.edit(1, silent)} {
		if EvidenceOf(same.Observation).Digest != digest {
			t.Errorf("%s: the digest changed", name)
		}
	}
	next := o
	next.Current.Bootstrap.Incarnation = facts.IncarnationID("u1", 1)
	again := o
	again.Cluster.UID = "u2"
	lost := lostWorld()
	for name, changed := range map[string]scene{
		"the incarnation is another": next, "the object is another": again,
		"a member was replaced": o.edit(2, gone).with(voter(9)), "the quorum is lost": lost,
	} {
		if EvidenceOf(changed.Observation).Digest == digest {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	of := EvidenceOf(lost.Observation).Digest
	if EvidenceOf(lost.edit2(0, func(r *facts.Replica) { r.Volume.UID = "another" }).Observation).Digest == of ||
		EvidenceOf(lost.edit2(0, noData).Observation).Digest == of {
		t.Error("without a quorum, whose data is left is no part of the digest")
	}
	restarting := settledWorld(3).edit(1, wiped).edit(2, wiped).blind()
	if EvidenceOf(restarting.edit2(1,
		func(r *facts.Replica) { r.Pod.Running = true }).Observation).Digest != EvidenceOf(
		restarting.Observation).Digest {
		t.Error("the digest changes while a container that lost its data is started again and again")
	}
}

func TestWhoGaveUpWhatServesGaveUpWhatIsSilentAndNotTheOtherWayRound(t *testing.T) {
	serving := settledWorld(3)
	silent := serving.blind()
	if !EvidenceOf(silent.Observation).Accepts(EvidenceOf(serving.Observation).Digest) {
		t.Error("an approval of a cluster that serves is stale while nobody answers")
	}
	approved := requesting(silent)
	if got := StandingOf(approved.Observation, approved.Requests[0]); got != StandingApproved {
		t.Errorf("while nobody answers it is %s", got)
	}
	back := serving
	back.Requests = approved.Requests
	if got := StandingOf(back.Observation, back.Requests[0]); got != StandingStale {
		t.Errorf("once the quorum is back, what was approved while nobody answered is %s", got)
	}
	taskDone := filledWorld(requesting(serving))
	taskDone.Requests[0].Approval = EvidenceOf(silent.Observation).Digest
	row{"nor does the cluster move for it", taskDone, Refuse, "restore-switch-over", facts.ReasonRestoreHeld, "",
		"approve that"}.check(t)
}

func TestMembersOfAnIncarnationThatWasMovedToStartBeforeAnythingElseIsPutRight(t *testing.T) {
	o := fencedWorld(requesting(settledWorld(3)))
	o.Objects = append([]facts.Object(nil), o.Objects...)
	o.Objects[len(o.Objects)-1].State = facts.ObjectDrifted
	c, _ := Decide(o.Observation).Change.(changes.Bootstrap)
	if len(c.Pods) != 3 || len(c.Objects) != 0 {
		t.Errorf("first: %+v", c)
	}
	for _, r := range o.Current.Members {
		o = o.edit(r.Ordinal, upAgain)
	}
	c, _ = Decide(o.Observation).Change.(changes.Bootstrap)
	if len(c.Pods) != 0 || len(c.Objects) != 1 {
		t.Errorf("then: %+v", c)
	}
}

func TestARecordThatIsWrittenAnewSaysWhichEtcdRestoreWasDone(t *testing.T) {
	serving := servingWorld(requesting(settledWorld(3)))
	for _, r := range serving.Current.Members {
		serving = serving.edit(r.Ordinal, func(r *facts.Replica) { r.Volume.Request = asked.ID })
	}
	serving.Current.Bootstrap = record.Bootstrap{}
	bootstrap, _ := Decide(serving.Observation).Change.(changes.BeginBootstrap)
	serving.Current.Bootstrap = record.Bootstrap{Incarnation: bootstrap.Incarnation, ClusterID: bootstrap.ClusterID,
		Restore: bootstrap.Restore}
	if got := StandingOf(serving.Observation, serving.Requests[0]); got != StandingComplete {
		t.Errorf("it is %s", got)
	}
}

func TestARecordIsWrittenAnewForOneEtcdClusterOfOneIncarnation(t *testing.T) {
	serving := servingWorld(requesting(settledWorld(3)))
	serving = relabelled(serving).unwritten()
	bootstrap, _ := Decide(serving.Observation).Change.(changes.BeginBootstrap)
	if bootstrap.Incarnation != facts.IncarnationID("u1", 1) || bootstrap.ClusterID != clusterID {
		t.Errorf("it says that %s is %s", bootstrap.Incarnation, bootstrap.ClusterID)
	}
	if why := Veto(serving.Observation, bootstrap); why != "" {
		t.Error(why)
	}
	of := func(incarnation string, id etcdutil.ID) changes.BeginBootstrap {
		b := bootstrap
		b.Incarnation, b.ClusterID = incarnation, id
		return b
	}
	for name, b := range map[string]changes.BeginBootstrap{
		"what lives, with the etcd cluster of what ended": of(bootstrap.Incarnation, clusterID+1),
		"what no member is of":                            of(facts.IncarnationID("u1", 2), clusterID),
		"what ended, under another label":                 of("edited", clusterID+1),
	} {
		if Veto(serving.Observation, b) == "" {
			t.Errorf("the guard lets %s be written down", name)
		}
	}
}

func TestAnApprovalIsGoodForADayOrTwo(t *testing.T) {
	o := requesting(settledWorld(3))
	for hours, want := range map[time.Duration]Standing{0: StandingApproved, 24: StandingApproved, 48: StandingStale,
		24 * 30: StandingStale} {
		later := o
		later.Now = now.Add(hours * time.Hour)
		_, isApproved := current(later.Observation).ApprovedNow(o.Requests[0].ID)
		if got := StandingOf(later.Observation, o.Requests[0]); got != want ||
			isApproved != (want == StandingApproved) {
			t.Errorf("after %d hours it is %s, approved %v", hours, got, isApproved)
		}
	}
}

func TestWhereAnEtcdRestoreStands(t *testing.T) {
	three := settledWorld(3)
	for _, row := range []struct {
		name  string
		world scene
		want  Standing
	}{
		{"before the cluster is born", requesting(atBootstrap(3)), StandingNotBootstrapped},
		{"without an approval", requesting(three, unapproved), StandingMissing},
		{"approved on other evidence", requesting(three, staleApproval), StandingStale},
		{"approved", requesting(three), StandingApproved},
		{"while it is restored", fillingWorld(requesting(three)), StandingRestoring},
		{"while it is restored, with an approval that went stale", staled(fillingWorld(requesting(three))),
			StandingRestoring},
		{"once the cluster moved", movedWorld(requesting(three)), StandingMoved},
		{"once it serves", servingWorld(requesting(three)), StandingComplete},
		{"behind an older one",
			func() scene { o := requesting(requesting(three, func(r *facts.Request) { r.ID = "r0" })); return o }(),
			StandingAnother},
	} {
		if got := StandingOf(row.world.Observation, row.world.Requests[len(row.world.Requests)-1]); got != row.want {
			t.Errorf("%s: %s, not %s", row.name, got, row.want)
		}
	}
}

func TestEveryStartIsConfirmed(t *testing.T) {
	for _, flags := range []facts.Flags{facts.FlagsSealed, facts.FlagsJoin, facts.FlagsBootstrap} {
		if !MustConfirm(changes.StartPods{Pods: []changes.Start{{Name: "demo-1", Flags: flags}}}) {
			t.Errorf("a Pod with flags %s is started on what a cache says: its incarnation may have ended meanwhile",
				flags)
		}
	}
}

func TestASurvivorIsStoppedOnlyToBeReadAndReadOnlyOnceItIsStopped(t *testing.T) {
	muted := mutedFor(time.Minute)
	alone := reading(muted)
	mark := changes.MarkFlushed{Incarnation: alone.Current.Bootstrap.Next.Incarnation,
		Volume: facts.VolumeRef{Name: "demo-0", UID: "volume-demo-0"}}
	unread := changes.DeleteVolumes{Volumes: []facts.VolumeRef{{Name: "demo-3", UID: "volume-demo-3"}}}
	stop := changes.DeletePods{Pods: []facts.PodRef{{Name: "demo-0", UID: "pod-demo-0"}}}
	read := changes.PrepareNext{Incarnation: alone.Current.Bootstrap.Next.Incarnation,
		Restores: []changes.Restoring{{Name: "demo-3", Settings: settings, Survivor: "demo-0", Mounts: "demo-0"}}}
	start := changes.StartPods{Pods: []changes.Start{{Name: "demo-0", Flags: facts.FlagsSealed, Settings: settings}}}
	stopped := reading(muted.edit2(0, flushed, noPod))
	checkGuard(t, []guarded1{
		{"one that ran alone for long enough is marked", alone, mark, true},
		{"not one that just started", reading(mutedFor(time.Second)), mark, false},
		{"not one that still reads its log", reading(muted.edit2(0, func(r *facts.Replica) { r.Pod.Booted = false })),
			mark, false},
		{"not one that answers", reading(lostWorld()), mark, false},
		{"not one that served since it started",
			reading(muted.edit2(0, func(r *facts.Replica) { r.Pod.ReadySince = now })), mark, false},
		{"not for another incarnation", alone,
			otherwise(mark, func(c *changes.MarkFlushed) { c.Incarnation = "old" }), false},
		{"not while nothing is restored", muted, mark, false},
		{"nothing runs on a volume that was put back", reading(putBackWorld()), mark, true},
		{"not of another claim than that", reading(putBackWorld()),
			otherwise(mark, func(c *changes.MarkFlushed) { c.Volume.UID = "another" }), false},
		{"it is read as it is", reading(putBackWorld().edit2(0, flushed)), read, true},
		{"and never started", putBackWorld(), start, false},
		{"what was made to be written to from afar goes first", restoredInPart(muted).next(3, cleared), unread, true},
		{"not what somebody still writes to", restoredInPart(muted), unread, false},
		{"not what was written", restoredInPart(muted).next(3, cleared, written), unread, false},
		{"not while it may still answer", restoredInPart(mutedFor(time.Second)).next(3, cleared), unread, false},
		{"not once it is marked", restoredInPart(muted.edit2(0, flushed)).next(3, cleared), unread, false},
		{"then it is stopped", reading(muted.edit2(0, flushed)), stop, true},
		{"not before", alone, stop, false},
		{"not on an approval that went stale", staled(reading(muted.edit2(0, flushed))), stop, false},
		{"not for another incarnation's sake",
			reading(muted.edit2(0, func(r *facts.Replica) { r.Volume.Flushed = "old" })), stop, false},
		{"it is read once it is gone", stopped, read, true},
		{"not before", reading(muted.edit2(0, flushed)), read, false},
		{"not where nothing says that it ran", reading(muted.edit2(0, noPod)), read, false},
		{"nobody else's volume is", stopped, changes.PrepareNext{Incarnation: read.Incarnation,
			Restores: []changes.Restoring{{Name: "demo-3", Settings: settings, Survivor: "demo-0", Mounts: "demo-1"}}},
			false},
		{"it does not start while it is read", stopped, start, false},
		{"but once nobody reads it", muted.edit2(0, flushed, noPod), start, true},
	})
}
