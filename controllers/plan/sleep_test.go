package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// toSleep is the same cluster with spec.size 0.
func toSleep(o scene) scene { return desire(o, func(d *facts.Desired) { d.Size = 0 }) }

// recordedAsleep says in the bootstrap record that the cluster sleeps.
func recordedAsleep(o scene) scene {
	o.Current.Bootstrap.Asleep = true
	return o
}

// stopped is a cluster of three without a Pod.
func atRest() scene {
	return settledWorld(3).edit(0, noPod).edit(1, noPod).edit(2, noPod).blind()
}

func withoutBudget(o scene) scene {
	o.Budget.State, o.Budget.MinAvailable = facts.ObjectAbsent, 0
	return o
}

func withDriftedBudget(o scene) scene {
	o.Budget.State = facts.ObjectDrifted
	return o
}

// sleepRows are clusters with spec.size 0, and those that wake.
func sleepRows() []row {
	three := settledWorld(3)
	return append(fallingAsleep(), []row{
		{"what is written down to sleep is stopped at once", recordedAsleep(toSleep(three)), Act, "asleep", "", "StopMembers",
			"Stop the Pods of demo-0, demo-1, demo-2: spec.size is 0"},
		{"also where no member answers", recordedAsleep(toSleep(three.blind())), Act, "asleep", "", "StopMembers", "demo-2"},
		{"one that is on its way out is waited for", recordedAsleep(toSleep(atRest().edit(1, func(r *facts.Replica) {
			r.Pod = &facts.Pod{UID: "p", Terminating: true, GoneBy: now.Add(time.Minute)}
		}))), Wait, "asleep", facts.ReasonPodLeaving, "", "The Pod of demo-1 is being stopped."},
		{"and told once it is late", recordedAsleep(toSleep(atRest().edit(1, func(r *facts.Replica) {
			r.Pod = &facts.Pod{UID: "p", Terminating: true, GoneBy: now.Add(-time.Hour)}
		}))), Refuse, "asleep", facts.ReasonPodLeaving, "", "demo-1"},
		{"the only copy that is left of a volume runs on", recordedAsleep(toSleep(atRest().edit(1, func(r *facts.Replica) {
			r.Pod = voter(1).Pod
			r.Volume.Terminating = true
		}))), Refuse, "asleep", facts.ReasonDataAtRisk, "", "the Pod of demo-1 runs on"},
		{"then no budget is left", recordedAsleep(toSleep(atRest())), Act, "asleep", "", "SetBudget", "no member runs"},
		{"then nothing is done any more", withoutBudget(recordedAsleep(toSleep(atRest()))), Wait, "asleep", facts.ReasonAsleep,
			"", "the data stays on the volumes of demo-0, demo-1, demo-2. To wake it, set spec.size"},
		{"not for objects that drifted, certificates that end, or volumes that are lost",
			withoutBudget(recordedAsleep(toSleep(atRest().edit(1, noData).edit(2, noSecret)))).lacking(), Wait, "asleep",
			facts.ReasonAsleep, "", "on the volumes of demo-0, demo-2."},
		{"volumes that are going hold no data that stays", withoutBudget(recordedAsleep(toSleep(atRest().edit(1, func(r *facts.Replica) {
			r.Volume.Terminating = true
		})))), Wait, "asleep", facts.ReasonAsleep, "", "the data stays on the volumes of demo-0, demo-2."},
		{"a quorum that is lost asleep is told at once", withoutBudget(recordedAsleep(toSleep(atRest().edit(0, noData).edit(1, noData)))),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "", "The data of 2 of 3 members is lost"},
		{"and all the data", withoutBudget(recordedAsleep(toSleep(atRest().edit(0, noData).edit(1, noData).edit(2, noData)))),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "", "The data of 3 of 3 members is lost"},
		{"a budget that a person edited goes as well", withDriftedBudget(recordedAsleep(toSleep(atRest()))), Act, "asleep", "",
			"SetBudget", "no member runs"},
		{"a refused spec is told", refusing(withoutBudget(recordedAsleep(toSleep(atRest())))), Refuse, "spec-refused",
			facts.ReasonSpecRefused, "", "no such version"},
		{"a restore is told to wait for the cluster to wake",
			requesting(withoutBudget(recordedAsleep(toSleep(atRest())))), Refuse, "restore-begin",
			facts.ReasonRestoreHeld, "", "Wake the cluster first"},

		{"who wakes it has all members started at once, on their volumes", recordedAsleep(atRest()), Act, "pods", "",
			"StartPods", "demo-0, demo-1, demo-2"},
		{"at any size", desire(recordedAsleep(atRest()), func(d *facts.Desired) { d.Size = 1 }), Act, "pods", "",
			"StartPods", "demo-0, demo-1, demo-2"},
		{"where a volume was lost the others start", recordedAsleep(atRest().edit(1, noData)), Act, "pods", "",
			"StartPods", "demo-0, demo-2"},
		{"certificates come first", recordedAsleep(atRest().edit(1, noSecret)), Act, "scaffold", "", "ApplyObjects", "demo-1"},
		{"it is awake once a quorum answers", recordedAsleep(three), Act, "awake", "", "WakeUp", "spec.size is 3"},
		{"and then gets its size", desire(three, func(d *facts.Desired) { d.Size = 1 }), Act, "shrink", "", "LabelRole", ""},
		{"back to sleep midway, what started is stopped", recordedAsleep(toSleep(three.edit(1, noPod).blind())), Act, "asleep",
			"", "StopMembers", "demo-0, demo-2"},

		{"a cluster that was never created is not created", toSleep(notBootstrapped(3)), Wait, "birth-record",
			facts.ReasonAsleep, "", "was never created. To wake it"},
		{"and no backup is looked at for it", toSleep(wishing(notBootstrapped(3))), Wait, "birth-record", facts.ReasonAsleep, "",
			"was never created. To wake it"},
		{"a lost record says again that the cluster sleeps", lostRecord(toSleep(atRest())), Act, "birth-record", "",
			"BeginBootstrap", "anew"},
	}...)
}

func fallingAsleep() []row {
	three := settledWorld(3)
	return []row{
		{"a cluster with spec.size 0 falls asleep", toSleep(three), Act, "hibernate", "", "FallAsleep", "their volumes stay"},
		{"in the middle of a roll", wanting(toSleep(three.edit(2, adopted).edit(2, noPod)), other), Act, "hibernate", "",
			"FallAsleep", ""},
		{"while a member is away", toSleep(three.edit(1, silent)), Act, "hibernate", "", "FallAsleep", ""},
		{"while no member answers", toSleep(three.blind()), Act, "hibernate", "", "FallAsleep", ""},
		{"a backup that reads ends first, and no member is one too many", streaming(toSleep(three)), Wait, "hibernate",
			facts.ReasonFallingAsleep, "", "reads a member's data for a backup"},
		{"a learner joins or goes first", toSleep(three.with(learner(3)).budgeting(3)), Act, "abandon-learner", "",
			"RemoveMember", "the size does not ask for it"},
		{"while the data of one is lost", toSleep(three.edit(1, wiped)), Act, "hibernate", "", "FallAsleep", ""},
		{"a member that is not recorded is recorded first", toSleep(three.edit(1, unrecorded)), Act, "record-members", "",
			"RecordMembers", "demo-1"},
		{"a member on a volume that is going is succeeded first", toSleep(three.edit(1, doomed)), Act, "grow", "",
			"PrepareMember", ""},
		{"and leaves", toSleep(three.edit(1, doomed).with(voter(3)).budgeting(3)), Act, "shrink", "", "LabelRole", "demo-1"},
		{"two of three are succeeded before they leave: as many copies sleep as there were",
			toSleep(three.edit(1, doomed).edit(2, doomed)), Act, "grow", "", "PrepareMember", "the place of demo-1 or demo-2"},
		{"also once the first successor votes", toSleep(three.edit(1, doomed).edit(2, doomed).with(voter(3)).budgeting(3)), Act,
			"grow", "", "PrepareMember", ""},
		{"and leave one after the other", toSleep(three.edit(1, doomed).edit(2, doomed).with(voter(3)).with(voter(4)).budgeting(3)),
			Act, "shrink", "", "LabelRole", "demo-2 out of the client Service: it will be removed, because the cluster is to sleep with 3 members, and has 5."},
		{"two of five leave", toSleep(settledWorld(5).edit(1, doomed).edit(2, doomed)), Act, "shrink", "", "LabelRole", "demo-2"},
		{"the only one is succeeded first", toSleep(settledWorld(1).edit(0, doomed)), Act, "grow", "", "PrepareMember", ""},
		{"a lost quorum does not hide in sleep", toSleep(lostWorld()), Refuse, "quorum-lost", facts.ReasonQuorumLost, "",
			"is lost"},
		{"members are not too many for a size of 0", toSleep(inMemory(three)), Wait, "hibernate", facts.ReasonFallingAsleep,
			"", "demo-0 has its data in its Pod"},
		{"data in Pods goes to volumes first", toSleep(leavingPods(three)), Act, "grow", "", "PrepareMember",
			"its data is in its Pod, and the spec asks for volumes"},
		{"a member leaves its Pod once another one votes on a volume, and no further one is added",
			toSleep(leavingPods(three).with(voter(3)).budgeting(3)), Act, "shrink", "", "LabelRole",
			"demo-2 out of the client Service: it will be removed, because the cluster is to sleep with 3 members, and has 4."},
		{"the next one follows then", toSleep(leavingPods(three).edit(2, gone).with(voter(3)).budgeting(2)), Act, "grow", "",
			"PrepareMember", "the place of demo-1"},
		{"of five with their data in Pods two leave", toSleep(leavingPods(settledWorld(5))), Act, "shrink", "", "LabelRole",
			"demo-4 out of the client Service: it will be removed, because the cluster is to sleep with 3 members, and has 5."},
		{"one beside four on volumes is succeeded", toSleep(settledWorld(5).edit(1, inItsPod)), Act, "grow", "",
			"PrepareMember", "the place of demo-1"},
		{"two beside three on volumes leave", toSleep(settledWorld(5).edit(1, inItsPod).edit(2, inItsPod)), Act, "shrink", "",
			"LabelRole", "demo-2"},
		{"they wait for no window", closed(toSleep(leavingPods(three))), Act, "grow", "", "PrepareMember", ""},
		{"who lost its data with its Pod is replaced awake", toSleep(three.edit(1, func(r *facts.Replica) {
			r.Pod, r.Volume, r.Answer = nil, nil, nil
		})), Act, "hibernate", "", "FallAsleep", ""},
		{"nothing is restored that would not be served",
			requesting(toSleep(inMemory(three))), Refuse, "restore-begin", facts.ReasonRestoreHeld, "",
			"Wake the cluster first"},
		{"a bootstrap that has begun ends first", toSleep(atBootstrap(3)), Wait, "first-quorum", facts.ReasonFirstQuorum, "",
			"3 of 3"},
	}
}

// lacking is the same cluster with a Service that drifted.
func (o scene) lacking() scene {
	o.Objects = append([]facts.Object(nil), o.Objects...)
	o.Objects[1].State = facts.ObjectDrifted
	return o
}

func lostRecord(o scene) scene {
	o.Current.Bootstrap = record.Bootstrap{}
	return o
}

func TestALostRecordIsWrittenAnewAsleepOnlyWhereNothingRuns(t *testing.T) {
	for name, row := range map[string]struct {
		world scene
		want  bool
	}{
		"nothing runs":        {lostRecord(toSleep(atRest())), true},
		"the size is 3":       {lostRecord(atRest()), false},
		"a member still runs": {lostRecord(toSleep(atRest().edit(0, func(r *facts.Replica) { r.Pod = voter(0).Pod }))), false},
	} {
		d := Decide(row.world.Observation)
		begun, isBegun := d.Change.(changes.BeginBootstrap)
		if !isBegun || begun.Asleep != row.want {
			t.Errorf("%s: %+v, want asleep %v", name, d.Change, row.want)
		}
	}
}

// guardedSleep are rows of members that stop because the cluster sleeps.
func guardedSleep() []guardRow {
	three := func() scene {
		o := settledWorld(3)
		o.Desired.Sleep = true
		return o
	}
	asleep := recordedAsleep(three())
	stop := changes.StopMembers{Pods: []facts.PodRef{{Name: "demo-1", UID: "pod-demo-1"}}}
	awake := settledWorld(3)
	preparing := three()
	preparing.Current.Bootstrap.Next.Incarnation = "next"
	unnamed := three()
	unnamed.Current.Bootstrap.ClusterID = 0
	anew := changes.BeginBootstrap(atRest().Current.Bootstrap)
	anew.Asleep = true
	unasked := lostRecord(atRest())
	asked := unasked
	asked.Desired.Sleep = true
	return []guardRow{
		{"a cluster that sleeps although its spec asks for members", three(), changes.FallAsleep{}, awake,
			changes.FallAsleep{}, "spec.size asks for members"},
		{"a cluster that sleeps in the middle of a restore", three(), changes.FallAsleep{}, preparing, changes.FallAsleep{},
			"a restore in place prepares"},
		{"a cluster that sleeps and could not wake", three(), changes.FallAsleep{}, unnamed, changes.FallAsleep{},
			"nothing says which cluster would wake"},
		{"a cluster that sleeps on a volume that is going", three(), changes.FallAsleep{}, three().edit(1, doomed),
			changes.FallAsleep{}, "what demo-1 holds is not written down on a volume that stays"},
		{"a cluster that sleeps with data in a Pod", three(), changes.FallAsleep{}, three().edit(1, inItsPod),
			changes.FallAsleep{}, "what demo-1 holds is not written down on a volume that stays"},
		{"a member that stops with the data in its Pod", asleep, stop, asleep.edit(1, inItsPod), stop,
			"on a volume that stays"},
		{"a member that stops although the spec asks for it", asleep, stop, recordedAsleep(awake), stop,
			"spec.size asks for members"},
		{"a member that stops before it is written down", asleep, stop, three(), stop,
			"it is not written down that the cluster sleeps"},
		{"a member that stops with its data", asleep, stop, asleep.edit(1, doomed), stop, "on a volume that stays"},
		{"another Pod that stops", asleep, stop, asleep,
			changes.StopMembers{Pods: []facts.PodRef{{Name: "demo-1", UID: "another"}}}, "another one by now"},
		{"a cluster that is awake without a quorum", recordedAsleep(awake), changes.WakeUp{}, recordedAsleep(atRest()),
			changes.WakeUp{}, "no quorum answers"},
		{"a cluster that is awake although it is to sleep", recordedAsleep(awake), changes.WakeUp{}, asleep, changes.WakeUp{},
			"spec.size asks for no member"},
		{"a record that is written anew as asleep", asked, anew, unasked, anew, "the cluster does not sleep"},
		{"a budget that is deleted under members", asleep, changes.SetBudget{}, three(), changes.SetBudget{},
			"need a larger budget"},
	}
}
