package plan

import (
	"slices"
	"time"
)

// Rules of a birth that begins with a backup: find it, lay it on every first volume, then start the members from their data.

// restoreDeadline is for a restore Pod to end, from its creation.
const restoreDeadline = 30 * time.Minute

// restoreSource has the backup that the spec asks for looked at, before a birth is written down. The operator reads no store: a Pod does.
func restoreSource(o view) *proposal {
	if o.Desired.Restore.IsZero() || !o.isToBegin() {
		return nil
	}
	return lookAtBackup(o)
}

// lookAtBackup has a Pod find what is asked for, and returns nil once that is known.
func lookAtBackup(o view) *proposal {
	p := o.Preflight
	switch {
	case o.Desired.Restore.Fault != "":
		return o.Desired.Restore.refusal("The backup that is asked for cannot be used: %s. Nothing was made.")
	case p == nil:
		return act(StartPreflight{Asked: o.inquiry()}, ReasonPreflight, "The backup to begin with is looked at before anything is made.")
	case p.Terminating:
		return p.leaving(o, ReasonPreflight, "The Pod that looked at a backup is terminating; the next one waits for its name.")
	case p.Asked != o.inquiry():
		return act(DeletePreflight{UID: p.UID}, ReasonPreflight, "What is asked for changed; the backup is looked at anew.")
	}
	return o.judgePreflight(p)
}

// refusal says why nothing can be begun with, to a person unless it ends by itself.
func (w WantedBackup) refusal(format string) *proposal {
	p := refuse(ReasonPreflight, format, w.Fault)
	p.NeedsHuman = !w.Later
	return p
}

// isToBegin reports whether the next thing to write down is a birth: there is no record and no trace of any, or only one that was
// given up and of which nothing is left.
func (o view) isToBegin() bool {
	switch {
	case o.isAlive():
		return false
	case o.Birth.Exists():
		return o.Birth.Void && !slices.ContainsFunc(o.Members, func(r Replica) bool { return r.hasAnyOf(o.Birth.Incarnation) })
	}
	return o.trace() == ""
}

func (o view) judgePreflight(p *Preflight) *proposal {
	const cannot = "The backup that is asked for cannot be used: %s. Nothing was made."
	found, isKnown := o.source()
	switch why := o.unfit(found); {
	case isKnown && why != "":
		return refuse(ReasonPreflight, cannot, why).byHuman()
	case isKnown:
		return nil
	case p.HasFailed() && !p.hasRested(o.Now, o.Cluster.Created):
		return p.refusal(ReasonPreflight, cannot+" It is looked at again %s.", p.words(), p.retry(o, "the Pod "+o.Cluster.Name+"-preflight"))
	case p.HasFailed() || p.HasSucceeded():
		return act(DeletePreflight{UID: p.UID}, ReasonPreflight, "The backup could not be used (%s); it is looked at again.", p.words())
	}
	return p.trouble(o, ReasonPreflight, startDeadline, "The backup to begin with is looked at.")
}

// restored writes down where the backup was restored completely, and clears away the Pods that did it. Members start only after all of
// that: then every first member has its data, whatever happens to the others.
func restored(o view) *proposal {
	if o.isAlive() || o.Birth.Origin.IsZero() {
		return nil
	}
	done, spent := o.endedRestores()
	switch {
	case len(done) > 0:
		return act(RecordRestored{Incarnation: o.Birth.Incarnation, Volumes: done}, ReasonRestore,
			"The backup lies on the volumes of %s; that is written down there.", joinNames(done, func(v VolumeRef) string { return v.Name }))
	case len(spent) > 0:
		return act(DeleteRestores{Pods: spent}, ReasonRestore, "The backup lies on the volumes of %s; the Pods that restored it there are deleted.", podNames(spent))
	}
	return o.restoring()
}

// endedRestores are the volumes on which the backup lies and that do not say so yet, and the restore Pods that are of no more use.
func (o Incarnation) endedRestores() (done []VolumeRef, spent []PodRef) {
	for _, r := range o.birthReplicas() {
		switch pod := r.Restoring; {
		case pod == nil || r.Volume == nil:
		case pod.HasSucceeded() && !r.isRestored():
			done = append(done, r.volumeRef())
		case !pod.Terminating && (r.isRestored() || r.Pod != nil):
			spent = append(spent, r.restoreRef())
		}
	}
	return done, spent
}

// restoring looks after the restore Pods that have not succeeded yet.
func (o view) restoring() *proposal {
	pending := filter(o.birthReplicas(), func(r Replica) bool { return r.Restoring != nil })
	if len(pending) == 0 {
		return nil
	}
	for _, step := range []func(Replica) *proposal{o.restoreChoices, o.restoreAnew, o.restoreFailure} {
		for _, r := range pending {
			if p := step(r); p != nil {
				return p
			}
		}
	}
	for _, r := range pending {
		if r.Restoring.Terminating {
			return r.Restoring.leaving(o, ReasonPodLeaving, "The restore Pod of %s is terminating.", r.Name)
		}
	}
	for _, r := range pending {
		if !r.Restoring.Started {
			return r.Restoring.trouble(o, ReasonRestore, restoreDeadline, "The backup will be restored on the volume of "+r.Name+".")
		}
	}
	says := "The backup is restored on the volumes of " + joinNames(pending, func(r Replica) string { return r.Name + r.Restoring.progress() }) + "."
	return pending[0].Restoring.trouble(o, ReasonRestore, restoreDeadline, says)
}

// restoreChoices lets members that are still to be restored follow the spec.
func (o view) restoreChoices(r Replica) *proposal {
	if r.Volume == nil || r.Restoring.Terminating || r.Volume.Choices == o.Desired.Choices || !mayTake(o, o.Desired.Choices) {
		return nil
	}
	return act(SetChoices{Volumes: []VolumeRef{r.volumeRef()}, Choices: o.Desired.Choices}, ReasonNewChoices, "%s has not started yet; it takes the settings of the spec.", r.Name)
}

// restoreAnew deletes a restore Pod that was made from other choices than its member's, or that failed and had its rest.
func (o Observation) restoreAnew(r Replica) *proposal {
	pod := r.Restoring
	c := DeleteRestores{Pods: []PodRef{r.restoreRef()}}
	switch {
	case pod.Terminating || r.Volume == nil:
		return nil
	case pod.Choices != r.Volume.Choices:
		return act(c, ReasonNewChoices, "The restore Pod of %s was made from other settings, and is made anew.", r.Name)
	case pod.HasFailed() && pod.hasRested(o.Now, r.Volume.Created):
		return act(c, ReasonRestore, "The restore on the volume of %s failed (%s), and is tried again.", r.Name, pod.words())
	}
	return nil
}

// restoreFailure says why a restore failed.
func (o view) restoreFailure(r Replica) *proposal {
	if !r.Restoring.HasFailed() || r.Restoring.Terminating {
		return nil
	}
	return r.Restoring.refusal(ReasonRestoreFailed, "The backup could not be restored on the volume of %s: %s. It is tried again %s.",
		r.Name, r.Restoring.words(), r.Restoring.retry(o, "the Pod "+r.Name+"-restore"))
}

// hasAnyOf reports whether anything of this incarnation is left of the replica.
func (r Replica) hasAnyOf(incarnation string) bool {
	return r.Pod != nil && r.Pod.Incarnation == incarnation || r.Volume != nil && r.Volume.Incarnation == incarnation ||
		r.Restoring != nil && r.Restoring.Incarnation == incarnation
}

// restoreRef names a restore Pod by its member.
func (r Replica) restoreRef() PodRef { return PodRef{Name: r.Name, UID: r.Restoring.UID} }
