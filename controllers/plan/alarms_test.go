package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// raising has every member that answers speak of an alarm, and gives each a database of so many percent of the quota.
func raising(o scene, percent int64, raised ...facts.Alarm) scene {
	for _, r := range o.Current.Members {
		o = o.edit(r.Ordinal, func(r *facts.Replica) {
			if r.Answer != nil {
				r.Answer.Alarms, r.Answer.DBSize = raised, o.Desired.Settings.QuotaBytes*percent/100
				r.Answer.DBSizeInUse = r.Answer.DBSize
			}
		})
	}
	return o
}

// fills gives a cluster a backup of which it is known what takes most.
func fills(o scene, largest string) scene {
	o.Proven = &facts.Backup{Key: "k", Revision: 1, Time: now, Largest: largest}
	return o
}

var (
	noSpace = facts.Alarm{Name: facts.AlarmNoSpace, Member: 99}
	corrupt = facts.Alarm{Name: facts.AlarmCorrupt, Member: 2}

	corruptFormer = facts.Alarm{Name: facts.AlarmCorrupt, Member: 99}
	corruptSome   = facts.Alarm{Name: facts.AlarmCorrupt} // as etcd 3.5 raises it: it names none
)

// alarmRows are clusters of which a member raised an alarm, or whose backup brought one along.
func alarmRows() []row {
	three := settledWorld(3)
	from := three
	from.Current.Bootstrap.Origin = backupOf
	cured := three.with(kept(3))
	toFive := func(d *facts.Desired) { d.Size = 5 }
	fromFive := desire(from.with(learner(3)).edit(3, unready).budgeting(3), toFive)
	five := desire(three.with(learner(3)).edit(3, unready).budgeting(3), toFive)
	return []row{
		{"an alarm of space is taken back where there is room", raising(three, 79, noSpace), Act, "alarms",
			"", "DisarmAlarms", ""},
		{"and not where a member is full", raising(three, 100, noSpace), Refuse, "alarms", facts.ReasonAlarm, "",
			"demo-0 has 2048Mi of 2048Mi"},
		{"it names a quota that is enough", desire(raising(three, 100, noSpace), func(d *facts.Desired) { d.Upkeep.Compacts = true }),
			Refuse, "alarms", facts.ReasonAlarm, "", "Raise spec.etcd.quotaBackendBytes to at least 2561Mi, or delete keys, " +
				"and the operator compacts and defragments."},
		{"and says so where the operator compacts nothing", desire(raising(three, 100, noSpace), func(d *facts.Desired) { d.Upkeep.Compacts = false }),
			Refuse, "alarms", facts.ReasonAlarm, "", "or delete keys and compact, and the operator defragments. It compacts " +
				"nothing itself, since spec.maintenance.compactOnNoSpace is false."},
		{"a single member restarts for it", raising(settledWorld(1), 100, noSpace), Refuse, "alarms", facts.ReasonAlarm, "",
			"then with all that it asks, and etcd is down for some seconds."},
		{"what fills it is named as the newest backup has it", fills(raising(three, 100, noSpace), "900Mi in /registry/events/"),
			Refuse, "alarms", facts.ReasonAlarm, "", "The newest backup has 900Mi in /registry/events/."},
		{"nor while one does not answer: it is all that is missing", raising(three, 10, noSpace).edit(1, silent), Refuse,
			"member-health", facts.ReasonNotReady, "", "demo-1 is not well"},
		{"and no person is asked for room", raising(three, 10, noSpace).edit(1, leaving), Wait, "alarms", facts.ReasonAlarm, "",
			"Every member that answers has room by now. The operator disarms the alarm once demo-1 answers too"},
		{"where the spec asks for more and is held back for something else, that is put right", desire(wanting(
			raising(three, 90, noSpace), larger), func(d *facts.Desired) { d.NoWay = "There is no way there" }), Refuse, "alarms",
			facts.ReasonAlarm, "", "asks for once the rest of the spec is put right: Members run 3.6"},
		{"nor by a quota that no member runs with yet: they are restarted with it",
			wanting(raising(three, 81, noSpace), larger), Act, "roll", "", "WriteSettings", ""},
		{"whatever else the spec asks for", wanting(raising(three, 79, noSpace), other), Act, "alarms",
			"", "DisarmAlarms", ""},
		{"each by its own quota: one that is full gets the larger one", raising(three, 3, noSpace).edit(2, runs(smaller)),
			Act, "roll", "", "WriteSettings", "demo-2"},
		{"who waits for that is told, and no person is asked", raising(three, 3, noSpace).edit(2, runs(smaller)).edit(0, silent),
			Refuse, "roll", facts.ReasonRoll, "", "demo-2 will be restarted"},
		{"one that came with a backup says so", raising(from, 90, noSpace), Refuse, "alarms", facts.ReasonAlarm, "",
			"of the cluster that the backup was taken from"},
		{"an alarm of corruption is taken back where all copies are the same, whatever was removed or kept",
			hashing(raising(three, 10, corrupt), 7, 7, 7), Act, "alarms", "", "DisarmAlarms",
			"every voter says that it holds the same data at one revision"},
		{"of a single member it is a person's", hashing(raising(settledWorld(1), 10, corruptFormer), 7), Refuse, "alarms",
			facts.ReasonAlarm, "", "CORRUPT"},
		{"beside it the other one is taken back", hashing(raising(three, 10, corrupt, noSpace), 7, 7, 7), Act, "alarms",
			"", "DisarmAlarms", ""},
		{"not beside a learner that may have copied the wrong copy: it is removed first",
			hashing(raising(desire(three.with(learner(3)), func(d *facts.Desired) { d.Size = 5 }), 10, corruptFormer), 7, 7, 7),
			Act, "alarms", "", "RemoveMember",
			"it may have copied from the wrong copy"},
		{"one of a member that was removed is taken back once all copies are the same",
			hashing(raising(three, 10, corruptFormer), 7, 7, 7), Act, "alarms", "", "DisarmAlarms", ""},
		{"and not where a backup brought it along", hashing(raising(from, 10, corruptFormer), 7, 7, 7), Refuse,
			"alarms", facts.ReasonAlarm, "", "of the cluster that the backup was taken from"},
		{"nor one that names none", hashing(raising(from, 10, corruptSome), 7, 7, 7), Refuse, "alarms",
			facts.ReasonAlarm, "", "some member"},
		{"but one that a member of its own raised", hashing(raising(from, 10, corrupt), 7, 7, 7), Act, "alarms", "",
			"DisarmAlarms", ""},
		{"one that names none is taken back once the wrong copy was removed",
			hashing(raising(cured, 10, corruptSome), 7, 7, 7), Act, "alarms", "", "DisarmAlarms", ""},
		{"so is one that names a good member", hashing(raising(cured, 10, corrupt), 7, 7, 7), Act, "alarms", "",
			"DisarmAlarms", ""},
		{"so is each in a cluster that began with a backup",
			hashing(raising(from.with(kept(3)), 10, corruptFormer), 7, 7, 7), Act, "alarms", "", "DisarmAlarms", ""},
		{"and not while another copy is not heard", hashing(raising(cured, 10, corruptSome), 7, 7, 0), Refuse,
			"corruption", facts.ReasonCorruption, "", ""},
		{"a learner that it names is given up", hashing(raising(five, 10, facts.Alarm{Name: facts.AlarmCorrupt,
			Member: 4}), 7, 7, 7), Act, "abandon-learner", "", "RemoveMember", "etcd says that its copy"},
		{"a learner gets its vote while it stands, and its kubelet calls no member ready",
			hashing(raising(fromFive, 10, corruptSome), 7, 7, 7), Act, "promote", "", "Promote", "demo-3"},
		{"a dead member is replaced all the same", raising(three.edit(2, noData), 90, noSpace), Act, "replace",
			"", "RemoveMember", ""},
	}
}

func TestNoAlarmIsTakenBackButThatOfSpaceWhereThereIsRoom(t *testing.T) {
	three := settledWorld(3)
	disarm := changes.DisarmAlarms{Alarms: []facts.Alarm{noSpace}}
	for _, row := range []struct {
		name    string
		world   scene
		change  changes.DisarmAlarms
		allowed bool
	}{
		{"with room", raising(three, 10, noSpace), disarm, true},
		{"without", raising(three, 81, noSpace), disarm, false},
		{"that nobody raised", raising(three, 10), disarm, false},
		{"of another member", raising(three, 10, facts.Alarm{Name: facts.AlarmNoSpace, Member: 98}), disarm, false},
		{"of corruption", raising(three, 10, corrupt), changes.DisarmAlarms{Alarms: []facts.Alarm{corrupt}}, false},
		{"while nobody tells the list", raising(three, 10, noSpace).blind(), disarm, false},
		{"by a quota that no member runs with yet", wanting(raising(three, 81, noSpace), larger), disarm, false},
		{"by the quota that one runs with", raising(three, 3, noSpace).edit(2, runs(smaller)), disarm, false},
	} {
		if why := Veto(row.world.Observation, row.change); (why == "") != row.allowed {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}

func TestAllMembersThatRaisedItAreDisarmedAtOnceAndEachOnlyOnce(t *testing.T) {
	equal := func(percent int64, raised ...facts.Alarm) Decision {
		return Decide(hashing(raising(settledWorld(3), percent, raised...), 7, 7, 7).Observation)
	}
	c, ok := equal(10, noSpace, facts.Alarm{Name: facts.AlarmNoSpace, Member: 1}, corrupt).Change.(changes.DisarmAlarms)
	if !ok || len(c.Alarms) != 2 || c.Alarms[0].Member != 1 || c.Alarms[1] != noSpace {
		t.Errorf("%+v", c)
	}
	if got := Decide(hashing(raising(settledWorld(1), 90, corruptSome), 7).Observation); !strings.Contains(got.Message, "some member") ||
		!got.NeedsHuman {
		t.Errorf("%+v", got)
	}
}

func TestWhatWasFreedInVainAndIsFreedAgainIsNoLastWord(t *testing.T) {
	filled := func(p *facts.DefragPod) {
		p.Until, p.Before, p.After = 2000<<20, 1900<<20, 100<<20
		defragDone(p)
	}
	again := storing(raising(settledWorld(3), 90, noSpace), 2000, 1200).edit(2, defragged(time.Minute, filled))
	const last, notLast = "The operator cannot mend this alone.", "The operator makes room once more, which may not last."
	if p := alarms(current(again.Observation)); !strings.Contains(p.Message, notLast) || strings.Contains(p.Message, last) ||
		!MakesRoom(again.Observation) {
		t.Errorf("%s", p.Message)
	}
	silenced := again.edit(1, unready)
	if p := alarms(current(silenced.Observation)); !strings.Contains(p.Message, last) || MakesRoom(silenced.Observation) {
		t.Errorf("while another member does not serve: %s", p.Message)
	}
	keys := again.edit(0, tight).edit(1, tight).edit(2, tight)
	if p := alarms(current(keys.Observation)); !strings.Contains(p.Message, last) || MakesRoom(keys.Observation) {
		t.Errorf("%s", p.Message)
	}
}
