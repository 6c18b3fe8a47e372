package observe

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// hashing is a member that takes a second to hash, and notes how many others do it meanwhile.
type hashing struct {
	etcd.Client
	at, most *atomic.Int32
	asked    int64
	until    time.Time
}

func (h *hashing) HashKV(ctx context.Context, revision int64) (etcd.Hash, error) {
	now := h.at.Add(1)
	defer h.at.Add(-1)
	h.most.Store(max(h.most.Load(), now))
	h.asked = revision
	h.until, _ = ctx.Deadline()
	time.Sleep(time.Second) // in a bubble it takes no time
	return etcd.Hash{Hash: 7, Revision: revision, CompactRevision: 3}, nil
}

func TestVotersAreHashedOneAfterTheOtherAtOneRevisionAndInTheTimeThatTheirSizeTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { testHashes(t, 1) })
}

func TestWhileCorruptStandsAllVotersAreHashedAtOnceSinceNoClientCanWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { testHashes(t, 3, facts.Alarm{Name: facts.AlarmCorrupt}) })
}

func testHashes(t *testing.T, atOnce int32, alarms ...facts.Alarm) {
	var at, most atomic.Int32
	s, replicas := survey{clients: map[string]etcd.Client{}}, []facts.Replica{}
	began := time.Now()
	for i, name := range []string{"demo-0", "demo-1", "demo-2", "demo-3", "demo-4"} {
		s.clients[name] = &hashing{at: &at, most: &most}
		r := facts.Replica{Name: name, Member: &etcdutil.Member{}, Answer: &facts.Answer{Revision: int64(10 - i), DBSize: 1 << 30,
			Alarms: alarms}}
		switch name {
		case "demo-3":
			r.Member.Learner = true
		case "demo-4":
			r.Answer = nil
		}
		replicas = append(replicas, r)
	}
	s.addHashes(t.Context(), replicas)
	if most.Load() != atOnce {
		t.Errorf("%d at once", most.Load())
	}
	for i, r := range replicas {
		h := s.clients[r.Name].(*hashing)
		if i >= 3 {
			if h.asked != 0 {
				t.Errorf("%s was asked", r.Name)
			}
			continue
		}
		if want := (facts.Hash{Sum: 7, Revision: 8, Compacted: 3}); r.Answer.Hash == nil || *r.Answer.Hash != want {
			t.Errorf("%s: %+v", r.Name, r.Answer.Hash)
		}
		turn := time.Duration(i) * time.Second
		if atOnce > 1 {
			turn = 0
		}
		if got := h.until.Sub(began); got != 12*time.Second+turn {
			t.Errorf("%s has %s", r.Name, got)
		}
	}
}
