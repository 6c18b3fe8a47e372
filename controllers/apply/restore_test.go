package apply

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

var (
	found = record.Origin{Hash: "hash", Key: "prod/demo/snapshot.db", SHA256: strings.Repeat("a", 64), SizeBytes: 1056,
		Revision: 7,
		Version:  etcdutil.Version{Major: 3, Minor: 6, Patch: 15}}
	asked = changes.StartPreflight{Asked: facts.Inquiry{WantedBackup: facts.WantedBackup{Hash: "hash"},
		Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16}, Bytes: 8 << 30}}
	store = v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "backups"}}
)

// restoring carries a change out in a world where a cluster may begin with a backup.
func (w *world) restoring(t *testing.T, v Seen, change changes.Change, edits ...func(*Source)) error {
	t.Helper()
	source := Source{Hash: "hash", Store: store,
		LatestOf: v1alpha1.BackedUpCluster{Name: "old"}}
	for _, edit := range edits {
		edit(&source)
	}
	a := w.applier()
	a.Source = func(context.Context, *v1alpha1.EtcdCluster, string) (Source, error) { return source, nil }
	return step{Applier: a, cluster: w.cluster, view: v}.carryOut(t.Context(), change)
}

// fromBackup is what is seen of a bootstrap that begins with a backup.
func fromBackup() Seen {
	v := bootstrapped()
	v.Current.Bootstrap.Origin = found
	return v
}

func TestAPreflightPodAsksWhatTheDecisionAsks(t *testing.T) {
	c := demo()
	c.Spec.Image = &v1alpha1.ImageSpec{PullPolicy: corev1.PullAlways,
		PullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}}
	w := newWorld(t, c)
	for range 2 {
		if err := w.restoring(t, bootstrapped(), asked); err != nil {
			t.Fatal(err)
		}
	}
	pod := w.pod(t, "demo-preflight")
	if version, bytes := resources.PreflightAsked(pod); version != "3.6.16" || bytes != 8<<30 ||
		pod.Annotations[v1alpha1.AnnotationRestoreHash] != "hash" {
		t.Errorf("it asks for %s on %d bytes: %v", version, bytes, pod.Annotations)
	}
	if pod.Spec.Containers[0].ImagePullPolicy != corev1.PullAlways || len(pod.Spec.ImagePullSecrets) != 1 ||
		pod.Spec.ImagePullSecrets[0].Name != "registry" {
		t.Errorf("its image comes by %s and %v", pod.Spec.Containers[0].ImagePullPolicy, pod.Spec.ImagePullSecrets)
	}
	if !slices.Contains(pod.Spec.Containers[0].Args, "--latest-of=prod/old") {
		t.Errorf("%q", pod.Spec.Containers[0].Args)
	}
	if err := w.restoring(t, bootstrapped(), changes.DeletePreflight{UID: string(pod.UID)}); err != nil {
		t.Fatal(err)
	}
	if err := w.inner.Get(t.Context(), keyOf("demo-preflight"), &corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestNothingIsLookedAtThatTheSpecNoLongerNames(t *testing.T) {
	w := newWorld(t, demo())
	if err := w.restoring(t, bootstrapped(), asked, func(s *Source) { s.Hash = "another" }); !errors.Is(err, ErrStale) {
		t.Errorf("another source: %v", err)
	}
	w.noImage = true
	if err := w.restoring(t, bootstrapped(), asked); !errors.As(err, new(Later)) {
		t.Errorf("no image: %v", err)
	}
	if err := w.do(t, bootstrapped(), asked); !isRejected(err, RejectedUnreadable) {
		t.Errorf("nobody knows of sources: %v", err)
	}
	if w.writes != 0 {
		t.Errorf("%d writes", w.writes)
	}
}

func TestABootstrapFromABackupSaysWhichAndGoesOnToTheNext(t *testing.T) {
	w := newWorld(t, demo())
	bootstrap := begin()
	bootstrap.Origin = found
	w.mustDo(t, bootstrapped(), bootstrap)
	if got := w.bootstrap(t); got.Origin != found {
		t.Fatalf("%+v", got)
	}
	w.mustDo(t, bootstrapped(), changes.VoidBootstrap{Incarnation: incarnation})
	w.mustDo(t, bootstrapped(), changes.NextBootstrap{Voided: incarnation,
		BeginBootstrap: changes.BeginBootstrap{Incarnation: "next", Token: "t", Names: []string{"demo-0"}}})
	if got := w.bootstrap(t); !got.Origin.IsZero() {
		t.Errorf("a birth that is to begin empty began with %+v", got)
	}
}

func TestABackupIsRestoredOnEveryFirstVolumeByPodsOfTheirOwn(t *testing.T) {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	change := bootstrap(w.cluster)
	change.Pods = nil
	for _, name := range begin().Names {
		change.Restores = append(change.Restores,
			changes.Restoring{Name: name, Initial: initial(w.cluster, begin().Names...), Settings: settings(w.cluster)})
	}
	for range 2 {
		if err := w.restoring(t, fromBackup(), change); err != nil {
			t.Fatal(err)
		}
	}
	if !w.bootstrap(t).Begun {
		t.Error("Pods were made before it was written down on which volumes")
	}
	for _, name := range begin().Names {
		pod := w.pod(t, name+"-restore")
		fetch := pod.Spec.InitContainers[0].Args
		if !slices.Contains(fetch, "--key="+found.Key) || !slices.Contains(fetch, "--sha256="+found.SHA256) ||
			!slices.Contains(fetch, "--incarnation="+incarnation) {
			t.Errorf("%s fetches %q", name, fetch)
		}
		if err := w.inner.Get(t.Context(), keyOf(name), &corev1.Pod{}); !apierrors.IsNotFound(err) {
			t.Errorf("the member %s has a Pod: %v", name, err)
		}
	}

	volumes := changes.RecordRestored{Incarnation: incarnation,
		Volumes: []facts.VolumeRef{{Name: "demo-1", UID: string(w.volume(t, "demo-1").UID)}}}
	if err := w.restoring(t, fromBackup(), volumes); err != nil {
		t.Fatal(err)
	}
	if got := w.volume(t, "demo-1").Annotations[v1alpha1.AnnotationRestored]; got != incarnation {
		t.Errorf("the volume says %q", got)
	}
	gone := changes.DeleteRestores{Pods: []facts.PodRef{ref(w.pod(t, "demo-1-restore"))}}
	gone.Pods[0].Name = "demo-1"
	if err := w.restoring(t, fromBackup(), gone); err != nil {
		t.Fatal(err)
	}
	if err := w.inner.Get(t.Context(), keyOf("demo-1-restore"), &corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("its restore Pod is still there: %v", err)
	}
}

func TestNoRestorePodIsMadeForABootstrapThatBeginsEmptyOrWithAnotherSource(t *testing.T) {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	change := bootstrap(w.cluster)
	change.Pods, change.Restores = nil,
		[]changes.Restoring{{Name: "demo-0", Initial: initial(w.cluster, begin().Names...), Settings: settings(w.cluster)}}
	if err := w.restoring(t, begun(), change); !errors.Is(err, ErrStale) {
		t.Errorf("a birth that begins empty: %v", err)
	}
	if err := w.restoring(t, fromBackup(), change, func(s *Source) { s.Hash = "another" }); !errors.Is(err, ErrStale) {
		t.Errorf("another source: %v", err)
	}
	if err := w.inner.Get(t.Context(), keyOf("demo-0-restore"), &corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("a restore Pod was made: %v", err)
	}
}

func TestAPodOfARestoreThatLostItsLabelsIsNotMadeAMembers(t *testing.T) {
	w := newWorld(t, demo())
	if err := w.restoring(t, bootstrapped(), asked); err != nil {
		t.Fatal(err)
	}
	pod := w.pod(t, "demo-preflight")
	w.edit(t, pod, func() { pod.Labels = nil })
	if err := w.restoring(t, bootstrapped(), asked); err != nil {
		t.Fatal(err)
	}
	if got := w.pod(t, "demo-preflight").Labels; got[v1alpha1.LabelComponent] != v1alpha1.ComponentPreflight ||
		got[v1alpha1.LabelCluster] != "demo" {
		t.Errorf("%v", got)
	}
}
