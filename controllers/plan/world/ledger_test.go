package world

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// An operator without planner and guard does what each invariant forbids. One that says nothing then would prove
// nothing.
func TestEachInvariantSpeaksOfWhatItForbids(t *testing.T) {
	for _, row := range []struct {
		says string
		do   func(*World)
	}{
		{"I2: EvictPod of demo-1, while demo-2 is stopped", func(w *World) {
			w.evictOf("demo-2")
			w.end("demo-2", w.objects.pods["demo-2"])
			w.objects.budget = 0 // else Kubernetes refuses it
			w.evictOf("demo-1")
		}},
		{"I2: RemoveMember of demo-1, while demo-2 is stopped", func(w *World) {
			w.evictOf("demo-2")
			w.end("demo-2", w.objects.pods["demo-2"])
			w.remove("demo-1")
		}},
		{"demo-1 was removed after", func(w *World) { w.remove("demo-1") }},
		{"the volume demo-1 was deleted after", func(w *World) {
			v := facts.VolumeRef{Name: "demo-1", UID: w.objects.volumes["demo-1"].UID}
			w.editVolume(v, func(v *volume) { v.kept, v.keptSince = facts.CauseDisk, w.Now })
			w.deleteVolumes(changes.DeleteVolumes{Volumes: []facts.VolumeRef{v}}, &budgetOfEffects{left: 1})
		}},
		{"I5: RemoveMember left 1 good copies of 2", func(w *World) {
			w.CorruptDisk("demo-2")
			w.clusters[w.bootstrapped].corrupt = map[etcdutil.ID]bool{w.idOf("demo-2"): true}
			w.remove("demo-1")
		}},
		{"I4: demo-1 starts on a copy",
			func(w *World) { w.disks[w.objects.pods["demo-1"].disk].isCopy = true; w.restart("demo-1") }},
		{"I7: the volume demo-1 of other was changed",
			func(w *World) { w.disown("demo-1"); w.setInputs("demo-1", "b") }},
		{"I7: another install changed what steward looks after",
			func(w *World) { w.Cluster.Operator = "another install"; w.setInputs("demo-1", "b") }},
		{"I7: another install changed what steward looks after", func(w *World) {
			w.DeletePeerService()
			w.Cluster.Operator = "another install"
			w.setInputs("demo-1", "b")
		}},
		{"I8: WriteSettings was carried out, and nothing changed",
			func(w *World) { w.setInputs("demo-1", w.Spec.Settings.Inputs) }},
		{fmt.Sprintf("livelock: WriteSettings changed something %d times", mostEffects), func(w *World) {
			w.ledger.effects = map[string]int{}
			for i := range mostEffects {
				w.setInputs("demo-1", []string{"b", "c"}[i%2])
			}
		}},
		{"I8: settled, and WriteSettings", func(w *World) {
			w.checkRest(plan.Decision{Verdict: plan.Settled})
			w.setInputs("demo-1", "b")
			w.checkRest(plan.Decision{Verdict: plan.Act, Change: changes.WriteSettings{}})
		}},
		{"I9: settled, and 2 of 3 voters serve",
			func(w *World) { w.Freeze("demo-1"); w.checkClaim(plan.Decision{Verdict: plan.Settled}) }},
		{"I9: settled, and demo-1 is \"\"", func(w *World) {
			w.editPod(w.refOf("demo-1"), func(p *pod) { p.Role = "" })
			w.checkClaim(plan.Decision{Verdict: plan.Settled})
		}},
		{"I9: the quorum is called lost",
			func(w *World) { w.checkClaim(plan.Decision{Verdict: plan.Refuse, Reason: facts.ReasonQuorumLost}) }},
		{"demo-1 is recorded as member", func(w *World) { w.recordAs("demo-1", 77) }},
		{"demo-1 is recorded as member", func(w *World) { // too late: it was wiped before the look
			id := w.idOf("demo-1")
			w.WipeDisk("demo-1")
			w.ledger.looks++
			w.ledger.acting = w.ledger.looks
			w.recordAs("demo-1", id)
		}},
		{"", func(w *World) { // late by one moment
			id := w.idOf("demo-1")
			w.ledger.looks++
			w.ledger.acting = w.ledger.looks
			w.WipeDisk("demo-1")
			w.editVolume(facts.VolumeRef{Name: "demo-1", UID: w.objects.volumes["demo-1"].UID},
				func(v *volume) { v.Record = record.Member{} })
			w.recordAs("demo-1", id)
		}},
	} {
		w := settledAt(t, 1, 3)
		w.ledger.isFresh = true
		row.do(w)
		said := strings.Trim(fmt.Sprint(w.Violations), "[]")
		if row.says == "" && said != "" || !strings.Contains(said, row.says) {
			t.Errorf("wanted %q, got %q", row.says, said)
		}
	}
}

func TestARecordOnAPodThatEndedIsLateByOneMomentAtMost(t *testing.T) {
	for _, isLate := range []bool{true, false} {
		spec := Spec3(3)
		spec.Ephemeral = true
		w := New(1, spec)
		w.Settle(600)
		w.ledger.looks++
		look, id := w.ledger.looks, w.idOf("demo-1")
		w.EndPod("demo-1")
		if !isLate {
			look++
		}
		w.ledger.acting = look
		said := changes.MemberRecord{Name: "demo-1", PodUID: w.objects.pods["demo-1"].UID,
			Record: record.Member{ClusterID: w.bootstrapped, MemberID: id, Version: spec.Settings.Version}}
		_ = w.effect(changes.RecordMembers{Members: []changes.MemberRecord{said}}, immortal, nil)
		if isAllowed := len(w.Violations) == 0; isAllowed != isLate {
			t.Errorf("late by one moment %v: %v", isLate, w.Violations)
		}
	}
}

func (w *World) refOf(name string) facts.PodRef {
	return facts.PodRef{Name: name, UID: w.objects.pods[name].UID}
}
func (w *World) idOf(name string) etcdutil.ID { return w.disks[w.objects.pods[name].disk].member }

func (w *World) evictOf(name string) {
	_ = w.effect(changes.EvictPod{Pod: w.refOf(name)}, immortal, nil)
}
func (w *World) remove(name string) {
	_ = w.effect(changes.RemoveMember{Name: name, ID: w.idOf(name)}, immortal, nil)
}

func (w *World) setInputs(name, inputs string) {
	ref, settings := facts.VolumeRef{Name: name, UID: w.objects.volumes[name].UID}, w.Spec.Settings
	settings.Inputs = inputs
	_ = w.effect(changes.WriteSettings{Volumes: []facts.VolumeRef{ref}, Settings: settings}, immortal, nil)
}

func (w *World) recordAs(name string, id etcdutil.ID) {
	record := record.Member{ClusterID: w.bootstrapped, MemberID: id, Version: w.Spec.Settings.Version}
	_ = w.effect(changes.RecordMembers{Members: []changes.MemberRecord{{Name: name,
		VolumeUID: w.objects.volumes[name].UID, Record: record}}}, immortal, nil)
}

func (w *World) disown(name string) {
	v := w.objects.volumes[name]
	v.owner = "other"
	w.objects.volumes[name] = v
}

// restart has the kubelet start the container of a Pod again.
func (w *World) restart(name string) {
	w.KillContainer(name)
	w.advancePod(name)
}
