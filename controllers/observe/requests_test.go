package observe

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

func restoreNamed(name string, age time.Duration, source v1alpha1.EtcdRestoreSource) *v1alpha1.EtcdRestore {
	r := &v1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name,
		UID: types.UID("uid-" + name)}}
	r.CreationTimestamp = metav1.NewTime(time.Unix(100000, 0).Add(-age))
	r.Spec.ClusterRef.Name, r.Spec.Source = "demo", source
	return r
}

// asking has EtcdRestores beside the backup nightly.
func asking(t *testing.T, restores ...*v1alpha1.EtcdRestore) Sources {
	t.Helper()
	b := sourcesAmong(t, taken(complete("prod/demo/a/snapshot.db")))
	for _, r := range restores {
		if err := b.Reader.(client.Client).Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func backupNamed(name string) v1alpha1.EtcdRestoreSource {
	return v1alpha1.EtcdRestoreSource{BackupRef: &v1alpha1.BackupReference{Name: name}}
}

var prodDemo = &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo"}}

func TestRestoresOfAClusterAreFoundTheOldestFirst(t *testing.T) {
	other := restoreNamed("other", time.Hour, backupNamed("nightly"))
	other.Spec.ClusterRef.Name = "another"
	going := restoreNamed("going", time.Hour, backupNamed("nightly"))
	going.Finalizers = []string{"example.com/x"}
	b := asking(t, restoreNamed("young", 0, v1alpha1.EtcdRestoreSource{Empty: &v1alpha1.EmptySource{}}),
		restoreNamed("old", time.Minute,
			v1alpha1.EtcdRestoreSource{Survivor: &v1alpha1.SurvivorSource{Member: "demo-1"}}),
		restoreNamed("middle", time.Second, backupNamed("nightly")), other, going,
		restoreNamed("oldest", time.Hour, v1alpha1.EtcdRestoreSource{Previous: &v1alpha1.PreviousSource{}}))
	if err := b.Reader.(client.Client).Delete(t.Context(), going); err != nil {
		t.Fatal(err)
	}
	got, err := b.Requests(t.Context(), prodDemo)
	if err != nil || len(got) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	oldest, old, middle, young := got[0], got[1], got[2], got[3]
	if oldest.Name != "oldest" || oldest.Source != record.SourcePrevious || !oldest.WantedBackup.IsZero() {
		t.Errorf("%+v", oldest)
	}
	if old.Name != "old" || old.Source != record.SourceSurvivor || old.Survivor != "demo-1" ||
		!old.WantedBackup.IsZero() {
		t.Errorf("%+v", old)
	}
	if middle.Name != "middle" || middle.Source != record.SourceBackup || middle.WantedBackup.Hash == "" ||
		middle.Bump != record.DefaultBump || middle.IsBumpFixed {
		t.Errorf("%+v", middle)
	}
	if young.Name != "young" || young.Source != record.SourceEmpty {
		t.Errorf("%+v", young)
	}
}

func TestARestoreIsKnownByItselfAndByWhatItAsksFor(t *testing.T) {
	request := func(name string, edit func(*v1alpha1.EtcdRestoreSpec)) facts.Request {
		t.Helper()
		r := restoreNamed(name, 0, backupNamed("nightly"))
		edit(&r.Spec)
		got, err := asking(t, r).Requests(t.Context(), prodDemo)
		if err != nil || len(got) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		return got[0]
	}
	first := request("a", func(*v1alpha1.EtcdRestoreSpec) {})
	if same := request("a", func(s *v1alpha1.EtcdRestoreSpec) {
		s.Approval, s.OldVolumes = "0123456789abcdef", v1alpha1.OldVolumesDelete
	}); same.ID != first.ID || !same.DeletesOld ||
		same.Approval != "0123456789abcdef" || same.WantedBackup != first.WantedBackup {
		t.Errorf("%+v\n%+v", same, first)
	}
	if other := request("b", func(*v1alpha1.EtcdRestoreSpec) {}); other.ID == first.ID ||
		other.WantedBackup.Hash == first.WantedBackup.Hash {
		t.Error("another EtcdRestore of the same backup is the same wish")
	}
	if other := request("a", func(s *v1alpha1.EtcdRestoreSpec) {
		s.BumpRevision = new(int64(5))
	}); other.ID == first.ID || other.Bump != 5 || !other.IsBumpFixed {
		t.Error("another bump is the same wish")
	}
	bootstrap, err := asking(t).WantedBackup(t.Context(), beginningWith(byName()))
	if err != nil || bootstrap.Hash == first.WantedBackup.Hash {
		t.Errorf("the wish of the cluster's own spec is the same: %v", err)
	}
	if missing := request("a", func(s *v1alpha1.EtcdRestoreSpec) {
		s.Source = backupNamed("absent")
	}); !strings.Contains(missing.WantedBackup.Fault, "there is no EtcdBackup absent") {
		t.Errorf("%+v", missing)
	}
	if missing := request("a", func(s *v1alpha1.EtcdRestoreSpec) {
		s.Source = backupNamed("absent")
	}); missing.WantedBackup.Later {
		t.Errorf("what is not there is waited for: %+v", missing)
	}
	if nothing := request("a", func(s *v1alpha1.EtcdRestoreSpec) {
		s.Source = v1alpha1.EtcdRestoreSource{}
	}); nothing.WantedBackup.Fault == "" {
		t.Errorf("%+v", nothing)
	}
}

func TestARestoreWaitsForABackupThatIsStillTakenAndNeverReadsAMembersOwnVolume(t *testing.T) {
	still := taken(nil)
	still.Name = "still"
	b := asking(t, restoreNamed("a", time.Second, backupNamed("still")),
		restoreNamed("b", 0, v1alpha1.EtcdRestoreSource{
			Store: &v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "demo-0"}}, Latest: true,
		}))
	writer := b.Reader.(client.Client)
	still.Annotations = nil
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo-0",
		Labels: map[string]string{
			v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelComponent: v1alpha1.ComponentMember,
			v1alpha1.LabelMember: "demo-0", v1alpha1.LabelInstance: "demo",
		}}}
	for _, object := range []client.Object{still, claim} {
		if err := writer.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.Requests(t.Context(), prodDemo)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if w := got[0].WantedBackup; !w.Later || !strings.Contains(w.Fault, notYet) {
		t.Errorf("%+v", w)
	}
	if w := got[1].WantedBackup; w.Hash != "" || !strings.Contains(w.Fault, "the claim demo-0 is the volume of") {
		t.Errorf("%+v", w)
	}
}

func TestTheSourceOfAnIncarnationIsFoundByItsHashAlone(t *testing.T) {
	survivor := restoreNamed("left", time.Minute,
		v1alpha1.EtcdRestoreSource{Survivor: &v1alpha1.SurvivorSource{Member: "demo-1"}})
	b := asking(t, survivor, restoreNamed("back", 0, backupNamed("nightly")))
	requests, err := b.Requests(t.Context(), prodDemo)
	if err != nil {
		t.Fatal(err)
	}
	source, err := b.OfHash(t.Context(), prodDemo, requests[1].WantedBackup.Hash)
	if err != nil || source == nil || source.Key != "prod/demo/a/snapshot.db" ||
		shortHash(source) != requests[1].WantedBackup.Hash {
		t.Errorf("%+v, %v", source, err)
	}
	if source, err = b.OfHash(t.Context(), prodDemo, requests[0].ID); err != nil || source == nil ||
		source.Store.Volume != nil {
		t.Errorf("of a survivor: %+v, %v", source, err)
	}
	if source, err = b.OfHash(t.Context(), prodDemo, "another"); err != nil || source != nil {
		t.Errorf("nobody asks for it: %+v, %v", source, err)
	}
}
