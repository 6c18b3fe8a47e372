package plan

import (
	"fmt"
	"slices"
)

// Retained is a volume, or an authority's Secret, that an earlier cluster of this name left behind.
type Retained struct {
	Kind, Name, UID string
	Owner           string // the UID of the EtcdCluster that left it
	Incarnation     string // of a volume
	Record          Record // of a volume
	Superseded      string // of a volume: the incarnation that a restore in place put in the place of its own
	TLS             bool   // of a volume: what its member's peers call it by
}

func (r Retained) isVolume() bool { return r.Record != Record{} || r.Incarnation != "" }

func (r Retained) String() string { return r.Kind + " " + r.Name }

// resume takes over what an earlier cluster of this name left, once nothing of it runs any more. The records on the volumes
// then say who the members are: the lost birth record is written from them, and their Pods start on the data.
func resume(o Observation) *proposal {
	if !o.isOverRetained() || o.whyNotResume() != "" {
		return nil
	}
	for _, object := range append([]Object{o.Budget.Object}, o.Objects...) {
		isLeft := slices.ContainsFunc(o.Retained, func(r Retained) bool { return r.Kind == object.Kind && r.Name == object.Name })
		if p := takenBy(object); p != nil && !isLeft {
			return p
		}
	}
	c := AdoptData{Items: o.Retained}
	return act(c, ReasonResume, "The data that an earlier cluster of this name left is taken over: %s.", joinNames(c.Items, Retained.String))
}

// retainedData never gives a birth the names of volumes that hold another cluster's data.
func retainedData(o Observation) *proposal {
	if !o.isOverRetained() {
		return nil
	}
	return refuse(ReasonRetainedData,
		"An earlier cluster of this name left data behind: %s. It cannot be resumed: %s. Nothing is created over it. "+
			"To start with an empty cluster, delete what is listed; to keep it, create the cluster under another name.",
		joinNames(o.Retained, Retained.String), o.whyNotResume()).byHuman()
}

// isOverRetained reports whether a cluster is to begin, or to be resumed, where an earlier one left data. What lies beside a
// cluster that was born under this very object is nothing to it.
func (o Observation) isOverRetained() bool {
	return len(o.Retained) > 0 && !o.Birth.Exists && !slices.ContainsFunc(o.Replicas, o.isBornHere)
}

// isBornHere reports a recorded member of a life that this very object began.
func (o Observation) isBornHere(r Replica) bool {
	return r.IsRecorded() && slices.Contains(o.ownIncarnations(), r.incarnation())
}

// whyNotResume says what keeps the retained data from being one cluster that can go on, or "". What was taken over already
// counts: the operator may have died between two of them.
func (o Observation) whyNotResume() string {
	volumes := filter(o.Retained, Retained.isVolume)
	switch {
	case differ(o.Retained, func(r Retained) string { return r.Owner }):
		return "it is of more than one earlier cluster"
	case o.Desired.Ephemeral && len(volumes) > 0:
		return "spec.storage.ephemeral asks for data in Pods; it is on volumes"
	case slices.ContainsFunc(volumes, func(v Retained) bool { return v.TLS != o.Desired.TLS }):
		return fmt.Sprintf("spec.tls.mode asks for TLS %s, and its members know each other by addresses %s; put the mode back",
			onOff(o.Desired.TLS), onOff(!o.Desired.TLS))
	}
	return o.whyNotOneLife(volumes)
}

// whyNotOneLife says what keeps the volumes from being one life of one cluster, or "".
func (o Observation) whyNotOneLife(volumes []Retained) string {
	var known []Retained
	for _, r := range filter(o.Replicas, Replica.IsRecorded) {
		known = append(known, Retained{Record: r.Record(), Incarnation: r.incarnation()})
	}
	known = append(known, filter(volumes, func(v Retained) bool { return !v.Record.IsZero() && v.Superseded == "" })...)
	hasEnded := slices.ContainsFunc(volumes, func(v Retained) bool { return v.Superseded != "" })
	switch {
	case len(known) == 0 && hasEnded:
		return "a restore in place had moved on from them, and nothing of what it moved to says that it served; to go on with them as they are, take the annotation " +
			"etcdsteward.dev/superseded-by off all of one life (label etcdsteward.dev/incarnation)"
	case len(known) == 0:
		return "no volume says which cluster it was"
	case differ(known, func(r Retained) string { return r.Record.ClusterID.String() }):
		return "its volumes are of different etcd clusters"
	case differ(known, func(r Retained) string { return r.Incarnation }):
		return "its volumes are of different lives of the cluster"
	}
	return ""
}

func onOff(tls bool) string {
	if tls {
		return "with TLS"
	}
	return "without TLS"
}

func differ(items []Retained, key func(Retained) string) bool {
	return slices.ContainsFunc(items, func(r Retained) bool { return key(r) != key(items[0]) })
}

// guardAdopt takes over only what was listed as left behind, as one cluster, before anything of a new one exists.
func guardAdopt(o Observation, c AdoptData) string {
	if !o.isOverRetained() {
		return "the cluster has begun already."
	}
	if why := o.whyNotResume(); why != "" {
		return why + "."
	}
	if !slices.Equal(c.Items, o.Retained) {
		return "it is not what the earlier cluster left."
	}
	return ""
}

// lifeOf is the incarnation that the recorded volumes are of: one that this object began, or the one of the earlier object
// whose data was taken over.
func (o Observation) lifeOf(recorded []Replica) string {
	for _, r := range recorded {
		if o.isBornHere(r) {
			return r.incarnation()
		}
	}
	return recorded[0].incarnation()
}
