package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// inItsPod puts the data of a member into its Pod.
func inItsPod(r *facts.Replica) { r.Ephemeral, r.Pod.Record, r.Volume = true, r.Volume.Record, nil }

// toPods is the same cluster with a spec that asks for data in Pods.
func toPods(o scene) scene {
	return desire(o, func(d *facts.Desired) { d.Storage = facts.Storage{Ephemeral: true} })
}

// leavingPods is the same cluster with its data in Pods, and a spec that asks for volumes.
func leavingPods(o scene) scene {
	return desire(inMemory(o), func(d *facts.Desired) { d.Storage = facts.Storage{} })
}

func TestDataInPodsAndVolumesAreExchangedForOneAnother(t *testing.T) {
	three := settledWorld(3)
	const onVolume = "its data is on a volume, and the spec asks for data in Pods"
	const inPod = "its data is in its Pod, and the spec asks for volumes"
	ofMedium := func(r *facts.Replica) { r.Medium = "Memory" }
	joinsInPod := three.with(starting(3)).promising(3).edit(3, ofMemory)
	votesInPod := three.with(voter(3)).edit(3, inItsPod).budgeting(3)
	votesOnVolume := leavingPods(three).with(voter(3)).budgeting(3)
	for _, row := range []row{
		{"a spec that asks for data in Pods gets a new member first", toPods(three), Act, "grow", "", "PrepareMember",
			"it will take the place of demo-2 (" + onVolume + ")"},
		{"one that asks for volumes as well", leavingPods(three), Act, "grow", "", "PrepareMember",
			"it will take the place of demo-2 (" + inPod + ")"},
		{"so does one for memory", desire(inMemory(three), func(d *facts.Desired) { d.Medium = "Memory" }), Act, "grow", "",
			"PrepareMember", "its data is on the node's disk, and the spec asks for memory"},
		{"and one for the disk again", inMemory(three).edit(0, ofMedium).edit(1, ofMedium).edit(2, ofMedium), Act, "grow", "",
			"PrepareMember", "its data is in memory, and the spec asks for the node's disk"},
		{"data that is where the spec asks for it stays there", inMemory(three), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"the old member stays while the new one joins", toPods(joinsInPod), Wait, "promote", facts.ReasonStarting, "", "demo-3"},
		{"then it loses its clients", toPods(votesInPod), Act, "shrink", "", "LabelRole", "demo-2"},
		{"and its vote", toPods(votesInPod.edit(2, unlabelled)), Act, "shrink", "", "RemoveMember",
			"a new member has its place: " + onVolume},
		{"so does one with its data in its Pod", votesOnVolume.edit(2, unlabelled), Act, "shrink", "", "RemoveMember",
			"a new member has its place: " + inPod},
		{"with the spec put back the new member is given up", joinsInPod, Act, "abandon-learner", "", "RemoveMember",
			"the size does not ask for it"},
		{"and one that votes goes again", votesInPod, Act, "shrink", "", "LabelRole", "demo-3"},
		{"nothing begins while another one is not well", toPods(three.edit(1, unready)), Refuse, "member-health",
			facts.ReasonNotReady, "", "demo-1"},
		{"what a lost Pod held is replaced before members move", leavingPods(three).edit(1, func(r *facts.Replica) {
			r.Pod, r.Answer = nil, nil
		}), Act, "replace", "", "RemoveMember", "demo-1"},
		{"the only member is succeeded as well", toPods(settledWorld(1)), Act, "grow", "", "PrepareMember", "demo-0"},
		{"no volume holds that up that has less than the spec would ask for", desire(toPods(three), func(d *facts.Desired) {
			d.StorageBytes = 80 << 30
		}), Act, "grow", "", "PrepareMember", onVolume},
		{"it waits for a window", closed(toPods(three)), Wait, "maintenance-window", facts.ReasonWindow, "", "demo-2"},
	} {
		t.Run(row.name, row.check)
	}
}

func TestASuccessorHasAVolumeWhereTheSpecAsksForOne(t *testing.T) {
	for name, row := range map[string]struct {
		o     scene
		bytes int64
	}{
		"data in Pods": {toPods(settledWorld(3)), 0},
		"volumes":      {leavingPods(settledWorld(3)), 8 << 30},
	} {
		c, isPrepared := Decide(row.o.Observation).Change.(changes.PrepareMember)
		if !isPrepared || c.Volume.Bytes != row.bytes {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestAMinorIsLeftOnceDataIsWhereTheSpecAsksForIt(t *testing.T) {
	three := settledWorld(3)
	for name, row := range map[string]struct {
		o     scene
		stays bool
	}{
		"volumes, and data in Pods is asked for": {toPods(three), true},
		"data in Pods, and volumes":              {leavingPods(three), true},
		"data in Pods":                           {inMemory(three), false},
		"volumes":                                {three, false},
	} {
		if hold := row.o.Current.WhyStay(row.o.Desired, nil); (hold.Why != "") != row.stays || hold.Passes != row.stays {
			t.Errorf("%s: %+v", name, hold)
		}
	}
}

func TestAClusterThatIsToSleepSaysWhoseDataIsInItsPod(t *testing.T) {
	d := Decide(toSleep(leavingPods(settledWorld(3))).Observation)
	if !slices.ContainsFunc(d.Trace.Yielded(), func(n facts.Note) bool {
		return n.Reason == facts.ReasonFallingAsleep && strings.Contains(n.Message,
			"demo-0 has its data in its Pod: new members on volumes follow first")
	}) {
		t.Errorf("%+v", d.Trace.Yielded())
	}
}

func TestWhatIsThereSaysWhereAMemberHasItsDataAndElseTheRecordOfFirstMembers(t *testing.T) {
	inPods, inRAM := facts.Storage{Ephemeral: true}, facts.Storage{Ephemeral: true, Medium: "Memory"}
	begun := record.Bootstrap{Begun: true, Names: []string{"demo-0", "demo-1"}, Volumes: map[string]string{"demo-0": "uid"}}
	unbegun := record.Bootstrap{Names: []string{"demo-0"}}
	restored := record.Bootstrap{Names: []string{"demo-0"}, Origin: record.Origin{Key: "a backup"}}
	next := begun
	next.Next.Names, next.Next.Origin = []string{"demo-5"}, record.Origin{Key: "a backup"}
	volume := &facts.Volume{UID: "uid"}
	for name, row := range map[string]struct {
		r           facts.Replica
		b           record.Bootstrap
		asked, want facts.Storage
	}{
		"a volume":                                {facts.Replica{Name: "demo-3", Volume: volume}, begun, inPods, facts.Storage{}},
		"a first member that lost its volume":     {facts.Replica{Name: "demo-0"}, begun, inPods, facts.Storage{}},
		"a first member that never had a volume":  {facts.Replica{Name: "demo-1"}, begun, facts.Storage{}, inPods},
		"one whose medium nothing says any more":  {facts.Replica{Name: "demo-1"}, begun, inRAM, inRAM},
		"a first member that is yet to be made":   {facts.Replica{Name: "demo-0"}, unbegun, facts.Storage{}, facts.Storage{}},
		"the same with data in its Pod":           {facts.Replica{Name: "demo-0"}, unbegun, inPods, inPods},
		"one that is yet to get a backup":         {facts.Replica{Name: "demo-0"}, restored, inPods, facts.Storage{}},
		"one of the next incarnation":             {facts.Replica{Name: "demo-5"}, next, inPods, facts.Storage{}},
		"a later member of which nothing is left": {facts.Replica{Name: "demo-3"}, begun, inPods, inPods},
	} {
		if got := facts.StorageOf(row.r, row.b, row.asked); got != row.want {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
	}
}

func TestNoVolumeGrowsThatMembersLeaveForTheirPods(t *testing.T) {
	v := facts.Volume{Phase: facts.VolumeBound, Bytes: 8 << 30}
	larger := facts.Desired{StorageBytes: 20 << 30}
	leaving := larger
	leaving.Ephemeral = true
	if v.GrowsTo(larger) != 20<<30 || v.GrowsTo(leaving) != 8<<30 {
		t.Errorf("%d, and %d", v.GrowsTo(larger), v.GrowsTo(leaving))
	}
}
