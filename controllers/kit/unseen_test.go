package kit

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
)

// podCache shows one Pod as a cache has it; nil: it shows none.
type podCache struct {
	client.Reader
	pod *metav1.ObjectMeta
}

func (c podCache) Get(_ context.Context, key types.NamespacedName, object client.Object, _ ...client.GetOption) error {
	if c.pod == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, key.Name)
	}
	object.(*corev1.Pod).ObjectMeta = *c.pod
	return nil
}

func TestAPassWaitsForTheCacheToShowWhatWasWritten(t *testing.T) {
	cluster := types.NamespacedName{Namespace: "shop", Name: "demo"}
	meta := func(uid, version string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}
	}
	leaving := meta("a", "8")
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	create := func(c client.Client, pod *corev1.Pod) error { return c.Create(t.Context(), pod) }
	remove := func(c client.Client, pod *corev1.Pod) error {
		return c.Delete(t.Context(), pod, client.Preconditions{UID: new(types.UID("a"))})
	}
	for _, row := range []struct {
		name   string
		write  func(client.Client, *corev1.Pod) error
		shows  *metav1.ObjectMeta
		later  time.Duration
		behind bool
	}{
		{"a Pod that it does not show", create, nil, 0, true},
		{"an older state of the Pod", create, meta("a", "6"), 0, true},
		{"the Pod as written", create, meta("a", "7"), 0, false},
		{"a newer state of the Pod", create, meta("a", "10"), 0, false},
		{"versions that cannot be compared", create, meta("a", "x"), 0, false},
		{"nothing for too long", create, nil, unseenLimit, false},
		{"a Pod that was deleted", remove, meta("a", "6"), 0, true},
		{"that the Pod is on its way", remove, leaving, 0, false},
		{"that the Pod is gone", remove, nil, 0, false},
		{"another Pod of that name", remove, meta("b", "9"), 0, false},
		{"a dry run's Pod never", func(c client.Client, pod *corev1.Pod) error {
			return c.Create(t.Context(), pod, client.DryRunAll)
		}, nil, 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			unseen := NewUnseenWrites(func() time.Time { return now })
			writer := NotingClient{Client: fixedWriter{}, Secrets: observe.NewSecretCache(nil, time.Now), Unseen: unseen}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "demo-0", Labels: map[string]string{v1alpha1.LabelInstance: "demo"},
			}}
			if err := row.write(writer, pod); err != nil {
				t.Fatal(err)
			}
			now = now.Add(row.later)
			for range 2 { // and it says so each time
				if behind := unseen.IsBehind(t.Context(), podCache{pod: row.shows}, cluster); behind != row.behind {
					t.Errorf("behind: %v", behind)
				}
			}
		})
	}
}
