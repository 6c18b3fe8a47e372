package plan

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const leftFromEarlier = "it is left from an earlier bootstrap."

// Rules between the first Pod and the moment when the cluster's identity is written down.

// newSettings lets first members that have no Pod follow a spec that changed since their volumes were made: what keeps
// Kubernetes from admitting their Pods is put right there.
func newSettings(o pass) *proposal {
	var stale []facts.VolumeRef
	for _, r := range firstMembers(o) {
		isUntouched := r.Restoring == nil || r.Restoring.Holds
		hasOnlyVolume := r.Pod == nil && isUntouched && r.Volume != nil && !r.Volume.Terminating
		if !hasOnlyVolume || r.Volume.Settings == o.Desired.Settings {
			continue
		}
		if mayHoldOther(o, r.Volume) {
			return nil
		}
		stale = append(stale, r.VolumeRef())
	}
	if len(stale) == 0 || !mayTake(o, o.Desired.Settings) {
		return nil
	}
	return act(changes.WriteSettings{Volumes: stale, Settings: o.Desired.Settings},
		"the members have not started yet, and the spec has changed.")
}

// mayHoldOther reports a first volume on which a member of another minor version may have lived, whose Pod is gone.
func mayHoldOther(o pass, v *facts.Volume) bool {
	return o.Bootstrap.Begun && v.Phase != facts.VolumePending && !v.Settings.IsZero() &&
		!v.Settings.Version.SameMinor(o.Desired.Settings.Version)
}

// mayTake reports whether first members that do not run may take these settings: none of another version has started.
// With the version it has, a first member starts on its volume again as it did before. No member takes what is refused,
// nor settings without room for what was restored: see checkRoom.
func mayTake(o pass, c facts.Settings) bool {
	if o.Desired.Fault != "" {
		return false
	}
	origin := o.Bootstrap.Origin
	if !origin.IsZero() && !origin.Version.SameMinor(c.Version) || c.WhyNoRoom(origin) != "" {
		return false
	}
	return !slices.ContainsFunc(o.BootstrapReplicas(), func(r facts.Replica) bool {
		return r.Pod != nil && r.Pod.Started && r.Settings().Version != c.Version
	})
}

// otherIncarnation deletes what a bootstrap that was given up left under the first members' names, such as a Pod that
// another operator made a moment too late. Nothing of such an incarnation was ever recorded.
func otherIncarnation(o pass) *proposal {
	return inTurn(o, o.Members, clearRestore, clearData)
}

// clearData deletes a Pod, then a volume.
func clearData(o pass, r facts.Replica) *proposal {
	switch {
	case r.Incarnation() == "" || r.Incarnation() == o.Bootstrap.Incarnation && !isMixed(o.Incarnation, r):
		return nil
	case r.Pod != nil && r.Pod.Terminating, r.Volume != nil && r.Volume.Terminating && r.Pod == nil:
		return waitForName(r, o)
	case r.Pod != nil:
		return act(changes.DeletePods{Pods: []facts.PodRef{r.PodRef()}}, leftFromEarlier)
	}
	return act(changes.DeleteVolumes{Volumes: []facts.VolumeRef{r.VolumeRef()}}, leftFromEarlier)
}

// clearRestore deletes a restore Pod of a bootstrap that was given up.
func clearRestore(o pass, r facts.Replica) *proposal {
	if r.Restoring == nil || r.Restoring.Incarnation == o.Bootstrap.Incarnation {
		return nil
	}
	if r.Restoring.Terminating {
		return taskLeaving(r.Restoring.Task, o, facts.ReasonPodLeaving,
			"The restore Pod of %s, of an earlier attempt, is terminating.", r.Name)
	}
	return act(changes.DeleteRestores{Pods: []facts.PodRef{restoreRef(r)}}, leftFromEarlier)
}

// isMixed reports a Pod of another incarnation than its volume's.
func isMixed(o facts.Incarnation, r facts.Replica) bool {
	return r.Pod != nil && r.Pod.Incarnation != o.Bootstrap.Incarnation
}

// firstQuorum holds everything else back until the members agree on one list, and who they are is written down: first
// on the volumes of a quorum, then in the bootstrap record. From then on no member is ever started as at bootstrap
// without being asked for by a list that is known.
func firstQuorum(o pass) *proposal {
	if o.Bootstrap.ClusterID != 0 {
		return nil
	}
	recorded := facts.Filter(o.BootstrapReplicas(), facts.Replica.IsRecorded) // no other says who this cluster is
	if len(recorded) >= etcdutil.Quorum(len(o.Bootstrap.Names)) {
		return act(changes.RecordBootstrap{ClusterID: recorded[0].Record().ClusterID},
			"a quorum of the first members has it with its data.")
	}
	if o.Membership.Known {
		return recordFirst(o)
	}
	if len(recorded) > 0 {
		return nil // interrupted: their Pods are looked after below
	}
	return waitForQuorum(o)
}

// recordFirst writes down who the first members are, if the list that answers is the list of this bootstrap: by its
// names, or by the identity that is on a volume already.
func recordFirst(o pass) *proposal {
	isOfThisBootstrap := func(r facts.Replica) bool { return r.Record().ClusterID == o.Membership.ClusterID }
	for _, m := range o.Membership.Members {
		name, ok := etcdutil.MemberFromPeerURL(facts.FirstURL(m), o.Cluster.Name, o.Cluster.Namespace)
		isNamed := ok && slices.Contains(o.Bootstrap.Names, name)
		if !isNamed && !slices.ContainsFunc(o.BootstrapReplicas(), isOfThisBootstrap) {
			return refuse(facts.ReasonForeignData, "Another cluster (%s) answers under the names of the first "+
				"members: %v is no member of this bootstrap. Delete what answers there, or create the EtcdCluster "+
				"under another name.", o.Membership.ClusterID, m.PeerURLs).byHuman()
		}
	}
	if records := newRecords(o); len(records) > 0 {
		return writeDown(records)
	}
	return waitForQuorum(o)
}

func waitForQuorum(o pass) *proposal {
	for _, r := range o.BootstrapReplicas() {
		if p := startTrouble(o, r); p != nil {
			return p
		}
	}
	p := wait(facts.ReasonFirstQuorum,
		"%d of %d members have started; the cluster serves once %d have found each other.",
		len(started(o)), len(o.Bootstrap.Names), etcdutil.Quorum(len(o.Bootstrap.Names)))
	p.due(o, o.LastPodChange(), facts.StartDeadline)
	if p.Overdue && len(started(o)) >= etcdutil.Quorum(len(o.Bootstrap.Names)) {
		p.Message += " They do not, or the operator does not reach them. Does a NetworkPolicy of this namespace deny " +
			"it, or a mesh? spec.networkPolicy lets in what members need: " +
			pages.Docs + "docs/connect.md#who-may-connect."
	}
	return p
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
