package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// taskWords are what is known of why the Pod failed.
func taskWords(t facts.Task) string {
	switch {
	case t.Failure != "":
		return t.Failure
	case t.Message != "":
		return t.Message
	}
	return "its Pod ended without a word"
}

// passing are reasons that time alone may end: a store that is away or slow, a step that was killed.
var passing = []string{"Interrupted", "Failed", "StoreUnreachable", "StoreThrottled", "StoreStalled", "StoreFailed"}

// final are reasons that stay until what is asked for changes: what lies in the store is never written over, so the
// same look would find the same. All others ask for a person, who may put it right in the store or on a node, where
// nothing tells of it.
var final = []string{
	"BadArguments", "StoreNotFound", "NoBackup", "BackupAmbiguous", "ManifestInvalid", "ManifestForeign",
	"ObjectDamaged", "NotASnapshot",
	"VersionDiffers", "VolumeTooSmall", "DataExists",
}

// How long a task that failed rests before it is made anew, counted from its end.
const (
	leastRest   = 10 * time.Second
	longestRest = 5 * time.Minute
)

// hasRested reports whether a task that failed is to be made anew. It rests for a quarter of the time for which it has
// been tried, since the cluster or the volume is there: so it is tried less and less often, and nothing has to be
// remembered for that.
func hasRested(t facts.Task, now, since time.Time) bool {
	tried := t.Finished.Sub(since)
	if since.IsZero() {
		tried = 0
	}
	return !isFinal(t) && now.Sub(t.Finished) >= min(max(tried/4, leastRest), longestRest)
}

func isFinal(t facts.Task) bool { return slices.Contains(final, t.Reason) }

// taskRefused says why a task failed, to a person unless time alone may help.
func taskRefused(t facts.Task, reason, format string, args ...any) *proposal {
	p := refuse(reason, format, args...)
	p.NeedsHuman = t.Failure != "" && !slices.Contains(passing, t.Reason)
	return p
}

// taskRetry says when a task that failed is made anew.
func taskRetry(t facts.Task, o judge.View, pod string) string {
	switch {
	case isFinal(t) && o.IsInPlace():
		return "when " + pod + " is deleted; to restore something else, delete the EtcdRestore and create another"
	case isFinal(t):
		return "when the spec changes, or when " + pod + " is deleted"
	}
	return "after a while, and less and less often"
}

// taskLeaving waits for the Pod to be gone. Past its time only a person can find out whether its node still runs it.
func taskLeaving(t facts.Task, o judge.View, reason, format string, args ...any) *proposal {
	p := wait(reason, format, args...).due(o, t.GoneBy, facts.LeavingDeadline)
	p.NeedsHuman = p.Overdue
	switch {
	case t.HeldBy != "":
		p.Message += heldBy("it", t.HeldBy)
	case p.Overdue:
		p.Message += " It should be gone by now. Bring its node back, or taint one that is off with " +
			"node.kubernetes.io/out-of-service, or delete the Pod by force once " +
			"it is certain that its machine is off."
	}
	return p
}

// taskProgress says how far a task is, in parentheses behind the name of the member that it is for.
func taskProgress(t facts.Task) string {
	switch {
	case t.Step == "fetch" && t.Total > 0:
		return fmt.Sprintf(" (fetched %dMi of %dMi)", t.Done>>20, t.Total>>20)
	case t.Step == "fetch":
		return " (fetching)"
	case t.Step == "restore":
		return " (restoring)"
	case t.Step == "activate":
		return " (writing to disk)"
	}
	return ""
}

// taskTrouble waits for a task that has not ended, and says what keeps it from starting.
func taskTrouble(t facts.Task, o judge.View, reason string, deadline time.Duration, says string) *proposal {
	if why := facts.StartReason(t.Waiting); why != "" {
		p := wait(why, "%s Its Pod cannot start (%s): %s", says, t.Waiting, howToStart(t.Waiting, t.Message))
		return p.due(o, t.Created, facts.StartDeadline)
	}
	if !t.Started && o.Now.Sub(t.Created) > facts.StartDeadline {
		says += " Its Pod has not started for long; kubectl describe pod says why."
		deadline = facts.StartDeadline
	}
	return wait(reason, "%s", says).due(o, t.Created, deadline)
}
