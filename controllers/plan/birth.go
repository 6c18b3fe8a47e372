package plan

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules between the first Pod and the moment when the cluster's identity is written down.

// birthChoices makes Pods that do not run, or never answer, anew when the choices changed: first the choices on the volumes, then the Pods.
// A Pod of another version than members that did start is left alone. A Pod that ended, or whose
// flags were stripped, is made anew in any case.
func birthChoices(o Observation) *proposal {
	if o.isAlive() {
		return nil
	}
	var stale []VolumeRef
	var pods []PodRef
	for _, r := range o.firstMembers() {
		if r.Pod == nil || r.Pod.Terminating {
			continue
		}
		if p := o.keepChoices(r); p != nil {
			return p
		}
		isStale, isUseless := o.judgeFirst(r)
		if isStale {
			stale = append(stale, r.volumeRef())
		}
		if isUseless {
			pods = append(pods, r.podRef())
		}
	}
	switch {
	case len(stale) > 0:
		return act(SetChoices{Volumes: stale, Choices: o.Desired.Choices}, ReasonNewChoices, "%d first members do not run; they take the settings of the spec.", len(stale))
	case len(pods) > 0:
		return act(DeletePods{Pods: pods}, ReasonNewChoices, "%d first Pods do not run and are made anew.", len(pods))
	}
	return nil
}

// newChoices lets first members that have no Pod follow a spec that changed since their volumes were made: what keeps Kubernetes from
// admitting their Pods is put right there.
func (o Observation) newChoices() *proposal {
	var stale []VolumeRef
	for _, r := range o.firstMembers() {
		hasOnlyVolume := r.Pod == nil && r.Restoring == nil && r.Volume != nil && !r.Volume.Terminating
		if !hasOnlyVolume || r.Volume.Choices == o.Desired.Choices {
			continue
		}
		if o.mayHoldOther(r.Volume) {
			return nil
		}
		stale = append(stale, r.volumeRef())
	}
	if len(stale) == 0 || !mayTake(o, o.Desired.Choices) {
		return nil
	}
	return act(SetChoices{Volumes: stale, Choices: o.Desired.Choices}, ReasonNewChoices, "Members that have not started yet take the settings of the spec: %s.", joinNames(stale, func(v VolumeRef) string { return v.Name }))
}

// mayHoldOther reports a first volume on which a member of another minor version may have lived, whose Pod is gone.
func (o Observation) mayHoldOther(v *Volume) bool {
	return o.Birth.Begun && v.Phase != VolumePending && !v.Choices.IsZero() && !v.Choices.Version.SameMinor(o.Desired.Choices.Version)
}

// judgeFirst says of a first member whether its volume asks for settings of the past, and whether its Pod is of no use.
func (o Observation) judgeFirst(r Replica) (isStale, isUseless bool) {
	takes := !r.Pod.Running && mayTake(o, o.Desired.Choices) || o.isMuteFirst(r)
	isStale = takes && r.Volume != nil && r.Volume.Choices != o.Desired.Choices
	isUseless = r.Pod.HasEnded() || r.isStripped() || takes && r.Pod.Choices != o.Desired.Choices
	return isStale, isUseless
}

// keepChoices writes back what a first member was made from, when it started before it could be made anew.
func (o Observation) keepChoices(r Replica) *proposal {
	if !r.Pod.Running || r.Volume == nil || r.Pod.Choices.IsZero() || r.Volume.Choices == r.Pod.Choices || o.isMuteFirst(r) {
		return nil
	}
	return act(SetChoices{Volumes: []VolumeRef{r.volumeRef()}, Choices: r.Pod.Choices}, ReasonNewChoices,
		"%s started before the spec changed; its volume says again what it was made from.", r.Name)
}

// mayTake reports whether first members that do not run may take these choices: none of another version has started. With
// the version it has, a first member starts on its volume again as it did before. What is refused nobody takes.
func mayTake(o Observation, c Choices) bool {
	if o.Desired.Fault != "" {
		return false
	}
	if origin := o.Birth.Origin; !origin.IsZero() && !origin.Version.SameMinor(c.Version) {
		return false
	}
	return !slices.ContainsFunc(o.birthReplicas(), func(r Replica) bool {
		return r.Pod != nil && r.Pod.Started && r.Choices().Version != c.Version
	})
}

// otherLife deletes what a birth that was given up left under the first members' names, such as a Pod that another operator
// made a moment too late. Nothing of such a life was ever recorded.
func otherLife(o Observation) *proposal {
	if o.isAlive() {
		return nil
	}
	for _, clear := range []func(Replica) *proposal{o.clearRestore, o.clearData} {
		for _, r := range o.Replicas {
			if p := clear(r); p != nil {
				return p
			}
		}
	}
	return nil
}

// clearData deletes a Pod, then a volume.
func (o Observation) clearData(r Replica) *proposal {
	switch {
	case r.incarnation() == "" || r.incarnation() == o.Birth.Incarnation && !o.isMixed(r):
		return nil
	case r.Pod != nil && r.Pod.Terminating, r.Volume != nil && r.Volume.Terminating && r.Pod == nil:
		return r.waitForName(o)
	case r.Pod != nil:
		return act(DeletePods{Pods: []PodRef{r.podRef()}}, ReasonVoidBirth, "The Pod of %s is left from a birth that was given up; it is deleted.", r.Name)
	}
	return act(DeleteVolumes{Volumes: []VolumeRef{r.volumeRef()}}, ReasonVoidBirth, "The volume of %s is left from a birth that was given up; it is deleted.", r.Name)
}

// clearRestore deletes a restore Pod of a birth that was given up.
func (o Observation) clearRestore(r Replica) *proposal {
	if r.Restoring == nil || r.Restoring.Incarnation == o.Birth.Incarnation {
		return nil
	}
	if r.Restoring.Terminating {
		return r.Restoring.leaving(o, ReasonPodLeaving, "The restore Pod of %s, of an earlier attempt, is terminating.", r.Name)
	}
	return act(DeleteRestores{Pods: []PodRef{r.restoreRef()}}, ReasonVoidBirth, "The restore Pod of %s is left from a birth that was given up; it is deleted.", r.Name)
}

// isMixed reports a Pod of another life than its volume's.
func (o Observation) isMixed(r Replica) bool {
	return r.Pod != nil && r.Pod.Incarnation != o.Birth.Incarnation
}

// firstQuorum holds everything else back until the members agree on one list, and who they are is written down: first on
// the volumes of a quorum, then in the birth record. From then on no member is ever started as at birth without being asked
// for by a list that is known.
func firstQuorum(o Observation) *proposal {
	if o.Birth.ClusterID != 0 {
		return nil
	}
	recorded := filter(o.Replicas, Replica.IsRecorded)
	if len(recorded) >= etcdutil.Quorum(len(o.Birth.Names)) {
		return act(RecordBirth{ClusterID: recorded[0].Record().ClusterID}, ReasonRecordBirth,
			"The members found each other; the identity of the cluster is written down.")
	}
	if o.Membership.Known {
		return o.recordFirst()
	}
	if len(recorded) > 0 {
		return nil // interrupted: their Pods are looked after below
	}
	return o.waitForQuorum()
}

// recordFirst writes down who the first members are, if the list that answers is the list of this birth.
func (o Observation) recordFirst() *proposal {
	for _, m := range o.Membership.Members {
		name, ok := etcdutil.MemberFromPeerURL(firstURL(m), o.Cluster.Name, o.Cluster.Namespace)
		if !ok || !slices.Contains(o.Birth.Names, name) {
			return refuse(ReasonForeignData, "Another cluster (%s) answers under the names of the first members: %v is no member of this birth.",
				o.Membership.ClusterID, m.PeerURLs).byHuman()
		}
	}
	if p := recordMembers(o); p != nil {
		return p
	}
	return o.waitForQuorum()
}

func (o Observation) waitForQuorum() *proposal {
	for _, r := range o.birthReplicas() {
		if p := startTrouble(o, r); p != nil {
			return p
		}
	}
	p := wait(ReasonFirstQuorum, "%d of %d members have started; the cluster serves once %d have found each other.",
		len(started(o)), len(o.Birth.Names), etcdutil.Quorum(len(o.Birth.Names)))
	return p.due(o, lastPodChange(o), startDeadline)
}
