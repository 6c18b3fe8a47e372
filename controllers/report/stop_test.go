package report

import (
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
