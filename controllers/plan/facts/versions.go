package facts

import (
	"fmt"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Versions of members and of their cluster, from which the next stop on the way to another version follows.

// Progress is where the cluster is on its way, by what its members say, and of those that are silent by what is written
// down. While no list is known, every recorded member counts.
func (o Incarnation) Progress() etcdutil.Progress {
	at := etcdutil.Progress{Blind: !o.Membership.Known}
	isFirst := true
	for _, r := range o.Members {
		if o.Membership.Known && r.Member == nil || !o.Membership.Known && !r.IsRecorded() {
			continue
		}
		version, says := r.wrote(), r.Versions()
		if version.IsZero() {
			continue // it never answered
		}
		at.Members = append(at.Members, version)
		at.Cluster = lower(at.Cluster, says.Cluster, isFirst)
		at.Storage = lower(at.Storage, says.Storage, isFirst)
		if at.Downgrade.IsZero() {
			at.Downgrade = says.Downgrade
		}
		isFirst = false
	}
	return at
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

// WhyNotOnData says why etcd of this version must not start on the member's data, or "".
func (r Replica) WhyNotOnData(version etcdutil.Version) string {
	return etcdutil.WhyNotOn(version, r.Record().Version, r.Record().ClusterVersion)
}

// WhyNotStart says why a Pod that is made from these choices must not start on the member's data, or "". It starts with
// a higher minor only where a roll wrote that on its volume.
func (r Replica) WhyNotStart(c Choices) string {
	if why := r.WhyNotOnData(c.Version); why != "" {
		return why
	}
	wrote := r.Record().Version
	if isHigher := c.Version.Compare(wrote) > 0 && !c.Version.SameMinor(wrote); isHigher && c != r.Choices() {
		return fmt.Sprintf("etcd %s wrote it, and its volume does not ask for %s", wrote, c.Version)
	}
	return ""
}
