package facts

import (
	"fmt"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Versions of members and of their cluster, from which the next stop on the way to another version follows.

// Progress is where the cluster is on its way, by what its members say, and of those that are silent by what is written
// down. While no list is known, every recorded member counts, and every first one that started.
func (o Incarnation) Progress() etcdutil.Progress {
	at := etcdutil.Progress{Blind: !o.Membership.Known, Covered: o.IsLogCovered()}
	isFirst := true
	for _, r := range o.Members {
		versions, says := o.mayRun(r), r.Versions()
		if len(versions) == 0 || o.Membership.Known && r.Member == nil {
			continue
		}
		at.Members = append(at.Members, versions...)
		at.Cluster = lower(at.Cluster, says.Cluster, isFirst)
		at.Storage = lower(at.Storage, says.Storage, isFirst)
		if at.Downgrade.IsZero() {
			at.Downgrade = says.Downgrade
		}
		isFirst = false
	}
	return at
}

// mayRun are the versions that may have written the member's data: the one that last answered, and the next minor where
// a silent member's volume asks for it. A first member of which nothing is written down may have run what its Pod says.
func (o Incarnation) mayRun(r Replica) []etcdutil.Version {
	wrote := r.wrote()
	switch {
	case wrote.IsZero() && !o.Membership.Known && r.Pod != nil && r.Pod.Started && !r.Pod.Choices.IsZero():
		return []etcdutil.Version{r.Pod.Choices.Version}
	case wrote.IsZero():
		return nil
	case r.Answer == nil && r.Choices().Version.Minor == wrote.Minor+1:
		return []etcdutil.Version{wrote, r.Choices().Version}
	}
	return []etcdutil.Version{wrote}
}

// lower is the lower of two versions, or zero where one of them is not known.
func lower(a, b etcdutil.Version, isFirst bool) etcdutil.Version {
	switch {
	case isFirst:
		return b
	case a.IsZero() || b.IsZero():
		return etcdutil.Version{}
	case b.Compare(a) < 0:
		return b
	}
	return a
}

// wrote is the version of the etcd that last answered on the member's data.
func (r Replica) wrote() etcdutil.Version {
	if r.Answer != nil && !r.Answer.Version.IsZero() {
		return r.Answer.Version
	}
	return r.Record().Version
}

// Versions is what the member says of them, or what is written down.
func (r Replica) Versions() Versions {
	if r.Answer == nil {
		return Versions{Cluster: r.Record().ClusterVersion}
	}
	says := r.Answer.Versions
	if says.Cluster.IsZero() {
		says.Cluster = r.Record().ClusterVersion
	}
	return says
}

// ClusterVersion is the highest version that members were ever seen to have agreed on; zero when none said one. Every
// voter has then run that minor on its data, also where its own record lags: etcd moves the version no sooner.
func (o Incarnation) ClusterVersion() etcdutil.Version {
	var highest etcdutil.Version
	for _, r := range o.Members {
		for _, v := range []etcdutil.Version{r.Versions().Cluster, r.Record().ClusterVersion} {
			if v.Compare(highest) > 0 {
				highest = v
			}
		}
	}
	return highest
}

// HasBegun reports a version no minor above what ran on the data of a recorded member, or what its volume asks for: a
// roll wrote that while all others served.
func (o Incarnation) HasBegun(r Replica, version etcdutil.Version) bool {
	isNoHigher := func(than etcdutil.Version) bool { return version.SameMinor(than) || version.Compare(than) < 0 }
	return isNoHigher(r.Record().Version) || isNoHigher(r.Choices().Version) || isNoHigher(o.ClusterVersion())
}

// WhyNotOnData says why etcd of this version must not start on the member's data, or "".
func (o Incarnation) WhyNotOnData(r Replica, version etcdutil.Version) string {
	return etcdutil.WhyNotOn(version, r.Record().Version, o.ClusterVersion())
}

// WhyNotStart says why a Pod that is made from these choices must not start on the member's data, or "". It starts with
// a higher minor only where a roll wrote that on its volume.
func (o Incarnation) WhyNotStart(r Replica, c Choices) string {
	if why := o.WhyNotOnData(r, c.Version); why != "" {
		return why
	}
	wrote := r.Record().Version
	if isHigher := c.Version.Compare(wrote) > 0 && !c.Version.SameMinor(wrote); isHigher && c != r.Choices() {
		return fmt.Sprintf("etcd %s wrote it, and its volume does not ask for %s", wrote, c.Version)
	}
	return ""
}
