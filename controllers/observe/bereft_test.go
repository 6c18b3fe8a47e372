package observe_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestMembersOfWhichOnlyTheirCertificatesAreLeftAreSeenWhileNoMemberAnswers(t *testing.T) {
	w := newTLSWorld(t)
	record := bootstrapRecord("demo-3")
	record.ClusterID, record.NextOrdinal = 0xc1, 6
	w.put(resources.BuildPeerService(w.cluster, record, "ops/etcd-steward"))
	w.put(resources.BuildMemberSecret(w.cluster, "demo-4", w.issue(resources.MemberCertificates(w.cluster, "demo-4", ""))))
	stripped := w.volume("demo-5")
	stripped.Labels = nil
	w.put(stripped)
	if names := namesIn(w.look().Current.Members); !slices.Equal(names, []string{"demo-3", "demo-4"}) {
		t.Errorf("it sees %v: demo-0 is of an incarnation before, and demo-5 has neither certificates nor a "+
			"mark on its volume", names)
	}
	record.ClusterID = 0
	w.put(resources.BuildPeerService(w.cluster, record, "ops/etcd-steward"))
	if names := namesIn(w.look().Current.Members); slices.Contains(names, "demo-4") {
		t.Errorf("before a quorum was there it sees %v", names)
	}
}

// newRebuiltWorld holds one member that serves with TLS, demo-2, of a cluster that has given names up to demo-4. Those
// below it are of an incarnation before.
func newRebuiltWorld(t *testing.T) *world {
	w := newTLSWorld(t)
	w.start("demo-2", etcdutil.StateNew, "demo-2")
	record := bootstrapRecord("demo-2")
	record.ClusterID, record.NextOrdinal = w.processes["demo-2"].ClusterID(), 5
	w.put(resources.BuildPeerService(w.cluster, record, "ops/etcd-steward"))
	w.put(w.volume("demo-2"))
	w.put(w.pod("demo-2", resources.StartSealed))
	w.giveCertificates("demo-2")
	return w
}

func (w *world) giveCertificates(name string) {
	w.put(resources.BuildMemberSecret(w.cluster, name, w.issue(resources.MemberCertificates(w.cluster, name, ""))))
}

func TestCertificatesThatAreLeftOfMembersAreSeen(t *testing.T) {
	w := newRebuiltWorld(t)
	w.giveCertificates("demo-4") // beside demo-0, of the incarnation before
	view := w.look()
	if names := namesIn(view.Current.Members); !slices.Equal(names, []string{"demo-0", "demo-2", "demo-4"}) {
		t.Fatalf("it sees %v", names)
	}
	for _, name := range []string{"demo-0", "demo-4"} {
		if r, _ := facts.Find(view.Current.Members, name); r.Member != nil || r.Secret.UID == "" {
			t.Errorf("%s is %+v", name, r)
		}
	}
}

// countingGets counts how often an object is read, by its name.
type countingGets struct {
	client.Reader
	mu   *sync.Mutex
	gets map[string]int
}

func (c countingGets) Get(ctx context.Context, key client.ObjectKey, object client.Object, o ...client.GetOption) error {
	c.mu.Lock()
	c.gets[key.Name]++
	c.mu.Unlock()
	return c.Reader.Get(ctx, key, object, o...)
}

func TestOneLookInFiveMinutesAsksForCertificatesThatAreGone(t *testing.T) {
	w := newRebuiltWorld(t)
	observer := w.observer()
	counting := countingGets{observer.Secrets.(secretReader).Client, &sync.Mutex{}, map[string]int{}}
	observer.Secrets = observe.NewSecretCache(counting, func() time.Time { return w.now })
	for minute := range 5 {
		if _, _, err := observer.Observe(t.Context(), w.cluster, ""); err != nil {
			t.Fatal(err)
		}
		if got, want := counting.gets["demo-3-tls"], 1; got != want {
			t.Errorf("after %d minutes it was asked for %d times, want %d", minute, got, want)
		}
		w.now = w.now.Add(time.Minute)
	}
}
