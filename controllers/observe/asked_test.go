package observe_test

import (
	"path/filepath"
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestAClusterIsAskedForItsVersionWhileItMayBeOnItsWayAndNotWhenSettled(t *testing.T) {
	w := readRelease(t, filepath.Join("testdata", "released", "v0.1-three.yaml"))
	says := func() string { return w.look().Current.Members[0].Answer.Versions.Cluster.MinorString() }
	if got := says(); got != "3.6" {
		t.Errorf("where no record names it: %s", got)
	}
	for _, r := range w.look().Current.Members {
		text := w.objects["*v1.PersistentVolumeClaim "+r.Name].GetAnnotations()
		known, err := record.DecodeMember(text[v1alpha1.AnnotationRecord])
		if err != nil {
			t.Fatal(err)
		}
		text[v1alpha1.AnnotationRecord] = known.InCluster(etcdutil.Version{Major: 3, Minor: 6}, 1, 0).Encode()
	}
	if got := says(); got != "0.0" {
		t.Errorf("where all are at rest: %s", got)
	}
	w.cluster.Spec.Version = "3.7.3"
	if got := says(); got != "3.6" {
		t.Errorf("where the spec asks for another minor: %s", got)
	}
}

func TestVotersAreAskedForTheirSnapshotsOnlyWhereTheirLogHasToBeCovered(t *testing.T) {
	w := readRelease(t, filepath.Join("testdata", "released", "v0.1-three.yaml"))
	for version, isAsked := range map[string]bool{"3.6.16": false, "3.7.3": true} {
		w.cluster.Spec.Version = version
		o := w.look()
		for _, r := range o.Current.Members {
			if got := r.Answer.Snapshots != nil; got != isAsked {
				t.Errorf("%s was asked on the way to %s: %v", r.Name, version, got)
			}
		}
		if needs := o.Desired.Needs == etcdutil.NeedCover; needs != isAsked || o.Desired.Settings.Version.Minor != 6 {
			t.Errorf("to %s: %+v", version, o.Desired)
		}
	}
}
