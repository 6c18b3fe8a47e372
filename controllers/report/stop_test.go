package report

import (
	"slices"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestMembersAtAStopAreNotWhatTheSpecAsksFor(t *testing.T) {
	w := demo(3, time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)).objects("Current").recorded().starting().answering().
		identified().settled()
	if got := outdatedMembers(w.o); len(got) != 0 || updatedMembers(w.o) != 3 {
		t.Fatalf("settled members are outdated: %v, %d updated", got, updatedMembers(w.o))
	}
	w.o.Desired.Target = etcdutil.Version{Major: 3, Minor: 7, Patch: 3}
	if got := outdatedMembers(w.o); len(got) != 3 || updatedMembers(w.o) != 0 {
		t.Errorf("members at a stop count as what the spec asks for: %v, %d updated", got, updatedMembers(w.o))
	}
	if got := (Input{Cluster: w.cluster, Observation: w.o}).targetVersion(); got != "3.7.3" {
		t.Errorf("the target is told as %s", got)
	}
}

func TestAMemberWhoseSettingsAreWrittenAndThatWasNotRestartedIsNotUpToDate(t *testing.T) {
	w := demo(3, begin).settled()
	r := w.find("demo-1")
	r.Volume.Settings, r.Pod.Settings.QuotaBytes = r.Pod.Settings, 1<<30
	if got := outdatedMembers(w.o); !slices.Equal(got, []string{"demo-1"}) || updatedMembers(w.o) != 2 {
		t.Errorf("it is not named: %v, %d updated", got, updatedMembers(w.o))
	}
	r.Pod.Terminating = true
	if got := outdatedMembers(w.o); !slices.Equal(got, []string{"demo-1"}) {
		t.Errorf("it is not named while its Pod is terminating: %v", got)
	}
}

func TestTheStatusNamesTheVersionsThatMembersHaveYetToRun(t *testing.T) {
	w := demo(3, begin).settled()
	runs := w.o.Current.Members[0].Answer.Version
	for _, row := range []struct {
		target etcdutil.Version
		noWay  string
		want   []string
	}{
		{runs, "", nil},
		{etcdutil.Version{Major: 3, Minor: 7, Patch: 3}, "", []string{"3.7.3"}},
		{etcdutil.Version{Major: 3, Minor: 5, Patch: 21}, "", []string{"3.5.21"}},
		{etcdutil.Version{Major: 3, Minor: 5, Patch: 21}, "This release takes no such step", nil},
	} {
		w.o.Desired.Target, w.o.Desired.NoWay = row.target, row.noWay
		if got := Status(w.input()).UpgradePath; !slices.Equal(got, row.want) {
			t.Errorf("from %s to %s: %v", runs, row.target, got)
		}
	}
}
