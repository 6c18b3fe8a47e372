package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// hashing gives each member that answers, by its ordinal, what its copy adds up to; 0 is a member that was not heard.
func hashing(o scene, sums ...uint32) scene {
	for ordinal, sum := range sums {
		o = o.edit(ordinal, func(r *facts.Replica) {
			if r.Answer != nil && sum != 0 {
				r.Answer.Hash = &facts.Hash{Sum: sum, Revision: 10, Compacted: 1}
			}
		})
	}
	return o
}

// differing is a member that stopped because copies differ, as a good one does beside a corrupt one.
func differing(r *facts.Replica) {
	crashing(r)
	r.Pod.Flags = facts.FlagsComparing
	r.Pod.Waiting, r.Pod.Exit = "", &facts.Exit{Reason: etcdutil.ExitDataDiffers, Code: 1,
		At: now.Add(-10 * time.Second), Message: "found data inconsistency with peers"}
}

// uncompared is such a member that runs again, without comparing.
func uncompared(r *facts.Replica) {
	answer := voter(r.Ordinal).Answer
	differing(r)
	r.Answer, r.Pod.Running, r.Pod.Ready, r.Pod.Flags, r.Pod.Role = answer, true, true, facts.FlagsSealed, ""
	r.Pod.Uncompared, r.Pod.RunningSince = true, now.Add(-5*time.Second)
}

func marked(r *facts.Replica) { r.Volume.RemovedFor = facts.CauseCorruption }

func corruptionRows() []row {
	three, five := settledWorld(3), settledWorld(5)
	stopped, heard := three.edit(1, differing), three.edit(1, uncompared)
	return []row{
		{"a good member that stops beside a corrupt leader is heard, not removed", stopped, Act, "seal",
			"", "SealPods", "demo-1"},
		{"also while no list is known: the quorum may be away for that", stopped.edit(2, differing).blind(), Act,
			"seal", "", "SealPods", "demo-1, demo-2"},
		{"so is a first member that never answered and has no record", three.edit(1, differing).edit(1, unrecorded), Act,
			"seal", "", "SealPods", "demo-1"},
		{"it is waited for while it starts",
			three.edit(1, differing).edit(1, func(r *facts.Replica) { r.Pod.Flags = facts.FlagsSealed }), Wait,
			"corruption", facts.ReasonCorruption, "", "demo-1 starts"},
		{"a corrupt leader that stands alone hands over first", hashing(heard, 6, 7, 7), Act, "corruption",
			"", "MoveLeader", "Move leadership from demo-0 to demo-1: demo-0 holds data that differs from that"},
		{"to a member of the majority", hashing(five.edit(1, uncompared), 6, 5, 7, 7, 7), Act, "corruption",
			"", "MoveLeader", "Move leadership from demo-0 to demo-2: demo-0 holds data that differs from that"},
		{"and not to one of another minority", hashing(settledWorld(7).edit(1, uncompared), 6, 5, 5, 7, 7, 7, 7), Act,
			"corruption", "", "MoveLeader", "Move leadership from demo-0 to demo-3: demo-0 holds data that differs from that"},
		{"a corrupt follower loses its clients first", hashing(heard, 7, 7, 6), Act, "corruption",
			"", "LabelRole", "demo-2"},
		{"the one that was heard is needed then", hashing(heard.edit(2, unlabelled), 7, 7, 6), Act, "label-role", "", "LabelRole",
			"demo-1 as counted"},
		{"then its volume is marked", hashing(heard.edit(1, withRole(facts.RoleCounted)).edit(2, unlabelled), 7, 7, 6), Act, "corruption",
			"", "MarkVolume", "demo-2"},
		{"then it is removed", hashing(heard.edit(1, withRole(facts.RoleCounted)).edit(2, unlabelled).edit(2, marked), 7, 7, 6), Act, "corruption",
			"", "RemoveMember", "demo-2"},
		{"the one that was heard is removed as well where it stands alone", hashing(heard.edit(1, marked), 7, 6, 7),
			Act, "corruption", "", "RemoveMember", "demo-1"},
		{"its volume is kept", three.with(kept(3)), Act, "collect", "", "KeepVolume", "demo-3"},
		{"three copies that all differ are a person's", hashing(heard, 5, 6, 7), Refuse, "corruption",
			facts.ReasonCorruption, "", "demo-0 00000005 at revision 10"},
		{"two that differ are a person's", hashing(settledWorld(2).edit(1, uncompared).edit(1, withRole(facts.RoleCounted)), 6, 7), Refuse, "corruption",
			facts.ReasonCorruption, "", ""},
		{"so is one that is not heard", hashing(heard, 6, 7, 0), Refuse, "corruption", facts.ReasonCorruption, "",
			"demo-2 unknown"},
		{"so are hashes of other revisions",
			hashing(heard, 6, 7, 7).edit(0, func(r *facts.Replica) { r.Answer.Hash.Compacted = 2 }), Refuse,
			"corruption", facts.ReasonCorruption, "", ""},
		{"two pairs of five are a person's", hashing(five.edit(1, uncompared), 6, 6, 7, 7, 5), Refuse, "corruption",
			facts.ReasonCorruption, "", ""},
		{"a roll waits", wanting(hashing(heard, 5, 6, 7), other), Refuse, "corruption", facts.ReasonCorruption, "", ""},
		{"a lost member is not replaced meanwhile", raising(three.edit(2, noData), 10, corrupt), Refuse, "corruption",
			facts.ReasonCorruption, "", ""},
		{"a size that is lowered waits", desire(raising(three, 10, corrupt), func(d *facts.Desired) { d.Size = 1 }),
			Refuse, "corruption", facts.ReasonCorruption, "", ""},
		{"once all copies are the same clients are led to the member again", hashing(heard, 7, 7, 7), Act, "compare",
			"", "SealPods", "demo-1"},
	}
}

// kept is the volume of a corrupt member that was removed.
func kept(ordinal int) facts.Replica {
	r := voter(ordinal)
	r.Member, r.Answer, r.Pod, r.Secret.State, r.Volume.RemovedFor = nil, nil, nil, facts.ObjectAbsent,
		facts.CauseCorruption
	return r
}

func TestNothingHappensToACopyUnlessItStandsAloneAgainstAMajority(t *testing.T) {
	heard := settledWorld(3).edit(1, uncompared)
	for _, row := range []struct {
		name    string
		world   scene
		change  changes.Change
		allowed bool
	}{
		{"the corrupt follower may go", hashing(heard, 7, 7, 6), changes.RemoveMember{Name: "demo-2", ID: 3}, true},
		{"a good one beside it may not", hashing(heard, 7, 7, 6), changes.RemoveMember{Name: "demo-1", ID: 2}, false},
		{"no copy of three different ones may", hashing(heard, 5, 7, 6), changes.RemoveMember{Name: "demo-2", ID: 3},
			false},
		{"nor one that was not heard", hashing(heard, 7, 7, 0), changes.RemoveMember{Name: "demo-2", ID: 3}, false},
		{"nor one with a hash of another revision",
			hashing(heard, 7, 7, 6).edit(2, func(r *facts.Replica) { r.Answer.Hash.Revision = 9 }),
			changes.RemoveMember{Name: "demo-2", ID: 3}, false},
		{"a good one is not restarted", hashing(heard, 7, 7, 6),
			changes.EvictPod{Pod: facts.PodRef{Name: "demo-1", UID: "pod-demo-1"}}, false},
		{"leadership goes to the majority", hashing(heard, 6, 7, 7), changes.MoveLeader{From: "demo-0", FromID: 1,
			To: "demo-2", ToID: 3}, true},
		{"and not to the copy that stands alone", hashing(heard, 7, 7, 6), changes.MoveLeader{From: "demo-0", FromID: 1,
			To: "demo-2", ToID: 3}, false},
		{"a learner gets no vote meanwhile", hashing(heard.with(learner(3)), 7, 7, 6),
			changes.Promote{Name: "demo-3", ID: 4}, false},
		{"none is added from who knows which copy", hashing(heard, 7, 7, 6), changes.AddLearner{Name: "demo-9"}, false},
		{"what was kept of a corrupt member is not deleted", settledWorld(3).with(kept(3)),
			changes.DeleteVolumes{Volumes: []facts.VolumeRef{{Name: "demo-3", UID: "volume-demo-3"}}}, false},
		{"what another removed member left is",
			settledWorld(3).with(kept(3)).edit(3, func(r *facts.Replica) { r.Volume.RemovedFor = facts.NoCause }),
			changes.DeleteVolumes{Volumes: []facts.VolumeRef{{Name: "demo-3", UID: "volume-demo-3"}}}, true},
		{"while all copies are the same a member may go", hashing(heard, 7, 7, 7),
			changes.RemoveMember{Name: "demo-2", ID: 3}, true},
	} {
		if veto := Veto(row.world.Observation, row.change); (veto == "") != row.allowed {
			t.Errorf("%s: veto %q", row.name, veto)
		}
	}
}
