package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Task is a Pod that runs to its end once.
type Task struct {
	UID         string
	Created     time.Time
	Phase       Phase     // Pending as long as one of its first steps runs
	Started     bool      // a container of it has run
	Terminating bool      //
	GoneBy      time.Time // when a terminating Pod should be gone; zero otherwise
	Finished    time.Time // when it ended; zero while it did not, or when nothing says
	Waiting     string    // why a container or the scheduler waits
	Message     string    // what Kubernetes says about it
	Step        string    // the container that runs: fetch, restore or activate; empty when none does
	Done, Total int64     // bytes that the step has moved, and is to move; zero when it does not say
	Reason      string    // in one word of its own why it failed; empty when it had none
	Failure     string    // its own last words, when it failed; empty when it had none
}

// HasSucceeded reports whether the Pod did all that it was to do.
func (t Task) HasSucceeded() bool { return t.Phase == PodSucceeded }

// HasFailed reports whether the Pod ended without that.
func (t Task) HasFailed() bool { return t.Phase == PodFailed }

// words are what is known of why the Pod failed.
func (t Task) words() string {
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

// final are reasons that stay until what is asked for changes: what lies in the store is never written over, so the same look
// would find the same. All others ask for a person, who may put it right in the store or on a node, where nothing tells of it.
var final = []string{
	"BadArguments", "StoreNotFound", "NoBackup", "BackupAmbiguous", "ManifestInvalid", "ManifestForeign", "ObjectDamaged",
	"VersionDiffers", "VolumeTooSmall", "DataExists",
}

// How long a task that failed rests before it is made anew, counted from its end.
const (
	leastRest   = 10 * time.Second
	longestRest = 5 * time.Minute
)

// hasRested reports whether a task that failed is to be made anew. It rests for a quarter of the time for which it has been
// tried, since the cluster or the volume is there: so it is tried less and less often, and nothing has to be remembered for that.
func (t Task) hasRested(now, since time.Time) bool {
	tried := t.Finished.Sub(since)
	if since.IsZero() {
		tried = 0
	}
	return !t.isFinal() && now.Sub(t.Finished) >= min(max(tried/4, leastRest), longestRest)
}

func (t Task) isFinal() bool { return slices.Contains(final, t.Reason) }

// refusal says why a task failed, to a person unless time alone may help.
func (t Task) refusal(reason, format string, args ...any) *proposal {
	p := refuse(reason, format, args...)
	p.NeedsHuman = t.Failure != "" && !slices.Contains(passing, t.Reason)
	return p
}

// retry says when a task that failed is made anew.
func (t Task) retry(o view, pod string) string {
	switch {
	case t.isFinal() && o.isInPlace():
		return "when " + pod + " is deleted; to restore something else, delete the EtcdRestore and create another"
	case t.isFinal():
		return "when the spec changes, or when " + pod + " is deleted"
	}
	return "after a while, and less and less often"
}

// leaving waits for the Pod to be gone. Past its time only a person can find out whether its node still runs it.
func (t Task) leaving(o view, reason, format string, args ...any) *proposal {
	p := wait(reason, format, args...).due(o, t.GoneBy, leavingDeadline)
	if p.Overdue {
		p.Message += " It should be gone by now. Bring its node back, or taint one that is off with node.kubernetes.io/out-of-service, or delete the Pod by force once " +
			"it is certain that its machine is off."
		p.NeedsHuman = true
	}
	return p
}

// taskProblems are warnings of Kubernetes about a Pod that does not start and whose status does not say why.
var taskProblems = map[string]string{
	"FailedMount":            ReasonNotMounted,
	"FailedAttachVolume":     ReasonNotMounted,
	"FailedMapVolume":        ReasonNotMounted,
	"FailedCreatePodSandBox": ReasonContainer,
}

// progress says how far a task is, in parentheses behind the name of the member that it is for.
func (t Task) progress() string {
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

// trouble waits for a task that has not ended, and says what keeps it from starting.
func (t Task) trouble(o view, reason string, deadline time.Duration, says string) *proposal {
	if why := cmp.Or(startProblems[t.Waiting], taskProblems[t.Waiting]); why != "" {
		return wait(why, "%s Its Pod cannot start (%s): %s", says, t.Waiting, t.Message).due(o, t.Created, startDeadline)
	}
	if !t.Started && o.Now.Sub(t.Created) > startDeadline {
		says += " Its Pod has not started for long; kubectl describe pod says why, such as a Secret or a claim that it mounts and that is not there."
		deadline = startDeadline
	}
	return wait(reason, "%s", says).due(o, t.Created, deadline)
}
