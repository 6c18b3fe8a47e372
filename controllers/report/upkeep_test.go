package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestATimeOfTheScheduleThatPassedUnusedIsToldOnceWithWhatWasWaitedForAndTheNextTime(t *testing.T) {
	w := demo(3, begin).settled()
	w.heard(t)
	scheduled, next := begin.Add(time.Minute).Truncate(time.Second), begin.Add(24*time.Hour).Truncate(time.Second)
	w.find("demo-0").Answer.DBSize = 300 << 20
	w.o.Desired.Upkeep.Scheduled, w.o.Desired.Upkeep.Next = scheduled, next
	w.o.Desired.Paused = true
	w.later(time.Hour)
	w.heard(t)
	due := w.cluster.Status.DefragmentSchedule
	if due == nil || !due.DueTime.Time.Equal(scheduled) || due.SkippedTime != nil || due.Message == "" {
		t.Fatalf("while it is due: %+v", due)
	}
	w.o.Desired.Upkeep.Scheduled = time.Time{}
	w.later(2 * time.Hour)
	in := w.input()
	events := Events(in, Status(in))
	if len(events) != 1 || events[0].Reason != EventDefragSkipped || !strings.Contains(events[0].Note, due.Message) ||
		!strings.Contains(events[0].Note, next.UTC().Format(time.DateTime)) {
		t.Errorf("told %+v", events)
	}
	w.heard(t)
	if again := w.later(time.Minute).heard(t); len(again) > 0 {
		t.Errorf("told again: %q", again)
	}
	if now := w.cluster.Status.DefragmentSchedule; now.DueTime != nil || !now.SkippedTime.Time.Equal(scheduled) {
		t.Errorf("afterwards: %+v", now)
	}
}

func TestATimeOfTheScheduleForWhichNoMemberIsLeftIsNotCalledSkipped(t *testing.T) {
	for name, change := range map[string]func(*facts.Replica){
		"nothing to reclaim": func(r *facts.Replica) { r.Answer.DBSize = r.Answer.DBSizeInUse },
		"each has begun": func(r *facts.Replica) {
			r.Answer.DBSize = 300 << 20
			r.Defragmenting = &facts.DefragPod{Task: facts.Task{Created: begin.Add(time.Minute), Started: true,
				Phase: facts.PodRunning}, Since: begin.Add(time.Minute), Deadline: 3 * time.Hour}
		},
	} {
		w := demo(3, begin).settled()
		w.o.Desired.Upkeep.Scheduled, w.o.Desired.Upkeep.Next = begin, begin.Add(24*time.Hour)
		for _, member := range []string{"demo-0", "demo-1", "demo-2"} {
			change(w.find(member))
		}
		w.later(time.Hour).heard(t)
		w.o.Desired.Upkeep.Scheduled = time.Time{}
		if heard := w.later(2 * time.Hour).heard(t); slices.Contains(heard, "Warning "+EventDefragSkipped) {
			t.Errorf("%s: heard %q", name, heard)
		}
	}
}

func TestWhatAPersonAskedForHasEndedOnceEachMemberSaysThatNoneIsLeft(t *testing.T) {
	w := demo(3, begin).settled().later(time.Hour)
	asked := w.o.Now
	w.o.Desired.Upkeep.Asked = asked
	for _, member := range []string{"demo-0", "demo-1", "demo-2"} {
		w.find(member).Answer.DBSize = w.find(member).Answer.DBSizeInUse
	}
	full, pod := w.find("demo-1"), &facts.DefragPod{}
	full.Answer.DBSize = 300 << 20
	answer := full.Answer
	expect := func(when string, hasEnded bool) {
		t.Helper()
		w.heard(t)
		ended := w.cluster.Status.DefragmentedFor
		if (ended != nil) != hasEnded || hasEnded && !ended.Time.Equal(asked) {
			t.Errorf("%s: %s", when, ended)
		}
	}
	expect("before the member is defragmented", false)
	*pod = facts.DefragPod{Task: facts.Task{Created: asked, Started: true, Phase: facts.PodRunning}, Since: asked,
		Deadline: facts.StartDeadline}
	full.Defragmenting, full.Answer = pod, nil
	expect("while it is", false)
	pod.Phase, pod.Finished = facts.PodSucceeded, w.o.Now
	expect("before it answers", false)
	answer.DBSize = answer.DBSizeInUse
	full.Answer = answer
	expect("afterwards", true)
	w.o.Desired.Upkeep.Asked = time.Time{}
	expect("once the annotation is gone", true)
}
