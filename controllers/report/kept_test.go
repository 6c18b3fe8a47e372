package report

import (
	"reflect"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// keeping is a settled cluster with the volume of a member that was replaced an hour ago for this cause.
func keeping(cause facts.Cause) *scene {
	w := demo(3, begin).settled()
	w.o.Desired.KeepVolumes = 24 * time.Hour
	w.o.Kept = []facts.KeptVolume{{Name: "demo-7", UID: "volume-7", Ordinal: 7, For: cause,
		Since: begin.Add(-time.Hour)}}
	return w
}

func TestAKeptVolumeIsShownWithTheTimeOfItsEnd(t *testing.T) {
	since, until := seconds(begin.Add(-time.Hour)), seconds(begin.Add(23*time.Hour))
	want := []v1alpha1.KeptVolume{{Name: "demo-7", Reason: "Disk", Since: &since, Until: &until, UnusedSince: &since}}
	if got := Status(keeping(facts.CauseDisk).input()).KeptVolumes; !reflect.DeepEqual(got, want) {
		t.Errorf("the status has %+v, want %+v", got, want)
	}
}

func TestACopyThatDiffersIsKeptWithoutAnEnd(t *testing.T) {
	w := keeping(facts.CauseCorruption)
	w.o.Desired.KeepVolumes = 0
	since := seconds(begin.Add(-time.Hour))
	want := []v1alpha1.KeptVolume{{Name: "demo-7", Reason: "Corruption", Since: &since, UnusedSince: &since}}
	if got := Status(w.input()).KeptVolumes; !reflect.DeepEqual(got, want) {
		t.Errorf("the status has %+v, want %+v", got, want)
	}
}

func TestAnotherTimeToKeepVolumesMovesTheEndThatIsShown(t *testing.T) {
	w := keeping(facts.CauseDisk).written(t)
	w.o.Desired.KeepVolumes = 48 * time.Hour
	got := Status(w.input()).KeptVolumes[0]
	if want := begin.Add(47 * time.Hour); !got.Until.Time.Equal(want) {
		t.Errorf("the volume is said to be kept until %s, want %s", got.Until, want)
	}
}

func TestAVolumeThatIsKeptSinceAnUnknownTimeIsShownWithoutTimesAndWritesNothingAgain(t *testing.T) {
	w := keeping(facts.CauseDisk)
	w.o.Kept[0].Since = time.Time{}
	w.written(t).later(10 * time.Second)
	again := Status(w.input())
	if want := []v1alpha1.KeptVolume{{Name: "demo-7", Reason: "Disk"}}; !reflect.DeepEqual(again.KeptVolumes, want) {
		t.Errorf("the status has %+v, want %+v", again.KeptVolumes, want)
	}
	if !reflect.DeepEqual(again, w.cluster.Status) {
		t.Errorf("the second pass writes again\nfirst:  %+v\nsecond: %+v", w.cluster.Status, again)
	}
}

func TestAKeptVolumeIsUnusedForAsLongAsKubernetesSaysAndElseSinceItWasPutAside(t *testing.T) {
	aside, before := begin.Add(-time.Hour), begin.Add(-3*time.Hour)
	for name, row := range map[string]struct {
		usage facts.Usage
		want  time.Time
	}{
		"an older Kubernetes says nothing": {facts.Usage{}, aside},
		"no Pod uses it":                   {facts.Usage{UnusedSince: before}, before},
		"a Pod uses it":                    {facts.Usage{InUse: true}, time.Time{}},
	} {
		w := keeping(facts.CauseDisk)
		w.o.Kept[0].Usage = row.usage
		got := Status(w.input()).KeptVolumes[0].UnusedSince
		if (got == nil) != row.want.IsZero() || got != nil && !got.Time.Equal(row.want) {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}

func TestAVolumeThatIsGoneLeavesTheStatus(t *testing.T) {
	w := keeping(facts.CauseDisk).written(t)
	if len(w.cluster.Status.KeptVolumes) != 1 {
		t.Fatalf("the status has %+v, so this proves nothing", w.cluster.Status.KeptVolumes)
	}
	w.o.Kept = nil
	if got := Status(w.input()).KeptVolumes; got != nil {
		t.Errorf("the status still has %+v", got)
	}
}

func TestKeptVolumesAreCountedByReasonsOfAClosedSet(t *testing.T) {
	w := demo(3, begin).settled()
	for i, cause := range []facts.Cause{facts.CauseDisk, facts.CauseDisk, facts.CauseCorruption, "a-person-wrote-this",
		facts.CauseSettings} {
		w.o.Kept = append(w.o.Kept, facts.KeptVolume{Name: string(rune('a' + i)), Ordinal: i, For: cause,
			Since: begin.Add(-time.Hour)})
	}
	want := map[string]int{"Disk": 2, "Corruption": 1, "Unknown": 2}
	if got := metrics(w.input()).Kept; !reflect.DeepEqual(got, want) {
		t.Errorf("the volumes count as %v, want %v", got, want)
	}
}
