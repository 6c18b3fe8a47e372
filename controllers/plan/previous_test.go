package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Worlds in which a restore in place switched over to demo-3, demo-4 and demo-5, and these do not come to serve.

// homeward is an EtcdRestore that asks to go back.
func homeward(r *facts.Request) {
	r.Name, r.ID, r.Source, r.WantedBackup = "home", "r2", record.SourcePrevious, facts.WantedBackup{}
}

// failingWorld has restored members whose Pods do not start.
func failingWorld() scene {
	o := fencedWorld(requesting(settledWorld(3)))
	o.Current.Bootstrap.Served = asked.Bump + backupOf.Revision
	for _, r := range o.Current.Members {
		o = o.edit2(r.Ordinal, upAgain, unpullable)
	}
	return o
}

// hurt has lost the volumes of two restored members.
func hurt(o scene) scene { return o.edit2(4, noData).edit2(5, noData) }

// lateWorld has restored members that no node has taken for long.
func lateWorld() scene {
	o := failingWorld()
	for _, r := range o.Current.Members {
		o = o.edit2(r.Ordinal, func(r *facts.Replica) {
			r.Pod.Waiting, r.Pod.Message = "Unschedulable", "0/3 nodes are available: 3 had untolerated taint {late: }"
			r.Pod.Created = now.Add(-facts.StartDeadline * 2)
		})
	}
	return o
}

// goneBackWorld has just gone back from there.
func goneBackWorld(o scene) scene {
	o = requesting(o, homeward)
	c := Decide(o.Observation).Change.(changes.GoBack)
	if !o.Current.Bootstrap.GoBack(c.From, c.Restore, record.Bootstrap(c.BeginBootstrap)) {
		panic("the record is another one")
	}
	failed := facts.Incarnation{Bootstrap: record.Bootstrap{Incarnation: c.From}, Members: o.Current.Members}
	o.Current.Members, o.Former = o.Former[0].Members, []facts.Incarnation{failed}
	return o
}

// endedFailed is what is left of a restored member, once its volume is marked.
func endedFailed(r *facts.Replica) {
	if stoppedOld(r); r.Volume != nil {
		r.Volume.Superseded = facts.IncarnationID("u1", 0)
	}
}

func returned(r *facts.Replica) {
	r.Volume.GoesBackFrom, r.Volume.Superseded = r.Volume.Superseded, ""
}

// saidGone is a previous member whose etcd said that its data is gone, before its Pod went.
func saidGone(r *facts.Replica) { r.Volume.RemovedFor = facts.CauseDisk }

// blank has a volume on which no member lived.
func blank(r *facts.Replica) { r.Volume.Record = record.Member{} }

// every changes all members of the current incarnation.
func (o scene) every(changes ...func(*facts.Replica)) scene {
	for _, r := range o.Current.Members {
		o = o.edit2(r.Ordinal, changes...)
	}
	return o
}

func certified(r *facts.Replica) { r.Secret.State = facts.ObjectCurrent }

// homeAgain serves with the previous members.
func homeAgain() scene {
	o := goneBackWorld(failingWorld()).everyFormer(endedFailed)
	o.Current.Members = nil
	for i := range 3 {
		r := voter(i)
		r.Volume.GoesBackFrom = facts.IncarnationID("u1", 1)
		o.Current.Members = append(o.Current.Members, r)
	}
	o.Current.Membership, o.Budget = settledWorld(3).Current.Membership, settledWorld(3).Budget
	return o.joined()
}

// waysBack are clusters that go back from a restored incarnation that never served.
func waysBack() []row {
	failing, back := failingWorld(), goneBackWorld(failingWorld())
	stopped := back.everyFormer(endedFailed)
	fenced := stopped.every(returned)
	const rule, fence = "restore-go-back", "restore-fence"
	const command = `"source":{"previous":{}},"approval":"`
	return []row{
		{"what never served is given up for what was before, once a person approved that", requesting(failing, homeward),
			Act, rule, "", "GoBack", "back to demo-0, demo-1, demo-2"},
		{"not before", requesting(failing, homeward, unapproved), Wait, "first-quorum", facts.ReasonImagePull, "", ""},
		{"nor on an approval of what was there before the switch-over",
			requesting(failing, homeward, func(r *facts.Request) { r.Approval = failing.Requests[0].Approval }), Wait,
			"first-quorum", facts.ReasonImagePull, "", ""},
		{"although the spec is refused", requesting(refusing(failing), homeward), Act, rule, "", "GoBack",
			""},
		{"and where too few of what was restored is left", requesting(hurt(failing), homeward), Act, rule,
			"", "GoBack", ""},
		{"a quorum of the previous volumes is enough",
			requesting(failing.former(1, func(r *facts.Replica) { r.Volume = nil }), homeward), Act, rule,
			"", "GoBack", "back to demo-0, demo-2"},
		{"where no one could say who had a vote, each of them is all there was",
			requesting(unvoiced(failing.former(1, func(r *facts.Replica) { r.Volume = nil })), homeward), Act, rule,
			"", "GoBack", "back to demo-0, demo-2"},
		{"not to a volume of which etcd said that its data is gone", requesting(failing.former(1, saidGone), homeward), Act,
			rule, "", "GoBack", "back to demo-0, demo-2"},
		{"where the cluster serves a person is told why not, and all else goes on", requesting(settledWorld(3), homeward),
			Refuse, rule, facts.ReasonRestoreHeld, "", "the cluster serves, or did"},
		{"what the cluster switched over from is stopped first",
			requesting(movedWorld(requesting(settledWorld(3))), homeward), Act, fence, "", "MarkFormer", ""},
		{"what it went back from is marked first", back, Act, fence, "", "MarkFormer",
			"demo-3, demo-4, demo-5"},
		{"then that is taken off what is the current one again", back.everyFormer(func(r *facts.Replica) {
			r.Volume.Superseded = facts.IncarnationID("u1", 0)
		}), Act, fence, "", "MarkCurrent", "demo-0, demo-1, demo-2"},
		{"then what it went back from is stopped", back.every(returned).everyFormer(func(r *facts.Replica) {
			r.Volume.Superseded = facts.IncarnationID("u1", 0)
		}), Act, fence, "", "DeletePods", "demo-3, demo-4, demo-5"},
		{"then its certificates go", fenced.former(4, certified), Act, fence, "", "DeleteSecret", "demo-4"},
		{"nothing else is done while one of its Pods is going", fenced.former(4, upAgain4, leaving), Wait, fence,
			facts.ReasonFence, "", "demo-4"},
		{"then the previous members get certificates", fenced, Act, "scaffold", "", "ApplyObjects", ""},
		{"and start on their volumes", fenced.every(certified), Act, "pods", "", "StartPods",
			"demo-0, demo-1, demo-2"},
		{"then the cluster is settled", homeAgain(), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"and the same EtcdRestore is carried out no more",
			approvedAnew(homeAgain(), 1), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"nor the one that it went back from", approvedAnew(homeAgain(), 0), Settled, RuleSettled, facts.ReasonSettled, "",
			""},
		{"nor another one that was approved before the switch-over",
			func() scene { o := homeAgain(); o.Requests = []facts.Request{waited()}; return o }(), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"the volumes that it went back from are kept", requesting(unrequested(homeAgain()), givingUp), Settled,
			RuleSettled, facts.ReasonSettled, "", ""},
		{"nor does the one give them up that the previous incarnation came of", func() scene {
			o := homeAgain()
			o.Current.Bootstrap.Restore = "r0"
			return requesting(unrequested(o), givingUp, func(r *facts.Request) { r.ID = "r0" })
		}(), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"until the EtcdRestore gives them up for which it went back",
			requesting(unrequested(homeAgain()), homeward, givingUp), Act, "collect", "", "DeleteVolumes",
			"demo-3, demo-4, demo-5"},
		{"members that cannot start have a way back, in one command", lateWorld(), Refuse, "first-quorum",
			facts.ReasonUnschedulable, "", command + EvidenceOf(lateWorld().Observation).Digest + `"}}' | kubectl create -n ` +
				"default -f - (it approves"},
		{"not before their time is over", failing, Wait, "first-quorum", facts.ReasonImagePull, "",
			"docs/air-gapped.md."},
		{"so have restored members whose volumes were lost", hurt(failing), Refuse, "void-birth", facts.ReasonRestoreLost,
			"", command},
		{"not without the previous volumes", hurt(failing.former(0, noData).former(1, noData)), Refuse, "void-birth",
			facts.ReasonRestoreLost, "", "Make and approve another EtcdRestore."},
		{"where an EtcdRestore asks for it already it has to be approved", requesting(hurt(failing), homeward, unapproved),
			Refuse, "void-birth", facts.ReasonRestoreLost, "", "kubectl patch etcdrestore home -n default --type merge"},
	}
}

// upAgain4 is the Pod of a restored member that does not start.
func upAgain4(r *facts.Replica) { upAgain(r); unpullable(r) }

// approvedAnew has one EtcdRestore approved on the evidence of now.
func approvedAnew(o scene, i int) scene {
	o.Requests = slices.Clone(o.Requests)
	o.Requests[i].Approval = EvidenceOf(o.Observation).Digest
	return o
}

// waited is an EtcdRestore that was approved while another one was carried out.
func waited() facts.Request {
	return requesting(settledWorld(3), func(r *facts.Request) { r.ID = "r3" }).Requests[0]
}

func TestAClusterThatCannotGoBackSaysWhyAndWhatElse(t *testing.T) {
	failing := failingWorld()
	for why, o := range map[string]scene{
		"the cluster serves, or did":                                     settledWorld(3),
		"what was written since would be lost":                           servingWorld(requesting(settledWorld(3))),
		"serves, or did, with what it holds now":                         failing.edit2(3, func(r *facts.Replica) { r.Volume.Record = voter(3).Record() }),
		"a quorum of the restored members answers":                       answering(failing),
		"about to serve":                                                 failing.edit2(3, func(r *facts.Replica) { r.Pod.Running, r.Pod.Ready = true, true }),
		"too few volumes are there with the data of its members: 1 of 3": failing.former(0, noData).former(1, noData),
		"volumes are there with the data of its members: 0 of 3":         failing.everyFormer(blank),
		"data of its members: 0 of 0":                                    unvoiced(failing.everyFormer(copiedClaim)),
		"its members: 1 of 3":                                            failing.former(0, saidGone).former(1, saidGone),
		"volumes of demo-0 and demo-2 say":                               failing.former(2, func(r *facts.Replica) { r.Volume.Record.ClusterID++ }),
		"too few volumes":                                                failing.everyFormer(func(r *facts.Replica) { r.Volume.Superseded = "later" }),
		"Secret demo-ca, which":                                          withoutCA(failing),
	} {
		d := Decide(requesting(o, homeward).Observation)
		held := d.Trace.Yielded()
		i := slices.IndexFunc(held, func(n facts.Note) bool { return n.Rule == "restore-go-back" })
		if i < 0 {
			t.Errorf("%s: %+v", why, d)
			continue
		}
		if n := held[i]; !n.NeedsHuman || n.Reason != facts.ReasonRestoreHeld || !strings.Contains(n.Message, why) ||
			!strings.Contains(n.Message, "docs/restore.md") {
			t.Errorf("%s: it says %s", why, n.Message)
		}
	}
}

// answering has a quorum of restored members that answers.
func answering(o scene) scene {
	o.Current.Membership = facts.Membership{Known: true, ClusterID: 7, Leader: 4}
	for i := 3; i < 6; i++ {
		o.Current.Membership.Members = append(o.Current.Membership.Members, *voter(i).Member)
	}
	return o
}

func TestAClusterGoesBackOnlyFromWhatNeverServedAndToWhatIsThere(t *testing.T) {
	asked := requesting(failingWorld(), homeward)
	good := Decide(asked.Observation).Change.(changes.GoBack)
	approving := func(o scene) scene { o.Requests = asked.Requests[:1]; return requesting(o, homeward) }
	elsewhere := good
	elsewhere.Incarnation = "elsewhere"
	with := func(names ...string) changes.GoBack { c := good; c.Names = names; return c }
	checkGuard(t, []guarded1{
		{"what never served is given up", asked, good, true},
		{"no one wants it", unrequested(asked), good, false},
		{"the approval is of other evidence", staled(asked), good, false},
		{"an EtcdRestore from a backup is approved", requesting(unrequested(asked)),
			otherwise(good, func(c *changes.GoBack) { c.Restore = "r1" }), false},
		{"it is carried out once", approving(func() scene {
			o := asked
			o.Current.Bootstrap.Former = append([]record.Former{{Incarnation: "old", Back: "r2"}}, o.Current.Bootstrap.Former...)
			return o
		}()), good, false},
		{"another incarnation lives", asked, otherwise(good, func(c *changes.GoBack) { c.From = "old" }), false},
		{"another one ended last", asked, elsewhere, false},
		{"none ended", func() scene { o := asked; o.Current.Bootstrap.Former = nil; return o }(), good, false},
		{"another one is prepared", func() scene {
			o := asked
			o.Current.Bootstrap.Next = record.Next{Incarnation: "next", Restore: "r1"}
			return o
		}(), good, false},
		{"what was restored has its identity", approving(func() scene { o := asked; o.Current.Bootstrap.ClusterID = 7; return o }()),
			good, false},
		{"one of its members is recorded",
			approving(asked.edit2(3, func(r *facts.Replica) { r.Volume.Record = voter(3).Record() })), good, false},
		{"its quorum answers", approving(answering(asked)), good, false},
		{"one of its members is ready", approving(asked.edit2(3, func(r *facts.Replica) { r.Pod.Ready = true })), good, false},
		{"a previous member runs", asked.former(1, func(r *facts.Replica) { r.Pod = voter(1).Pod }), good, false},
		{"a previous volume is not marked", asked.former(1, func(r *facts.Replica) { r.Volume.Superseded = "" }), good,
			false},
		{"it is marked for another incarnation", asked.former(1, func(r *facts.Replica) { r.Volume.Superseded = "x" }), good,
			false},
		{"a previous volume is gone", asked.former(1, func(r *facts.Replica) { r.Volume = nil }), good, false},
		{"without it a quorum is left", asked.former(1, func(r *facts.Replica) { r.Volume = nil }), with("demo-0", "demo-2"),
			true},
		{"a previous volume is going", asked.former(1, doomed), good, false},
		{"it is lost", asked.former(1, stranded1), good, false},
		{"it was put back by a backup tool", asked.former(1, copiedClaim), good, false},
		{"it is of another cluster", asked.former(1, func(r *facts.Replica) { r.Volume.Record.ClusterID++ }), good, false},
		{"no member lived on it", asked.former(1, blank), good, false},
		{"etcd said that its data is gone", asked.former(1, saidGone), good, false},
		{"it was to be removed for its node", asked.former(1, func(r *facts.Replica) { r.Volume.RemovedFor = facts.CauseNode }),
			good, true},
		{"the members are of no cluster", asked, otherwise(good, func(c *changes.GoBack) { c.ClusterID = 0 }), false},
		{"too few of them had a vote", asked, with("demo-0"), false},
		{"of a former incarnation before that nothing counts", asked.former(1, func(r *facts.Replica) {
			r.Volume.Incarnation = "older"
		}), good, false},
	})
}

func TestAVolumeOfAnIncarnationThatWasGoneBackToIsMarkedAnew(t *testing.T) {
	back := goneBackWorld(failingWorld())
	marked := back.everyFormer(endedFailed)
	ref := facts.VolumeRef{Name: "demo-1", UID: "volume-demo-1"}
	good := changes.MarkCurrent{After: facts.IncarnationID("u1", 1), Volumes: []facts.VolumeRef{ref}}
	start := changes.StartPods{Pods: []changes.Start{{Name: "demo-1", Flags: facts.FlagsSealed, Settings: settings}}}
	failed := changes.StartPods{Pods: []changes.Start{{Name: "demo-4", Flags: facts.FlagsSealed, Settings: settings}}}
	still := func(o scene) scene { o.Current.Bootstrap.Former = slices.Clone(o.Current.Bootstrap.Former); return o }
	given := still(marked)
	given.Current.Bootstrap.Former[0].Back = ""
	checkGuard(t, []guarded1{
		{"once what it went back from is marked", marked, good, true},
		{"not before", back, good, false},
		{"not another volume", marked.edit2(1, func(r *facts.Replica) { r.Volume.UID = "another" }), good, false},
		{"not twice", marked.every(returned), good, false},
		{"not of another incarnation", marked.edit2(1, func(r *facts.Replica) { r.Volume.Incarnation = "x" }), good, false},
		{"not where the cluster went back from nothing", given, good, false},
		{"not of what it went back from", marked, changes.MarkCurrent{After: facts.IncarnationID("u1", 1),
			Volumes: []facts.VolumeRef{{Name: "demo-4", UID: "volume-demo-4"}}}, false},
		{"a member starts once its volume says so", marked.every(returned), start, true},
		{"not before that", marked, start, false},
		{"not while what it went back from runs", marked.every(returned).former(4, upAgain4), start, false},
		{"nor while that is not marked", back.every(returned).everyFormer(noPod), start, false},
		{"what it went back from never starts again", marked.every(returned), failed, false},
	})
}

func TestANameThatTheClusterWentBackFromIsNoLostMemberOfIt(t *testing.T) {
	o := goneBackWorld(failingWorld()).everyFormer(endedFailed).every(returned).blind()
	left := facts.Replica{Name: "demo-4", Ordinal: 4, Secret: facts.Object{State: facts.ObjectCurrent, UID: "secret"}}
	o.Current.Members = append(slices.Clone(o.Current.Members), left)
	if e := EvidenceOf(o.Observation); e.Quorum != QuorumUnknown || len(e.Members) != 3 {
		t.Errorf("%+v", e)
	}
}

func TestAnApprovalFromBeforeAClusterWentBackIsOfOtherEvidence(t *testing.T) {
	before, after := settledWorld(3), homeAgain()
	old := EvidenceOf(before.Observation)
	if EvidenceOf(after.Observation).Accepts(old.Digest) {
		t.Error("it counts again")
	}
	lost := homeAgain()
	lost.Current.Bootstrap.Former = nil // the record was lost, and written anew from the volumes
	if EvidenceOf(lost.Observation).Digest != EvidenceOf(after.Observation).Digest {
		t.Error("the volumes do not say it")
	}
	replaced := homeAgain().every(func(r *facts.Replica) { r.Volume.GoesBackFrom = "" })
	if EvidenceOf(replaced.Observation).Digest != EvidenceOf(after.Observation).Digest {
		t.Error("the record does not say it")
	}
}

func TestAGoingBackIsOnItsWayUntilThePreviousMembersAnswer(t *testing.T) {
	back, home := goneBackWorld(failingWorld()), homeAgain()
	later := home
	later.Current.Bootstrap.Former = append(slices.Clone(later.Current.Bootstrap.Former), record.Former{Incarnation: "later"})
	for name, row := range map[string]struct {
		world scene
		want  map[string]Standing
	}{
		"it has just gone back": {back, map[string]Standing{"r1": StandingComplete, "r2": StandingMoved}},
		"it serves":             {home, map[string]Standing{"r1": StandingComplete, "r2": StandingComplete}},
		"another one followed":  {later.blind(), map[string]Standing{"r2": StandingComplete}},
		"it does not yet":       {failingWorld(), map[string]Standing{"r1": StandingMoved}},
	} {
		for id, want := range row.want {
			if got := StandingOf(row.world.Observation, facts.Request{ID: id}); got != want {
				t.Errorf("%s: %s is %s, want %s", name, id, got, want)
			}
		}
	}
}

func TestARestoreAfterAClusterWentBackUsesNothingThatWasUsed(t *testing.T) {
	o := homeAgain()
	o = lookedAt(requesting(unrequested(o), func(r *facts.Request) { r.ID = "r4" }), hasFound)
	c, ok := Decide(o.Observation).Change.(changes.BeginNext)
	if !ok || c.Incarnation != facts.IncarnationID("u1", 2) || c.Counter != 2 ||
		!slices.Equal(c.Names, []string{"demo-6", "demo-7", "demo-8"}) {
		t.Fatalf("%+v", Decide(o.Observation))
	}
	if begins, floor := o.Current.Bootstrap.BeginsAt(c.Next), o.Current.Bootstrap.Served; floor == 0 || begins < floor+record.DefaultBump/2 {
		t.Errorf("it begins at %d, and the one that never served at %d", begins, floor)
	}
	if got := etcdutil.MemberName("demo", o.Current.Bootstrap.NextOrdinal); got != "demo-6" {
		t.Errorf("the next name is %s", got)
	}
}
