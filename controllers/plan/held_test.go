package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

const (
	hold       = "example.com/hold"
	whoRemoves = hold + ". The controller that added a finalizer removes it, or you do."
)

// heldPod is a member whose Pod its kubelet ended long ago, and that a finalizer keeps.
func heldPod(r *facts.Replica) {
	overdue(r)
	r.Pod.Running, r.Pod.RunningSince, r.Pod.Phase, r.Pod.HeldBy = false, time.Time{}, facts.PodSucceeded, hold
}

func heldRows() []row {
	three := settledWorld(3)
	unheardFor := func(d time.Duration) func(*facts.Replica) {
		return func(r *facts.Replica) { r.Pod.NodeUnheard = now.Add(-d) }
	}
	return []row{
		{"a member whose Pod a finalizer keeps is not replaced, however long", patient(three.edit(1, heldPod)), Refuse,
			"member-health", facts.ReasonPodLeaving, "", whoRemoves + " demo-1 stays a member."},
		{"a roll stops at it", patient(wanting(three.edit(1, rolled).edit(1, heldPod), other)), Refuse, "member-health",
			facts.ReasonPodLeaving, "", whoRemoves},
		{"one whose process ends is not told of it yet", patient(three.edit(1, leaving)), Wait, "member-health",
			facts.ReasonPodLeaving, "", "demo-1 is started again when its Pod is gone. The operator replaces member demo-1 with a new one at "},
		{"where its node is not heard of either, that decides", patient(three.edit(1, heldPod).edit(1,
			unheardFor(6*time.Minute))), Act, "replace", "", "RemoveMember", "not reached for 6m0s"},
		{"and not before the node's time is over", patient(three.edit(1, heldPod).edit(1, unheardFor(time.Minute))),
			Refuse, "member-health", facts.ReasonPodLeaving, "", whoRemoves + " The operator replaces member demo-1 with a new one at "},
		{"one whose volume is going is replaced", three.edit(1, heldPod).edit(1, doomed), Act, "replace",
			"", "RemoveMember", "demo-1"},
		{"so is one that had its data in the Pod", inMemory(three).edit(1, heldPod), Act, "replace", "",
			"RemoveMember", "demo-1"},
		{"one whose node is gone with the volume on it is as well", three.edit(1, heldPod).edit(1, stranded), Act,
			"replace", "", "RemoveMember", "demo-1"},
	}
}

func TestAMemberWhosePodAFinalizerKeepsStaysOne(t *testing.T) {
	for _, r := range heldRows() {
		t.Run(r.name, r.check)
	}
}

// Each waits for something to be gone.
func TestAnObjectThatIsWaitedForSaysWhichFinalizerKeepsIt(t *testing.T) {
	three, restoring, filling := settledWorld(3), restoringWorld(3), fillingWorld(requesting(settledWorld(3)))
	pod := func(r *facts.Replica) { leaving(r); r.Pod.HeldBy = hold }
	volume := func(r *facts.Replica) { r.Pod, r.Volume.Terminating, r.Volume.HeldBy = nil, true, hold }
	task := func(r *facts.Replica) { r.Restoring.Terminating, r.Restoring.HeldBy = true, hold }
	every := func(o scene, change func(*facts.Replica)) scene {
		for _, r := range o.Current.Members {
			o = o.edit(r.Ordinal, change)
		}
		return o
	}
	everyNext := func(o scene, change func(*facts.Replica)) scene {
		for _, r := range o.Next.Members {
			o = o.next(r.Ordinal, change)
		}
		return o
	}
	object := three
	object.Objects = append([]facts.Object(nil), three.Objects...)
	object.Objects[1].State, object.Objects[1].HeldBy = facts.ObjectTerminating, hold
	preflight := looking(wishing(notBootstrapped(3)), hasFound, func(p *facts.Preflight) { p.Terminating, p.HeldBy = true, hold })
	moved := movedWorld(requesting(three)).unbudgeted().everyFormer(markedOld)
	for _, w := range []struct {
		name  string
		world scene
	}{
		{"a member", three.edit(1, pod)},
		{"one that was removed", three.with(voter(3)).edit(3, removed).edit(3, noSecret).edit(3, pod)},
		{"a Service", object},
		{"the Pods of a birth that is given up", every(void(atBootstrap(3)), pod)},
		{"its volumes", every(void(atBootstrap(3)), volume)},
		{"its restore Pods", every(void(restoring), task)},
		{"a restore Pod", restoring.edit(1, task)},
		{"the Pod that looks at a backup", preflight},
		{"a restore Pod of a restore that is called off", everyNext(unrequested(filling), task)},
		{"a volume of it", everyNext(everyNext(unrequested(filling), cleared), volume)},
		{"a volume of a restore in place", filling.next(4, cleared, volume)},
		{"the Pods of the incarnation before", moved.everyFormer(leavingOld, unlabelledOld, func(r *facts.Replica) { r.Pod.HeldBy = hold })},
		{"those that should be gone", moved.everyFormer(notLeftOld, unlabelledOld, func(r *facts.Replica) { r.Pod.HeldBy = hold })},
	} {
		d := Decide(w.world.Observation)
		says := d.Message
		for _, note := range d.Trace.Yielded() {
			says += "\n" + note.Message
		}
		if d.Change != nil || !strings.Contains(says, whoRemoves) {
			t.Errorf("%s: %s by %s says\n%s", w.name, d.Verdict, d.Rule, says)
		}
	}
}
