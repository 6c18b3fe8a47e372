package plan

import (
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// otherDataWorld has one of three members left, on whose volume the data of a cluster of one lies, which serves by
// itself.
func otherDataWorld() scene {
	const theirs = etcdutil.ID(0x77)
	o := settledWorld(3).edit(1, noData).edit(2, noData).blind()
	o.Current.Membership = facts.Membership{Known: true, ClusterID: theirs, Leader: 9}
	return o.edit(0, func(r *facts.Replica) {
		r.Member = &etcdutil.Member{ID: 9, Name: "demo-0"}
		r.Answer = &facts.Answer{ID: 9, ClusterID: theirs, Leader: 9, Version: settings.Version, Revision: 500,
			Applied: 600}
	})
}

func TestWhoHoldsTheDataOfAnotherClusterIsNoSurvivorAndNoQuorum(t *testing.T) {
	led := otherDataWorld()
	row{"clients are led away from it", led, Act, "lead-away", "", "LabelRole", "demo-0"}.check(t)
	o := led.edit(0, unlabelledOld)
	row{"and nothing else is changed", o, Refuse, "membership", facts.ReasonMembersDisagree, "", "cluster 77"}.check(t)
	e := EvidenceOf(o.Observation)
	if e.Quorum != QuorumLost || len(e.Members) != 3 {
		t.Fatalf("the evidence is %+v", e)
	}
	for _, m := range e.Members {
		if m.State != MemberLost || m.Revision != 0 {
			t.Errorf("%s is %s at revision %d", m.Name, m.State, m.Revision)
		}
	}
	if why := e.Members[0].Why; why != "its directory holds the data of cluster 77" {
		t.Errorf("of demo-0 it says %q", why)
	}
	d := Decide(requesting(o, ofDemo0).Observation)
	if held := d.Trace.Yielded(); d.Verdict == Act || len(held) == 0 || held[0].Reason != facts.ReasonRestoreHeld ||
		!strings.Contains(held[0].Message, "cluster 77") {
		t.Errorf("as a survivor: %+v", d)
	}
	for _, row := range []row{
		{"a backup is taken", lookedAt(requesting(o), hasFound), Act, "restore-begin", "", "BeginNext",
			"demo-3"},
		{"or nothing, as was approved", requesting(o, forNothing), Act, "restore-begin", "",
			"BeginNext", "demo-3"},
		{"and that is not overtaken by who serves something else", fillingWorld(requesting(o, forNothing)), Act,
			"restore-switch-over", "", "SwitchOver", ""},
	} {
		t.Run(row.name, row.check)
	}
	doubted := settledWorld(3)
	doubted.Current.Bootstrap.ClusterID = 9 // and their volumes say what they answer
	if e := EvidenceOf(doubted.Observation); e.Quorum != QuorumUnknown {
		t.Errorf("a record that differs from what all say is evidence of %s", e.Quorum)
	}
	moved := placedWorld(requesting(o))
	if c, ok := Decide(moved.Observation).Change.(changes.SwitchOver); !ok || c.Voters != nil {
		t.Errorf("what the other cluster calls its voters is believed: %+v", Decide(moved.Observation))
	}
}

func TestAVolumeThatWasPutBackIsEvidenceOfItself(t *testing.T) {
	e := EvidenceOf(putBackWorld().Observation)
	if e.Quorum != QuorumLost || len(e.Members) != 3 || e.Members[0].State != MemberPutBack || e.Members[0].Why == "" {
		t.Fatalf("%+v", e)
	}
	other := putBackWorld().edit2(0, func(r *facts.Replica) { r.Volume.UID = "put back once more" })
	if EvidenceOf(other.Observation).Accepts(e.Digest) {
		t.Error("an approval is good for another copy than its approver saw")
	}
}

func TestFirstMembersThatLeftNoTraceAreNamedAndProveNothing(t *testing.T) {
	o := plain(settledWorld(3)).blind().edit(1, noData).edit(2, noData)
	for i := range o.Current.Members {
		o.Current.Members[i].Secret.State = facts.ObjectAbsent
	}
	e := EvidenceOf(o.Observation)
	if e.Quorum != QuorumUnknown || len(e.Members) != 1 || strings.Join(e.Vanished, " ") != "demo-1 demo-2" {
		t.Errorf("with no certificates: %+v", e)
	}
	o.Current.Membership.LastKnown = settledWorld(3).Current.Membership.Members
	o = o.edit2(0, silent)
	if e := EvidenceOf(o.Observation); e.Quorum != QuorumLost || len(e.Vanished) != 0 {
		t.Errorf("with a survivor that remembers: %+v", e)
	}
	if e := EvidenceOf(settledWorld(3).edit(2, gone).Observation); len(e.Vanished) != 0 {
		t.Errorf("of one that was removed, with a quorum: %+v", e)
	}
}

func TestNothingIsLostWhileAKubeletSaysThatAMemberServes(t *testing.T) {
	left := func(r *facts.Replica) { r.Pod, r.Answer, r.Member, r.Volume.Terminating = nil, nil, nil, true }
	// it was shrunk to one, whose volumes were hard to delete
	serving := settledWorld(3).edit(1, left).edit(2, left).blind()
	if e := EvidenceOf(serving.Observation); e.Quorum != QuorumUnknown {
		t.Errorf("with one that is ready and cannot be asked: %s", e.Quorum)
	}
	row{"nor is it said", serving, Refuse, "membership", facts.ReasonMembershipUnknown, "", ""}.check(t)
	if e := EvidenceOf(serving.edit(0, silent).Observation); e.Quorum != QuorumLost {
		t.Errorf("once it is not: %s", e.Quorum)
	}
	gone := serving.edit(0, func(r *facts.Replica) { r.Pod.NodeGone = "node-1 was deleted" })
	if e := EvidenceOf(gone.Observation); e.Quorum != QuorumLost {
		t.Errorf("nobody vouches for a kubelet that is gone: %s", e.Quorum)
	}
}

func TestAListOfThePastIsJoinedWithWhoCameSince(t *testing.T) {
	o := lostWorld()
	for i := 3; i <= 5; i++ {
		r := voter(i)
		r.Member, r.Answer, r.Pod.Ready = nil, nil, false
		o.Current.Members = append(o.Current.Members, r)
	}
	if e := EvidenceOf(o.Observation); e.Quorum != QuorumUnknown || len(e.Members) != 6 {
		t.Errorf("three that joined hold the data, and the quorum is %s: %+v", e.Quorum, e.Members)
	}
	asLearner := func(r *facts.Replica) { r.Pod.Role = facts.RoleLearner }
	if e := EvidenceOf(o.edit2(3, asLearner).edit2(4, asLearner).edit2(5,
		asLearner).Observation); e.Quorum != QuorumLost || len(e.Members) != 3 {
		t.Errorf("learners have no vote, and the quorum is %s: %+v", e.Quorum, e.Members)
	}
}

func TestWhoWasGrownAndLostIsKnownByCertificates(t *testing.T) {
	grown := settledWorld(3).blind().edit(0, silent).edit(1, noData).edit(2, noData)
	grown.Current.Bootstrap.Names, grown.Current.Bootstrap.Promised = grown.Current.Bootstrap.Names[:1], "demo-2"
	e := EvidenceOf(grown.Observation)
	if e.Quorum != QuorumLost || len(e.Members) != 2 {
		t.Errorf("grown from one to three: %s %+v", e.Quorum, e.Members)
	}
	if e := EvidenceOf(grown.edit(1, noSecret).Observation); e.Quorum == QuorumLost {
		t.Error("who may have been removed, or never had a vote, is called lost")
	}
}
