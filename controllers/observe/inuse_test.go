package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// committing is a leader whose status told too much. Once it commits it tells what is in use.
type committing struct {
	etcd.Client
	inUse int64
	sends bool
	err   error
	asked int
}

func (c *committing) SizeInUse(context.Context) (int64, error)      { c.asked++; return c.inUse, c.err }
func (c *committing) StreamsSnapshot(context.Context) (bool, error) { return c.sends, nil }
func (c *committing) Compacted(context.Context) (int64, error)      { return 100, nil }

func TestAMemberThatAPersonAsksToDefragmentTellsAnewWhatIsInUse(t *testing.T) {
	well := filled(2048, 8192, 1900)
	well.Members[0].Answer.Alarms = nil
	s := survey{clients: map[string]etcd.Client{"demo-0": &committing{inUse: 5 << 20}}}
	c := &v1alpha1.EtcdCluster{}
	c.Annotations = map[string]string{v1alpha1.AnnotationDefragment: "2026-11-29T12:00:00Z"}
	(&Observer{Now: time.Now}).history(t.Context(), s, c, well)
	if got := well.Members[0].Answer.DBSizeInUse; got != 5<<20 {
		t.Errorf("%d are in use", got)
	}
}

// To ask it begins snapshots, and the Pod that has it defragmented waits for those.
func TestAMemberThatIsBeingDefragmentedIsNotAskedWhatIsInUse(t *testing.T) {
	began := time.Unix(1000, 0)
	asked := &v1alpha1.EtcdCluster{}
	asked.Annotations = map[string]string{v1alpha1.AnnotationDefragment: "2026-11-29T12:00:00Z"}
	pod := facts.DefragPod{Task: facts.Task{Created: began}, Since: began, Deadline: time.Hour, Until: 100 << 20}
	for name, row := range map[string]struct {
		cluster *v1alpha1.EtcdCluster
		alarms  []facts.Alarm
		phase   facts.Phase
		asked   int
		isRead  bool
	}{
		"a person asks, and it has its Pod":   {asked, nil, facts.PodPending, 0, false},
		"and that runs":                       {asked, nil, facts.PodRunning, 0, false},
		"and that failed":                     {asked, nil, facts.PodFailed, 1, false},
		"it leads and is full, and that runs": {&v1alpha1.EtcdCluster{}, []facts.Alarm{{Name: facts.AlarmNoSpace, Member: 1}}, facts.PodRunning, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			current, defrag := filled(2048, 8192, 1900), pod
			defrag.Phase, defrag.Started = row.phase, row.phase == facts.PodRunning
			current.Members[0].Answer.Alarms, current.Members[0].Defragmenting = row.alarms, &defrag
			o := &Observer{Pinger: NewPinger(nil), Now: func() time.Time { return began.Add(time.Minute) }}
			leader := &committing{inUse: 5 << 20}
			known := o.history(t.Context(), survey{clients: map[string]etcd.Client{"demo-0": leader}}, row.cluster, current)
			if leader.asked != row.asked || known.IsRead != row.isRead {
				t.Errorf("it was asked %d times, and what it uses is unknown: %v", leader.asked, known.IsRead)
			}
		})
	}
}

func TestWhatIsInUseIsToldAnewByALeaderThatIsFullAndByNoOther(t *testing.T) {
	const told, freed = 1900 << 20, 5 << 20
	well := filled(2048, 8192, 1900)
	well.Members[0].Answer.Alarms = nil
	for name, row := range map[string]struct {
		current   facts.Incarnation
		leader    committing
		bystander bool
		asked     bool
		inUse     int64
		isRead    bool
		isSteady  bool
	}{
		"history filled it": {filled(2048, 8192, 1900), committing{inUse: freed}, false, true, freed, false, true},
		"keys fill it":      {filled(2048, 8192, 1900), committing{inUse: told}, false, true, told, false, true},
		"it sends a snapshot": {filled(2048, 8192, 1900), committing{inUse: told, sends: true}, false, true, told, true,
			false},
		"it cannot be asked": {filled(2048, 8192, 1900), committing{err: errors.New("no")}, false, true, told, false, true},
		"what it uses leaves room": {filled(2048, 8192, 500), committing{inUse: freed}, false, false, 500 << 20, false,
			true},
		"no alarm stands":                     {well, committing{inUse: freed}, false, false, told, false, true},
		"another replica of the install asks": {filled(2048, 8192, 1900), committing{inUse: freed}, true, false, told, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			o := &Observer{Pinger: NewPinger(nil), AsksNoHashes: row.bystander, Now: func() time.Time { return now }}
			o.Pinger.now = o.Now
			leader := row.current.Leader()
			s := survey{clients: map[string]etcd.Client{leader.Name: &row.leader}}
			var known facts.History
			for range 2 { // so long apart that a compaction which is under way would have shown
				known = o.history(t.Context(), s, &v1alpha1.EtcdCluster{}, row.current)
				now = now.Add(steadyFor)
			}
			if got := leader.Answer.DBSizeInUse; got != row.inUse || row.asked != (row.leader.asked > 0) {
				t.Errorf("it was asked %d times, and %d are in use", row.leader.asked, got)
			}
			if known.IsRead != row.isRead || known.IsSteady != row.isSteady {
				t.Errorf("history is %+v", known)
			}
		})
	}
}
