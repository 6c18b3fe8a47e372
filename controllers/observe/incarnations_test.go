package observe_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const later = "e5f6a7b8"

// comingIncarnation is what the bootstrap record says of the next incarnation.
func comingIncarnation(names ...string) record.Next {
	return record.Next{
		Incarnation: later, Counter: 2, Token: "token-2", Names: names, Source: record.SourceBackup, Origin: found,
		Bump: 5, Restore: "uid-hash",
	}
}

// volumeOf is a volume of another incarnation.
func (w *world) volumeOf(name, incarnation string) *corev1.PersistentVolumeClaim {
	volume := w.volume(name)
	volume.Labels[v1alpha1.LabelIncarnation] = incarnation
	return volume
}

func (w *world) putBootstrap(edit func(*record.Bootstrap)) {
	record := bootstrapRecord("demo-0", "demo-1", "demo-2")
	edit(&record)
	w.put(resources.BuildPeerService(w.cluster, record, "ops/etcd-steward"))
}

func namesIn(replicas []facts.Replica) []string {
	var names []string
	for _, r := range replicas {
		names = append(names, r.Name)
	}
	return names
}

func TestWhatIsRestoredBesideTheClusterIsNoneOfItsMembers(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.putBootstrap(func(r *record.Bootstrap) {
		r.ClusterID, r.NextOrdinal, r.LastCounter, r.Next = w.processes["demo-0"].ClusterID(), 5, 2,
			comingIncarnation("demo-3", "demo-4")
	})
	w.put(w.volumeOf("demo-3", later))
	w.put(w.restorePod("demo-3"))
	view := w.look()
	if got := namesIn(view.Current.Members); !slices.Equal(got, []string{"demo-0", "demo-1", "demo-2"}) ||
		!view.Current.Membership.Known {
		t.Errorf("the members are %v", got)
	}
	if got := namesIn(view.Next.Members); !slices.Equal(got, []string{"demo-3", "demo-4"}) || len(view.Former) > 0 {
		t.Fatalf("what is restored is %v, what ended %v", got, namesIn(view.FormerMembers()))
	}
	if first := view.Next.Members[0]; first.Volume == nil || first.Restoring == nil ||
		view.Next.Members[1].Volume != nil {
		t.Errorf("%+v", view.Next.Members)
	}
	want := record.Next{Incarnation: later, Counter: 2, Token: "token-2", Names: []string{"demo-3", "demo-4"},
		Origin: found, Source: record.SourceBackup, Bump: 5, Restore: "uid-hash"}
	if !reflect.DeepEqual(view.Current.Bootstrap.Next, want) || view.Current.Bootstrap.LastCounter != 2 {
		t.Errorf("%+v", view.Current.Bootstrap.Next)
	}
	if len(w.live) > 1 { // the linearizable look at the Service is not among them
		t.Errorf("what is only restored is looked for: %v", w.live)
	}
}

func TestMembersOfAnIncarnationThatEndedAreSeenAndNotAsked(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.putBootstrap(func(r *record.Bootstrap) {
		r.Incarnation, r.Names, r.Restore = later, []string{"demo-3"}, "uid-hash"
		r.Former = []record.Former{{Incarnation: incarnation, Voters: []string{"demo-0", "demo-1", "demo-2"}}}
	})
	w.put(w.volumeOf("demo-3", later))
	view := w.look()
	if got := namesIn(view.FormerMembers()); !slices.Equal(got, []string{"demo-0", "demo-1", "demo-2"}) {
		t.Fatalf("what ended is %v", got)
	}
	if view.Current.Membership.Known || len(view.Current.Membership.LastKnown) > 0 || len(view.Clients) > 0 {
		t.Errorf("the members of before were asked: %+v", view.Current.Membership)
	}
	for _, r := range view.FormerMembers() {
		if r.Pod == nil || r.Volume == nil || r.Answer != nil || r.Member != nil {
			t.Errorf("%+v", r)
		}
	}
	if got := namesIn(view.Current.Members); !slices.Equal(got, []string{"demo-3"}) {
		t.Errorf("the members are %v", got)
	}
	want := []record.Former{{Incarnation: incarnation, Voters: []string{"demo-0", "demo-1", "demo-2"}}}
	if !reflect.DeepEqual(view.Current.Bootstrap.Former, want) || view.Current.Bootstrap.Restore != "uid-hash" {
		t.Errorf("%+v", view.Current.Bootstrap)
	}
}

func TestAPodOfAnIncarnationThatHasJustEndedIsFoundWithoutItsLabels(t *testing.T) {
	w := newWorld(t)
	w.putBootstrap(func(r *record.Bootstrap) {
		r.Incarnation, r.Names = later, []string{"demo-3"}
		r.Former = []record.Former{{Incarnation: incarnation, Voters: []string{"demo-0", "demo-1"}}}
	})
	stripped := w.pod("demo-1", resources.StartSealed)
	stripped.Labels = map[string]string{v1alpha1.LabelIncarnation: incarnation}
	w.put(stripped)
	w.put(w.volume("demo-0"))
	view := w.look()
	if got := namesIn(view.FormerMembers()); !slices.Equal(got, []string{"demo-0", "demo-1"}) ||
		view.FormerMembers()[1].Pod == nil {
		t.Fatalf("what ended is %v", got)
	}
	if len(view.Clients) > 0 {
		t.Error("it was asked")
	}
}

func TestAVolumeThatWasSupersededIsFormerWithAnyRecord(t *testing.T) {
	w := newWorld(t)
	old := w.volumeOf("demo-0", "99999999")
	old.Annotations[v1alpha1.AnnotationSuperseded] = incarnation
	w.put(old)
	old.Annotations[v1alpha1.AnnotationFlushed] = later
	view := w.look() // there is no bootstrap record
	if got := namesIn(view.FormerMembers()); !slices.Equal(got, []string{"demo-0"}) ||
		view.FormerMembers()[0].Volume.Superseded != incarnation || view.FormerMembers()[0].Volume.Flushed != later {
		t.Errorf("without a record %v", got)
	}
	w.putBootstrap(func(*record.Bootstrap) {})
	if got := namesIn(w.look().FormerMembers()); !slices.Equal(got, []string{"demo-0"}) {
		t.Errorf("with a record that does not know its incarnation %v", got)
	}
	current := w.volume("demo-1")
	current.Annotations[v1alpha1.AnnotationSuperseded] = "somebody wrote this"
	w.put(current)
	if got := namesIn(w.look().FormerMembers()); !slices.Equal(got, []string{"demo-0"}) {
		t.Errorf("a volume of this incarnation is former: %v", got)
	}
	other := w.volumeOf("demo-2", "77777777")
	w.put(other)
	if got := namesIn(w.look().FormerMembers()); !slices.Equal(got, []string{"demo-0"}) {
		t.Errorf("a volume of a bootstrap that was given up is former: %v", got)
	}
}

func TestWhatIsKeptOfEarlierIncarnationsCostsASettledClusterNoReads(t *testing.T) {
	w := newBootstrappedWorld(t)
	w.putBootstrap(func(r *record.Bootstrap) {
		r.ClusterID, r.Former = w.processes["demo-0"].ClusterID(),
			[]record.Former{{Incarnation: "99999999", Voters: []string{"demo-7"}}}
	})
	before := len(w.liveReads(t))
	for _, name := range []string{"demo-7", "demo-8"} {
		old := w.volumeOf(name, "99999999")
		old.Spec.VolumeName = "pv-of-" + name
		w.put(old)
	}
	if after := w.liveReads(t); len(after) != before {
		t.Errorf("it reads %v", after)
	}
}

func (w *world) liveReads(t *testing.T) []string {
	t.Helper()
	w.look()
	return w.live
}

func TestRestoresThatNameTheClusterAreSeenAndTheOldWishIsNot(t *testing.T) {
	w := newBootstrappedWorld(t)
	asked := []facts.Request{{Name: "back", ID: "uid-hash", Source: record.SourceBackup,
		WantedBackup: facts.WantedBackup{Hash: "h"}}}
	look := func(requests []facts.Request, err error) (facts.Observation, error) {
		o := w.observer()
		o.Requests = func(context.Context, *v1alpha1.EtcdCluster) ([]facts.Request, error) { return requests, err }
		o.WantedBackup = func(context.Context, *v1alpha1.EtcdCluster) (facts.WantedBackup, error) {
			return facts.WantedBackup{Hash: "bootstrap"}, nil
		}
		seen, _, err := o.Observe(t.Context(), w.cluster, "")
		return seen, err
	}
	if view, err := look(asked, nil); err != nil || !reflect.DeepEqual(view.Requests, asked) ||
		view.Desired.Restore.IsZero() {
		t.Errorf("%+v, %v", view.Requests, err)
	}
	if _, err := look(nil, errors.New("no answer")); err == nil {
		t.Error("restores that could not be read are none")
	}
	w.putBootstrap(func(r *record.Bootstrap) { r.Former = []record.Former{{Incarnation: "99999999"}} })
	if view, err := look(nil, nil); err != nil || !view.Desired.Restore.IsZero() {
		t.Errorf("a cluster that was restored in place begins with its first backup again: %+v, %v",
			view.Desired.Restore, err)
	}
}

func TestARecordOfASurvivorSaysSo(t *testing.T) {
	w := newWorld(t)
	w.putBootstrap(func(r *record.Bootstrap) {
		r.Origin = record.Origin{Hash: "h", Revision: 9, Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16}}
	})
	if got := w.look().Current.Bootstrap.Origin; got.Revision != 9 || got.Key != "" {
		t.Errorf("%+v", got)
	}
}
