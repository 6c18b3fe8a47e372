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
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const restoredIncarnation = "9f8e7d6c"

// nextIncarnationOf is the next incarnation beside the one of bootstrapped.
func nextIncarnationOf(names ...string) record.Next {
	return record.Next{
		Incarnation: restoredIncarnation, Counter: 1, Token: "token-" + restoredIncarnation, Names: names, Origin: found,
		Source: record.SourceBackup,
		Bump:   5000, Restore: "uid-of-restore-hash",
	}
}

func beginNextIncarnation() changes.BeginNext {
	return changes.BeginNext{From: incarnation, Next: nextIncarnationOf("demo-3", "demo-4"), NextOrdinal: 5}
}

// restoring is what is seen while an incarnation is prepared.
func restoring(*testing.T, *world) Seen {
	v := bootstrapped()
	v.Current.Bootstrap.ClusterID, v.Current.Bootstrap.Next = 0xc, nextIncarnationOf("demo-3", "demo-4")
	return v
}

func prepareNext(c *v1alpha1.EtcdCluster) changes.PrepareNext {
	names := []string{"demo-3", "demo-4"}
	change := changes.PrepareNext{Incarnation: restoredIncarnation, Secrets: names}
	for _, name := range names {
		change.Volumes = append(change.Volumes, changes.NewVolume{Name: name, Bytes: 8 << 30, Settings: settings(c)})
		change.Restores = append(change.Restores,
			changes.Restoring{Name: name, Initial: initial(c, names...), Settings: settings(c)})
	}
	return change
}

// serving is a world in which a cluster was bootstrapped, and backups are known.
func serving(t *testing.T, w *world) {
	t.Helper()
	w.source = func(_ context.Context, _ *v1alpha1.EtcdCluster, hash string) (Source, error) {
		return Source{Hash: hash, Store: store}, nil
	}
	w.mustDo(t, bootstrapped(), begin())
	w.mustDo(t, bootstrapped(), bootstrap(w.cluster))
	w.mustDo(t, begun(), changes.RecordBootstrap{ClusterID: 0xc})
}

func begunNext(t *testing.T, w *world) {
	t.Helper()
	serving(t, w)
	w.mustDo(t, restoring(t, w), beginNextIncarnation())
}

func TestThePlaceOfAMemberIsHeldAlsoWhenNothingNamesItsBackupAnyMore(t *testing.T) {
	w := newWorld(t, demo())
	begunNext(t, w)
	w.source = func(context.Context, *v1alpha1.EtcdCluster, string) (Source, error) { return Source{}, nil }
	w.mustDo(t, restoring(t, w), holdPlaces(w.cluster))
	if !resources.HoldsPlace(w.pod(t, "demo-3-restore")) {
		t.Error("it is not held")
	}
}

// holdPlaces holds that of one member.
func holdPlaces(c *v1alpha1.EtcdCluster) changes.PrepareNext {
	return changes.PrepareNext{Incarnation: restoredIncarnation,
		Restores: []changes.Restoring{{Name: "demo-3", Settings: settings(c), Holds: true}}}
}

func switchOver() changes.SwitchOver {
	return changes.SwitchOver{From: incarnation, To: restoredIncarnation,
		Volumes: map[string]string{"demo-3": "u3", "demo-4": "u4"}, Voters: []string{"demo-0", "demo-1", "demo-2"}}
}

func goBack() changes.GoBack {
	return changes.GoBack{From: restoredIncarnation, Restore: "uid-of-home", BeginBootstrap: changes.BeginBootstrap{
		Incarnation: incarnation, Token: "token", Names: []string{"demo-0", "demo-1"}, ClusterID: 0xc}}
}

func switchedOver(t *testing.T, w *world) {
	t.Helper()
	begunNext(t, w)
	w.mustDo(t, restoring(t, w), switchOver())
}

// markedFormer is a world whose volumes say that another incarnation took the place of theirs.
func markedFormer(t *testing.T, w *world) {
	t.Helper()
	serving(t, w)
	for _, name := range []string{"demo-0", "demo-1"} {
		volume := w.volume(t, name)
		w.edit(t, volume, func() { volume.Annotations[v1alpha1.AnnotationSuperseded] = restoredIncarnation })
	}
}

func inPlaceEffects() []effect {
	bootstrapIs := func(want func(record.Bootstrap) bool) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			t.Helper()
			if got := w.bootstrap(t); !want(got) {
				t.Errorf("the bootstrap record is %+v", got)
			}
		}
	}
	always := func(c changes.Change) func(*testing.T, *world) changes.Change {
		return func(*testing.T, *world) changes.Change { return c }
	}
	return []effect{
		{
			name: "begin the next incarnation", world: serving, view: restoring, change: always(beginNextIncarnation()),
			holds: bootstrapIs(func(r record.Bootstrap) bool {
				return r.Incarnation == incarnation && r.ClusterID == 0xc && r.Next.Incarnation == restoredIncarnation &&
					r.NextOrdinal == 5 && r.LastCounter == 1
			}),
		},
		{
			// objects that are there are asked for once more
			name: "lay the next incarnation", world: begunNext, view: restoring, again: 4,
			change: func(_ *testing.T, w *world) changes.Change { return prepareNext(w.cluster) }, holds: holdsRestored,
		},
		{
			name: "hold the places of the next members", world: begunNext, view: restoring, again: 1,
			change: func(_ *testing.T, w *world) changes.Change { return holdPlaces(w.cluster) },
			holds: func(t *testing.T, w *world) {
				if pod := w.pod(t, "demo-3-restore"); !resources.HoldsPlace(pod) || pod.Labels[v1alpha1.LabelIncarnation] !=
					restoredIncarnation {
					t.Errorf("it is %+v", pod)
				}
			},
		},
		{
			name: "drop the next incarnation", world: begunNext, view: restoring,
			change: always(changes.DropNext{Incarnation: restoredIncarnation}),
			holds: bootstrapIs(func(r record.Bootstrap) bool {
				return r.Next.IsZero() && r.LastCounter == 1 && r.NextOrdinal == 5 && r.ClusterID == 0xc
			}),
		},
		{
			name: "move to the next incarnation", world: begunNext, view: restoring, change: always(switchOver()),
			holds: bootstrapIs(func(r record.Bootstrap) bool {
				return r.Incarnation == restoredIncarnation && r.ClusterID == 0 && r.Next.IsZero() && len(r.Former) == 1
			}),
		},
		{
			name: "mark what was written out", world: serving, again: 1,
			change: func(t *testing.T, w *world) changes.Change {
				return changes.MarkFlushed{Incarnation: restoredIncarnation,
					Volume: facts.VolumeRef{Name: "demo-0", UID: string(w.volume(t, "demo-0").UID)}}
			},
			holds: func(t *testing.T, w *world) {
				if got := w.volume(t, "demo-0").Annotations[v1alpha1.AnnotationFlushed]; got != restoredIncarnation {
					t.Errorf("it says %q", got)
				}
			},
		},
		{
			name: "mark what ended", world: serving,
			change: func(t *testing.T, w *world) changes.Change {
				return changes.MarkFormer{By: restoredIncarnation, Volumes: []facts.VolumeRef{
					{Name: "demo-0", UID: string(w.volume(t, "demo-0").UID)},
					{Name: "demo-1", UID: string(w.volume(t, "demo-1").UID)},
				}}
			},
			holds: func(t *testing.T, w *world) {
				for _, name := range []string{"demo-0", "demo-1"} {
					if got := w.volume(t, name).Annotations[v1alpha1.AnnotationSuperseded]; got != restoredIncarnation {
						t.Errorf("%s says %q", name, got)
					}
				}
			},
		},
		{
			name: "go back to the incarnation before", world: switchedOver, view: restoring, change: always(goBack()),
			holds: bootstrapIs(func(r record.Bootstrap) bool {
				return r.Incarnation == incarnation && r.ClusterID == 0xc && len(r.Former) == 1 && r.LastCounter == 1 &&
					r.NextOrdinal == 5 && r.Former[0].Incarnation == restoredIncarnation && r.Former[0].Back == "uid-of-home" &&
					slices.Equal(r.Former[0].Voters, []string{"demo-3", "demo-4"})
			}),
		},
		{
			name: "mark what is current again", world: markedFormer,
			change: func(t *testing.T, w *world) changes.Change {
				return changes.MarkCurrent{After: restoredIncarnation, Volumes: []facts.VolumeRef{
					{Name: "demo-0", UID: string(w.volume(t, "demo-0").UID)},
					{Name: "demo-1", UID: string(w.volume(t, "demo-1").UID)},
				}}
			},
			holds: func(t *testing.T, w *world) {
				for _, name := range []string{"demo-0", "demo-1"} {
					says := w.volume(t, name).Annotations
					_, isMarked := says[v1alpha1.AnnotationSuperseded]
					if isMarked || says[v1alpha1.AnnotationGoesBack] != restoredIncarnation {
						t.Errorf("%s says %v", name, says)
					}
				}
			},
		},
	}
}

// holdsRestored says that all of the next incarnation is there, apart from everything of the one that serves, and that
// none of it runs.
func holdsRestored(t *testing.T, w *world) {
	t.Helper()
	for _, name := range []string{"demo-3", "demo-4"} {
		if got := w.volume(t, name).Labels[v1alpha1.LabelIncarnation]; got != restoredIncarnation {
			t.Errorf("the volume %s is of %q", name, got)
		}
		if got := w.volume(t, name).Annotations[v1alpha1.AnnotationRequest]; got != "uid-of-restore-hash" {
			t.Errorf("the volume %s was made for %q", name, got)
		}
		pod := w.pod(t, name+"-restore")
		for _, want := range []string{"--incarnation=" + restoredIncarnation, "--bump-revision=5000", "--key=" + found.Key,
			"--sha256=" + found.SHA256} {
			if !slices.Contains(pod.Spec.InitContainers[0].Args, want) {
				t.Errorf("%s is not fetched with %s: %q", name, want, pod.Spec.InitContainers[0].Args)
			}
		}
		if args := pod.Spec.InitContainers[1].Args; !slices.Contains(args, "--initial-cluster-token=token-"+
			restoredIncarnation) {
			t.Errorf("%s is restored with %q", name, args)
		}
		if !resources.HasEveryKey(w.secret(t, name+"-tls").Data, resources.MemberCertificates(w.cluster, name, "")) {
			t.Errorf("%s has no certificates", name)
		}
		if err := w.inner.Get(t.Context(), keyOf(name), &corev1.Pod{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s runs: %v", name, err)
		}
	}
	if got := w.bootstrap(t); got.Incarnation != incarnation || got.Volumes["demo-3"] != "" {
		t.Errorf("the record of the incarnation that serves was touched: %+v", got)
	}
}

func TestTheRecordMovesToTheNextIncarnationInOneWriteAndKeepsWhatWas(t *testing.T) {
	w := newWorld(t, demo())
	begunNext(t, w)
	before, version := w.bootstrap(t), w.service(t, "demo-peers").ResourceVersion
	w.writes = 0
	w.mustDo(t, restoring(t, w), switchOver())
	want := record.Bootstrap{
		Incarnation: restoredIncarnation, Counter: 1, Token: "token-" + restoredIncarnation,
		Names: []string{"demo-3", "demo-4"}, Origin: found,
		Begun: true, Volumes: map[string]string{"demo-3": "u3", "demo-4": "u4"}, NextOrdinal: 5, LastCounter: 1,
		Restore: "uid-of-restore-hash", Served: nextIncarnationOf().Bump + found.Revision,
		Former: []record.Former{{Incarnation: before.Incarnation, Voters: []string{"demo-0", "demo-1", "demo-2"}}},
	}
	if got := w.bootstrap(t); !reflect.DeepEqual(got, want) {
		t.Errorf("it is %+v\nwant %+v", got, want)
	}
	if w.writes != 1 || w.service(t, "demo-peers").ResourceVersion == version {
		t.Errorf("%d writes", w.writes)
	}
	if got := w.service(t, "demo-peers").Annotations[v1alpha1.AnnotationOperator]; got != operator {
		t.Errorf("the claim of the operator became %q", got)
	}
}

func TestAnIncarnationIsNotTouchedByAnOperatorThatIsBehind(t *testing.T) {
	w := newWorld(t, demo())
	begunNext(t, w)
	other := beginNextIncarnation()
	other.Incarnation, other.Counter = "another1", 2
	usedCounter, usedName := beginNextIncarnation(), beginNextIncarnation()
	usedCounter.Names, usedCounter.NextOrdinal = []string{"demo-6", "demo-7", "demo-8"}, 9
	usedName.Incarnation, usedName.Counter = "third123", 2
	for name, change := range map[string]changes.Change{
		"another incarnation is prepared already": other,
		"of an incarnation that serves no more": changes.BeginNext{From: "99999999",
			Next: record.Next{Incarnation: "x", Counter: 9}},
		"restoring what is not the next incarnation": changes.PrepareNext{Incarnation: "another1"},
		"dropping another incarnation":               changes.DropNext{Incarnation: "another1"},
		"moving to another incarnation":              changes.SwitchOver{From: incarnation, To: "another1"},
		"moving from another incarnation":            changes.SwitchOver{From: "99999999", To: restoredIncarnation},
		"a volume of another name": changes.PrepareNext{Incarnation: restoredIncarnation,
			Volumes: []changes.NewVolume{{Name: "demo-0", Bytes: 1, Settings: settings(w.cluster)}}},
	} {
		if err := w.do(t, restoring(t, w), change); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
	seen := restoring(t, w)
	seen.Current.Bootstrap.Next.Restore = "uid-of-another-hash"
	if err := w.do(t, seen, prepareNext(w.cluster)); !errors.Is(err, ErrStale) {
		t.Errorf("an incarnation of the same name that came of another EtcdRestore: %v", err)
	}
	w.mustDo(t, restoring(t, w), changes.DropNext{Incarnation: restoredIncarnation})
	for name, change := range map[string]changes.Change{
		"restoring what was called off": prepareNext(w.cluster),
		"moving to what was called off": switchOver(),
		"beginning with a used counter": usedCounter,
		"beginning with a used name":    usedName,
	} {
		if err := w.do(t, restoring(t, w), change); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := usedCounter
	again.Incarnation, again.Counter = "third123", 2
	w.mustDo(t, restoring(t, w), again)
	w.mustDo(t, restoring(t, w), changes.SwitchOver{From: incarnation, To: "third123"})
	for name, change := range map[string]changes.Change{
		"dropping the incarnation that lives": changes.DropNext{Incarnation: "third123"},
		"moving back":                         changes.SwitchOver{From: "third123", To: incarnation},
		"restoring after the move":            changes.PrepareNext{Incarnation: "third123"},
	} {
		v := restoring(t, w)
		v.Current.Bootstrap.Next.Incarnation = "third123"
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
	w.mustDo(t, bootstrapped(), changes.MarkFormer{By: "second",
		Volumes: []facts.VolumeRef{{Name: "demo-0", UID: string(volume.UID)}}})
	if got := w.volume(t, "demo-0").Annotations[v1alpha1.AnnotationSuperseded]; got != "first" {
		t.Errorf("it says %q", got)
	}
	err := w.do(t, bootstrapped(), changes.MarkFormer{By: "second",
		Volumes: []facts.VolumeRef{{Name: "demo-1", UID: "another"}}})
	if !errors.Is(err, ErrStale) || w.volume(t, "demo-1").Annotations[v1alpha1.AnnotationSuperseded] != "" {
		t.Errorf("a volume of that name and another UID: %v", err)
	}
}

func TestAClusterDoesNotGoBackFromWhatServesByNowNorIsAnotherVolumeMarked(t *testing.T) {
	w := newWorld(t, demo())
	switchedOver(t, w)
	for name, edit := range map[string]func(*changes.GoBack){
		"from another incarnation": func(c *changes.GoBack) { c.From = "99999999" },
		"to another incarnation":   func(c *changes.GoBack) { c.Incarnation = "99999999" },
	} {
		change := goBack()
		edit(&change)
		if err := w.do(t, restoring(t, w), change); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
	moved := begun()
	moved.Current.Bootstrap.Incarnation = restoredIncarnation
	w.mustDo(t, moved, changes.RecordBootstrap{ClusterID: 0xd})
	if err := w.do(t, restoring(t, w), goBack()); !errors.Is(err, ErrStale) {
		t.Errorf("from what serves: %v", err)
	}
	volume := w.volume(t, "demo-0")
	w.edit(t, volume, func() { volume.Annotations[v1alpha1.AnnotationSuperseded] = "later" })
	w.mustDo(t, bootstrapped(), changes.MarkCurrent{After: restoredIncarnation,
		Volumes: []facts.VolumeRef{{Name: "demo-0", UID: string(volume.UID)}}})
	if got := w.volume(t, "demo-0").Annotations; got[v1alpha1.AnnotationSuperseded] != "later" ||
		got[v1alpha1.AnnotationGoesBack] != "" {
		t.Errorf("a volume that a later incarnation ended says %v", got)
	}
	err := w.do(t, bootstrapped(), changes.MarkCurrent{After: "later",
		Volumes: []facts.VolumeRef{{Name: "demo-0", UID: "another"}}})
	if !errors.Is(err, ErrStale) {
		t.Errorf("a volume of that name and another UID: %v", err)
	}
}

func TestWhatASurvivorHoldsIsStreamedFromItAndFromNoOtherMember(t *testing.T) {
	w := newWorld(t, demo())
	serving(t, w)
	next := nextIncarnationOf("demo-3")
	next.Source, next.Survivor = record.SourceSurvivor, "demo-1"
	next.Origin = record.Origin{Hash: "uid-of-restore-hash", Revision: 7,
		Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16}}
	w.mustDo(t, bootstrapped(), changes.BeginNext{From: incarnation, Next: next, NextOrdinal: 4})
	if got := w.bootstrap(t).Next; got.Source != record.SourceSurvivor || got.Survivor != "demo-1" || got.Origin.IsZero() ||
		got.Origin.Revision != 7 {
		t.Fatalf("the record says %+v", got)
	}
	v := restoring(t, w)
	v.Current.Bootstrap.Next = next
	change := changes.PrepareNext{Incarnation: restoredIncarnation,
		Volumes: []changes.NewVolume{{Name: "demo-3", Bytes: 8 << 30, Settings: settings(w.cluster)}},
		Restores: []changes.Restoring{{Name: "demo-3", Initial: initial(w.cluster, "demo-3"), Settings: settings(w.cluster),
			Survivor: "demo-1"}}}
	w.mustDo(t, v, change)
	args := w.pod(t, "demo-3-restore").Spec.InitContainers[0].Args
	for _, want := range []string{"stream-survivor", "--survivor=demo-1", "--cluster-id=c", "--endpoints=demo-1=" +
		resources.ClientURL(w.cluster, "demo-1"), "--bump-revision=5000"} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is missing: %q", want, args)
		}
	}
	v.Current.Members = []facts.Replica{{Name: "demo-1",
		Volume: &facts.Volume{UID: "u1", Incarnation: "0ld11fe0", Record: record.Member{MemberID: 0x8e}}}}
	w.mustDo(t, v,
		changes.DeleteRestores{Pods: []facts.PodRef{{Name: "demo-3", UID: string(w.pod(t, "demo-3-restore").UID)}}})
	change.Restores[0].Mounts = "demo-1"
	w.mustDo(t, v, change)
	pod := w.pod(t, "demo-3-restore")
	for _, want := range []string{"read-survivor", "--database=/survivor/0ld11fe0/demo-1/member/snap/db",
		"--member-id=8e"} {
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
