package plan

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Retained is a volume, or an authority's Secret, that an earlier cluster of this name left behind.
type Retained struct {
	Kind, Name, UID string
	Owner           string        // the UID of the EtcdCluster that left it
	Incarnation     string        // of a volume
	Record          record.Member // of a volume
	TooNew          string        // of a volume: why only a newer release may read its record; empty otherwise
	Superseded      string        // of a volume: the incarnation that a restore in place put in the place of its own
	Backing         string        // of a volume: the PersistentVolume that it is bound to
	Kept            bool          // of a volume: it was put aside when its member was replaced
	TLS             bool          // of a volume: what its member's peers call it by
}

func (r Retained) isVolume() bool {
	return !r.Kept && (r.Record != record.Member{} || r.Incarnation != "")
}

func (r Retained) String() string { return r.Kind + " " + r.Name }

// resume takes over what an earlier cluster of this name left, once nothing of it runs any more. The records on the volumes
// then say who the members are: the lost birth record is written from them, and their Pods start on the data.
func (o Observation) resume() *proposal {
	for _, object := range append([]Object{o.Budget.Object}, o.Objects...) {
		isLeft := slices.ContainsFunc(o.Retained, func(r Retained) bool { return r.Kind == object.Kind && r.Name == object.Name })
		if p := takenBy(object); p != nil && !isLeft {
			return p
		}
	}
	c := AdoptData{Items: o.Retained}
	return act(c, ReasonResume, "The data that an earlier cluster of this name left is taken over: %s.", joinNames(c.Items, Retained.String))
}

// retainedData never gives a birth the names of volumes that hold data. Where all of it is of one cluster, that is resumed.
func retainedData(o view) *proposal {
	if !o.isOverRetained() {
		return nil
	}
	if o.whyNotResume() == "" {
		return o.resume()
	}
	return refuse(ReasonRetainedData,
		"An earlier cluster of this name left data behind: %s. It cannot be resumed: %s. Nothing is created over it. "+
			"To start with an empty cluster, delete what is listed; to keep it, create the cluster under another name.",
		joinNames(o.Retained, Retained.String), o.whyNotResume()).byHuman()
}

// isOverRetained reports whether a cluster is to begin, or to be resumed, where an earlier one left data. What lies beside a
// cluster that was born under this very object is nothing to it.
func (o view) isOverRetained() bool {
	return len(o.Retained) > 0 && !o.Birth.Exists() && !slices.ContainsFunc(o.Members, o.isBornHere)
}

// isBornHere reports a recorded member of an incarnation that this very object began.
func (o Observation) isBornHere(r Replica) bool {
	return r.IsRecorded() && slices.Contains(o.ownIncarnations(), r.Incarnation())
}

// whyNotResume says what keeps the retained data from being one cluster that can go on, or "". What was taken over already
// counts: the operator may have died between two of them.
func (o view) whyNotResume() string {
	volumes := filter(o.Retained, Retained.isVolume)
	if newer := filter(volumes, func(v Retained) bool { return v.TooNew != "" }); len(newer) > 0 {
		return fmt.Sprintf("%s: %s; upgrade the operator to the newer release", newer[0], newer[0].TooNew)
	}
	isCopy := func(v Retained) bool { return !v.Record.IsOn(v.UID, v.Backing) }
	switch copies := filter(volumes, isCopy); {
	case len(copies) > 0:
		return fmt.Sprintf("%s is a copy of the volume that its member lived on, which may be older than what the members agreed on; restore a backup instead", copies[0])
	case differ(o.Retained, func(r Retained) string { return r.Owner }):
		return "it is of more than one earlier cluster"
	case o.Desired.Ephemeral && len(volumes) > 0:
		return "spec.storage.ephemeral asks for data in Pods; it is on volumes"
	case slices.ContainsFunc(volumes, func(v Retained) bool { return v.TLS != o.Desired.TLS }):
		return fmt.Sprintf("spec.tls.mode asks for TLS %s, and its members know each other by addresses %s; put the mode back",
			onOff(o.Desired.TLS), onOff(!o.Desired.TLS))
	}
	return o.whyNotOneIncarnation(volumes)
}

// whyNotOneIncarnation says what keeps the volumes from being one incarnation of one cluster, or "".
func (o Incarnation) whyNotOneIncarnation(volumes []Retained) string {
	var known []Retained
	for _, r := range filter(o.Members, Replica.IsRecorded) {
		known = append(known, Retained{Record: r.Record(), Incarnation: r.Incarnation()})
	}
	known = append(known, filter(volumes, func(v Retained) bool { return !v.Record.IsZero() && v.Superseded == "" })...)
	hasEnded := slices.ContainsFunc(volumes, func(v Retained) bool { return v.Superseded != "" })
	switch {
	case len(known) == 0 && hasEnded:
		return "a restore in place had switched over from them, and nothing of what it moved to says that it served; to go on with them as they are, take the annotation " +
			"etcdsteward.dev/superseded-by off all of one incarnation (label etcdsteward.dev/incarnation)"
	case len(known) == 0:
		return "no volume says which cluster it was"
	case differ(known, func(r Retained) string { return r.Record.ClusterID.String() }):
		return "its volumes are of different etcd clusters"
	case differ(known, func(r Retained) string { return r.Incarnation }):
		return "its volumes are of different incarnations of the cluster"
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
func guardAdopt(o view, c AdoptData) string {
	if !o.isOverRetained() {
		return "the cluster has begun already."
	}
	if why := o.guardMixed(); why != "" {
		return why
	}
	if !slices.Equal(c.Items, o.Retained) {
		return "it is not what the earlier cluster left."
	}
	return ""
}

// isUsable reports a volume that its member can start on as the spec asks.
func (r Retained) isUsable(d Desired) bool {
	return r.TooNew == "" && r.TLS == d.TLS && !d.Ephemeral && r.Record.IsOn(r.UID, r.Backing)
}

// guardMixed lets data be resumed only where all of it is one incarnation of one cluster, on the volumes that it was written on.
func (o view) guardMixed() string {
	type origin struct {
		cluster     etcdutil.ID
		incarnation string
	}
	origins := map[origin]bool{}
	for _, r := range o.Members {
		if r.IsRecorded() {
			origins[origin{r.Record().ClusterID, r.Incarnation()}] = true
		}
	}
	for _, item := range o.Retained {
		if item.Owner != o.Retained[0].Owner || item.isVolume() && !item.isUsable(o.Desired) {
			return fmt.Sprintf("%s cannot be resumed.", item)
		}
		if item.isVolume() && !item.Record.IsZero() && item.Superseded == "" {
			origins[origin{item.Record.ClusterID, item.Incarnation}] = true
		}
	}
	if len(origins) != 1 {
		return "it is not known to be one incarnation of one cluster."
	}
	return ""
}

// incarnationOf is the incarnation that the recorded volumes are of: one that this object began, or the one of the earlier object
// whose data was taken over.
func (o Observation) incarnationOf(recorded []Replica) string {
	for _, r := range recorded {
		if o.isBornHere(r) {
			return r.Incarnation()
		}
	}
	return recorded[0].Incarnation()
}
