package plan

import (
	"slices"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestANewMemberJoinsWithTheLowestMinorThatThereIs(t *testing.T) {
	mixed := settledWorld(3).edit(1, inNewer(settings.Version)).edit(2, inNewer(settings.Version))
	d := Decide(desire(mixed, func(d *facts.Desired) { d.Size, d.Settings = 5, newer }).Observation)
	made, isPrepared := d.Change.(changes.PrepareMember)
	if !isPrepared || made.Volume.Settings != settings {
		t.Errorf("%s: %s, from %+v", d.Rule, d.Message, made.Volume.Settings)
	}
}

func TestOneOfTwoMembersLeavesAlsoWhileTheirMinorsDiffer(t *testing.T) {
	mixed := settledWorld(3).edit(1, inNewer(settings.Version))
	for _, row := range []struct {
		name  string
		world scene
		rule  string
	}{
		{"of three none leaves for the size, since the others can be rolled", mixed, "roll"},
		{"of two neither could be rolled", settledWorld(2).edit(1, inNewer(settings.Version)), "shrink"},
	} {
		d := Decide(desire(row.world, func(d *facts.Desired) { d.Size, d.Settings = 1, newer }).Observation)
		if d.Verdict != Act || d.Rule != row.rule {
			t.Errorf("%s: %s: %s", row.name, d.Rule, d.Message)
		}
	}
}

// unheardInNewer is a member that was given the newer minor and was not heard since: its own record is of before.
func unheardInNewer(r *facts.Replica) {
	r.Volume.Settings, r.Pod.Settings, r.Answer = newer, newer, nil
}

func TestASilentMemberGoesToNoMinorBelowWhatOthersSayTheClusterIsOf(t *testing.T) {
	for _, row := range []struct {
		name    string
		cluster etcdutil.Version
		isBack  bool
	}{
		{"the cluster is of the lower version yet", settings.Version, true},
		{"the others say that the cluster moved, so it ran the higher minor", newer.Version, false},
	} {
		world := settledWorld(3).edit(0, inNewer(row.cluster)).edit(2, inNewer(row.cluster)).edit(1, unheardInNewer)
		world = desire(world.edit(1, unpullable), func(d *facts.Desired) { d.Settings = settings })
		taken, isTaken := Decide(world.Observation).Change.(changes.WriteSettings)
		if isBack := isTaken && taken.Volumes[0].Name == "demo-1"; isBack != row.isBack {
			t.Errorf("%s: %+v", row.name, Decide(world.Observation))
		}
	}
}

func TestAMinorThatWasBegunIsGoneOnWithBlind(t *testing.T) {
	mended := facts.Settings{Version: newer.Version, Inputs: "mended", QuotaBytes: 2 << 30}
	for _, row := range []struct {
		name    string
		edit    func(*facts.Replica)
		isTaken bool
	}{
		{"its volume asks for that minor", unheardInNewer, true},
		{"nothing ever asked for it", func(*facts.Replica) {}, false},
	} {
		world := desire(settledWorld(3).edit(0, unpullable).edit(1, row.edit).edit(1, unpullable).blind(),
			func(d *facts.Desired) { d.Settings = mended })
		taken, isTaken := Decide(world.Observation).Change.(changes.WriteSettings)
		if isTaken = isTaken && taken.Volumes[0].Name == "demo-1"; isTaken != row.isTaken {
			t.Errorf("%s: %+v", row.name, Decide(world.Observation))
		}
	}
}

func TestALearnerThatCannotRunTakesTheSettingsOfTheMembersWhileThoseOfTheSpecAreOfAnotherMinor(t *testing.T) {
	stuck := func(r *facts.Replica) {
		unpullable(r)
		r.Volume.Settings, r.Pod.Settings, r.Volume.Record = other, other, facts.Replica{}.Record()
		r.Member.Name, r.Member.ClientURLs, r.Pod.Role = "", nil, ""
	}
	world := settledWorld(2).with(learner(2)).edit(2, stuck)
	world = desire(world, func(d *facts.Desired) { d.Size, d.Settings = 3, newer })
	d := Decide(world.Observation)
	if taken, isTaken := d.Change.(changes.WriteSettings); !isTaken || taken.Settings != settings || d.Rule != "settings" {
		t.Errorf("%+v", d)
	}
}

func TestASilentMemberMayRunWhatItsVolumeAsksFor(t *testing.T) {
	at := settledWorld(1).edit(0, unheardInNewer).blind().Current.Progress()
	if want := []etcdutil.Version{settings.Version, newer.Version}; !slices.Equal(at.Members, want) {
		t.Errorf("%+v", at)
	}
}

// heldAtWaypoint is an only member that was given a patch that may be left, and was not heard since.
func heldAtWaypoint(r *facts.Replica) {
	r.Volume.Record.Version = etcdutil.Version{Major: 3, Minor: 6, Patch: 4}
	r.Volume.Settings, r.Pod.Settings, r.Answer = settings, settings, nil
}

// outrun is an only member whose etcd calls itself too old for the data: the next minor ran on it, and was not heard.
func outrun(r *facts.Replica) {
	crashing(r)
	r.Pod.Exit.Reason = etcdutil.ExitVersionTooLow
}

func TestAnOnlyMemberThatIsNotHeardGoesOnFromWhereItIs(t *testing.T) {
	lowest := etcdutil.Version{Major: 3, Minor: 6, Patch: 4}
	for _, row := range []struct {
		name   string
		edit   func(*facts.Replica)
		target etcdutil.Version
		stop   etcdutil.Version
	}{
		{"it starts with the patch that may be left, and is not sent back for being slow", heldAtWaypoint,
			newer.Version, settings.Version},
		{"it is sent back where the spec asks for that", heldAtWaypoint, lowest, lowest},
		{"its etcd says that the next minor ran on its data, and the spec asks for that", outrun, newer.Version,
			newer.Version},
		{"the spec asks for what it cannot run any more", outrun, settings.Version, settings.Version},
	} {
		at := settledWorld(1).edit(0, row.edit).blind().Current.Progress()
		if stop, err := etcdutil.NextStop(at, row.target); err != nil || stop.Version != row.stop {
			t.Errorf("%s: %+v %v, from %+v", row.name, stop, err, at.Members)
		}
	}
}

func TestAnOnlyMemberWhoseEtcdIsTooOldForItsDataGoesToTheMinorThatRanOnIt(t *testing.T) {
	for _, row := range []struct {
		name    string
		edit    func(*facts.Replica)
		isTaken bool
	}{
		{"its etcd says so", outrun, true},
		{"it crashes for another cause", crashing, false},
		{"etcd of another minor said so", func(r *facts.Replica) { outrun(r); r.Pod.Settings = older }, false},
	} {
		world := desire(settledWorld(1).edit(0, row.edit).blind(), func(d *facts.Desired) { d.Settings = newer })
		taken, isTaken := Decide(world.Observation).Change.(changes.WriteSettings)
		if isTaken = isTaken && taken.Settings == newer; isTaken != row.isTaken {
			t.Errorf("%s: %+v", row.name, Decide(world.Observation))
		}
	}
}

func TestAFirstMemberThatStartedCountsBeforeAnythingIsWrittenDown(t *testing.T) {
	if at := atBootstrap(3).edit(0, unpullable).Current.Progress(); len(at.Members) != 2 {
		t.Errorf("%+v", at)
	}
}
