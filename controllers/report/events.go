package report

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/words"
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
	events := slices.Concat(t.availability(), t.alarm(), t.health(), t.defragmentations(), t.skipped(), Done(in),
		t.progress(), t.warnings())
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

// alarm tells of an alarm of etcd with which writes are refused: each time that it is raised, and once more where the
// operator made room by itself and a person has to act now.
func (t transition) alarm() []words.Event {
	was := meta.FindStatusCondition(t.old.Conditions, v1alpha1.ConditionAvailable)
	available := meta.FindStatusCondition(t.now.Conditions, v1alpha1.ConditionAvailable)
	isAlarm := available.Reason == ReasonNoSpace || available.Reason == ReasonCorrupt
	isRaised := was == nil || was.Reason != available.Reason
	isLeft := !isRaised && !t.in.Observation.Desired.Paused && strings.Contains(was.Message, waitForRoom) &&
		!strings.Contains(available.Message, waitForRoom)
	if !isAlarm || !isRaised && !isLeft {
		return nil
	}
	return warning(EventAlarmRaised, actionObserve, available.Message)
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
	case now.Reason == facts.ReasonAlarm: // see alarm
	case now.Reason == facts.ReasonDefragment && len(t.defragmentations()) > 0: // that it failed is told
	case now.Reason == facts.ReasonPaused:
		events = append(events, normal(facts.ReasonPaused, actionDecide, now.Message)...)
	case now.Verdict == v1alpha1.VerdictBlocked, now.Verdict == v1alpha1.VerdictStalled,
		now.Reason == ReasonTooManyChanges, result == ResultRejected, result == ResultFailed:
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

// changeEvents tell what was just done, and beside it what only the look knows.
func changeEvents(in Input) []words.Event {
	says := changes.WordsOf(in.Outcome.Change)
	note := says.Done() + "."
	if because := in.Decision.Because; because != "" {
		note = says.Done() + ": " + because
	}
	told := done(in, says.Event, says.Member, note)
	switch c := in.Outcome.Change.(type) {
	case changes.BeginBootstrap:
		if c.ClusterID == 0 {
			return append(told, restoreBegun(in, c.Origin)...)
		}
	case changes.NextBootstrap:
		return append(told, restoreBegun(in, c.Origin)...)
	case changes.RecordBootstrap:
		if !in.Observation.Current.Membership.Known { // it is put back from a volume, and no news
			told[0].Reason = changes.EventRecorded
			return told
		}
		return append(told, restoreDone(in)...)
	case changes.ApplyObjects:
		if news := renewed(in, c); len(news) > 0 {
			return news
		}
	case changes.VoidBootstrap:
		told[0].Warning = true
	default:
	}
	return told
}

// NotTakenOver tells a person who asked this install to take a cluster over why it does not. In the status the install
// that looks after the cluster may tell something else.
func NotTakenOver(in Input) []words.Event {
	why := in.Outcome.Message
	if in.Decision.Change == nil {
		why = in.Decision.Message
	}
	if why == "" || in.Observation.Desired.Operator != in.Observation.Cluster.Operator {
		return nil
	}
	return warning(EventNotTaken, changes.KindOf(changes.TakeOver{}), why)
}

func done(in Input, reason, member, note string) []words.Event {
	return []words.Event{{
		Reason: reason, Action: changes.KindOf(in.Outcome.Change), Note: strings.TrimSpace(note), Member: member,
	}}
}

// restoreBegun tells which backup the cluster is to begin with, and what comes back with it.
func restoreBegun(in Input, origin record.Origin) []words.Event {
	if origin.IsZero() {
		return nil
	}
	says := fmt.Sprintf("It begins with the backup %s, of revision %d and etcd %s.", origin.Key, origin.Revision,
		wroteBy(origin))
	events := done(in, EventRestoring, "", join(says, caveats(origin)))
	if origin.Alarms != "" {
		events[0].Warning = true
		events[0].Note += fmt.Sprintf(" When it was taken etcd had raised %s, and will raise it again.", origin.Alarms)
	}
	return events
}

// restoreDone tells that the cluster serves with the backup that it began with.
func restoreDone(in Input) []words.Event {
	origin := in.Observation.Current.Bootstrap.Origin
	if origin.IsZero() {
		return nil
	}
	says := fmt.Sprintf("The cluster serves with what the backup %s held at revision %d.", origin.Key, origin.Revision)
	if origin.Key == "" {
		says = fmt.Sprintf("The cluster serves with the data of %s.", in.survivor())
	}
	return done(in, EventRestored, "", join(says, caveats(origin)))
}

// survivor is the member whose data the cluster goes on with, as long as the EtcdRestore that says so is there.
func (in Input) survivor() string {
	for _, q := range in.Observation.Requests {
		if q.ID == in.Observation.Current.Bootstrap.Restore && q.Survivor != "" {
			return "member " + q.Survivor
		}
	}
	return "a member of the cluster before"
}

// renewed tells of certificates that were issued anew, of members and of clients. Those of a new cluster or member are
// no news, and neither is the operator's own.
func renewed(in Input, c changes.ApplyObjects) []words.Event {
	var members []string
	for _, name := range c.Secrets {
		if secret := in.Observation.Current.Find(name).Secret; secret.State == facts.ObjectDrifted {
			members = append(members, fmt.Sprintf("%s (before: %s)", secret.Name, secret.Detail))
		}
	}
	var events []words.Event
	if len(members) > 0 {
		events = done(in, EventRenewed, "", fmt.Sprintf("Renewed the Secrets of members: %s. Members read them within "+
			"two minutes, without a restart.", strings.Join(members, ", ")))
	}
	clients := in.clientSecret()
	for _, object := range c.Objects {
		if clients != nil && object.Name == clients.Name && object.State == facts.ObjectDrifted {
			note := fmt.Sprintf("Renewed the Secret of clients: %s (before: %s). Clients that hold a copy of it need "+
				"the new one.", object.Name, object.Detail)
			events = append(events, done(in, EventRenewed, "", note)...)
		}
	}
	return events
}
