package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// guardedCopies are rows of copies that differ: each fact that the guard counts for itself.
func guardedCopies() []guardRow {
	const veto = "nothing shows that the copy of"
	three, five := settledWorld(3), settledWorld(5)
	heard, heardOfFive := three.edit(1, uncompared), five.edit(1, uncompared)
	alone := hashing(heard, 7, 7, 6)
	goes, last := changes.RemoveMember{Name: "demo-2", ID: 3}, changes.RemoveMember{Name: "demo-4", ID: 5}
	evict := changes.EvictPod{Pod: facts.PodRef{Name: "demo-2", UID: "pod-demo-2"}}
	add := changes.AddLearner{Name: "demo-9"}
	compacted := hashing(heard, 7, 7, 6).edit(2, func(r *facts.Replica) { r.Answer.Hash.Compacted = 2 })
	former := three.with(voter(3)).edit(3, removed).edit(3, differing)
	comparedSince := heard.edit(1, func(r *facts.Replica) { r.Pod.Uncompared = false })
	two := settledWorld(2).edit(1, uncompared)
	left := kept(3)
	left.Volume.RemovedFor = facts.NoCause
	delete3 := changes.DeleteVolumes{Volumes: []facts.VolumeRef{{Name: "demo-3", UID: "volume-demo-3"}}}
	return []guardRow{
		{"a copy that is as another one is", hashing(heardOfFive, 7, 7, 7, 5, 6), last,
			hashing(heardOfFive, 7, 7, 7, 6, 6), last, veto},
		{"a copy that stands alone against two of five", hashing(heardOfFive, 7, 7, 7, 5, 6), last,
			hashing(heardOfFive, 7, 7, 4, 5, 6), last, veto},
		{"a copy beside one other", alone, goes, hashing(two, 6, 7), changes.RemoveMember{Name: "demo-1", ID: 2}, veto},
		{"a copy that was compacted elsewhere", alone, goes, compacted, goes, veto},
		{"a copy against that of a voter and of two learners", alone, goes,
			hashing(heard.with(learner(3)).with(learner(4)), 7, 5, 6, 7, 7), goes, veto},
		{"a member that runs uncompared since it stopped for that", comparedSince, goes, heard, goes, veto},
		{"a member that stopped for that", former, goes, three.edit(1, differing), goes, veto},
		{"an alarm", three, goes, raising(three, 10, corrupt), goes, veto},
		{"a member whose restart is a change of a copy in doubt", three, evict, raising(three, 10, corrupt), evict,
			veto},
		{"a volume that may hold the right copy", three.with(left), delete3, raising(three.with(left), 10, corrupt),
			delete3, veto},
		{"a volume of a corrupt member", three.with(left), delete3, three.with(kept(3)), delete3,
			"a person decides about it"},
		{"a member that would copy data in doubt", hashing(raising(three, 10, corrupt), 7, 7, 7), add,
			raising(three, 10, corrupt), add, "a new one would copy either"},
	}
}

// guardedAlarms are rows of an alarm of corruption whose member is gone.
func guardedAlarms() []guardRow {
	const notOurs, differ = "is not the operator's to take back", "not every voter is known to hold the same data"
	three := settledWorld(3)
	equal := hashing(raising(three, 10, corruptFormer), 7, 7, 7)
	restored, unknown, from := equal, equal, three
	restored.Current.Bootstrap.Origin, from.Current.Bootstrap.Origin = backupOf, backupOf
	cured := hashing(raising(from.with(kept(3)), 10, corruptSome), 7, 7, 7)
	marks, another := cured.edit(3, func(r *facts.Replica) { r.Member = voter(3).Member; r.Member.Learner = true }),
		cured.edit(3, func(r *facts.Replica) { r.Volume.Record.ClusterID = 7 })
	putAside := func(cause facts.Cause, of etcdutil.ID) scene {
		o := hashing(raising(keeping(cause, time.Hour), 10, corruptSome), 7, 7, 7)
		o.Kept[0].ClusterID, o.Current.Bootstrap.Origin = of, backupOf
		return o
	}
	corruptLearner := facts.Alarm{Name: facts.AlarmCorrupt, Member: 5}
	beside := hashing(raising(three.with(kept(3)).with(added(4)), 10, corruptSome), 7, 7, 7)
	filled := hashing(raising(three.with(kept(3)).with(learner(4)), 10, corruptSome), 7, 7, 7)
	some := changes.DisarmAlarms{Alarms: []facts.Alarm{corruptSome}}
	unknown.Current.Membership.Known = false
	disarm := changes.DisarmAlarms{Alarms: []facts.Alarm{corruptFormer}}
	disarming := func(more facts.Alarm) changes.DisarmAlarms {
		return changes.DisarmAlarms{Alarms: []facts.Alarm{corruptFormer, more}}
	}
	return []guardRow{
		{"an alarm that names none, where a backup may have brought it along", equal, disarming(corruptSome), restored,
			some, notOurs},
		{"an alarm whose wrong copy is not removed yet", cured, some, marks, some, notOurs},
		{"an alarm beside the wrong copy of another cluster", cured, some, another, some, notOurs},
		{"an alarm beside a copy that another cluster put aside", putAside(facts.CauseCorruption, clusterID), some,
			putAside(facts.CauseCorruption, 7), some, notOurs},
		{"an alarm beside a disk that was put aside", putAside(facts.CauseCorruption, clusterID), some,
			putAside(facts.CauseDisk, clusterID), some, notOurs},
		{"an alarm of a learner", beside, some, beside, changes.DisarmAlarms{Alarms: []facts.Alarm{corruptLearner}},
			notOurs},
		{"an alarm beside a learner that may have copied the wrong copy", beside, some, filled, some, "may have copied"},
		{"an alarm of space beside it", equal, disarm, equal, disarming(noSpace), notOurs},
		{"an alarm that a backup brought along", equal, disarm, restored, disarm, notOurs},
		{"an alarm while copies differ", equal, disarm, hashing(equal, 7, 7, 6), disarm, differ},
		{"an alarm while one copy was not heard", equal, disarm, hashing(raising(three, 10, corruptFormer), 7, 7, 0),
			disarm, differ},
		{"an alarm of which one copy alone speaks", equal, disarm, hashing(raising(settledWorld(1), 10, corruptFormer),
			7), disarm, differ},
		{"an alarm while the list is not known", equal, disarm, unknown, disarm, differ},
	}
}

// keeping is a world in which the volume of a replaced member is kept for so long already.
func keeping(cause facts.Cause, since time.Duration) scene {
	o := desire(settledWorld(3), func(d *facts.Desired) { d.KeepVolumes = 24 * time.Hour })
	o.Kept = []facts.KeptVolume{{Name: "demo-9", UID: "volume-demo-9", Ordinal: 9, For: cause, Since: now.Add(-since)}}
	o.Current.Bootstrap.NextOrdinal = 10
	return o
}

// withoutTime takes away since when the volume is kept.
func withoutTime(o scene) scene {
	o.Kept[0].Since = time.Time{}
	return o
}

// guardedVolumes are rows of the volumes of members that were replaced.
func guardedVolumes() []guardRow {
	const isKept, isAnother, isUsed = "the volume demo-9 is kept", "is another one by now",
		"it is not certain that no member lives on"
	expired := keeping(facts.CauseDisk, 25*time.Hour)
	remove := changes.DeleteVolumes{Volumes: []facts.VolumeRef{{Name: "demo-9", UID: "volume-demo-9"}}}
	undated, again := withoutTime(keeping(facts.CauseDisk, 0)), changes.KeepVolume{Volume: remove.Volumes[0],
		For: facts.CauseDisk}
	ofNode := withoutTime(keeping(facts.CauseNode, 0))
	listed := voter(9)
	listed.Pod, listed.Volume, listed.Answer = nil, nil, nil
	running := voter(9)
	running.Member, running.Volume, running.Answer = nil, nil, nil

	three := desire(settledWorld(3), func(d *facts.Desired) { d.KeepVolumes = 24 * time.Hour })
	dead := kept(3)
	dead.Volume.RemovedFor = facts.CauseDisk
	left := three.with(dead)
	keep := changes.KeepVolume{Volume: facts.VolumeRef{Name: "demo-3", UID: "volume-demo-3"}, For: facts.CauseDisk}
	used := left.edit(3, func(r *facts.Replica) { r.Pod = voter(3).Pod })
	isMember := left.edit(3, func(r *facts.Replica) { r.Member = voter(3).Member })
	unknown := left
	unknown.Current.Membership.Known = false
	return []guardRow{
		{"a kept copy that differs", expired, remove, keeping(facts.CauseCorruption, 25*time.Hour), remove, isKept},
		{"a kept volume before its time", expired, remove, keeping(facts.CauseDisk, 23*time.Hour), remove, isKept},
		{"a kept volume whose time is over by the API server's clock alone", expired, remove,
			answeredAhead(keeping(facts.CauseDisk, time.Hour), 25*time.Hour), remove, isKept},
		{"a kept volume whose time is over by the operator's clock alone", expired, remove,
			ownAhead(keeping(facts.CauseDisk, time.Hour), 25*time.Hour), remove, isKept},
		{"a kept volume that no time is known of", expired, remove, undated, remove, isKept},
		{"a kept volume whose time is known counts anew", undated, again, expired, again, isAnother},
		{"a kept volume counts anew for another reason", undated, again, ofNode, again, isAnother},
		{"a kept volume whose name is a member's", expired, remove, expired.with(listed), remove, isKept},
		{"a kept volume whose name is a Pod's", expired, remove, expired.with(running), remove, isKept},
		{"a volume that is kept for another reason than was written on it", left, keep, left,
			changes.KeepVolume{Volume: keep.Volume, For: facts.CauseNode}, isAnother},
		{"a volume that is kept for no reason", left, keep,
			three.with(dead).edit(3, func(r *facts.Replica) { r.Volume.RemovedFor = facts.NoCause }),
			changes.KeepVolume{Volume: keep.Volume}, isAnother},
		{"a volume of another UID", left, keep, left,
			changes.KeepVolume{Volume: facts.VolumeRef{Name: "demo-3", UID: "another"}, For: facts.CauseDisk},
			isAnother},
		{"a volume that is put aside under a Pod", left, keep, used, keep, isUsed},
		{"a volume that is put aside under a member", left, keep, isMember, keep, isUsed},
		{"a volume that is put aside while the list is not known", left, keep, unknown, keep, isUsed},
	}
}

func TestTheGuardKeepsCopiesAlarmsAndVolumesForOneWrongFactAndNamesIt(t *testing.T) {
	for _, row := range slices.Concat(guardedCopies(), guardedAlarms(), guardedVolumes()) {
		t.Run(row.name, row.check)
	}
}

// keptRows are decisions about what members leave that were replaced, and about members whose copies differ.
func keptRows() []row {
	three := desire(settledWorld(3), func(d *facts.Desired) { d.KeepVolumes = 24 * time.Hour })
	refused := func(o scene) scene { return desire(o, func(d *facts.Desired) { d.Fault = "no such version" }) }
	markedFor := func(cause facts.Cause) func(*facts.Replica) {
		return func(r *facts.Replica) { r.Volume.RemovedFor = cause }
	}
	dead := kept(3)
	dead.Volume.RemovedFor = facts.CauseDisk
	five := settledWorld(5).edit(1, uncompared)
	grown := desire(keeping(facts.CauseDisk, time.Hour), func(d *facts.Desired) { d.Size = 5 })
	grown.Current.Bootstrap.NextOrdinal = 3
	undated, undatedCopy := withoutTime(keeping(facts.CauseDisk, 0)), withoutTime(keeping(facts.CauseCorruption, 0))
	return []row{
		{"the volume of a member whose data cannot be read is marked before the member is removed",
			three.edit(1, wiped), Act, "replace", "", "MarkVolume", "demo-1"},
		{"then the member is removed", three.edit(1, wiped).edit(1, markedFor(facts.CauseDisk)), Act, "replace",
			"", "RemoveMember", "demo-1"},
		{"one that was marked for another reason is marked anew",
			three.edit(1, wiped).edit(1, markedFor(facts.CauseNode)), Act, "replace", "", "MarkVolume",
			"demo-1"},
		{"where no volumes are kept it is removed at once", settledWorld(3).edit(1, wiped), Act, "replace",
			"", "RemoveMember", "demo-1"},
		{"what it leaves is put aside", three.with(dead), Act, "collect", "", "KeepVolume",
			"demo-3"},
		{"and deleted where no volumes are kept", settledWorld(3).with(dead), Act, "collect", "",
			"DeleteVolumes", "demo-3"},
		{"a kept volume is deleted once its time is over", keeping(facts.CauseDisk, 25*time.Hour), Act, "collect",
			"", "DeleteVolumes", "demo-9"},
		{"and not before", keeping(facts.CauseDisk, 23*time.Hour), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"a kept copy that differs is not deleted at all", keeping(facts.CauseCorruption, 25*time.Hour), Settled,
			RuleSettled, facts.ReasonSettled, "", ""},
		{"one whose time cannot be read counts anew", undated, Act, "collect", "", "KeepVolume",
			"demo-9"},
		{"and so does a kept copy that differs", undatedCopy, Act, "collect", "", "KeepVolume",
			"demo-9"},
		{"a new member's name is above that of a kept volume", grown, Act, "grow", "", "PrepareMember",
			"demo-10"},
		{"once a member was compared and runs no copy is in doubt", settledWorld(3).edit(1, uncompared).edit(1,
			func(r *facts.Replica) { r.Pod.Uncompared, r.Pod.Role = false, facts.RoleVoter }),
			Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"a member that lost its data is not removed while the spec is refused",
			refused(settledWorld(3).edit(1, wiped)), Refuse, "spec-refused", facts.ReasonSpecRefused, "", ""},
		{"nor one that is dead", refused(patient(settledWorld(3).edit(1, deadFor(time.Hour)))), Refuse, "spec-refused",
			facts.ReasonSpecRefused, "", ""},
		{"a copy that is as another one is not the corrupt one", hashing(five, 6, 6, 7, 7, 7), Refuse, "corruption",
			facts.ReasonCorruption, "", "Members hold different data, and no single copy stands against a majority of equal ones, so"},
		{"where all differ, that is said, with hashes, and that writers are to be stopped", hashing(settledWorld(3), 5, 6, 7), Refuse,
			"corruption", facts.ReasonCorruption, "", "The data of all 3 members differ, so the " +
				"operator cannot tell whose data is right: it neither restarts nor removes a member. Leave them as they are. Hashes of the data: demo-0 00000005 at " +
				"revision "},
		{"who writes is to be stopped", hashing(five, 6, 6, 7, 7, 7), Refuse, "corruption", facts.ReasonCorruption, "",
			"Stop all clients: each member answers them differently, and a restore loses what they write now. "},
		{"which says that no backup is known, and who decides then", hashing(five, 6, 6, 7, 7, 7), Refuse, "corruption",
			facts.ReasonCorruption, "", "If none has, decide whose data is right, and make a backup of that to restore: https://"},
		{"and that a backup of a store may be restored", hashing(five, 6, 6, 7, 7, 7), Refuse, "corruption", facts.ReasonCorruption, "",
			"If a store has one from before they differed, restore that: kubectl etcd-steward restore demo -n default lists " +
				"backups. kubectl etcd-steward restore demo -n default --from BACKUP makes an EtcdRestore, which says what is lost and " +
				"waits for your approval."},
		{"or which is the newest", func() scene {
			o := hashing(five, 6, 6, 7, 7, 7)
			o.Proven = &facts.Backup{Time: now.Add(-time.Hour), Revision: 12}
			return o
		}(), Refuse, "corruption", facts.ReasonCorruption, "", "waits for your approval. The newest that was restored and compared is of " +
			now.Add(-time.Hour).UTC().Format(time.RFC3339) + ", at revision 12. Without such a backup, decide"},
		{"copies of which one was not heard are in doubt", hashing(settledWorld(3).edit(1, uncompared), 7, 7, 0),
			Refuse, "corruption", facts.ReasonCorruption, "", "demo-2 unknown"},
		{"a member that is heard is not called compared before all copies are the same",
			hashing(settledWorld(3).edit(1, uncompared), 7, 7, 6), Act, "corruption", "",
			"LabelRole", "demo-2"},
		{"a member on a volume of another incarnation is not started to be heard",
			settledWorld(3).edit(1, differing).edit(1, func(r *facts.Replica) { r.Volume.Incarnation = "old" }),
			Wait, "corruption", facts.ReasonCorruption, "", "demo-1"},
	}
}

func TestWhatAReplacedMemberLeavesIsKeptForAsLongAsTheUserSays(t *testing.T) {
	for _, r := range keptRows() {
		t.Run(r.name, r.check)
	}
}

func TestDataIsGivenAnOwnerOnlyAfterASecondLook(t *testing.T) {
	if !MustConfirm(changes.FollowPolicy{Retain: false}) {
		t.Error("what a cache says is enough to let data go with the cluster")
	}
	if MustConfirm(changes.FollowPolicy{Retain: true}) {
		t.Error("what is to be kept waits for a second look")
	}
}
