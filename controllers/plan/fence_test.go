package plan

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Each member of the previous incarnation is in each state, and etcd named its voters or did not: by counting on
// fingers, the next incarnation starts only when what is left cannot be a majority, and nobody is deleted that was not
// marked.
func TestTheNextIncarnationStartsOnlyWhenTheOneBeforeCannotWriteInEverySmallWorld(t *testing.T) {
	type past struct {
		name    string
		is      func(*facts.Replica)
		mayRun  bool // its process may be there
		isAsked bool // it was asked to go long ago
		marked  bool
	}
	pasts := []past{
		{"runs", func(*facts.Replica) {}, true, false, false},
		{"runs, marked", markedOld, true, false, true},
		{"is leaving", func(r *facts.Replica) { markedOld(r); leavingOld(r) }, true, false, true},
		{"is overdue", func(r *facts.Replica) { markedOld(r); notLeftOld(r) }, true, true, true},
		{"is gone", func(r *facts.Replica) { markedOld(r); stoppedOld(r) }, false, false, true},
		{"is gone, unmarked", stoppedOld, false, false, false},
		{"is gone with its volume", func(r *facts.Replica) { stoppedOld(r); r.Volume = nil }, false, false, true},
		{"is overdue without a volume", func(r *facts.Replica) { notLeftOld(r); r.Volume = nil }, true, true, true},
	}
	starts, holds := 0, 0
	moved := movedWorld(requesting(settledWorld(3))).unbudgeted()
	for _, a := range pasts {
		for _, b := range pasts {
			for _, c := range pasts {
				for _, known := range []bool{true, false} {
					o := moved.former(0, a.is).former(1, b.is).former(2, c.is)
					if !known {
						o = unvoiced(o)
					}
					running, isFree := 0, true
					for _, p := range []past{a, b, c} {
						if p.mayRun {
							running++
						}
						isFree = isFree && p.marked && (!p.mayRun || p.isAsked)
					}
					isFree = isFree && (running == 0 || known && running == 1)
					d := Decide(o.Observation)
					isStart := d.Change != nil && changes.KindOf(d.Change) == "Bootstrap"
					if isStart != isFree {
						t.Fatalf("%s, %s, %s, voters known %v: %+v", a.name, b.name, c.name, known, d)
					}
					if isStart {
						starts++
					} else {
						holds++
					}
					if stop, is := d.Change.(changes.DeletePods); is && !(a.marked && b.marked && c.marked) {
						t.Fatalf("%s, %s, %s: %+v", a.name, b.name, c.name, stop)
					}
				}
			}
		}
	}
	if starts == 0 || holds == 0 {
		t.Fatalf("%d starts, %d holds", starts, holds)
	}
}
