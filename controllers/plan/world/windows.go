package world

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Windows of maintenance: when they are open, and that no member which serves is stopped while none is.

// windowEach and windowOpen: a window opens so often, for so long.
const windowEach, windowOpen = 5 * time.Minute, 2 * time.Minute

// inTurns are windows that open and close all the time.
func inTurns(now time.Time) facts.Window {
	opened := now.Truncate(windowEach)
	if closes := opened.Add(windowOpen); now.Before(closes) {
		return facts.Window{Until: closes, Next: opened.Add(windowEach)}
	}
	return facts.Window{IsClosed: true, Next: opened.Add(windowEach)}
}

// window is what the operator is told of windows.
func (w *World) window() facts.Window {
	if w.Windows == nil {
		return w.Spec.Window
	}
	now, _ := w.clocks()
	return w.Windows(now)
}

// checkWindow is I19. Each kind of change has its own reasons to stop a member that serves at any time.
func (w *World) checkWindow(change changes.Change) {
	c := w.written()
	if !w.window().IsClosed || w.trouble.isRaced || c == nil || c.alarm {
		return
	}
	says := ""
	switch change := change.(type) {
	case changes.EvictPod:
		if !change.Fences {
			says = w.whyHeld(change.Pod.Name)
		}
	case changes.StartDefrag:
		if w.Spec.Upkeep.Asked.IsZero() {
			says = w.whyHeld(change.Name)
		}
	case changes.MoveLeader:
		if len(c.voters()) <= w.wantedOf(c) && !w.isDoomed(change.From) && change.From != w.Unwanted &&
			change.From != w.Fenced && !w.isAskedToLead(change) {
			says = w.whyHeld(change.From)
		}
	case changes.AddLearner:
		if len(c.voters()) >= w.wantedOf(c) && w.areAllWell(c) && !c.hasVoter(w.Unwanted) && !w.isKeptAwake(c) &&
			!w.isAnyDrained(c) {
			says = "every voter serves, and there are as many as the size asks for"
		}
	case changes.EnableDowngrade:
		says = "the way to the next stop begins"
	default:
	}
	if says != "" {
		w.violate("I19: %s while no window is open: %s", changes.KindOf(change), says)
	}
}

// whyHeld says that a member serves, or "".
func (w *World) whyHeld(name string) string {
	if p := w.objects.pods[name]; w.isWell(p) {
		return name + " serves"
	}
	return ""
}

// isWell reports a member that serves, and that its kubelet and the operator hear.
func (w *World) isWell(p pod) bool {
	proc := w.procs[p.UID]
	return proc != nil && p.Ready && !p.Terminating && !p.cutOff && proc.ill == "" && !w.isBad(p.made)
}

func (w *World) areAllWell(c *cluster) bool {
	for _, m := range c.voters() {
		name := c.nameOf(m.ID)
		if !w.isWell(w.objects.pods[name]) || w.isDoomed(name) {
			return false
		}
	}
	return true
}

// isKeptAwake reports a cluster that is to sleep, and has data in Pods. Its user asks for sleep now.
func (w *World) isKeptAwake(c *cluster) bool {
	return w.Spec.Size == 0 && slices.ContainsFunc(c.voters(), func(m etcdutil.Member) bool {
		return w.isInPod(c.nameOf(m.ID))
	})
}

// isDoomed reports a member whose volume is going, or gone.
func (w *World) isDoomed(name string) bool {
	v, exists := w.objects.volumes[name]
	return !w.isInPod(name) && (!exists || v.Terminating || v.Torn != "")
}
