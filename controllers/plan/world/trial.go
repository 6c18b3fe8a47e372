package world

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Trials: Pods that start another version of etcd beside members. What cannot start here cannot start there.

// tried is what once started on a node.
type tried struct {
	node    string
	choices facts.Choices
}

func (w *World) startTrials(c changes.StartTrials, life *budgetOfEffects) {
	for _, p := range c.Beside {
		if life.spend() && w.trialAt(p.Member) < 0 {
			w.objects.trials = append(slices.Clip(w.objects.trials), facts.Trial{Member: p.Member, Node: p.Node,
				Choices: c.Choices, GoesOn: true,
				Task: facts.Task{UID: w.uid("trial"), Created: w.Now, Phase: facts.PodPending}})
		}
	}
}

// deleteTrials takes effect at once: a trial asks for no time to stop.
func (w *World) deleteTrials(c changes.DeleteTrials, life *budgetOfEffects) {
	for _, ref := range c.Pods {
		if !life.spend() {
			return
		}
		if i := w.trialAt(ref.Name); i >= 0 && w.objects.trials[i].UID == ref.UID {
			w.dropTrial(i)
		}
	}
}

func (w *World) trialAt(member string) int {
	return slices.IndexFunc(w.objects.trials, func(t facts.Trial) bool { return t.Member == member })
}

func (w *World) dropTrial(i int) {
	w.objects.trials = slices.Delete(slices.Clone(w.objects.trials), i, i+1)
}

// advanceTrials takes each trial a step on, now and then, unless its node is away.
func (w *World) advanceTrials() {
	trials := slices.Clone(w.objects.trials)
	for i := range trials {
		if w.chance(2, "a trial moves", trials[i].Member) == 0 {
			w.advanceTrial(&trials[i])
		}
	}
	w.objects.trials = trials
}

func (w *World) advanceTrial(t *facts.Trial) {
	switch isAway := w.objects.pods[t.Member].cutOff; {
	case isAway || t.HasSucceeded() || t.HasFailed():
	case w.Broken[t.Choices]:
		t.Waiting, t.Message = "ImagePullBackOff", "image not found"
	// Its node does not take it, and would take the member.
	case !t.Started && w.chance(16, "a trial is not taken", t.Member) == 0:
		t.Phase, t.Finished = facts.PodFailed, w.Now
		w.tried[tried{t.Node, t.Choices}] = true
	case !t.Started:
		t.Phase, t.Started, t.Waiting, t.Message = facts.PodRunning, true, "", ""
	case w.chance(8, "a trial is evicted", t.Member) == 0:
		t.Phase, t.Finished = facts.PodFailed, w.Now
	default:
		t.Phase, t.Finished = facts.PodSucceeded, w.Now
		w.tried[tried{t.Node, t.Choices}] = true
	}
	// A container that was injected may go on.
	t.GoesOn = !t.HasEnded() || t.GoesOn && w.chance(8, "a trial goes on", t.Member) == 0
}

// DeleteTrial is a kubectl delete pod.
func (w *World) DeleteTrial() {
	var members []string
	for _, t := range w.objects.trials {
		members = append(members, t.Member)
	}
	if i := w.trialAt(w.oneOf("trial", members)); i >= 0 {
		w.dropTrial(i)
		w.logf("fault: a trial Pod deleted")
	}
}

// checkTried holds the stop of a member that serves, for another version, to a trial of that version on its node.
func (w *World) checkTried(name string, p pod) {
	v, seen := w.objects.volumes[name], w.Observe().Current
	if w.trouble.isRaced || v.Choices.IsZero() || v.Choices.Version == p.made.Version ||
		!seen.Find(name).IsHealthy(seen.Membership) {
		return
	}
	if !w.tried[tried{p.Node, v.Choices}] {
		w.violate("%s is stopped for etcd %s, which was never tried on %s", name, v.Choices.Version, p.Node)
	}
}
