package report

import (
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// noteLimit is the longest note that the API server takes (kubernetes/kubernetes:pkg/apis/core/validation/events.go).
const noteLimit = 1024

// Actions of events that tell what was seen; those that tell what was done have the kind of the change.
const (
	actionObserve = "Observe"
	actionDecide  = "Decide"
)

// Events are the few things of this pass that a person wants to hear of: what was done, and what became different. The
// caller sends them after the status was stored, so that a pass that is repeated does not tell them twice.
func Events(in Input, status v1alpha1.EtcdClusterStatus) []words.Event {
	t := transition{in: in, old: in.old(), now: status}
	events := slices.Concat(t.availability(), t.health(), Done(in), t.progress(), t.warnings())
	for i := range events {
		events[i].Note = shorten(events[i].Note)
	}
	return events
}

// Done are those of the events that tell what this pass did. No later pass tells it, whether the status was stored or
// not. A change that is made again because it moved nothing was told before.
func Done(in Input) []words.Event {
	if !in.Outcome.Applied || in.Outcome.Rejected {
		return nil
	}
	events := changeEvents(in)
	for i := range events {
		events[i].Note = shorten(events[i].Note)
	}
	return events
}

// transition is what two statuses tell when they are compared.
type transition struct {
	in       Input
	old, now v1alpha1.EtcdClusterStatus
}

// flipped reports whether the condition came to have this status just now. One that was never written before has
// flipped.
func (t transition) flipped(kind string, to bool) bool {
	isTrue := meta.IsStatusConditionTrue(t.now.Conditions, kind)
	was := meta.IsStatusConditionTrue(t.old.Conditions, kind)
	return isTrue == to && was != to
}

// availability tells of a cluster that stopped or began to answer; a cluster that is being created does neither.
func (t transition) availability() []words.Event {
	was := meta.FindStatusCondition(t.old.Conditions, v1alpha1.ConditionAvailable)
	available := meta.FindStatusCondition(t.now.Conditions, v1alpha1.ConditionAvailable)
	switch {
	case was == nil || was.Status == available.Status || available.Status == metav1.ConditionUnknown:
		return nil
	case was.Reason == ReasonReadFailed:
		return normal(EventAvailable, actionObserve, available.Message)
	case available.Reason == ReasonReadFailed:
		return warning(EventUnavailable, actionObserve, available.Message)
	}
	return nil
}

// health tells of members that failed while the cluster still answers, and of the end of all trouble.
func (t transition) health() []words.Event {
	degraded := meta.FindStatusCondition(t.now.Conditions, v1alpha1.ConditionDegraded)
	switch {
	case t.flipped(v1alpha1.ConditionReady, true) && !t.in.Observation.Desired.Paused:
		return normal(EventReady, actionObserve, t.now.NextStep.Message)
	case t.flipped(v1alpha1.ConditionDegraded, true) &&
		(degraded.Reason == ReasonUnhealthy || degraded.Reason == ReasonMissing):
		return warning(EventDegraded, actionObserve, degraded.Message)
	}
	return nil
}

// progress tells of a step that is refused or paused, or that the platform would not take, when it begins to be.
func (t transition) progress() []words.Event {
	now, old := t.now.NextStep, t.old.NextStep
	wasPaused := old != nil && old.Reason == facts.ReasonPaused
	if t.isTold() {
		return nil
	}
	var events []words.Event
	if wasPaused && !t.in.Observation.Desired.Paused {
		events = normal(EventResumed, actionDecide, "The operator looks after the cluster again.")
	}
	result := t.in.Outcome.Result()
	switch {
	case now.Reason == facts.ReasonDeleting:
	case now.Reason == facts.ReasonPaused:
		events = append(events, normal(facts.ReasonPaused, actionDecide, now.Message)...)
	case now.Verdict == string(plan.Refuse), now.Reason == ReasonTooManyChanges, result == ResultRejected,
		result == ResultFailed:
		events = append(events, warning(now.Reason, actionDecide, now.Message)...)
	}
	return events
}

// isTold reports the step of the status before. Of what the platform would not take, each cause is a step of its own.
func (t transition) isTold() bool {
	now, old := t.now.NextStep, t.old.NextStep
	return old != nil && old.Reason == now.Reason && old.Verdict == now.Verdict &&
		(t.in.Outcome.Result() != ResultRejected || words.Alike(old.Message, now.Message))
}

// warnings tells each warning once.
func (t transition) warnings() []words.Event {
	var events []words.Event
	for _, w := range t.in.warnings() {
		if !t.in.hasWarned(w) {
			events = append(events, warning(EventSpecWarning, actionObserve, w)...)
		}
	}
	return events
}

func normal(reason, action, note string) []words.Event {
	return []words.Event{{Reason: reason, Action: action, Note: note}}
}

func warning(reason, action, note string) []words.Event {
	return []words.Event{{Warning: true, Reason: reason, Action: action, Note: note}}
}

// shorten cuts a note at the API server's limit, which counts bytes, and never inside a character.
func shorten(note string) string {
	if len(note) <= noteLimit {
		return note
	}
	return strings.ToValidUTF8(note[:noteLimit-len("…")], "") + "…"
}
