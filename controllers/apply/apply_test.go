package apply

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// notBootstrapped is a cluster of which nothing is there; the planner then asks for a bootstrap record.
func notBootstrapped() Seen {
	return Seen{Observation: facts.Observation{
		Now:     now,
		Cluster: facts.Identity{Namespace: "prod", Name: "demo", UID: "uid-of-demo", Operator: operator},
		Desired: facts.Desired{Size: 3, Settings: settings(demo()), StorageBytes: 8 << 30, TLS: true, Retain: true,
			HasBudget: true},
	}}
}

func looking(views ...Seen) (Look, *int) {
	looks := 0
	return func(context.Context) (Seen, error) {
		view := views[min(looks, len(views)-1)]
		looks++
		return view, nil
	}, &looks
}

func TestWhatCanHurtIsDecidedAgainOnALiveLook(t *testing.T) {
	decided := plan.Decide(notBootstrapped().Observation)
	if decided.Change == nil || !plan.MustConfirm(decided.Change) {
		t.Fatalf("%+v needs no second look", decided)
	}
	moved := notBootstrapped()
	moved.Desired.Paused = true
	old, hashed := notBootstrapped(), notBootstrapped()
	old.Now = now.Add(-lookLasts - time.Second)
	hashed.Now, hashed.Hashing = old.Now, time.Second
	for name, row := range map[string]struct {
		live Seen
		want error
	}{"unchanged": {notBootstrapped(), nil}, "paused meanwhile": {moved, ErrStale},
		"held up for too long": {old, ErrStale}, "but to hash": {hashed, nil}} {
		w := newWorld(t, demo())
		look, looks := looking(row.live)
		err := w.applier().Apply(t.Context(), w.cluster, notBootstrapped(), decided.Change, look)
		if !errors.Is(err, row.want) || *looks != 1 {
			t.Errorf("%s: %v after %d looks", name, err, *looks)
		}
		if (w.writes == 0) != (row.want != nil) {
			t.Errorf("%s: %d writes", name, w.writes)
		}
	}
}

func TestALookThatFailedStopsTheChange(t *testing.T) {
	w := newWorld(t, demo())
	cause := errors.New("no connection")
	err := w.applier().Apply(t.Context(), w.cluster, notBootstrapped(), plan.Decide(notBootstrapped().Observation).Change,
		func(context.Context) (Seen, error) {
			return Seen{}, cause
		})
	if !errors.Is(err, cause) || w.writes != 0 {
		t.Errorf("%v, %d writes", err, w.writes)
	}
}

func TestWhatCannotHurtNeedsNoSecondLook(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	look, looks := looking(bootstrapped())
	seal := changes.SealPods{Pods: []changes.Seal{{Pod: ref(w.pod(t, "demo-0"))}}}
	if err := w.applier().Apply(t.Context(), w.cluster, bootstrapped(), seal, look); err != nil || *looks != 0 {
		t.Errorf("%v after %d looks", err, *looks)
	}
}

// TestEveryChangeOfThePlannerIsCarriedOut hands each kind over with nothing in it: it may fail, but it must be known.
func TestEveryChangeOfThePlannerIsCarriedOut(t *testing.T) {
	w := newWorld(t, demo())
	for _, change := range []changes.Change{
		changes.DeletePreflight{}, changes.RecordRestored{}, changes.DeleteRestores{}, changes.FollowPolicy{},
		changes.AdoptData{}, changes.Bootstrap{}, changes.VoidBootstrap{}, changes.NextBootstrap{}, changes.RecordBootstrap{},
		changes.RecordMembers{},
		changes.SealPods{}, changes.ApplyObjects{}, changes.SetBudget{}, changes.StartPods{}, changes.WriteSettings{},
		changes.DressPods{}, changes.RestoreInputs{Pod: facts.PodRef{Name: "demo-9", UID: "gone"}, Settings: facts.Settings{Inputs: `{"version":"3.6.16"}`}},
		changes.EvictPod{},
		changes.ResizePod{}, changes.DeletePods{},
		changes.DeleteVolumes{}, changes.DeleteSecret{}, changes.AddLearner{}, changes.Promote{}, changes.MoveLeader{},
		changes.DisarmAlarms{}, changes.RemoveMember{}, changes.DeleteDefrag{Name: "demo-0"},
	} {
		err := w.do(t, bootstrapped(), change)
		if err != nil && !errors.Is(err, ErrStale) && !errors.As(err, new(Later)) {
			t.Errorf("%s: %v", changes.KindOf(change), err)
		}
	}
}

func TestAPatchOfAPodThatIsAnotherNowIsStale(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	for _, change := range []changes.Change{
		changes.SealPods{Pods: []changes.Seal{{Pod: facts.PodRef{Name: "demo-0", UID: "an earlier one"}, Role: "voter"}}},
		changes.SealPods{Pods: []changes.Seal{{Pod: facts.PodRef{Name: "demo-9", UID: "gone"},
			Role: "voter"}}},
		changes.LabelRole{Pod: facts.PodRef{Name: "demo-0", UID: "an earlier one"}, Role: "voter"},
		changes.DressPods{Pods: []facts.PodRef{{Name: "demo-0", UID: "an earlier one"}}},
		changes.DressPods{Pods: []facts.PodRef{{Name: "demo-9", UID: "gone"}}},
		changes.RestoreInputs{Pod: facts.PodRef{Name: "demo-0", UID: "an earlier one"}, Settings: settings(w.cluster)},
		changes.ResizePod{Pod: facts.PodRef{Name: "demo-0", UID: "an earlier one"}, Settings: settings(w.cluster)},
		changes.AdoptData{Items: []facts.Retained{{Kind: resources.KindVolume, Name: "demo-0", UID: "an earlier one",
			Owner: "somebody"}}},
		changes.WriteSettings{Volumes: []facts.VolumeRef{{Name: "demo-0", UID: "an earlier one"}}},
		changes.RecordRestored{Incarnation: incarnation,
			Volumes: []facts.VolumeRef{{Name: "demo-0", UID: "an earlier one"}}},
		changes.RecordMembers{Members: []changes.MemberRecord{{Name: "demo-0", PodUID: "an earlier one",
			Record: recorded()}}},
	} {
		if err := w.do(t, bootstrapped(), change); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", changes.KindOf(change), err)
		}
	}
	if pod := w.pod(t, "demo-0"); resources.FlagsOf(w.cluster, "demo-0", pod.Annotations) != resources.StartBootstrap ||
		pod.Labels["etcdsteward.dev/role"] != "" {
		t.Errorf("another Pod was changed: %v, %v", pod.Annotations, pod.Labels)
	}
}

func TestOneThatFailsKeepsNoOtherFromBeingTried(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	pods := []facts.PodRef{ref(w.pod(t, "demo-0")), ref(w.pod(t, "demo-1"))}
	w.failing(1, false)
	if err := w.do(t, bootstrapped(), changes.DeletePods{Pods: pods}); !errors.Is(err, errLost) {
		t.Errorf("%v", err)
	}
	left := 0
	for _, pod := range pods {
		if err := w.inner.Get(t.Context(), keyOf(pod.Name), &corev1.Pod{}); err == nil {
			left++
		}
	}
	if left != 1 {
		t.Errorf("%d Pods are left", left)
	}
}
