package apply

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
)

// replacing removes demo-0, whose place demo-3 takes.
func replacing(c *v1alpha1.EtcdCluster) changes.RemoveMember {
	return changes.RemoveMember{Name: "demo-0", ID: 1,
		Successor: changes.NewVolume{Name: "demo-3", Bytes: 8 << 30, Settings: settings(c)}}
}

func TestNoMemberIsRemovedWhoseSuccessorWouldNotBeAdmitted(t *testing.T) {
	const full = "exceeded quota: few, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=3, " +
		"limited: persistentvolumeclaims=3"
	const fullOfBytes = "exceeded quota: few, requested: requests.storage=8Gi, used: requests.storage=24Gi, " +
		"limited: requests.storage=24Gi"
	const fullOfPods = "exceeded quota: few, requested: pods=1, used: pods=3, limited: pods=3"
	frees := func(c *changes.RemoveMember) { c.Frees = true }
	for name, row := range map[string]struct {
		volume, pod error
		edit        func(*changes.RemoveMember)
		reason      string // empty: it would be admitted, or nothing tells
	}{
		"all is well":                                 {},
		"a webhook cannot be rehearsed with":          {volume: apierrors.NewBadRequest("webhook x does not support dry run")},
		"a quota has no volume left":                  {volume: forbidden(full), reason: RejectedQuota},
		"a quota has no room left":                    {volume: forbidden(fullOfBytes), reason: RejectedQuota},
		"a quota that its own volume leaves room in":  {volume: forbidden(full), edit: frees},
		"a quota that its own volume leaves bytes in": {volume: forbidden(fullOfBytes), edit: frees},
		"a quota that was lowered below that": {volume: forbidden(strings.Replace(full, "limited: persistentvolumeclaims=3",
			"limited: persistentvolumeclaims=2", 1)), edit: frees, reason: RejectedQuota},
		"a webhook denies the volume": {volume: forbidden(`admission webhook "x" denied the request: no`),
			reason: RejectedAdmission},
		"a quota that its own Pod leaves room in": {pod: forbidden(fullOfPods)},
		"Pod Security was tightened":              {pod: forbidden(`violates PodSecurity "restricted:latest"`), reason: RejectedPodSecurity},
	} {
		w := newWorld(t, demo())
		wholeCluster(t, w)
		w.admission = func(*corev1.Pod) error { return row.pod }
		w.claimAdmission = func(*corev1.PersistentVolumeClaim) error { return row.volume }
		change := replacing(w.cluster)
		if row.edit != nil {
			row.edit(&change)
		}
		look, looks := looking(bootstrapped())
		err := w.applier().Apply(t.Context(), w.cluster, bootstrapped(), change, look)
		switch {
		case row.reason == "" && (!errors.Is(err, ErrStale) || *looks != 1 || !slices.Contains(w.calls, "rehearse demo-3")):
			t.Errorf("%s: %v after %d looks: %q", name, err, *looks, w.calls)
		case row.reason != "" && (!isRejected(err, row.reason) || *looks != 0 ||
			!strings.Contains(err.Error(), "demo-0 stays a member until Kubernetes admits demo-3")):
			t.Errorf("%s: %v after %d looks", name, err, *looks)
		}
		if w.writes != 0 || !slices.Contains(w.calls, "rehearse the volume demo-3") {
			t.Errorf("%s: %d writes in %q", name, w.writes, w.calls)
		}
	}
}

func TestOnlyWhatTakesAPlaceIsTriedBeforeARemoval(t *testing.T) {
	inMemory := demo()
	inMemory.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
	for name, row := range map[string]struct {
		cluster *v1alpha1.EtcdCluster
		edit    func(*changes.RemoveMember)
		want    []string
	}{
		"a member that nothing follows": {demo(), func(c *changes.RemoveMember) { c.Successor = changes.NewVolume{} }, nil},
		"one whose data is in its Pod":  {inMemory, func(*changes.RemoveMember) {}, []string{"rehearse demo-3"}},
	} {
		w := newWorld(t, row.cluster)
		change := replacing(row.cluster)
		row.edit(&change)
		look, _ := looking(bootstrapped())
		if err := w.applier().Apply(t.Context(), w.cluster, bootstrapped(), change, look); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
		tried := slices.DeleteFunc(slices.Clone(w.calls), func(call string) bool { return !strings.HasPrefix(call, "rehearse") })
		if !slices.Equal(tried, row.want) {
			t.Errorf("%s: %q", name, w.calls)
		}
	}
}
