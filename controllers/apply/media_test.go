package apply

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

func TestAPodHasItsDataWhereItsMemberHasItAndANewOneWhereTheSpecAsksForIt(t *testing.T) {
	onVolumes, onDisk := (*v1alpha1.StorageSpec)(nil), &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
	inMemory := facts.Storage{Ephemeral: true, Medium: "Memory"}
	volume := &facts.Volume{Incarnation: begin().Incarnation}
	for name, row := range map[string]struct {
		spec *v1alpha1.StorageSpec
		seen []facts.Replica
		want *v1alpha1.EphemeralSpec
	}{
		"a member on a volume, and the spec asks for Pods": {onDisk, []facts.Replica{{Name: "demo-0", Volume: volume}}, nil},
		"a member in memory, and the spec asks for volumes": {onVolumes, []facts.Replica{{Name: "demo-0", Storage: inMemory}},
			&v1alpha1.EphemeralSpec{Medium: corev1.StorageMediumMemory}},
		"one that was not seen, and the spec asks for Pods":    {onDisk, nil, &v1alpha1.EphemeralSpec{}},
		"one that was not seen, and the spec asks for volumes": {onVolumes, nil, nil},
	} {
		w := newWorld(t, demo())
		wholeCluster(t, w)
		w.mustDo(t, bootstrapped(), changes.DeletePods{Pods: []facts.PodRef{ref(w.pod(t, "demo-0"))}})
		w.cluster.Spec.Storage = row.spec
		view := begun()
		view.Current.Members = row.seen
		start := changes.Start{Name: "demo-0", Flags: facts.FlagsSealed, Settings: settings(w.cluster)}
		w.mustDo(t, view, changes.StartPods{Pods: []changes.Start{start}})
		pod := w.pod(t, "demo-0")
		got, isKnown := resources.DataOf(pod)
		if !isKnown || (got == nil) != (row.want == nil) || got != nil && *got != *row.want {
			t.Errorf("%s: %+v", name, got)
		}
		if namesInstall := pod.Annotations[v1alpha1.AnnotationOperator] != ""; namesInstall != (got != nil) {
			t.Errorf("%s: it names an install: %v", name, namesInstall)
		}
		written := pod.Annotations[v1alpha1.AnnotationInputs]
		w.edit(t, pod, func() { delete(pod.Annotations, v1alpha1.AnnotationInputs) })
		w.mustDo(t, view, changes.RestoreInputs{Pod: ref(pod), Settings: start.Settings})
		if again := w.pod(t, "demo-0").Annotations[v1alpha1.AnnotationInputs]; again != written {
			t.Errorf("%s: it was made from %s, and says again %s", name, written, again)
		}
	}
}

func TestTheBootstrapRecordNamesNoVolumeOfFirstMembersWithTheirDataInPods(t *testing.T) {
	w := newWorld(t, demo())
	w.cluster.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
	w.mustDo(t, bootstrapped(), begin())
	change := bootstrap(w.cluster)
	change.Volumes = nil
	w.mustDo(t, bootstrapped(), change)
	if record := w.bootstrap(t); !record.Begun || len(record.Volumes) != 0 {
		t.Errorf("%+v", record)
	}
}
