package apply

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const laidIncarnation = "9f8e7d6c"

// laidLifeOf is the life that is laid beside the one of born.
func laidLifeOf(names ...string) plan.Life {
	return plan.Life{
		Incarnation: laidIncarnation, Counter: 1, Token: "token-" + laidIncarnation, Names: names, Origin: found, Source: plan.SourceBackup,
		Bump: 5000, Restore: "uid-of-restore-hash",
	}
}

func beginNextLife() plan.BeginNext {
	return plan.BeginNext{From: incarnation, Life: laidLifeOf("demo-3", "demo-4"), Next: 5}
}

// laying is what is seen while a life is laid.
func laying(*testing.T, *world) View {
	v := born()
	v.Birth.ClusterID, v.Birth.Coming = 0xc, laidLifeOf("demo-3", "demo-4")
	return v
}

func layNext(c *v1alpha1.EtcdCluster) plan.LayNext {
	names := []string{"demo-3", "demo-4"}
	change := plan.LayNext{Incarnation: laidIncarnation, Secrets: names}
	for _, name := range names {
		change.Volumes = append(change.Volumes, plan.NewVolume{Name: name, Bytes: 8 << 30, Choices: choices(c)})
		change.Restores = append(change.Restores, plan.Laying{Name: name, Initial: initial(c, names...), Choices: choices(c)})
	}
	return change
}

// serving is a world in which a cluster was born, and backups are known.
func serving(t *testing.T, w *world) {
	t.Helper()
	w.source = func(_ context.Context, _ *v1alpha1.EtcdCluster, hash string) (Source, error) {
		return Source{Hash: hash, Store: store, AgentImage: "steward:1"}, nil
	}
	w.mustDo(t, born(), begin())
	w.mustDo(t, born(), bootstrap(w.cluster))
	w.mustDo(t, begun(), plan.RecordBirth{ClusterID: 0xc})
}

func begunNext(t *testing.T, w *world) {
	t.Helper()
	serving(t, w)
	w.mustDo(t, laying(t, w), beginNextLife())
}

func moveLife() plan.MoveLife {
	return plan.MoveLife{From: incarnation, To: laidIncarnation, Volumes: map[string]string{"demo-3": "u3", "demo-4": "u4"}, Voters: []string{"demo-0", "demo-1", "demo-2"}}
}

func inPlaceEffects() []effect {
	birthIs := func(want func(resources.BirthRecord) bool) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			t.Helper()
			if got := w.birth(t); !want(got) {
				t.Errorf("the birth record is %+v", got)
			}
		}
	}
	always := func(c plan.Change) func(*testing.T, *world) plan.Change {
		return func(*testing.T, *world) plan.Change { return c }
	}
	return []effect{
		{
			name: "begin the next life", world: serving, view: laying, change: always(beginNextLife()),
			holds: birthIs(func(r resources.BirthRecord) bool {
				return r.Incarnation == incarnation && r.ClusterID == 0xc && r.Coming.Incarnation == laidIncarnation && r.Next == 5 && r.Laid == 1
			}),
		},
		{
			name: "lay the next life", world: begunNext, view: laying, again: 4, // objects that are there are asked for once more
			change: func(_ *testing.T, w *world) plan.Change { return layNext(w.cluster) }, holds: holdsLaid,
		},
		{
			name: "drop the next life", world: begunNext, view: laying, change: always(plan.DropNext{Incarnation: laidIncarnation}),
			holds: birthIs(func(r resources.BirthRecord) bool {
				return r.Coming == nil && r.Laid == 1 && r.Next == 5 && r.ClusterID == 0xc
			}),
		},
		{
			name: "move to the next life", world: begunNext, view: laying, change: always(moveLife()),
			holds: birthIs(func(r resources.BirthRecord) bool {
				return r.Incarnation == laidIncarnation && r.ClusterID == 0 && r.Coming == nil && len(r.Past) == 1
			}),
		},
		{
			name: "mark what was written out", world: serving, again: 1,
			change: func(t *testing.T, w *world) plan.Change {
				return plan.MarkFlushed{Life: laidIncarnation, Volume: plan.VolumeRef{Name: "demo-0", UID: string(w.volume(t, "demo-0").UID)}}
			},
			holds: func(t *testing.T, w *world) {
				if got := w.volume(t, "demo-0").Annotations[v1alpha1.AnnotationFlushed]; got != laidIncarnation {
					t.Errorf("it says %q", got)
				}
			},
		},
		{
			name: "mark what ended", world: serving,
			change: func(t *testing.T, w *world) plan.Change {
				return plan.MarkFormer{By: laidIncarnation, Volumes: []plan.VolumeRef{
					{Name: "demo-0", UID: string(w.volume(t, "demo-0").UID)}, {Name: "demo-1", UID: string(w.volume(t, "demo-1").UID)},
				}}
			},
			holds: func(t *testing.T, w *world) {
				for _, name := range []string{"demo-0", "demo-1"} {
					if got := w.volume(t, name).Annotations[v1alpha1.AnnotationSuperseded]; got != laidIncarnation {
						t.Errorf("%s says %q", name, got)
					}
				}
			},
		},
	}
}

// holdsLaid says that all of the next life is there, apart from everything of the one that serves, and that none of it runs.
func holdsLaid(t *testing.T, w *world) {
	t.Helper()
	for _, name := range []string{"demo-3", "demo-4"} {
		if got := w.volume(t, name).Labels[v1alpha1.LabelIncarnation]; got != laidIncarnation {
			t.Errorf("the volume %s is of %q", name, got)
		}
		if got := w.volume(t, name).Annotations[v1alpha1.AnnotationRequest]; got != "uid-of-restore-hash" {
			t.Errorf("the volume %s was made for %q", name, got)
		}
		pod := w.pod(t, name+"-restore")
		for _, want := range []string{"--incarnation=" + laidIncarnation, "--bump-revision=5000", "--key=" + found.Key, "--sha256=" + found.SHA256} {
			if !slices.Contains(pod.Spec.InitContainers[0].Args, want) {
				t.Errorf("%s is not fetched with %s: %q", name, want, pod.Spec.InitContainers[0].Args)
			}
		}
		if args := pod.Spec.InitContainers[1].Args; !slices.Contains(args, "--initial-cluster-token=token-"+laidIncarnation) {
			t.Errorf("%s is restored with %q", name, args)
		}
		if !resources.HasEveryKey(w.secret(t, name+"-tls").Data, resources.MemberCertificates(w.cluster, name)) {
			t.Errorf("%s has no certificates", name)
		}
		if err := w.inner.Get(t.Context(), keyOf(name), &corev1.Pod{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s runs: %v", name, err)
		}
	}
	if got := w.birth(t); got.Incarnation != incarnation || got.Volumes["demo-3"] != "" {
		t.Errorf("the record of the life that serves was touched: %+v", got)
	}
}

func TestTheRecordMovesToTheNextLifeInOneWriteAndKeepsWhatWas(t *testing.T) {
	w := newWorld(t, demo())
	begunNext(t, w)
	before, version := w.birth(t), w.service(t, "demo-peers").ResourceVersion
	w.writes = 0
	w.mustDo(t, laying(t, w), moveLife())
	origin := resources.BackupOrigin(found)
	want := resources.BirthRecord{
		Incarnation: laidIncarnation, Counter: 1, Token: "token-" + laidIncarnation, Names: []string{"demo-3", "demo-4"}, Origin: resources.OriginBackup, Backup: &origin,
		Begun: true, Volumes: map[string]string{"demo-3": "u3", "demo-4": "u4"}, Next: 5, Laid: 1, Restore: "uid-of-restore-hash",
		Past: []resources.PastRecord{{Incarnation: before.Incarnation, Voters: []string{"demo-0", "demo-1", "demo-2"}}},
	}
	if got := w.birth(t); !reflect.DeepEqual(got, want) {
		t.Errorf("it is %+v\nwant %+v", got, want)
	}
	if w.writes != 1 || w.service(t, "demo-peers").ResourceVersion == version {
		t.Errorf("%d writes", w.writes)
	}
	if got := w.service(t, "demo-peers").Annotations[v1alpha1.AnnotationOperator]; got != operator {
		t.Errorf("the claim of the operator became %q", got)
	}
}

func TestALifeIsNotTouchedByWhoeverIsBehind(t *testing.T) {
	w := newWorld(t, demo())
	begunNext(t, w)
	other := beginNextLife()
	other.Incarnation, other.Counter = "another1", 2
	used := beginNextLife()
	for name, change := range map[string]plan.Change{
		"another life is laid already":     other,
		"of a life that serves no more":    plan.BeginNext{From: "99999999", Life: plan.Life{Incarnation: "x", Counter: 9}},
		"laying what is not the next life": plan.LayNext{Incarnation: "another1"},
		"dropping another life":            plan.DropNext{Incarnation: "another1"},
		"moving to another life":           plan.MoveLife{From: incarnation, To: "another1"},
		"moving from another life":         plan.MoveLife{From: "99999999", To: laidIncarnation},
		"a volume of another name":         plan.LayNext{Incarnation: laidIncarnation, Volumes: []plan.NewVolume{{Name: "demo-0", Bytes: 1, Choices: choices(w.cluster)}}},
	} {
		if err := w.do(t, laying(t, w), change); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
	seen := laying(t, w)
	seen.Birth.Coming.Restore = "uid-of-another-hash"
	if err := w.do(t, seen, layNext(w.cluster)); !errors.Is(err, ErrStale) {
		t.Errorf("a life of the same name that came of another EtcdRestore: %v", err)
	}
	w.mustDo(t, laying(t, w), plan.DropNext{Incarnation: laidIncarnation})
	for name, change := range map[string]plan.Change{
		"laying what was called off":    layNext(w.cluster),
		"moving to what was called off": moveLife(),
		"beginning with a used counter": used,
	} {
		if err := w.do(t, laying(t, w), change); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := beginNextLife()
	again.Incarnation, again.Counter = "third123", 2
	w.mustDo(t, laying(t, w), again)
	w.mustDo(t, laying(t, w), plan.MoveLife{From: incarnation, To: "third123"})
	for name, change := range map[string]plan.Change{
		"dropping the life that lives": plan.DropNext{Incarnation: "third123"},
		"moving back":                  plan.MoveLife{From: "third123", To: incarnation},
		"laying after the move":        plan.LayNext{Incarnation: "third123"},
	} {
		v := laying(t, w)
		v.Birth.Coming.Incarnation = "third123"
		if err := w.do(t, v, change); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAVolumeKeepsTheFirstMarkAndAnotherVolumeGetsNone(t *testing.T) {
	w := newWorld(t, demo())
	serving(t, w)
	volume := w.volume(t, "demo-0")
	w.edit(t, volume, func() { volume.Annotations[v1alpha1.AnnotationSuperseded] = "first" })
	w.mustDo(t, born(), plan.MarkFormer{By: "second", Volumes: []plan.VolumeRef{{Name: "demo-0", UID: string(volume.UID)}}})
	if got := w.volume(t, "demo-0").Annotations[v1alpha1.AnnotationSuperseded]; got != "first" {
		t.Errorf("it says %q", got)
	}
	err := w.do(t, born(), plan.MarkFormer{By: "second", Volumes: []plan.VolumeRef{{Name: "demo-1", UID: "another"}}})
	if !errors.Is(err, ErrStale) || w.volume(t, "demo-1").Annotations[v1alpha1.AnnotationSuperseded] != "" {
		t.Errorf("a volume of that name and another UID: %v", err)
	}
}

func TestWhatASurvivorHoldsIsStreamedFromItAndFromNobodyElse(t *testing.T) {
	w := newWorld(t, demo())
	serving(t, w)
	life := laidLifeOf("demo-3")
	life.Source, life.Survivor = plan.SourceSurvivor, "demo-1"
	life.Origin = plan.Origin{Hash: "uid-of-restore-hash", Revision: 7, Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16}}
	w.mustDo(t, born(), plan.BeginNext{From: incarnation, Life: life, Next: 4})
	if got := w.birth(t).Coming; got.Source != resources.LifeFromSurvivor || got.Survivor != "demo-1" || got.Backup == nil || got.Backup.Revision != 7 {
		t.Fatalf("the record says %+v", got)
	}
	v := laying(t, w)
	v.Birth.Coming = life
	change := plan.LayNext{Incarnation: laidIncarnation, Volumes: []plan.NewVolume{{Name: "demo-3", Bytes: 8 << 30, Choices: choices(w.cluster)}},
		Restores: []plan.Laying{{Name: "demo-3", Initial: initial(w.cluster, "demo-3"), Choices: choices(w.cluster), Survivor: "demo-1"}}}
	w.mustDo(t, v, change)
	args := w.pod(t, "demo-3-restore").Spec.InitContainers[0].Args
	for _, want := range []string{"stream-survivor", "--survivor=demo-1", "--cluster-id=c", "--endpoints=demo-1=" + resources.ClientURL(w.cluster, "demo-1"), "--bump-revision=5000"} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is missing: %q", want, args)
		}
	}
	v.Replicas = []plan.Replica{{Name: "demo-1", Volume: &plan.Volume{UID: "u1", Incarnation: "0ld11fe0", Record: plan.Record{MemberID: 0x8e}}}}
	w.mustDo(t, v, plan.DeleteRestores{Pods: []plan.PodRef{{Name: "demo-3", UID: string(w.pod(t, "demo-3-restore").UID)}}})
	change.Restores[0].Mounts = "demo-1"
	w.mustDo(t, v, change)
	pod := w.pod(t, "demo-3-restore")
	for _, want := range []string{"read-survivor", "--database=/survivor/0ld11fe0/demo-1/member/snap/db", "--member-id=8e"} {
		if args := pod.Spec.InitContainers[0].Args; !slices.Contains(args, want) {
			t.Errorf("it is not read on its volume: %s is missing: %q", want, args)
		}
	}
	change.Restores[0].Mounts = ""
	change.Restores[0].Survivor = "demo-2"
	if err := w.do(t, v, change); err == nil {
		t.Error("it was streamed from another one")
	}
}
