package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// Rules of a bootstrap that begins with a backup: find it, lay it on every first volume, then start the members from
// their data.

// restoreDeadline is for a Pod that fetches a backup, from its creation to its end.
const restoreDeadline = 30 * time.Minute

// restoreSource has the backup that the spec asks for looked at, before a bootstrap is written down. The operator reads
// no store: a Pod does.
func restoreSource(o pass) *proposal {
	if o.Desired.Restore.IsZero() || !isToBegin(o) {
		return nil
	}
	return lookAtBackup(o)
}

// cannotUse begins what is said of a backup that cannot be begun with.
const cannotUse = "The backup that is asked for cannot be used: %s. Nothing was made%s. %s"

// unchanged says that of a cluster that there is already, as a part of a sentence, or "".
func unchanged(o pass) string {
	if !o.IsInPlace() {
		return ""
	}
	return ", and the cluster goes on unchanged"
}

// nameAnother is what helps where the backup itself cannot be put right.
func nameAnother(o pass) string {
	if !o.IsInPlace() {
		return "Put that right, or name another backup in spec.bootstrap.restore."
	}
	return fmt.Sprintf("Put that right, or delete the EtcdRestore and create another: %s.", deletionOf(o))
}

// lookAgain says it where the same look would find the same: no one but a person knows which of the two is wrong.
func lookAgain(o pass) string {
	wrong := "If spec.bootstrap.restore names the wrong backup, correct it, and that one is looked at"
	then := ""
	if o.IsInPlace() {
		wrong = "If the EtcdRestore names the wrong backup, delete it, which ends this restore, and create another: " +
			deletionOf(o)
		then = " The restore goes on with it, without another approval."
	}
	return fmt.Sprintf("%s. If you put this one right in the store, have it looked at "+
		"again: kubectl delete pod %s-preflight -n %s.%s", wrong, o.Cluster.Name, o.Cluster.Namespace, then)
}

// deletionOf is the command that deletes the EtcdRestore that is carried out.
func deletionOf(o pass) string {
	name := "NAME"
	isAsking := func(r facts.Request) bool { return r.WantedBackup == o.Desired.Restore }
	if i := slices.IndexFunc(o.Requests, isAsking); i >= 0 {
		name = o.Requests[i].Name
	}
	return fmt.Sprintf("kubectl delete etcdrestore %s -n %s", name, o.Cluster.Namespace)
}

// lookAtBackup has a Pod find what is asked for, and returns nil once that is known.
func lookAtBackup(o pass) *proposal {
	p := o.Preflight
	switch {
	case o.Desired.Restore.Fault != "":
		return refusalOf(o.Desired.Restore, cannotUse, o.Desired.Restore.Fault, unchanged(o), nameAnother(o))
	case p == nil:
		return act(changes.StartPreflight{Asked: o.Inquiry()},
			"the backup is checked before anything is made.")
	case p.Terminating:
		return taskLeaving(p.Task, o, facts.ReasonPreflight, "The Pod that looked at a backup is terminating; the "+
			"next one waits for its name.")
	case p.Asked != o.Inquiry() || p.OtherImage:
		return act(changes.DeletePreflight{UID: p.UID},
			"the spec asks for another backup or image by now. The backup is checked anew.")
	}
	return judgePreflight(o, p)
}

// refusalOf says why nothing can be begun with, and what helps, to a person unless it ends by itself.
func refusalOf(w facts.WantedBackup, format string, args ...any) *proposal {
	if w.Later {
		return refuse(facts.ReasonPreflight, format, args...)
	}
	return refuse(facts.ReasonUnusable, format, args...).byHuman()
}

// isToBegin reports whether the next thing to write down is a bootstrap: there is no record and no trace of any, or
// only one that was given up and of which nothing is left. What is to sleep does not begin.
func isToBegin(o pass) bool {
	switch {
	case o.IsAlive():
		return false
	case o.Bootstrap.Exists():
		return o.Bootstrap.Void && !slices.ContainsFunc(o.Members,
			func(r facts.Replica) bool { return r.HasAnyOf(o.Bootstrap.Incarnation) })
	}
	return traceOf(o) == "" && !o.Desired.Sleep
}

func judgePreflight(o pass, p *facts.Preflight) *proposal {
	found, isKnown := sourceOf(o.Observation)
	switch why := o.Unfit(found); {
	case isKnown && why != "":
		return refuse(facts.ReasonUnusable, cannotUse, why, unchanged(o), nameAnother(o)).byHuman()
	case isKnown:
		return nil
	case p.HasFailed() && !hasRested(p.Task, o.Now, o.Cluster.Created):
		return taskRefused(p.Task, facts.ReasonUnusable, cannotUse, p.WhyFailed(), unchanged(o),
			afterPreflight(o, p))
	case p.HasFailed() || p.HasSucceeded():
		return act(changes.DeletePreflight{UID: p.UID},
			"the backup could not be used (%s). It is checked again.", p.WhyFailed())
	}
	return taskTrouble(p.Task, o, facts.ReasonPreflight, restoreDeadline, "The backup to begin with is looked at.")
}

// afterPreflight says when a backup that could not be used is looked at again, and what helps.
func afterPreflight(o pass, p *facts.Preflight) string {
	if isFinal(p.Task) {
		return lookAgain(o)
	}
	return "It is looked at again after a while, and less and less often. " + nameAnother(o)
}

// restored writes down where the backup was restored completely, and clears away the Pods that did it. Members start
// only after all of that: then every first member has its data, whatever happens to the others.
func restored(o pass) *proposal {
	if o.IsAlive() || o.Bootstrap.Origin.IsZero() {
		return nil
	}
	return followRestores(o)
}

// followRestores follows the restore Pods of one incarnation.
func followRestores(o pass) *proposal {
	done, spent := endedRestores(o.Incarnation)
	switch {
	case len(done) > 0:
		return act(changes.RecordRestored{Incarnation: o.Bootstrap.Incarnation, Volumes: done},
			"%s is restored there completely.", restoredData(o))
	case len(spent) > 0:
		return act(changes.DeleteRestores{Pods: spent},
			"%s is restored on the volumes.", restoredData(o))
	}
	return restoring(o)
}

// restoredData names what restore Pods write to the volumes.
func restoredData(o pass) string {
	from := o.Current.Bootstrap.Next.Survivor
	switch {
	case o.Bootstrap.Origin.Key != "":
		return "the backup"
	case from == "":
		return "the data"
	}
	return "the data of member " + from
}

// endedRestores are the volumes on which the backup lies and that do not say so yet, and the restore Pods that are of
// no more use.
func endedRestores(o facts.Incarnation) (done []facts.VolumeRef, spent []facts.PodRef) {
	for _, r := range o.BootstrapReplicas() {
		switch pod := r.Restoring; {
		case pod == nil || r.Volume == nil:
		case pod.HasSucceeded() && !r.IsRestored():
			done = append(done, r.VolumeRef())
		case !pod.Terminating && (r.IsRestored() || r.Pod != nil):
			spent = append(spent, restoreRef(r))
		}
	}
	return done, spent
}

// restoring looks after the restore Pods that have not succeeded yet.
func restoring(o pass) *proposal {
	pending := facts.Filter(o.BootstrapReplicas(),
		func(r facts.Replica) bool { return r.Restoring != nil && !isLeftBehind(o, r) })
	if len(pending) == 0 {
		return nil
	}
	if p := inTurn(o, pending, restoreSettings, restoreAnew, restoreFailure); p != nil {
		return p
	}
	for _, r := range pending {
		if r.Restoring.Terminating {
			return taskLeaving(r.Restoring.Task, o, facts.ReasonPodLeaving, "The restore Pod of %s is terminating.",
				r.Name)
		}
	}
	for _, r := range pending {
		if !r.Restoring.Started {
			return taskTrouble(r.Restoring.Task, o, facts.ReasonRestore, restoreDeadline,
				"The backup will be restored on the volume of "+r.Name+".")
		}
	}
	says := "The backup is restored on the volumes of " +
		joinNames(pending, func(r facts.Replica) string { return r.Name + taskProgress(r.Restoring.Task) }) + "."
	return taskTrouble(pending[0].Restoring.Task, o, facts.ReasonRestore, restoreDeadline, says)
}

// isLeftBehind reports a restore Pod that should be gone, as one on a node that died. Everything lies on its volume,
// and it writes no more. Members do not wait for it: its node may never come back.
func isLeftBehind(o pass, r facts.Replica) bool {
	return r.IsRestored() && r.Restoring.Terminating && !r.Restoring.GoneBy.IsZero() &&
		o.Now.Sub(r.Restoring.GoneBy) > facts.LeavingDeadline
}

// restoreSettings lets members that are still to be restored follow the spec.
func restoreSettings(o pass, r facts.Replica) *proposal {
	if r.Volume == nil || r.Restoring.Terminating || r.Volume.Settings == o.Desired.Settings ||
		!mayTake(o, o.Desired.Settings) {
		return nil
	}
	return act(changes.WriteSettings{Volumes: []facts.VolumeRef{r.VolumeRef()}, Settings: o.Desired.Settings},
		"the member has not started yet, and the spec has changed.")
}

// restoreAnew deletes a restore Pod that was made from other settings than its member's, or that failed and had its
// rest.
func restoreAnew(o pass, r facts.Replica) *proposal {
	pod := r.Restoring
	c := changes.DeleteRestores{Pods: []facts.PodRef{restoreRef(r)}}
	switch {
	case pod.Terminating || r.Volume == nil:
		return nil
	case pod.Settings != r.Volume.Settings || pod.OtherImage:
		return act(c, "it was made from other settings, and is made anew.")
	case pod.HasFailed() && hasRested(pod.Task, o.Now, r.Volume.Created):
		return act(c, "it failed (%s). The restore is tried again.", pod.WhyFailed())
	}
	return nil
}

// restoreFailure says why a restore failed.
func restoreFailure(o pass, r facts.Replica) *proposal {
	if !r.Restoring.HasFailed() || r.Restoring.Terminating {
		return nil
	}
	return taskRefused(r.Restoring.Task, facts.ReasonRestoreFailed, "The backup could not be restored on the volume "+
		"of %s: %s. It is tried again %s. kubectl logs %s-restore -n %s --all-containers says more.",
		r.Name, r.Restoring.WhyFailed(), taskRetry(r.Restoring.Task, o, "the Pod "+r.Name+"-restore"), r.Name,
		o.Cluster.Namespace)
}

// restoreRef names a restore Pod by its member.
func restoreRef(r facts.Replica) facts.PodRef {
	return facts.PodRef{Name: r.Name, UID: r.Restoring.UID}
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
func taskRetry(t facts.Task, o pass, pod string) string {
	switch {
	case isFinal(t) && o.IsInPlace():
		return "when " + pod + " is deleted; to restore something else, delete the EtcdRestore and create another"
	case isFinal(t):
		return "when the spec changes, or when " + pod + " is deleted"
	}
	return "after a while, and less and less often"
}

// taskLeaving waits for the Pod to be gone. Past its time only a person can find out whether its node still runs it.
func taskLeaving(t facts.Task, o pass, reason, format string, args ...any) *proposal {
	p := wait(reason, format, args...).due(o, t.GoneBy, facts.LeavingDeadline)
	p.NeedsHuman = p.Overdue
	switch {
	case t.HeldBy != "":
		p.Message += heldBy("it", t.HeldBy)
	case p.Overdue:
		p.Message += " It should be gone by now. Bring its node back. Or taint one that is off for good: " +
			facts.TaintOff("NODE") + ". Or delete the Pod by force, once its machine is certainly off."
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

// warnings is the command that shows why a Pod of a task does not start.
func warnings(o pass) string {
	return fmt.Sprintf("kubectl get events -n %s --field-selector type=Warning", o.Cluster.Namespace)
}

// taskTrouble waits for a task that has not ended, and says what keeps it from starting.
func taskTrouble(t facts.Task, o pass, reason string, deadline time.Duration, says string) *proposal {
	if why := facts.StartReason(t.Waiting); why != "" {
		p := wait(why, "%s Its Pod cannot start (%s): %s", says, t.Waiting, howToStart(t.Waiting, t.Message, ""))
		return p.due(o, t.Created, facts.StartDeadline)
	}
	if !t.Started && o.Now.Sub(t.Created) > facts.StartDeadline {
		says += " Its Pod has not started for long; " + warnings(o) + " says why."
		deadline = facts.StartDeadline
	}
	return wait(reason, "%s", says).due(o, t.Created, deadline)
}

// sourceOf is the backup that a bootstrap written down now begins with; false while that is not known. Without a wish
// it is none.
func sourceOf(o facts.Observation) (record.Origin, bool) {
	p := o.Preflight
	switch {
	case o.Desired.Restore.IsZero():
		return record.Origin{}, true
	case p == nil || p.Terminating || !p.HasSucceeded() || p.Asked != o.Inquiry():
		return record.Origin{}, false
	}
	return p.Found, !p.Found.IsZero()
}

// isToRestore reports a first member on whose volume the backup is still to be restored. Where its Pod is, it was.
func isToRestore(o facts.Incarnation, r facts.Replica) bool { return !o.IsFilled(r) && r.Pod == nil }
