package observe_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func (w *world) names() []string {
	var names []string
	for _, r := range w.look().Current.Members {
		names = append(names, r.Name)
	}
	return names
}

func TestThereIsOneReplicaForEachNameSeen(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.put(w.volume("demo-10"))
	w.put(w.pod("demo-9", resources.StartJoin))
	w.addLearner(w.peerURL("demo-3"))
	if names := w.names(); !slices.Equal(names, []string{"demo-0", "demo-1", "demo-2", "demo-3", "demo-9", "demo-10"}) {
		t.Errorf("%q", names)
	}
}

func TestAMemberThatTheAnnotationNamesIsUnwantedAndNoOther(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.cluster.Annotations = map[string]string{v1alpha1.AnnotationReplace: "demo-1, demo-7"}
	for _, r := range w.look().Current.Members {
		if r.IsUnwanted != (r.Name == "demo-1") {
			t.Errorf("%s: %t", r.Name, r.IsUnwanted)
		}
	}
}

func TestTheNamesOfABootstrapAreReplicasBeforeAnythingIsThere(t *testing.T) {
	w := newWorld(t)
	w.put(resources.BuildPeerService(w.cluster, bootstrapRecord("demo-0", "demo-1", "demo-2"), "ops/etcd-steward"))
	if names := w.names(); !slices.Equal(names, []string{"demo-0", "demo-1", "demo-2"}) {
		t.Errorf("%q", names)
	}
}

func TestWhatIsUnderNoMembersNameIsNoReplica(t *testing.T) {
	w := newBootstrappedWorld(t)
	for _, name := range []string{"demo-restore", "demo-01", "demo-0-x", "other-0"} {
		w.put(w.volume(name))
		w.put(w.pod(name, resources.StartSealed))
	}
	if names := w.names(); !slices.Equal(names, []string{"demo-0", "demo-1", "demo-2"}) {
		t.Errorf("%q", names)
	}
}

func TestAMemberThatWasPromisedAndNotAddedYetIsAReplica(t *testing.T) {
	w := newTLSWorld(t)
	w.cluster.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
	bootstrap := bootstrapRecord("demo-0")
	bootstrap.Begun, bootstrap.NextOrdinal, bootstrap.Promised = true, 2, "demo-1"
	w.put(resources.BuildPeerService(w.cluster, bootstrap, "ops/etcd-steward"))
	w.put(resources.BuildMemberSecret(w.cluster, "demo-1", w.issue(resources.MemberCertificates(w.cluster, "demo-1", ""))))
	if names := w.names(); !slices.Equal(names, []string{"demo-0", "demo-1"}) {
		t.Errorf("%q", names)
	}
	if s := w.replica("demo-1").Secret; s.State != facts.ObjectCurrent {
		t.Errorf("%+v", s)
	}
}

func TestBootstrapIsReadFromThePeerServiceThatIsOurs(t *testing.T) {
	w := newBootstrappedWorld(t)
	b := w.look().Current.Bootstrap
	if !b.Exists() || w.look().ClaimedBy != "ops/etcd-steward" || b.Incarnation != incarnation || b.Counter != 1 ||
		b.Token != "token" ||
		b.Void || b.ClusterID != 0 || !slices.Equal(b.Names, []string{"demo-0", "demo-1", "demo-2"}) {
		t.Errorf("%+v", b)
	}
	if at := w.look().TakenOver; !at.IsZero() {
		t.Errorf("taken over at %s", at)
	}
	w.objects["*v1.Service demo-peers"].GetAnnotations()[v1alpha1.AnnotationTakenOver] = "2026-11-26T10:00:00Z"
	w.cluster.Annotations = map[string]string{v1alpha1.AnnotationOperator: "new/etcd-steward"}
	if seen := w.look(); seen.TakenOver.Hour() != 10 || seen.Desired.Operator != "new/etcd-steward" {
		t.Errorf("%s, %q", seen.TakenOver, seen.Desired.Operator)
	}
	w.objects["*v1.Service demo-peers"].GetOwnerReferences()[0].UID = "gone"
	if b := w.look().Current.Bootstrap; b.Exists() {
		t.Errorf("the record of an earlier cluster was read: %+v", b)
	}
}

func TestDesiredIsWhatTheSpecAsksFor(t *testing.T) {
	w := newWorld(t)
	d := w.look().Desired
	want := facts.Desired{
		Size: 3, Settings: d.Settings, AtTarget: d.Settings, Target: d.Settings.Version,
		StorageBytes: 8 << 30, AccessMode: "ReadWriteOnce",
		Retain: true, HasBudget: true, ClientUser: "demo-client", Transport: etcdutil.TransportPlain,
		ReplaceAfter: 5 * time.Minute, KeepVolumes: 24 * time.Hour,
		Upkeep: facts.Upkeep{Compacts: true, KeepHistory: 5 * time.Minute},
	}
	if d != want || d.Settings.Version.String() != "3.6.16" ||
		d.Settings.Inputs != resources.Inputs(w.cluster).Canonical() || d.Settings.QuotaBytes != 2<<30 ||
		d.Settings.MemoryBytes != 0 {
		t.Errorf("%+v", d)
	}
	w.cluster.Spec.Paused, w.cluster.Spec.TLS = true, nil
	w.cluster.Spec.Repair = &v1alpha1.RepairSpec{ReplaceAfter: &metav1.Duration{Duration: 0}}
	w.cluster.Spec.Disruption = &v1alpha1.DisruptionSpec{PodDisruptionBudget: v1alpha1.BudgetNone}
	w.cluster.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{},
		DeletionPolicy: v1alpha1.DeletionDelete}
	if d := w.look().Desired; !d.Paused || !d.TLS || d.HasBudget || !d.Ephemeral || d.Retain || d.ReplaceAfter != 0 {
		t.Errorf("%+v", d)
	}
	w.cluster.Annotations = map[string]string{v1alpha1.AnnotationBeginEmpty: "uid-before"}
	if d := w.look().Desired; d.BeginEmpty != "uid-before" {
		t.Errorf("it is to begin empty after %q", d.BeginEmpty)
	}
	view, err := w.tryLook("the spec is refused")
	if err != nil || view.Desired.Fault != "the spec is refused" {
		t.Errorf("%v, %+v", err, view.Desired)
	}
}

// A kept volume may be the evidence of a corrupt member, or all that is left of one that was replaced.
func TestReleaseIsPendingUntilOwnersFollowTheDeletionPolicy(t *testing.T) {
	w := newBootstrappedWorld(t)
	kept := w.volume("demo-7")
	kept.Labels[v1alpha1.LabelKept] = string(facts.CauseCorruption)
	w.put(kept)
	all := []string{"demo-0", "demo-1", "demo-2", "demo-7"}
	policy := func(policy v1alpha1.DeletionPolicy, owners ...metav1.OwnerReference) []string {
		w.cluster.Spec.Storage = &v1alpha1.StorageSpec{DeletionPolicy: policy}
		for _, name := range all {
			w.objects["*v1.PersistentVolumeClaim "+name].SetOwnerReferences(owners)
		}
		var names []string
		for _, ref := range w.look().Astray {
			if ref.Kind == resources.KindVolume {
				names = append(names, ref.Name)
			}
		}
		return names
	}
	owner := resources.DataOwnerReference(w.cluster)
	for _, row := range []struct {
		what         string
		astray, want []string
	}{
		{"nothing owns the volumes, and Retain is wanted", policy(v1alpha1.DeletionRetain), nil},
		{"nothing owns the volumes, and Delete is wanted", policy(v1alpha1.DeletionDelete), all},
		{"the cluster owns the volumes, and Delete is wanted", policy(v1alpha1.DeletionDelete, owner), nil},
		{"the cluster owns the volumes, and Retain is wanted", policy(v1alpha1.DeletionRetain, owner), all},
	} {
		if !slices.Equal(row.astray, row.want) {
			t.Errorf("%s: it changes the owners of %v, not of %v", row.what, row.astray, row.want)
		}
	}
}
