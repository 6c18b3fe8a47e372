package observe_test

import (
	"slices"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

func TestMembersOfWhichOnlyTheirCertificatesAreLeftAreSeenWhileNobodyAnswers(t *testing.T) {
	w := newTLSWorld(t)
	record := bootstrapRecord("demo-3")
	record.ClusterID, record.NextOrdinal = 0xc1, 6
	w.put(resources.BuildPeerService(w.cluster, record, "ops/etcd-steward"))
	w.put(resources.BuildMemberSecret(w.cluster, "demo-4", w.issue(resources.MemberCertificates(w.cluster, "demo-4", ""))))
	stripped := w.volume("demo-5")
	stripped.Labels = nil
	w.put(stripped)
	if names := namesIn(w.look().Current.Members); !slices.Equal(names, []string{"demo-3", "demo-4"}) {
		t.Errorf("it sees %v: demo-0 is of an incarnation before, and demo-5 has neither certificates nor a "+
			"mark on its volume", names)
	}
	record.ClusterID = 0
	w.put(resources.BuildPeerService(w.cluster, record, "ops/etcd-steward"))
	if names := namesIn(w.look().Current.Members); slices.Contains(names, "demo-4") {
		t.Errorf("before a quorum was there it sees %v", names)
	}
}
