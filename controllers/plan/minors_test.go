package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestANewMemberJoinsWithTheLowestMinorThatThereIs(t *testing.T) {
	mixed := settledWorld(3).edit(1, inNewer(choices.Version)).edit(2, inNewer(choices.Version))
	d := Decide(desire(mixed, func(d *facts.Desired) { d.Size, d.Choices = 5, newer }).Observation)
	made, isPrepared := d.Change.(changes.PrepareMember)
	if !isPrepared || made.Volume.Choices != choices {
		t.Errorf("%s: %s, from %+v", d.Rule, d.Message, made.Volume.Choices)
	}
}

func TestOneOfTwoMembersLeavesAlsoWhileTheirMinorsDiffer(t *testing.T) {
	mixed := settledWorld(3).edit(1, inNewer(choices.Version))
	for _, row := range []struct {
		name  string
		world scene
		rule  string
	}{
		{"of three none leaves for the size, since the others can be rolled", mixed, "roll"},
		{"of two neither could be rolled", settledWorld(2).edit(1, inNewer(choices.Version)), "shrink"},
	} {
		d := Decide(desire(row.world, func(d *facts.Desired) { d.Size, d.Choices = 1, newer }).Observation)
		if d.Verdict != Act || d.Rule != row.rule {
			t.Errorf("%s: %s: %s", row.name, d.Rule, d.Message)
		}
	}
}

// unheardInNewer is a member that was given the newer minor and was not heard since: its own record is of before.
func unheardInNewer(r *facts.Replica) {
	r.Volume.Choices, r.Pod.Choices, r.Answer = newer, newer, nil
}

func TestASilentMemberGoesToNoMinorBelowWhatOthersSayTheClusterIsOf(t *testing.T) {
	for _, row := range []struct {
		name    string
		cluster etcdutil.Version
		isBack  bool
	}{
		{"the cluster is of the lower version yet", choices.Version, true},
		{"the others say that the cluster moved, so it ran the higher minor", newer.Version, false},
	} {
		world := settledWorld(3).edit(0, inNewer(row.cluster)).edit(2, inNewer(row.cluster)).edit(1, unheardInNewer)
		world = desire(world.edit(1, unpullable), func(d *facts.Desired) { d.Choices = choices })
		taken, isTaken := Decide(world.Observation).Change.(changes.SetChoices)
		if isBack := isTaken && taken.Volumes[0].Name == "demo-1"; isBack != row.isBack {
			t.Errorf("%s: %+v", row.name, Decide(world.Observation))
		}
	}
}

func TestAMinorThatWasBegunIsGoneOnWithBlind(t *testing.T) {
	mended := facts.Choices{Version: newer.Version, Inputs: "mended"}
	for _, row := range []struct {
		name    string
		edit    func(*facts.Replica)
		isTaken bool
	}{
		{"its volume asks for that minor", unheardInNewer, true},
		{"nothing ever asked for it", func(*facts.Replica) {}, false},
	} {
		world := desire(settledWorld(3).edit(0, unpullable).edit(1, row.edit).edit(1, unpullable).blind(),
			func(d *facts.Desired) { d.Choices = mended })
		taken, isTaken := Decide(world.Observation).Change.(changes.SetChoices)
		if isTaken = isTaken && taken.Volumes[0].Name == "demo-1"; isTaken != row.isTaken {
			t.Errorf("%s: %+v", row.name, Decide(world.Observation))
		}
	}
}

func TestALearnerThatCannotRunTakesTheSettingsOfTheMembersWhileThoseOfTheSpecAreOfAnotherMinor(t *testing.T) {
	stuck := func(r *facts.Replica) {
		unpullable(r)
		r.Volume.Choices, r.Pod.Choices, r.Volume.Record = other, other, facts.Replica{}.Record()
		r.Member.Name, r.Member.ClientURLs, r.Pod.Role = "", nil, ""
	}
	world := settledWorld(2).with(learner(2)).edit(2, stuck)
	world = desire(world, func(d *facts.Desired) { d.Size, d.Choices = 3, newer })
	d := Decide(world.Observation)
	if taken, isTaken := d.Change.(changes.SetChoices); !isTaken || taken.Choices != choices || d.Rule != "settings" {
		t.Errorf("%+v", d)
	}
}

func TestASilentMemberMayRunWhatItsVolumeAsksFor(t *testing.T) {
	at := settledWorld(1).edit(0, unheardInNewer).blind().Current.Progress()
	if want := []etcdutil.Version{choices.Version, newer.Version}; !slices.Equal(at.Members, want) {
		t.Errorf("%+v", at)
	}
}

func TestAFirstMemberThatStartedCountsBeforeAnythingIsWrittenDown(t *testing.T) {
	if at := atBirth(3).edit(0, unpullable).Current.Progress(); len(at.Members) != 2 {
		t.Errorf("%+v", at)
	}
}

func TestAMemberThatHoldsUpAStopIsNamed(t *testing.T) {
	world := settledWorld(3).edit(1, answersPatched).edit(2, readyFor(time.Second))
	d := Decide(desire(world, func(d *facts.Desired) { d.Target = newer.Version }).Observation)
	if d.Reason != facts.ReasonVersions || !strings.Contains(d.Message, "not yet so of demo-1 (3.6.17).") {
		t.Errorf("%s: %s", d.Reason, d.Message)
	}
}
