package plan

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func askedToGo(r *facts.Replica) { r.IsUnwanted = true }

func TestAMemberThatAPersonWantsReplacedIsFollowedByANewOne(t *testing.T) {
	const why = "the annotation etcdsteward.dev/replace names it"
	asked := settledWorld(3).edit(1, askedToGo)
	joined := asked.with(voter(3)).budgeting(3)
	dead := desire(asked.edit(1, deadFor(3*time.Minute)), func(d *facts.Desired) { d.KeepVolumes = time.Hour })
	sidecar := asked.edit(1, withSidecar("CrashLoopBackOff"))
	sidecar.Desired.Settings.Sidecars = "other"
	for _, row := range []row{
		{"a new member joins first", asked, Act, "grow", "", "PrepareMember", "it will take the place of demo-1 (" + why + ")"},
		{"at any time, since it is asked for now", closed(asked), Act, "grow", "", "PrepareMember", why},
		{"also of members in memory", inMemory(asked), Act, "grow", "", "PrepareMember", why},
		{"also the only one", settledWorld(1).edit(0, askedToGo), Act, "grow", "", "PrepareMember", why},
		{"also where the volumes are too small for the spec", desire(asked, func(d *facts.Desired) { d.StorageBytes = 20 << 30 }),
			Act, "grow", "", "PrepareMember", why},
		{"then the old one loses its clients", joined, Act, "shrink", "", "LabelRole", "a new member has its place: " + why},
		{"and its vote", joined.edit(1, unlabelled), Act, "shrink", "", "RemoveMember", why},
		{"taken back, the new one is given up", settledWorld(3).with(starting(3)).promising(3), Act, "abandon-learner",
			"", "RemoveMember", "the size does not ask for it"},
		{"not while another member is not well", asked.edit(2, unready), Refuse, "member-health", facts.ReasonNotReady, "", "demo-2"},
		{"nor while an alarm stands", raising(asked, 90, noSpace), Refuse, "alarms", facts.ReasonAlarm, "", ""},
		{"one that has been dead for longer than a start is removed at once, and its volume is kept", dead, Act, "replace", "",
			"MarkVolume", "demo-1"},
		{"but not where the others are no quorum", asked.edit(1, deadFor(3*time.Minute)).edit(2, silent), Refuse, "replace",
			facts.ReasonQuorumAtRisk, "", "no quorum"},
		{"one that stopped just now gets time to come back", asked.edit(1, deadFor(time.Minute)), Wait, "grow",
			facts.ReasonNotReady, "", "may say why. The annotation etcdsteward.dev/replace names it: the operator " +
				"removes it once it has not served for 2m0s"},
		{"also beside a sidecar that cannot run", sidecar.edit(1, deadFor(time.Minute)), Wait, "grow", facts.ReasonNotReady, "",
			"demo-1 is healthy"},
	} {
		t.Run(row.name, row.check)
	}
}

// Nothing is said of a removal that does not come: one of these serves its clients, the other gets a leader.
func TestNoRemovalIsAnnouncedOfAMemberThatIsNotSilent(t *testing.T) {
	for name, edit := range map[string]func(*facts.Replica){"it answers": leaderless, "its kubelet calls it ready": unanswered} {
		d := Decide(settledWorld(3).edit(1, askedToGo).edit(1, edit).edit(1, unlabelled).Observation)
		if !strings.Contains(d.Message, "demo-1 is healthy") || strings.Contains(d.Message, "removes") {
			t.Errorf("%s: %s", name, d.Message)
		}
	}
}

// What the members run is known to work; what the spec asks for is tried by a roll, in its time.
func TestWhoFollowsAMemberThatAPersonWantsReplacedIsMadeFromTheSettingsOfTheOthers(t *testing.T) {
	asked := wanting(settledWorld(3), other).edit(1, askedToGo)
	asked.Desired.Window.IsClosed = true
	if c, isPrepared := Decide(asked.Observation).Change.(changes.PrepareMember); !isPrepared || c.Volume.Settings != settings {
		t.Errorf("%+v", c)
	}
}

// No new member can join then. What holds the settings of the spec back holds them back from this member as well.
func TestAMemberThatAPersonWantsReplacedChangesNothingWhileADowngradeIsEnabled(t *testing.T) {
	o := wanting(lowering(etcdutil.NeedDowngrade), other)
	for name, o := range map[string]scene{
		"outside of a window": closed(o), "on a way that this release knows not": noWay(o), "in a window": o,
	} {
		was, is := Decide(o.Observation), Decide(o.edit(1, askedToGo).Observation)
		if is.Rule != was.Rule || !reflect.DeepEqual(is.Change, was.Change) || is.Message != was.Message {
			t.Errorf("%s: %s says %q, and said by %s %q", name, is.Rule, is.Message, was.Rule, was.Message)
		}
	}
}
