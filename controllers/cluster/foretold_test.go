package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/forecast"
	"github.com/etcdsteward/etcd-steward/controllers/plan/ahead"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/test/docwords"
)

// foretell is what the plugin tells of the cluster with this spec, from what the API server holds.
func (w *world) foretell(edit func(*v1alpha1.EtcdClusterSpec)) ahead.Forecast {
	w.t.Helper()
	edited := w.cluster()
	edit(&edited.Spec)
	f, err := forecast.Of(w.t.Context(), w.kube, edited, func() time.Time { return w.now })
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// made are the changes that the operator made since it was asked last, as events tell them.
func (w *world) made() []string {
	w.t.Helper()
	reasons := docwords.Constants(w.t, "../plan/changes", "Event")
	var made []string
	for {
		select {
		case event := <-w.events.Events:
			kind, note, _ := strings.Cut(event, " ")
			reason, note, _ := strings.Cut(note, " ")
			if _, isChange := reasons[reason]; isChange && kind == "Normal" {
				did, _, _ := strings.Cut(note, ": ")
				made = append(made, unnamed(strings.TrimSuffix(did, ".")))
			}
		default:
			return made
		}
	}
}

func toBeDone(f ahead.Forecast) []string {
	var out []string
	for _, c := range f.Changes() {
		out = append(out, unnamed(changes.WordsOf(c).Done()))
	}
	return out
}

// unnamed leaves out the ID that etcd gives.
func unnamed(did string) string {
	if strings.HasPrefix(did, "Recorded cluster ID") {
		return "Recorded cluster ID"
	}
	return did
}

func TestWhatIsForetoldOfAnEditIsWhatTheOperatorThenDoes(t *testing.T) {
	type spec = v1alpha1.EtcdClusterSpec
	amounts := func(memory v1alpha1.Amount) *v1alpha1.PodSpec {
		return &v1alpha1.PodSpec{Resources: &v1alpha1.ResourceRequirements{
			Requests: map[corev1.ResourceName]v1alpha1.Amount{"memory": memory}}}
	}
	for _, row := range []struct {
		name  string
		size  int32
		edits []func(*spec)
	}{
		{"nothing", 3, []func(*spec){func(*spec) {}}},
		{"another size, and the one before", 3, []func(*spec){func(s *spec) { s.Size = 5 }, func(s *spec) { s.Size = 3 }}},
		{"a single member that gets others", 1, []func(*spec){func(s *spec) { s.Size = 3 }, func(s *spec) { s.Size = 1 }}},
		{"settings", 3, []func(*spec){func(s *spec) { s.Etcd = &v1alpha1.EtcdSpec{SnapshotCount: new(int64(20000))} }}},
		{"settings of a single member", 1, []func(*spec){func(s *spec) { s.Etcd = &v1alpha1.EtcdSpec{SnapshotCount: new(int64(20000))} }}},
		{"no comparison of copies, and other settings", 3, []func(*spec){
			func(s *spec) { s.Etcd = &v1alpha1.EtcdSpec{CorruptionChecks: new(false)} },
			func(s *spec) {
				s.Etcd = &v1alpha1.EtcdSpec{CorruptionChecks: new(false), SnapshotCount: new(int64(20000))}
			}}},
		{"amounts", 3, []func(*spec){func(s *spec) { s.Pod = amounts("128Mi") }}},
		{"a StorageClass", 3, []func(*spec){func(s *spec) { s.Storage = &v1alpha1.StorageSpec{StorageClassName: new("fast")} }}},
		{"smaller volumes", 3, []func(*spec){func(s *spec) { s.Storage = &v1alpha1.StorageSpec{Size: new(resource.MustParse("5Gi"))} }}},
		{"a size and settings at once", 3, []func(*spec){func(s *spec) {
			s.Size, s.Etcd = 5, &v1alpha1.EtcdSpec{SnapshotCount: new(int64(20000))}
		}}},
		{"another policy", 3, []func(*spec){func(s *spec) { s.Storage = &v1alpha1.StorageSpec{DeletionPolicy: v1alpha1.DeletionDelete} }}},
		{"Services", 3, []func(*spec){func(s *spec) { s.Service = &v1alpha1.ServiceSpec{Annotations: map[string]string{"a": "b"}} }}},
		{"sleep, and to be awake", 3, []func(*spec){func(s *spec) { s.Size = 0 }, func(s *spec) { s.Size = 3 }}},
	} {
		t.Run(row.name, func(t *testing.T) {
			object := demo(row.size)
			w := newWorld(t, object)
			w.node = "node-1" // an only member has a budget where its node is read
			w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.node}})
			begin := w.foretell(func(*spec) {})
			w.settle()
			w.expectMade("to begin", begin)
			for i, edit := range row.edits {
				f := w.foretell(edit)
				object := w.cluster()
				edit(&object.Spec)
				object.Generation++
				if err := w.kube.Update(t.Context(), object, &client.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				w.rest()
				w.expectMade(fmt.Sprint("edit ", i), f)
			}
		})
	}
}

// rest makes passes until nothing is done any more.
func (w *world) rest() {
	w.t.Helper()
	for quiet := 0; quiet < 5; quiet++ {
		before := len(w.writes)
		if _, err := w.pass(); err != nil {
			w.t.Fatal(err)
		}
		if next := w.status().NextStep; len(w.writes) != before && next.Verdict != "Settled" {
			quiet = 0
		}
	}
}

func (w *world) expectMade(when string, f ahead.Forecast) {
	w.t.Helper()
	if made, told := w.made(), toBeDone(f); !slices.Equal(made, told) || f.Cut != "" {
		w.t.Errorf("%s, foretold:\n  %s\n  %s %s %s\ndone:\n  %s\n  %+v", when, strings.Join(told, "\n  "), f.End.Rule, f.End.Message,
			f.Cut, strings.Join(made, "\n  "), w.status().NextStep)
	}
}
