package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// defragged gives a member a Pod of the agent that has it defragmented since so long ago.
func defragged(since time.Duration, change func(*facts.DefragPod)) func(*facts.Replica) {
	return func(r *facts.Replica) {
		r.Defragmenting = &facts.DefragPod{Deadline: 5 * time.Minute, Since: now.Add(-since), Task: facts.Task{UID: "defrag",
			Created: now.Add(-since), Phase: facts.PodRunning, Started: true}}
		change(r.Defragmenting)
	}
}

func atWork(*facts.DefragPod) {}

// pending gives a member a Pod that no node has taken for so long.
func pending(since time.Duration) func(*facts.Replica) {
	return defragged(since, func(p *facts.DefragPod) {
		p.Deadline, p.Phase, p.Started = facts.StartDeadline, facts.PodPending, false
		p.Waiting, p.Message = "Unschedulable", "0/3 nodes are available"
	})
}

func defragEnds(r *facts.Replica) { r.Defragmenting.Phase = facts.PodFailed }

func defragDone(p *facts.DefragPod) { p.Phase = facts.PodSucceeded }

// filledDone is one that was made since the database was full.
func filledDone(p *facts.DefragPod) { p.Before = 1900 << 20; defragDone(p) }

func defragFails(p *facts.DefragPod) {
	p.Phase, p.Failure, p.Finished = facts.PodFailed, "the connection was lost", p.Created
}

// busy is a member that is silent because it is defragmented.
func busy(r *facts.Replica) {
	silent(r)
	defragged(time.Minute, atWork)(r)
}

func ledAway(r *facts.Replica) { r.Pod.Role = "" }

// askingToDefrag is a cluster of which a person asked that it be defragmented so long ago.
func askingToDefrag(o scene, ago time.Duration) scene {
	return desire(o, func(d *facts.Desired) { d.Upkeep.Asked = now.Add(-ago) })
}

// upkeepRows are clusters with room that etcd does not use, each member 300 Mi of 400.
func upkeepRows() []row {
	three := storing(settledWorld(3), 400, 100)
	asked, full := askingToDefrag(three, time.Minute), raising(three, 90, noSpace)
	away := asked.edit(2, ledAway)
	scheduled := desire(three, func(d *facts.Desired) { d.Upkeep.Scheduled = now.Add(-time.Hour) })
	share := desire(three, func(d *facts.Desired) { d.Upkeep.Reclaimable = 75 })
	only := askingToDefrag(storing(settledWorld(1), 400, 100), time.Minute)
	return []row{
		{"nothing asks for room to be given back", three, Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"clients are led away from the first follower", asked, Act, "defragment", "", "LabelRole", "demo-2"},
		{"then it is defragmented", away, Act, "defragment", "", "StartDefrag", "etcdsteward.dev/defragment asks"},
		{"and no client is led back before that", away.edit(2, defragged(time.Second, func(p *facts.DefragPod) {
			p.Phase, p.Started = facts.PodPending, false
		})), Wait, "defragment", facts.ReasonDefragment, "", "demo-2 is defragmented"},
		{"nobody minds its silence", away.edit(2, busy), Wait, "defragment", facts.ReasonDefragment, "",
			"answers nothing meanwhile"},
		{"not for repair.replaceAfter either", patient(away.edit(2, busy).edit(2, defragged(4*time.Minute, atWork))),
			Wait, "defragment", facts.ReasonDefragment, "", ""},
		{"nor where the Pod that asked for it was killed", away.edit(2, busy).edit(2,
			defragged(4*time.Minute, defragFails)), Wait, "defragment", facts.ReasonDefragment, "", ""},
		{"a Pod that does not end in its time is deleted", away.edit(2, busy).edit(2, defragged(time.Hour, atWork)), Act,
			"defragment", "", "DeleteDefrag", "did not end"},
		{"the next follower comes after it", asked.edit(2, defragged(time.Second, defragDone)), Act, "defragment", "",
			"LabelRole", "demo-1"},
		{"even where its Pod has not been told of yet, once its file is small", asked.edit(2, shrunk).edit(2,
			defragged(time.Second, func(p *facts.DefragPod) { p.Until = 250 << 20 })), Act, "defragment", "", "LabelRole",
			"demo-1"},
		{"the leader hands over, and is the last", asked.edit(1, defragged(time.Second, defragDone)).edit(2,
			defragged(time.Second, defragDone)), Act, "defragment", "", "MoveLeader", "demo-0 is defragmented next"},
		{"what was done before it was asked for does not count", asked.edit(2, defragged(time.Hour, defragDone)), Act,
			"defragment", "", "DeleteDefrag", "another one may follow"},
		{"the schedule asks for it", scheduled.edit(2, ledAway), Act, "defragment", "", "StartDefrag",
			"spec.maintenance.defragment.schedule"},
		{"so does a share that is not used", share.edit(2, ledAway), Act, "defragment", "", "StartDefrag",
			"it uses 100Mi of its 400Mi"},
		{"a smaller share does not", storing(share, 400, 101), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"nor a share of a small file", storing(share, 99, 1), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"who gives less than a tenth back is left alone", storing(asked, 400, 361), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"it waits for a backup to be read", streaming(asked), Wait, "defragment", facts.ReasonDefragment, "", "Pod demo-backup"},
		{"and for room on the volume", storing(asked, 4800, 3000), Wait, "defragment", facts.ReasonDefragment, "",
			"enlarge it, or delete keys"},
		{"one that failed is told, and tried again after a rest", asked.edit(0, tight).edit(1, tight).edit(2,
			defragged(time.Minute, defragFails)), Refuse, "defragment", facts.ReasonDefragment, "",
			"the connection was lost"},
		{"after that its Pod goes", asked.edit(2, defragged(time.Hour, defragFails)), Act, "defragment", "",
			"DeleteDefrag", ""},
		{"clients are led back from a member whose Pod no node takes", away.edit(2, pending(5*time.Minute)), Act,
			"label-role", "", "LabelRole", "Label the Pod of demo-2 as voter"},
		{"that is told with the scheduler's words, and no other member is tried", asked.edit(2, pending(5*time.Minute)),
			Refuse, "defragment", facts.ReasonDefragment, "", "(Unschedulable): 0/3 nodes are available. Make room"},
		{"so is a Pod that its node ended before it began", asked.edit(2, pending(30*time.Minute)).edit(2, defragEnds),
			Refuse, "defragment", facts.ReasonDefragment, "", "its Pod did not start"},
		{"an hour later it is made anew", asked.edit(2, pending(61*time.Minute)), Act, "defragment", "", "DeleteDefrag",
			"another one may follow"},
		{"and goes where it is not asked for any more", three.edit(2, pending(61*time.Minute)), Act, "defragment", "",
			"DeleteDefrag", ""},
		{"clients are led back where Kubernetes refuses the Pod", rejecting(away, nameDefragment), Act, "label-role", "",
			"LabelRole", "Label the Pod of demo-2 as voter"},
		{"where space runs out again soon, a member is defragmented again", storing(full, 2000, 100).edit(2,
			defragged(time.Minute, func(p *facts.DefragPod) { p.Until, p.After = 1000<<20, 100<<20; defragDone(p) })), Act,
			"defragment", "", "DeleteDefrag", "another one may follow"},
		{"but not where that left its file as it was", storing(full, 2000, 100).edit(2, defragged(time.Minute, defragDone)),
			Act, "defragment", "", "LabelRole", "demo-1"},
		{"where space ran out, no person is told to delete keys for it", storing(full, 2000, 100).edit(2,
			pending(5*time.Minute)), Refuse, "defragment", facts.ReasonDefragment, "", "0/3 nodes are available"},
		{"so does that of a former member", three.with(remains(3)), Act, "defragment", "", "DeleteDefrag", "demo-3"},
		{"a schedule that cannot be read is told", desire(three, func(d *facts.Desired) {
			d.Upkeep.Fault = "It has six fields."
		}), Refuse, "defragment", facts.ReasonDefragment, "", "It has six fields."},
		{"where space ran out it ends that", storing(full, 2000, 100).edit(2, ledAway), Act, "defragment", "",
			"StartDefrag", "takes no more keys"},
		{"and no person is asked meanwhile", storing(full, 2000, 100).edit(2, busy), Wait, "defragment",
			facts.ReasonDefragment, "", ""},
		{"but where keys fill them", storing(full, 2000, 1900), Refuse, "alarms", facts.ReasonAlarm, "", "delete keys"},
		{"of members that differ in what they call in use the least is right", storing(full, 2000, 1900).edit(0,
			func(r *facts.Replica) { r.Answer.DBSizeInUse = 100 << 20 }).edit(2, ledAway), Act, "defragment", "", "StartDefrag",
			"uses 100Mi of its 2000Mi"},
		{"history that fills a member is compacted first", old(full, 90, 50), Act, "compact", "", "Compact",
			"up to revision 90"},
		{"not what is younger than the spec keeps", old(full, 50, 50), Wait, "alarms", facts.ReasonAlarm, "",
			"may be history of the last 1m0s. The operator compacts that once it is older, in at most 1m0s: a shorter spec.maintenance.keepHistory lets"},
		{"who fills what was freed is told to raise the quota", old(full, 50, 50).edit(2, defragged(time.Minute, filledDone)), Refuse,
			"alarms", facts.ReasonAlarm, "", "A defragmentation at 2030-01-01T11:59:00Z did not free enough, and demo-2 is " +
				"still full. A backup that is complete says which keys take most. What fills it may be history of the last 1m0s. The " +
				"operator compacts that once it is older, in at most 1m0s: a shorter spec.maintenance.keepHistory lets it do so sooner. If keys " +
				"fill it, the operator cannot mend this alone. Raise "},
		{"and how much that was", old(full, 50, 50).edit(2, defragged(time.Minute, func(p *facts.DefragPod) {
			p.Until, p.Before, p.After = 2000<<20, 1903<<20, 1900<<20
			defragDone(p)
		})).edit(2, func(r *facts.Replica) { r.Answer.DBSizeInUse = r.Answer.DBSize }), Refuse, "alarms", facts.ReasonAlarm, "",
			"A defragmentation at 2030-01-01T11:59:00Z freed 3Mi, and demo-2 is full again. A backup"},
		{"with the command for that", old(full, 50, 50).edit(2, defragged(time.Minute, func(p *facts.DefragPod) {
			p.Until, p.Before, p.After = 1000<<20, 1900<<20, 100<<20
			defragDone(p)
		})).edit(2, func(r *facts.Replica) { r.Answer.DBSizeInUse = r.Answer.DBSize }), Refuse, "alarms", facts.ReasonAlarm, "",
			"This raises the quota: kubectl patch etcdcluster demo -n default --type merge -p '{\"spec\":{\"etcd\":{\"quotaBackendBytes\":"},
		{"not who fills what was not made for that", old(full, 50, 50).edit(2, defragged(time.Minute, defragDone)), Wait, "alarms",
			facts.ReasonAlarm, "", "The operator compacts that once it is older"},
		{"nor while a snapshot is read", read(old(full, 50, 50).edit(2, defragged(time.Minute, filledDone))), Wait, "alarms",
			facts.ReasonAlarm, "", "compacts old history"},
		{"but not a day after that", old(full, 50, 50).edit(2, defragged(24*time.Hour, defragDone)), Wait, "alarms",
			facts.ReasonAlarm, "", "If that frees too little, this message then says what you do."},
		{"nor where a person forbids it", desire(old(full, 90, 50), func(d *facts.Desired) { d.Upkeep.Compacts = false }),
			Refuse, "alarms", facts.ReasonAlarm, "", "delete keys"},
		{"nor where nobody knows how far it was compacted", old(full, 90, -1), Refuse, "alarms", facts.ReasonAlarm, "",
			"delete keys"},
		{"where nothing is left of it keys fill it", old(full, 100, 100), Refuse, "alarms", facts.ReasonAlarm, "",
			"delete keys"},
		{"which is not known while a snapshot is read, and keeps the room of what is compacted", read(old(full, 100, 100)),
			Wait, "alarms", facts.ReasonAlarm, "", "disarms the alarm"},
		{"history is not compacted where defragmentation is enough", old(storing(full, 2000, 100), 90, 50).edit(2, ledAway),
			Act, "defragment", "", "StartDefrag", ""},
		{"the only member is silent for all", only, Act, "defragment", "", "StartDefrag", ""},
		{"and is started anew by nobody", wanting(only.edit(0, busy).edit(0, longAgo).blind(), other), Wait, "membership",
			facts.ReasonDefragment, "", "The cluster answers nothing until that is done"},
	}
}

// read is a cluster whose leader sends a snapshot.
func read(o scene) scene { o.History.IsRead = true; return o }

// old is a cluster at revision 100 that was at another a while ago, and whose history was compacted up to a third one;
// below zero that is not known.
func old(o scene, reached, compacted int64) scene {
	o = desire(o, func(d *facts.Desired) { d.Upkeep.Compacts, d.Upkeep.KeepHistory = true, time.Minute })
	o.History = facts.History{Reached: reached, IsSteady: true}
	if compacted >= 0 {
		o.History.Compacted = &compacted
	}
	for _, r := range o.Current.Members {
		o = o.edit(r.Ordinal, func(r *facts.Replica) { r.Answer.Revision = 100 })
	}
	return o
}

func shrunk(r *facts.Replica) { r.Answer.DBSize = r.Answer.DBSizeInUse }

func tight(r *facts.Replica) { r.Answer.DBSizeInUse = r.Answer.DBSize }

func streaming(o scene) scene {
	o.Streaming = "demo-backup"
	return o
}

// remains is the Pod that defragmented a member which is none any more.
func remains(ordinal int) facts.Replica {
	r := facts.Replica{Name: etcdutil.MemberName("demo", ordinal), Ordinal: ordinal}
	defragged(time.Hour, defragDone)(&r)
	return r
}

// guardedUpkeep are rows of members that are silent for a while.
func guardedUpkeep() []guardRow {
	three := storing(settledWorld(3), 400, 100)
	start := changes.StartDefrag{Name: "demo-2", ID: 3, Deadline: time.Minute}
	over := changes.DeleteDefrag{Name: "demo-2", UID: "defrag"}
	evict := changes.EvictPod{Pod: facts.PodRef{Name: "demo-2", UID: "pod-demo-2"}}
	remove := changes.RemoveMember{Name: "demo-2", ID: 3}
	done := three.edit(2, defragged(time.Minute, defragDone))
	fresh := three.edit(2, silent)
	full, gone := old(raising(settledWorld(3), 90, noSpace), 90, 50), changes.Compact{Revision: 90}
	return []guardRow{
		{"it is another member", three, start, three, changes.StartDefrag{Name: "demo-2", ID: 4}, "is member 4"},
		{"another one is at it", three, start, three.edit(1, defragged(time.Minute, atWork)), start, "defragments demo-1"},
		{"its last Pod is there", three, start, done, start, "defragments demo-2"},
		{"another one is silent", three, start, three.edit(1, silent), start, "not every other one"},
		{"a learner joins", three, start, three.with(learner(3)), start, "not every other one"},
		{"it leads", three, start, three, changes.StartDefrag{Name: "demo-0", ID: 1}, "hand over"},
		{"copies differ", three, start, hashing(three, 7, 8, 7), start, "different data"},
		{"its volume has no room", three, start, storing(three, 4800, 3000), start, "no room"},
		{"a backup is read", three, start, streaming(three), start, "reads a backup"},
		{"its Pod is another one", done, over, done, changes.DeleteDefrag{Name: "demo-2", UID: "another"}, "another one"},
		{"its Pod is at work", done, over, three.edit(2, defragged(time.Minute, atWork)), over, "only this Pod says so"},
		{"its silence is explained by it", done, over, fresh.edit(2, defragged(time.Minute, defragFails)), over,
			"only this Pod says so"},
		{"history is younger than the spec keeps", full, gone, full, changes.Compact{Revision: 91}, "not known to be older"},
		{"nothing says how far the cluster was", full, gone, old(full, 0, 50), gone, "not known to be older"},
		{"space has not run out", full, gone, raising(full, 90), gone, "not run out"},
		{"it is not all that is wrong", full, gone, raising(full, 90, noSpace, corrupt), gone, "not all that is wrong"},
		{"a person forbids it", full, gone, desire(full, func(d *facts.Desired) { d.Upkeep.Compacts = false }), gone,
			"compactOnNoSpace is false"},
		{"nobody tells the list", full, gone, full.blind(), gone, "list is not known"},
		{"who is busy is not stopped", fresh, evict, three.edit(2, busy), evict, "answers once that is done"},
		{"nor removed", fresh, remove, three.edit(2, busy), remove, "answers once that is done"},
	}
}

func TestABusyMemberIsJudgedByNothingButThatUntilItsTimeIsOver(t *testing.T) {
	three := settledWorld(3)
	for name, row := range map[string]struct {
		edit   func(*facts.Replica)
		reason string
	}{
		"at work":                       {busy, facts.MemberDefragmenting},
		"whose Pod was killed":          {func(r *facts.Replica) { busy(r); defragFails(r.Defragmenting) }, facts.MemberDefragmenting},
		"whose Pod has not begun":       {func(r *facts.Replica) { busy(r); r.Defragmenting.Started = false }, facts.MemberNotAnswering},
		"that is done":                  {func(r *facts.Replica) { busy(r); defragDone(r.Defragmenting) }, facts.MemberNotAnswering},
		"of which the time is over":     {func(r *facts.Replica) { busy(r); r.Defragmenting.Deadline = 0 }, facts.MemberNotAnswering},
		"that was given a volume to go": {func(r *facts.Replica) { busy(r); r.Volume = nil }, facts.MemberNoVolume},
	} {
		o := three.edit(2, row.edit)
		if j := current(o.Observation).Judge(o.Current.Find("demo-2")); j.Reason != row.reason ||
			row.reason == facts.MemberDefragmenting && j.Cure != judge.Await {
			t.Errorf("%s: %+v", name, j)
		}
	}
}
