package apply

import (
	"errors"
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// strip takes labels of an object away, behind the operator's back.
func (w *world) strip(t *testing.T, object ctrlclient.Object, keys ...string) {
	t.Helper()
	labels := object.GetLabels()
	for _, key := range keys {
		delete(labels, key)
	}
	object.SetLabels(labels)
	if err := w.inner.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

var selected = []string{v1alpha1.LabelManagedBy, v1alpha1.LabelInstance, v1alpha1.LabelComponent}

// bootstrappedWorld holds what a bootstrap makes.
func bootstrappedWorld(t *testing.T) *world {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	w.mustDo(t, bootstrapped(), bootstrap(w.cluster))
	return w
}

func TestWhatIsFoundWithoutItsLabelsGetsThemBackInsteadOfBeingMade(t *testing.T) {
	w := bootstrappedWorld(t)
	pod, volume := w.pod(t, "demo-0"), w.volume(t, "demo-1")
	wantPod, wantVolume := maps.Clone(pod.Labels), maps.Clone(volume.Labels)
	w.strip(t, pod, append(selected, v1alpha1.LabelIncarnation, v1alpha1.LabelMember)...)
	w.strip(t, volume, selected...)
	before := w.writes
	change := bootstrap(w.cluster)
	change.Objects, change.Secrets = nil, nil
	w.mustDo(t, begun(), change)
	if got := w.pod(t, "demo-0"); !maps.Equal(got.Labels, wantPod) || got.UID != pod.UID {
		t.Errorf("the Pod has %v", got.Labels)
	}
	if got := w.volume(t, "demo-1"); !maps.Equal(got.Labels, wantVolume) || got.UID != volume.UID {
		t.Errorf("the volume has %v", got.Labels)
	}
	if got := w.writes - before; got != 8 { // six that are there already, and two patches
		t.Errorf("%d writes: %q", got, w.calls)
	}
}

func TestStrippedLabelsArePutBack(t *testing.T) {
	w := bootstrappedWorld(t)
	pod, volume := w.pod(t, "demo-0"), w.volume(t, "demo-0")
	wantPod, wantVolume := maps.Clone(pod.Labels), maps.Clone(volume.Labels)
	w.strip(t, pod, append(selected, v1alpha1.LabelIncarnation)...)
	w.strip(t, volume, append(selected, v1alpha1.LabelClusterUID, v1alpha1.LabelIncarnation)...)
	v := begun()
	v.Current.Bootstrap.Volumes = map[string]string{"demo-0": string(volume.UID)}
	change := changes.ApplyObjects{Objects: []facts.Object{{Kind: "Pod", Name: "demo-0"},
		{Kind: "PersistentVolumeClaim", Name: "demo-0"}}}
	for range 2 {
		w.mustDo(t, v, change)
		if got := w.pod(t, "demo-0"); !maps.Equal(got.Labels, wantPod) {
			t.Errorf("the Pod has %v", got.Labels)
		}
		if got := w.volume(t, "demo-0"); !maps.Equal(got.Labels, wantVolume) {
			t.Errorf("the volume has %v", got.Labels)
		}
	}
}

func TestAVolumeThatNothingProvesOursIsNotGivenOurLabels(t *testing.T) {
	w := bootstrappedWorld(t)
	volume := w.volume(t, "demo-0")
	w.strip(t, volume, v1alpha1.LabelClusterUID)
	change := changes.ApplyObjects{Objects: []facts.Object{{Kind: "PersistentVolumeClaim", Name: "demo-0"}}}
	if err := w.do(t, begun(), change); !errors.As(err, new(NameTaken)) {
		t.Errorf("%v", err)
	}
	if _, ok := w.volume(t, "demo-0").Labels[v1alpha1.LabelClusterUID]; ok {
		t.Error("a volume of unknown origin was adopted")
	}
}

func TestAVolumeIsProvenByTheYoungerPodOnIt(t *testing.T) {
	w := newWorld(t, demo())
	volume := resources.BuildVolume(w.cluster, resources.Volume{Name: "demo-3", Incarnation: incarnation, Bytes: 1})
	delete(volume.Labels, v1alpha1.LabelClusterUID)
	volume.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
	pod, err := resources.BuildPod(w.cluster, resources.PodStart{Name: "demo-3", Incarnation: incarnation,
		Flags: resources.StartSealed, Inputs: resources.Inputs(w.cluster)})
	if err != nil {
		t.Fatal(err)
	}
	pod.CreationTimestamp = metav1.NewTime(now)
	w.put(t, volume)
	w.put(t, pod)
	w.mustDo(t, begun(), changes.ApplyObjects{Objects: []facts.Object{{Kind: "PersistentVolumeClaim", Name: "demo-3"}}})
	if got := w.volume(t, "demo-3").Labels[v1alpha1.LabelClusterUID]; got != string(w.cluster.UID) {
		t.Errorf("its cluster is %q", got)
	}
}

func TestAnObjectThatIsGoneIsNotMadeByPuttingItsLabelsBack(t *testing.T) {
	w := newWorld(t, demo())
	for _, kind := range []string{"Pod", "PersistentVolumeClaim"} {
		if err := w.do(t, begun(),
			changes.ApplyObjects{Objects: []facts.Object{{Kind: kind, Name: "demo-0"}}}); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if w.writes != 0 {
		t.Errorf("%d writes", w.writes)
	}
}

func TestDataNamesTheInstallThatTookTheClusterOverAndNoOther(t *testing.T) {
	w := bootstrappedWorld(t)
	change := changes.ApplyObjects{Objects: []facts.Object{{Kind: "PersistentVolumeClaim", Name: "demo-0"}}}
	if claim := w.volume(t, "demo-0").Annotations[v1alpha1.AnnotationOperator]; claim != operator {
		t.Fatalf("it was made with %q", claim)
	}
	for _, volume := range []string{"", "earlier/etcd-steward"} {
		had := w.volume(t, "demo-0")
		w.edit(t, had, func() { had.Annotations[v1alpha1.AnnotationOperator] = volume })
		w.mustDo(t, begun(), change)
		if claim := w.volume(t, "demo-0").Annotations[v1alpha1.AnnotationOperator]; claim != operator {
			t.Errorf("instead of %q it names %q", volume, claim)
		}
	}
	service, had := w.service(t, "demo-peers"), w.volume(t, "demo-0")
	w.edit(t, service, func() { service.Annotations[v1alpha1.AnnotationOperator] = "later/etcd-steward" })
	w.edit(t, had, func() { had.Annotations[v1alpha1.AnnotationOperator] = "later/etcd-steward" })
	if err := w.do(t, begun(), change); !errors.Is(err, ErrStale) ||
		w.volume(t, "demo-0").Annotations[v1alpha1.AnnotationOperator] != "later/etcd-steward" {
		t.Errorf("an install that lost the cluster writes its name: %v", err)
	}
}

func TestAPodNamesTheInstallWhereTheDataIsInIt(t *testing.T) {
	w := newWorld(t, demo())
	w.cluster.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
	w.mustDo(t, bootstrapped(), begin())
	change := bootstrap(w.cluster)
	change.Volumes = nil
	for i := range change.Pods {
		change.Pods[i].Settings = settings(w.cluster)
	}
	w.mustDo(t, bootstrapped(), change)
	pod := w.pod(t, "demo-0")
	if claim := pod.Annotations[v1alpha1.AnnotationOperator]; claim != operator {
		t.Fatalf("it was made with %q", claim)
	}
	w.edit(t, pod, func() { pod.Annotations[v1alpha1.AnnotationOperator] = "earlier/etcd-steward" })
	w.mustDo(t, begun(), changes.ApplyObjects{Objects: []facts.Object{{Kind: "Pod", Name: "demo-0"}}})
	if claim := w.pod(t, "demo-0").Annotations[v1alpha1.AnnotationOperator]; claim != operator {
		t.Errorf("it names %q", claim)
	}
}
