package observe

import (
	"context"
	"errors"
	"slices"
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

// remembering is a member that tells one hash for a revision that is named, and one for the newest.
type remembering struct {
	etcd.Client
	named, newest etcd.Hash
	holds         bool
	err           error
}

func (m remembering) HashKV(_ context.Context, revision int64) (etcd.Hash, error) {
	if revision == newest {
		return m.newest, nil
	}
	return m.named, nil
}

func (m remembering) HoldsKeys(context.Context, int64) (bool, error) { return m.holds, m.err }

// hashesOf are the hashes that are heard of three members.
func hashesOf(t *testing.T, members ...remembering) (heard []facts.Hash) {
	t.Helper()
	s, replicas := survey{clients: map[string]etcd.Client{}}, []facts.Replica{}
	for i, m := range members {
		name := string(rune('a' + i))
		s.clients[name] = m
		replicas = append(replicas, facts.Replica{Name: name, Member: &etcdutil.Member{}, Answer: &facts.Answer{Revision: 8}})
	}
	s.addHashes(t.Context(), replicas)
	for _, r := range replicas {
		if r.Answer.Hash != nil {
			heard = append(heard, *r.Answer.Hash)
		}
	}
	return heard
}

func TestHashesOfTwoCompactionsAreAskedForAnewAtTheNewestRevision(t *testing.T) {
	anew := etcd.Hash{Hash: 5, Revision: 8, CompactRevision: 8}
	old := remembering{named: etcd.Hash{Hash: 7, Revision: 8, CompactRevision: 3}, newest: anew, holds: true}
	heard := hashesOf(t, old, old, remembering{named: anew, newest: anew, holds: true})
	want := facts.Hash{Sum: 5, Revision: 8, Compacted: 8}
	if !slices.Equal(heard, []facts.Hash{want, want, want}) {
		t.Errorf("heard %+v", heard)
	}
}

func TestHashesThatDifferSayNothingWhereEachMemberSaysThatThereIsNoKey(t *testing.T) {
	none := func(sum uint32) remembering {
		return remembering{named: etcd.Hash{Hash: sum, Revision: 8, CompactRevision: 7}}
	}
	some := func(sum uint32) remembering { m := none(sum); m.holds = true; return m }
	mute := func(sum uint32) remembering { m := none(sum); m.err = errors.New("it stopped"); return m }
	for name, c := range map[string]struct {
		members []remembering
		heard   int
	}{
		"none has a key":                     {[]remembering{none(1), none(1), none(2)}, 0},
		"none has a key, and all are equal":  {[]remembering{none(1), none(1), none(1)}, 3},
		"one has a key":                      {[]remembering{none(1), none(1), some(2)}, 3},
		"one has lost all keys":              {[]remembering{some(1), some(1), none(2)}, 3},
		"one does not say, and none has any": {[]remembering{none(1), none(1), mute(2)}, 0},
		"one does not say, and one has some": {[]remembering{some(1), none(1), mute(2)}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if heard := hashesOf(t, c.members...); len(heard) != c.heard {
				t.Errorf("heard %+v", heard)
			}
		})
	}
}
