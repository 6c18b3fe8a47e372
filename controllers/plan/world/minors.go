package world

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Minors: the version of a cluster follows its members, as etcd moves it, and what starts on whose data follows both.

// asked are the versions that a user who changes their mind goes between. The last is where a story ends.
var asked = []etcdutil.Version{{Major: 3, Minor: 5, Patch: 21}, {Major: 3, Minor: 5, Patch: 35},
	{Major: 3, Minor: 6, Patch: 11}, {Major: 3, Minor: 6, Patch: 16}, {Major: 3, Minor: 7, Patch: 3}}

// ChangeMinor is a user who asks for another version.
func (w *World) ChangeMinor(string) {
	w.Spec.Choices.Version = asked[w.rng.IntN(len(asked))]
	w.logf("spec: version %s", w.Spec.Choices.Version)
}

// atStop is what the operator's look makes of the spec: what members are to run next on the way to its version.
func atStop(o facts.Observation) facts.Desired {
	desired := o.Desired
	desired.Target = desired.Choices.Version
	at := o.Current.Progress()
	stop, err := etcdutil.NextStop(at, desired.Target)
	if err != nil {
		desired.Fault = err.Error()
		return desired
	}
	isNoneBelow := !slices.ContainsFunc(at.Members, func(v etcdutil.Version) bool {
		return v.Minor <= desired.Target.Minor
	})
	if len(at.Members) > 0 && isNoneBelow {
		desired.NoWay = "No step leads down"
		return desired
	}
	desired.Choices.Version, desired.Needs = stop.Version, stop.Needs
	return desired
}

// moveVersion is etcd's monitor: once every listed member runs a higher minor, the cluster is of that version.
func (w *World) moveVersion(c *cluster, running []*process) {
	lowest := etcdutil.Version{}
	for _, p := range running {
		if runs := w.objects.pods[p.pod].made.Version; lowest.IsZero() || runs.Compare(lowest) < 0 {
			lowest = runs
		}
		p.disk.ran = w.objects.pods[p.pod].made.Version
	}
	minor := etcdutil.Version{Major: lowest.Major, Minor: lowest.Minor}
	switch {
	case c.version.IsZero():
		c.version = minor
	case len(running) == len(c.members) && minor.Compare(c.version) > 0 && w.rng.IntN(4) == 0:
		c.version = minor
		w.logf("etcd: the cluster is of version %s", minor.MinorString())
	}
}

// isTooOld reports an etcd that is older than its cluster. One that skips a minor must never be started.
func (w *World) isTooOld(p pod, d *disk) bool {
	c := w.clusters[d.cluster]
	if d.ran.IsZero() || etcdutil.WhyNotOn(p.made.Version, d.ran, c.version) == "" {
		return false
	}
	if p.made.Version.Minor > d.ran.Minor+1 || d.ran.Minor > p.made.Version.Minor+1 {
		w.violate("I15: etcd %s starts on what %s wrote", p.made.Version, d.ran)
	}
	return true
}
