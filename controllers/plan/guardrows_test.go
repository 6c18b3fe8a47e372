package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// guardRow is a change that the guard lets pass, and the same change with one fact wrong: in the world, or in the
// change itself.
type guardRow struct {
	name    string
	world   scene
	change  changes.Change
	wrong   scene
	instead changes.Change
	why     string // part of the guard's sentence
}

func TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt(t *testing.T) {
	for _, row := range slices.Concat(guardedMembership(), guardedApprovals(), guardedReturns(), guardedLogs(),
		guardedTakeovers(), guardedTrust(), guardedTurns(), guardedTransports(), guardedSources(), guardedRequests(), guardedDowngrades(), guardedSeals(), guardedUpkeep(), guardedSleep(), guardedGrowth(), guardedAttributes(),
		guardedHalves(), guardedAuth()) {
		t.Run(row.name, row.check)
	}
}

func (row guardRow) check(t *testing.T) {
	t.Helper()
	if why := Veto(row.world.Observation, row.change); why != "" {
		t.Errorf("the guard refuses it where nothing is wrong: %s", why)
	}
	if why := Veto(row.wrong.Observation, row.instead); !strings.Contains(why, row.why) {
		t.Errorf("the guard says %q, which does not name that %s", why, row.why)
	}
}

// guardedMembership are rows of members, their records, the bootstrap record and the disruption budget.
func guardedMembership() []guardRow {
	const otherID = clusterID + 1
	three := settledWorld(3)
	add := changes.AddLearner{Name: "demo-4"}
	move := changes.MoveLeader{From: "demo-0", FromID: 1, To: "demo-1", ToID: 2}
	recording := func(id record.Member) changes.Change {
		return changes.RecordMembers{Members: []changes.MemberRecord{{Name: "demo-1", VolumeUID: "volume-demo-1",
			Record: id}}}
	}
	own := record.Member{ClusterID: clusterID, MemberID: 2, Version: settings.Version, VolumeUID: "volume-demo-1"}
	foreign := record.Member{ClusterID: otherID, MemberID: 2, Version: settings.Version, VolumeUID: "volume-demo-1"}
	blank := three.edit(1, unrecorded)
	strange := blank.edit(1, func(r *facts.Replica) { r.Answer.ClusterID = otherID })
	strange.Current.Membership.ClusterID = otherID
	fresh := three.edit(2, unrecorded)
	fresh.Current.Bootstrap.ClusterID = 0
	identity := changes.RecordBootstrap{ClusterID: clusterID}
	unseen := three.edit(1, unanswered)
	away := changes.LabelRole{Pod: facts.PodRef{Name: "demo-1", UID: "pod-demo-1"}}
	spare := settledWorld(4)
	removal := changes.RemoveMember{Name: "demo-3", ID: 4}
	stranger := func(o scene) scene {
		o.Current.Membership.Strangers = []etcdutil.Member{{ID: 77, PeerURLs: []string{"https://elsewhere:2380"}}}
		return o
	}
	label := changes.LabelRole{Pod: away.Pod, Role: facts.RoleVoter}
	few := three.edit(0, unlabelledOld)
	unlabelled := three.edit(1, unlabelledOld)
	joinable := func(r *facts.Replica) { r.Pod.Flags = facts.FlagsJoin }
	without := three.edit(2, removed)
	certificates := changes.DeleteSecret{Name: "demo-2", UID: "secret-demo-2"}
	return []guardRow{
		{"a learner beside a learner", three, add, three.with(learner(3)), add, "another member is being added"},
		{"a learner beside a member that a person added", three, add, strangers(three), add,
			"another member is being added"},
		{"a leader that hands over to a member that does not answer", three, move, three.edit(1, unanswered), move,
			"demo-1 is not a healthy voter"},
		{"a record with another cluster ID", blank, recording(own), strange, recording(foreign),
			"demo-1 did not answer as member 2 of this cluster"},
		{"a cluster ID that one of three first members bears", fresh, identity, fresh.edit(1, unrecorded), identity,
			"too few members are recorded"},
		{"a budget below quorum", three, changes.SetBudget{MinAvailable: 2}, three, changes.SetBudget{MinAvailable: 1},
			"3 voters need a larger budget"},
		{"the certificates of a member", without, certificates, three, certificates,
			"it is not certain that demo-2 is no member"},
		{"certificates of which nothing says which they are", without, certificates, without.edit(2, unsaidSecret),
			changes.DeleteSecret{Name: "demo-2"}, "nothing says which certificates of demo-2 these are"},
		{"certificates that were made anew", without, certificates, without,
			otherwise(certificates, func(c *changes.DeleteSecret) { c.UID = "another" }),
			"the certificates of demo-2 are others by now"},
		{"a removal beside a vote that nobody of ours has", spare, removal, stranger(spare), removal,
			"a member that the operator did not add has a vote"},
		{"a member that clients are led away from while no quorum answers", unseen, away, unseen.edit(2, unanswered),
			away, "demo-1 does not serve, and the members that clients reach are no quorum"},
		{"a ready member that clients are led away from: one that is not ready is in no endpoint", few.edit(1, silent),
			away, few.edit(1, unanswered), away, "the members that clients reach are no quorum"},
		{"a member that clients are led away from while they are led to too few others", unseen, away,
			unseen.edit(2, unlabelledOld), away, "the members that clients reach are no quorum"},
		{"a label for a member that could start empty", unlabelled, label, unlabelled.edit(1, joinable), label,
			"demo-1 is no sealed voter"},
		{"a label of another role", unlabelled, label, unlabelled,
			otherwise(label, func(c *changes.LabelRole) { c.Role = facts.RoleLearner }), "demo-1 is no sealed learner"},
		{"a label for another Pod of that name", unlabelled, label, unlabelled,
			otherwise(label, func(c *changes.LabelRole) { c.Pod.UID = "another" }),
			"the Pod demo-1 is another one by now"},
	}
}

// guardedApprovals are rows of restores in place, in a world that has lost all its data: there nothing but the approval
// holds an empty incarnation back.
func guardedApprovals() []guardRow {
	lost := settledWorld(3).edit(0, noData).edit(1, noData).edit(2, noData).blind()
	approved := requesting(lost, forNothing)
	refused := func(r *facts.Request) { r.WantedBackup.Fault = "the request is refused" }
	begin := changes.BeginNext{From: facts.IncarnationID("u1", 0), NextOrdinal: 6, Next: record.Next{
		Incarnation: facts.IncarnationID("u1", 1), Counter: 1, Token: token("u1", facts.IncarnationID("u1", 1)),
		Names: []string{"demo-3", "demo-4", "demo-5"}, Source: record.SourceEmpty, Bump: 2 * asked.Bump, Restore: asked.ID,
	}}
	notAsked := "no EtcdRestore asks for this"
	found := lookedAt(requesting(settledWorld(3)), hasFound)
	restored := Decide(found.Observation).Change.(changes.BeginNext)
	little := lookedAt(requesting(settledWorld(3), fixedAt(5)), hasFound)
	return []guardRow{
		{"an empty incarnation where a backup was approved", approved, begin, requesting(lost), begin, notAsked},
		{"an incarnation of a refused request", approved, begin, requesting(lost, forNothing, refused), begin,
			notAsked},
		{"an incarnation with another bump than was approved", approved, begin, approved,
			otherwise(begin, func(c *changes.BeginNext) { c.Bump = 1 }), notAsked},
		{"an incarnation with more than the bump that was asked for", approved, begin,
			requesting(lost, forNothing, fixedAt(asked.Bump)), begin, notAsked},
		{"an incarnation that begins at a revision that was served", found, restored, found.served(2 * asked.Bump),
			restored, "it would begin at revision 1000000007, and clients were served up to 2000000000"},
		{"an incarnation that begins just above what is known to be served", found, restored, little,
			otherwise(restored, func(c *changes.BeginNext) { c.Bump = 5 }), "it would begin at revision 12,"},
	}
}

// guardedTakeovers are rows of clusters that another install claims.
func guardedTakeovers() []guardRow {
	const notAsked = "nothing asks for ns/op in the place of"
	asked, take := askedFor("ns/op", "other/op"), changes.TakeOver{From: "other/op"}
	claim, again := changes.TakeOver{}, changes.TakeOver{From: "ns/op"}
	lost := unserviced("", "ns/op")
	anew, astray := Decide(lost.Observation).Change, changes.FollowPolicy{Retain: true}
	return []guardRow{
		{"a cluster that no person asks this install to take", asked, take, askedFor("", "other/op"), take, notAsked},
		{"a cluster of an install of which nothing is known", asked, take, unread(asked), take, "cannot be read"},
		{"a cluster that no install claims, where a person asks for another one", askedFor("", ""), claim,
			askedFor("other/op", ""), claim, notAsked},
		{"a cluster that another install claimed first", askedFor("", ""), claim, askedFor("", "other/op"), claim,
			notAsked},
		{"a take-over of its own that is not still to come", takenOver(-time.Hour), again, takenOver(time.Second), again,
			notAsked},
		{"a cluster that no install claims, and whose data names another one", askedFor("", ""), claim,
			named(askedFor("", ""), "other/op"), claim, notAsked},
		{"a lost record of a cluster whose data names another install", lost, anew, unserviced("", "other/op"), anew,
			"the operator other/op looks after the cluster"},
		{"any change of a cluster that another install claims", askedFor("", "ns/op"), astray, askedFor("", "other/op"),
			astray, "the operator other/op looks after the cluster"},
		{"a cluster that a third install took meanwhile", asked, take, askedFor("ns/op", "third/op"), take, notAsked},
	}
}

// guardedReturns are rows of data that an earlier cluster left, each taken over with one thing wrong about the last of
// its volumes.
func guardedReturns() []guardRow {
	const cannot, isMixed = "demo-2 cannot be resumed", "not known to be one incarnation of one cluster"
	left := retaining(notBootstrapped(3))
	adopt := func(o scene) changes.Change { return changes.AdoptData{Items: o.Retained} }
	const isThere, isBegun = "there is data of a cluster already", "the cluster has begun already"
	emptied, aside := beginningEmpty(leavingCAs(notBootstrapped(3))), beginningEmpty(keptBeside(leavingCAs(notBootstrapped(3))))
	begin, bootstrapped := Decide(emptied.Observation).Change, begunEmpty()
	row := func(name, why string, wrong scene) guardRow {
		return guardRow{name, left, adopt(left), wrong, adopt(wrong), why}
	}
	return []guardRow{
		{"CAs without a volume and without a person", emptied, begin, leavingCAs(notBootstrapped(3)), begin, isThere},
		{"CAs beside a backup", emptied, begin, backedUp(emptied), begin, isThere},
		{"CAs beside a volume, which would not be empty", emptied, begin, aside, begin, isThere},
		{"CAs of another cluster than the person named", emptied, begin, beginningAfter(emptied, "u-before"), begin,
			isThere},
		{"CAs before the empty cluster is written down", bootstrapped, adopt(bootstrapped), emptied, adopt(emptied), isMixed},
		{"CAs that no person named, beside a cluster that is written down", bootstrapped, adopt(bootstrapped),
			beginningAfter(bootstrapped, ""), adopt(bootstrapped), isBegun},
		row("data of two clusters", isMixed, retaining(notBootstrapped(3), func(r *facts.Retained) { r.Record.ClusterID++ })),
		row("data of two incarnations", isMixed,
			retaining(notBootstrapped(3), func(r *facts.Retained) { r.Incarnation = "other" })),
		row("data that two objects left", cannot,
			retaining(notBootstrapped(3), func(r *facts.Retained) { r.Owner = "u-other" })),
		row("data of which a newer release wrote a record", cannot,
			retaining(notBootstrapped(3), func(r *facts.Retained) { r.TooNew = "a newer release wrote it" })),
		row("data that may be a copy, and cannot be told for one", "nothing says whether demo-2 was put back",
			halfPutBack()),
		row("data of which no volume says whose it is", isMixed, retaining(notBootstrapped(3), anonymous)),
		row("data whose revisions clients have left behind", "were served since by", returning()),
		row("data of which one volume does not say that it goes back", "were served since by", returning(func(r *facts.Retained) {
			if r.Name != "demo-1" {
				knowingly(r)
			}
		})),
	}
}
