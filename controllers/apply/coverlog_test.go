package apply

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
)

func TestEntriesAreAddedUpToTheOneThatWasNamedAndNoneBeyond(t *testing.T) {
	r := newRunning(t)
	applied := func() uint64 {
		status, err := r.look(t).Clients["demo-1"].Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return status.RaftAppliedIndex
	}
	before := applied()
	for _, row := range []struct {
		name        string
		until, want uint64
	}{
		{"as many as are missing", before + 40, before + 40},
		{"none where clients wrote them", before + 10, before + 40},
	} {
		r.mustDo(t, r.look(t), changes.AppendEntries{Until: row.until})
		if got := applied(); got != row.want {
			t.Errorf("%s: %d, not %d", row.name, got, row.want)
		}
	}
	r.mustDo(t, r.look(t), changes.AppendEntries{})
	if got := applied(); got != before+41 {
		t.Errorf("one more: %d, not %d", got, before+41)
	}
	added := 0
	for _, call := range r.network.Calls() {
		if call.Method == "AppendEntry" {
			added++
		}
	}
	if added != 41 {
		t.Errorf("%d entries were added", added)
	}
}

func TestNoEntryIsAddedWhereNoLeaderAnswers(t *testing.T) {
	r := newRunning(t)
	view := r.look(t)
	delete(view.Clients, r.leaderName(t))
	if err := r.do(t, view, changes.AppendEntries{Until: 1 << 20}); !isLater(err, LaterNoLeader) {
		t.Error(err)
	}
}
