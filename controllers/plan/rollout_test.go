package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// mislabelled are worlds in which an image holds another etcd than its name says, or none that starts.
func mislabelled() []row {
	three := settledWorld(3)
	return []row{
		{"a member that answers with another version than its image is named for ends the roll",
			wanting(three.edit(2, rolled).edit(2, answersPatched), other), Refuse, "roll",
			facts.ReasonOtherVersion, "", "demo-2 was made to run etcd 3.6.16 and answers as etcd 3.6.17"},
		{"also of ephemeral members, whose successors would be of it too",
			wanting(inMemory(three.edit(2, rolled).edit(2, answersPatched)), other), Refuse, "roll",
			facts.ReasonOtherVersion, "", "demo-2"},
		{"but a sick member is restarted: that may be its cure",
			wanting(three.edit(2, rolled).edit(2, answersPatched).edit(1, silent), other), Act, "roll",
			"", "WriteSettings", "demo-1"},
		{"also the only one, that was born so", settledWorld(1).edit(0, answersPatched), Refuse, "roll",
			facts.ReasonOtherVersion, "", "demo-0"},
		{"also one of another minor, that makes the cluster look as if it had to go down",
			desire(settledWorld(1).edit(0, answersNewer), bootstrappedAs(settings)), Refuse, "roll",
			facts.ReasonOtherVersion, "", "demo-0 was made to run etcd 3.6.16 and answers as etcd 3.7.3"},
		{"and is restarted once the spec names another image", wanting(three.edit(2, answersPatched), other), Act,
			"roll", "", "WriteSettings", "demo-2"},
	}
}

func answersNewer(r *facts.Replica) {
	r.Answer.Version, r.Volume.Record.Version = newer.Version, newer.Version
}

// bootstrappedAs is a wish for these settings, of a cluster whose members answer with a newer minor.
func bootstrappedAs(c facts.Settings) func(*facts.Desired) {
	return func(d *facts.Desired) {
		d.Settings, d.AtTarget, d.Target, d.Needs = newer, c, c.Version, etcdutil.NeedDowngrade
	}
}

func TestARollAsksWhetherItsPodWouldBeAdmittedBeforeItWritesAnything(t *testing.T) {
	c, ok := Decide(wanting(settledWorld(3), other).Observation).Change.(changes.WriteSettings)
	if !ok || !c.Rehearse || c.Settings != other {
		t.Errorf("a member that runs takes %+v", c)
	}
	c, ok = Decide(wanting(settledWorld(3).edit(1, unpullable), other).Observation).Change.(changes.WriteSettings)
	if !ok || c.Rehearse {
		t.Errorf("a member that does not run takes %+v", c)
	}
}

func TestNoMemberIsRestartedWhileAnotherOneIsReadyButFarBehind(t *testing.T) {
	o := wanting(settledWorld(3).edit(2, rolled).edit(2, func(r *facts.Replica) { r.Answer.Applied = 1 }), other)
	if d := Decide(o.Observation); d.Change != nil || d.Verdict == Settled {
		t.Errorf("%s: %s", d.Verdict, d.Message)
	}
	if d := Decide(o.edit(2, func(r *facts.Replica) { r.Answer.Applied = 5000 }).Observation); d.Change == nil {
		t.Errorf("once it has caught up: %s", d.Message)
	}
}

func TestAMemberIsEvictedOnlyOnDataThatOutlivesItsPod(t *testing.T) {
	for _, row := range []struct {
		name  string
		world scene
		says  string // empty: it may be evicted
	}{
		{"a follower on its volume", settledWorld(3), ""},
		{"the only member", settledWorld(1).edit(0, func(r *facts.Replica) {
			r.Name, r.Pod.UID = "demo-2",
				"pod-demo-2"
		}), ""},
		{"one on a volume that is going", settledWorld(3).edit(2, doomed), "would be lost"},
		{"one whose volume is lost", settledWorld(3).edit(2, volumeLost), "would be lost"},
		{"one with its data in the Pod", inMemory(settledWorld(3)), "would be lost"},
		{"one that could start from an empty directory", settledWorld(3).edit(2, stripped), "no recorded data"},
		{"one on a volume of another incarnation",
			settledWorld(3).edit(2, func(r *facts.Replica) { r.Volume.Incarnation = "old" }), "no recorded data"},
		{"another Pod of its name", settledWorld(3).edit(2, func(r *facts.Replica) { r.Pod.UID = "younger" }),
			"another one"},
		{"the leader", func() scene { o := settledWorld(3); o.Current.Membership.Leader = 3; return o }(), "hand over"},
		{"one of two that serve", settledWorld(3).edit(1, silent), "no quorum"},
	} {
		why := Veto(row.world.Observation, changes.EvictPod{Pod: facts.PodRef{Name: "demo-2", UID: "pod-demo-2"}})
		if row.says == "" && why != "" || !strings.Contains(why, row.says) {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}

func TestANewMemberIsMadeFromSettingsThatAMemberServesWith(t *testing.T) {
	for _, row := range []struct {
		name  string
		world scene
		want  facts.Settings
	}{
		{"those of the spec, when a member serves with them", settledWorld(3).edit(2, rolled).edit(1, noData).edit(1,
			removed), other},
		{"those of the others, when the first that took them stopped",
			settledWorld(3).edit(2, rolled).edit(2, silent).with(voter(3)).edit(1, noData).edit(1, removed), settings},
		{"those that it runs with, when others are only written on its volume",
			settledWorld(1).edit(0, doomed).edit(0, adopted), settings},
		{"those of the others, when nobody took them yet", settledWorld(3).edit(1, noData).edit(1, removed), settings},
	} {
		if got := current(wanting(row.world, other).Observation).due.Settings; got != row.want {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}

func TestAClusterThatIsResumedGoesOnWithTheIncarnationOfItsVolumes(t *testing.T) {
	left := settledWorld(3).edit(0, bereft).edit(1, bereft).edit(2, bereft).unwritten()
	bootstrap, ok := Decide(left.Observation).Change.(changes.BeginBootstrap)
	if !ok || bootstrap.Incarnation != facts.IncarnationID("u0", 0) || bootstrap.ClusterID != clusterID ||
		len(bootstrap.Names) != 3 {
		t.Fatalf("%+v", Decide(left.Observation))
	}
	ours := settledWorld(3)
	ours.Current.Bootstrap = record.Bootstrap{}
	if bootstrap, ok = Decide(ours.Observation).Change.(changes.BeginBootstrap); !ok ||
		bootstrap.Incarnation != facts.IncarnationID("u1", 0) {
		t.Fatalf("%+v", Decide(ours.Observation))
	}
}

func TestANewMemberIsMadeLikeThoseThatServe(t *testing.T) {
	o := wanting(settledWorld(5).edit(0, rolled).edit(0, unpullable).edit(4, noData).edit(4, removed).edit(4, noSecret),
		other)
	made, ok := Decide(o.Observation).Change.(changes.PrepareMember)
	if !ok || made.Volume.Settings != settings {
		t.Errorf("it is made from %+v", Decide(o.Observation).Change)
	}
}

func TestAPodIsToldWhatItWasMadeFromAndNotWhatIsWanted(t *testing.T) {
	stripped := func(r *facts.Replica) { unspoken(r); r.Volume.Settings = facts.Settings{} }
	for _, row := range []struct {
		name  string
		world scene
		want  facts.Settings
	}{
		{"its volume says it",
			wanting(settledWorld(3).edit(1, given(patched)).edit(1, answersPatched).edit(1, unspoken), other), patched},
		{"its volume asks for another version than it answers with, and others do not",
			wanting(settledWorld(3).edit(1, given(patched)).edit(1, unspoken), other), settings},
		{"its volume does not either, and others do", wanting(settledWorld(3).edit(1, stripped), other), settings},
		{"nothing is left that says it", wanting(settledWorld(1).edit(0, stripped), other), other},
	} {
		if c, ok := Decide(row.world.Observation).Change.(changes.RestoreInputs); !ok || c.Settings != row.want {
			t.Errorf("%s: %+v", row.name, Decide(row.world.Observation))
		}
	}
}

func TestSettingsDifferByTheFieldsOfTheSpecAndNeverByAValue(t *testing.T) {
	const base = `{"version":"3.6.16","etcd":{"extraArgs":{"max-txn-ops":"secret"}},"pod":{"sidecars":[{"name":"a"}]}}`
	for now, want := range map[string][]string{
		base: nil,
		`{"version":"3.6.16","etcd":{"extraArgs":{"max-txn-ops":"other"}},"pod":{"sidecars":[{"name":"a"}]}}`: {
			"spec.etcd.extraArgs.max-txn-ops"},
		`{"version":"3.6.16","etcd":{"compactionMode":"revision"},"pod":{"sidecars":[{"name":"b"}],"resources":{"limits":{"memory":"1Gi"}}}}`: {
			"spec.etcd.autoCompaction.mode", "spec.etcd.extraArgs.max-txn-ops", "spec.pod.resources.limits.memory", "spec.pod.sidecars"},
		`{"version":"3.6.16","etcd":{"extraArgs":{"max-txn-ops":"secret"}},"pod":{"sidecars":[{"name":"a"}]},"tls":"Disabled"}`: {
			"spec.tls.mode"},
		"unreadable": nil,
	} {
		if got := (facts.Settings{Inputs: now}).Differing(facts.Settings{Inputs: base}); !slices.Equal(got, want) {
			t.Errorf("%s: %q", now, got)
		}
	}
}

func TestTheWayBackNamesFieldsAndTheValuesOfThoseThatHoldNoSecret(t *testing.T) {
	before := facts.Settings{Version: settings.Version, Inputs: `{"version":"3.6.16","image":{"repository":"a","digest":"x"},` +
		`"etcd":{"quotaBackendBytes":2147483648},"pod":{"env":"s"}}`}
	for now, want := range map[string]string{
		before.Inputs: "",
		"unreadable":  "",
		`{"version":"3.6.16","image":{"repository":"b","digest":"x"},"etcd":{"quotaBackendBytes":1},"pod":{"env":"s"}}`: "put " +
			"spec.etcd.quotaBackendBytes back to 2Gi and put spec.image.repository back to a",
		`{"version":"3.6.16","image":{"digest":"y"},"etcd":{"quotaBackendBytes":2147483648,"extraArgs":{"foo":"s"}},"pod":{"env":"t"}}`: "take " +
			"spec.etcd.extraArgs.foo out and put spec.image.digests back and undo 2 more changes",
	} {
		if got := (facts.Settings{Version: settings.Version, Inputs: now}).Undo(before); got != want {
			t.Errorf("%s: %q", now, got)
		}
	}
	newer := facts.Settings{Version: patched.Version, Inputs: `{"version":"3.6.17","image":{"repository":"a","digest":"y"},` +
		`"etcd":{"quotaBackendBytes":2147483648},"pod":{"env":"s"},"restartedAt":"now"}`}
	if got := newer.Undo(before); got != "put spec.version back to 3.6.16" {
		t.Errorf("of another version: %q", got)
	}
}

func TestARollNamesTheFirstFieldThatDiffers(t *testing.T) {
	before := facts.Settings{Inputs: `{"version":"3.6.16"}`}
	for now, want := range map[string]string{
		`{"tls":"Disabled","version":"3.6.16"}`: "with another spec.tls.mode",
		`{"etcd":{"snapshotCount":1},"tls":"Disabled","image":{"repository":"a"},"version":"3.6.16"}`: "with another " +
			"spec.etcd.snapshotCount and 2 more changes",
		"unreadable": "with new settings",
	} {
		if got := difference(facts.Settings{Inputs: now}, before); got != want {
			t.Errorf("%s: %q", now, got)
		}
	}
}
