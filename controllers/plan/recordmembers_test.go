package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

func TestARecordNamesTheVolumeThatTheMemberAnsweredOn(t *testing.T) {
	older := func(r *facts.Replica) { r.Volume.Record.VolumeUID = "" }
	rebound := func(r *facts.Replica) { r.Volume.UID, r.Volume.Created = "another", r.Pod.Created }
	remade := func(r *facts.Replica) { r.Volume.UID, r.Volume.Created = "another", r.Pod.Created.Add(time.Second) }
	for name, row := range map[string]struct {
		o    scene
		want string // the UID that is written; empty when nothing is
	}{
		"one that it has is not written again":             {settledWorld(3), ""},
		"one that an older release did not write is added": {settledWorld(3).edit(1, older), "volume-demo-1"},
		"it follows a Pod that started on another volume":  {settledWorld(3).edit(1, rebound), "another"},
		"not one that was made after the Pod":              {settledWorld(3).edit(1, remade), ""},
		"nor where nothing was written before":             {settledWorld(3).edit(1, older).edit(1, remade), ""},
		"not of a member that does not answer": {settledWorld(3).edit(1, older).edit(1,
			func(r *facts.Replica) { r.Answer = nil }), ""},
		"not of another member": {settledWorld(3).edit(1, older).edit(1,
			func(r *facts.Replica) { r.Answer.ID = 99 }), ""},
	} {
		p := recordMembers(current(row.o.Observation))
		if row.want == "" {
			if p != nil {
				t.Errorf("%s: %+v", name, p)
			}
			continue
		}
		if p == nil {
			t.Errorf("%s: nothing is written", name)
			continue
		}
		change, ok := p.Change.(changes.RecordMembers)
		if !ok || len(change.Members) != 1 || change.Members[0].Name != "demo-1" ||
			change.Members[0].Record.VolumeUID != row.want ||
			change.Members[0].VolumeUID != row.o.Current.Find("demo-1").Volume.UID ||
			Veto(row.o.Observation, change) != "" {
			t.Errorf("%s: %+v, %s", name, p, Veto(row.o.Observation, p.Change))
		}
	}
}

func TestDataInAPodIsRecordedWithoutAVolume(t *testing.T) {
	o := settledWorld(3)
	o.Desired.Ephemeral = true
	for i := range o.Current.Members {
		r := &o.Current.Members[i]
		r.Ephemeral, r.Volume, r.Pod.Record = true, nil, record.Member{}
	}
	p := recordMembers(current(o.Observation))
	if p == nil {
		t.Fatal("nothing is written")
	}
	for _, m := range p.Change.(changes.RecordMembers).Members {
		if m.Record.VolumeUID != "" || m.PodUID == "" || m.Record.IsZero() {
			t.Errorf("%+v", m)
		}
	}
}
