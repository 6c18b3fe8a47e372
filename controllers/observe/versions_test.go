package observe

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestTheVersionThatAClusterSaysRightAfterItsBootstrapIsNone(t *testing.T) {
	runs := etcdutil.Version{Major: 3, Minor: 6, Patch: 16}
	for minor, isSaid := range map[int]bool{0: false, 4: false, 5: true, 6: true} {
		cluster := etcdutil.Version{Major: 3, Minor: minor}
		if got := agreed(cluster, runs); got.IsZero() == isSaid {
			t.Errorf("a member of %s in a cluster of %s: %s", runs, cluster, got)
		}
	}
}

func TestMembersAreMadeAtAStopAsItsMinorKnowsIt(t *testing.T) {
	cluster := &v1alpha1.EtcdCluster{Spec: v1alpha1.EtcdClusterSpec{Size: 3, Version: "3.7.3",
		Image: &v1alpha1.ImageSpec{Digests: map[string]v1alpha1.Digest{"3.6.16": "sha256:of 3.6.16"}},
		Etcd: &v1alpha1.EtcdSpec{SnapshotCount: new(int64(5000)),
			ExtraArgs: map[string]v1alpha1.ArgValue{"max-snapshots": "7", "compact-hash-check-time": "1m"}}}}
	at := etcdutil.Progress{Members: make([]etcdutil.Version, 1), Cluster: etcdutil.Version{Major: 3, Minor: 5}}
	asked := desiredOf(cluster, "", facts.WantedBackup{}, time.Time{})
	if asked.SnapshotEach != 5000 {
		t.Errorf("%+v", asked)
	}
	for _, row := range []struct {
		members, stop, digest string
		leftOut               string
	}{
		{"3.5.21", "3.5.35", "", "compact-hash-check-time"},
		{"3.5.35", "3.6.16", "sha256:of 3.6.16", ""},
	} {
		at.Members[0] = parsed(row.members)
		desired := atStop(cluster, asked, at, facts.Hold{})
		inputs, err := resources.DecodeInputs(desired.Settings.Inputs)
		if err != nil {
			t.Fatal(err)
		}
		_, isGiven := inputs.Etcd.ExtraArgs["compact-hash-check-time"]
		digest := ""
		if inputs.Image != nil {
			digest = inputs.Image.Digest
		}
		if desired.Settings.Version.String() != row.stop || digest != row.digest || desired.LeftOut != row.leftOut ||
			isGiven != (row.leftOut == "") || inputs.Etcd.ExtraArgs["max-snapshots"] != "7" {
			t.Errorf("from %s: %+v", row.members, desired)
		}
	}
}

func TestAFlagThatTheNextMinorDropsIsLeftOutWhileMembersRunIt(t *testing.T) {
	cluster := &v1alpha1.EtcdCluster{Spec: v1alpha1.EtcdClusterSpec{Size: 1, Version: "3.7.3",
		Etcd: &v1alpha1.EtcdSpec{ExtraArgs: map[string]v1alpha1.ArgValue{"max-snapshots": "7"}}}}
	next := parsed("3.8.0-alpha.0")
	at := etcdutil.Progress{Members: []etcdutil.Version{next}, Cluster: next.OfMinor(), Storage: next.OfMinor()}
	desired := atStop(cluster, desiredOf(cluster, "", facts.WantedBackup{}, time.Time{}), at, facts.Hold{})
	if desired.Settings.Version != next || desired.Needs != etcdutil.NeedDowngrade || desired.LeftOut != "max-snapshots" {
		t.Errorf("%+v", desired)
	}
}

func TestWhereDigestsAreNamedAMinorIsLeftOnlyWithOneForEachVersionOnTheWay(t *testing.T) {
	digest := func(versions ...string) *v1alpha1.ImageSpec {
		image := &v1alpha1.ImageSpec{Digests: map[string]v1alpha1.Digest{}}
		for _, v := range versions {
			image.Digests[v] = "sha256:of " + v1alpha1.Digest(v)
		}
		return image
	}
	way := []etcdutil.Version{{Major: 3, Minor: 6, Patch: 16}, {Major: 3, Minor: 7, Patch: 3}}
	for _, row := range []struct {
		name  string
		image *v1alpha1.ImageSpec
		way   []etcdutil.Version
		lacks string
	}{
		{"no digest is named", nil, way, ""},
		{"nor in an image", &v1alpha1.ImageSpec{Repository: "mirror.example.com/etcd"}, way, ""},
		{"each stop has one", digest("3.6.16", "3.7.3"), way, ""},
		{"the end of the way has none", digest("3.6.16"), way, "There is no digest for etcd 3.7.3"},
		{"a stop has none", digest("3.5.35", "3.7.3"), way, "no digest for etcd 3.6.16"},
		{"there is no way to go", digest("3.5.35"), nil, ""},
	} {
		why := withoutDigest(row.image, row.way).Why
		if (why == "") != (row.lacks == "") || !strings.Contains(why, row.lacks) {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}
