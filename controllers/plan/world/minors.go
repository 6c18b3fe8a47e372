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

// next is the pre-release that comes after them.
var next = etcdutil.Version{Major: 3, Minor: 8, Pre: "alpha.0"}

// ChangeMinor is a user who asks for another version.
func (w *World) ChangeMinor(string) {
	w.Spec.Settings.Version = asked[w.chance(len(asked), "version", "")]
	w.logf("spec: version %s", w.Spec.Settings.Version)
}

// MissBackups is a schedule whose backups fail, or are taken again.
func (w *World) MissBackups(string) {
	w.trouble.isLate = !w.trouble.isLate
	w.logf("fault: the schedule has no verified backup: %v", w.trouble.isLate)
}

// atStop is what the operator's look makes of the spec: what members are to run next on the way to its version.
func atStop(o facts.Observation) facts.Desired {
	desired := o.Desired
	desired.Target, desired.AtTarget = desired.Settings.Version, desired.Settings
	at := o.Current.ProgressAt(o.Now)
	stop, held, err := facts.StopAt(at, desired.Target, o.Current.WhyStay(desired, o.Schedules))
	if err != nil {
		desired.Fault = err.Error()
		return desired
	}
	isAtMost := func(v etcdutil.Version) bool { return v.Minor <= desired.Target.Minor }
	if desired.Ephemeral && len(at.Members) > 0 && !slices.ContainsFunc(at.Members, isAtMost) {
		desired.NoWay = "No step leads down"
		return desired
	}
	desired.Settings.Version, desired.Needs, desired.Held = stop.Version, stop.Needs, held
	if next := o.Current.Bootstrap.Next; !next.IsZero() {
		stop, _ = etcdutil.NextStop(etcdutil.Progress{Begins: next.Origin.Version}, desired.Target)
		desired.NextSettings = desired.Settings
		desired.NextSettings.Version = stop.Version
	}
	return desired
}

// Asks is what the operator makes of the spec in an observation, also in one that is foretold.
func (w *World) Asks(o facts.Observation) facts.Desired {
	o.Desired = w.Spec
	if w.Windows != nil {
		o.Desired.Window = w.Windows(o.Now)
	}
	o.Desired.Rotation = w.Rotation
	o.Desired = atStop(o)
	o.Desired = reached(o)
	return w.trusting(o)
}

// moveVersion is etcd's monitor: once every listed member runs a higher minor, the cluster is of that version. A
// downgrade lowers it, and ends once every member runs its target. Each member's data follows.
func (w *World) moveVersion(c *cluster, running []*process) {
	lowest, highest := w.minorsOf(running)
	isEach := len(running) == len(c.members)
	switch {
	case c.version.IsZero():
		c.raise(lowest)
	case w.chance(4, "the version moves", c.id.String()) != 0:
	case c.downgrade.IsZero():
		if isEach && lowest.Compare(c.version) > 0 {
			c.raise(lowest)
			w.logf("etcd: the cluster is of version %s", lowest.MinorString())
		}
	case isEach && highest.Compare(c.downgrade) <= 0:
		c.downgrade = etcdutil.Version{}
	case c.downgrade.Compare(c.version) < 0:
		c.version = c.downgrade
		w.saveLog(c, running)
		w.logf("etcd: the cluster is of version %s again", c.version.MinorString())
	}
	w.moveFormats(c, running)
}

// raise is an entry of raft's log, which is not counted.
func (c *cluster) raise(version etcdutil.Version) {
	c.version, c.raised, c.raisedAt = version, version, c.writes+c.entries+1
}

// moveFormats lets the data of members that run follow the version of their cluster, some time.
func (w *World) moveFormats(c *cluster, running []*process) {
	for _, p := range running {
		p.disk.ran = w.objects.pods[p.pod].made.Version
		if p.disk.format.IsZero() || w.chance(2, "the format follows", p.pod) == 0 {
			p.disk.format = c.version
		}
	}
}

// minorsOf are the lowest and the highest minor that these run.
func (w *World) minorsOf(running []*process) (lowest, highest etcdutil.Version) {
	for i, p := range running {
		runs := minorOf(w.objects.pods[p.pod].made.Version)
		if i == 0 || runs.Compare(lowest) < 0 {
			lowest = runs
		}
		if runs.Compare(highest) > 0 {
			highest = runs
		}
	}
	return lowest, highest
}

func minorOf(v etcdutil.Version) etcdutil.Version {
	return etcdutil.Version{Major: v.Major, Minor: v.Minor}
}

// isTooOld reports an etcd that is older than its cluster. One that skips a minor must never be started.
func (w *World) isTooOld(p pod, d *disk) bool {
	c := w.clusters[d.cluster]
	isReadable := d.format.Compare(minorOf(p.made.Version)) <= 0
	if d.ran.IsZero() || isReadable && etcdutil.WhyNotOn(p.made.Version, d.ran, c.version) == "" {
		return false
	}
	if p.made.Version.Minor > d.ran.Minor+1 || d.ran.Minor > p.made.Version.Minor+1 {
		w.violate("I15: etcd %s starts on what %s wrote", p.made.Version, d.ran)
	}
	if !isReadable && etcdutil.WhyNotOn(p.made.Version, d.ran, c.version) == "" {
		w.violate("I15: etcd %s starts on data in the format of %s", p.made.Version, d.format)
	}
	return true
}

// says is what a member of this version says of its cluster and of its data.
func (c *cluster) says(runs etcdutil.Version, d *disk) facts.Versions {
	says := facts.Versions{Cluster: c.version}
	if runs.Minor >= 6 {
		says.Storage, says.Downgrade = d.format, c.downgrade
	}
	return says
}
