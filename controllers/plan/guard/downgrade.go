package guard

import (
	"fmt"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// guardDowngrade lets a downgrade begin only from one minor to the next lower one, while every member serves: from then
// on no new one can join.
func guardDowngrade(o facts.View, c changes.EnableDowngrade) string {
	if !o.Membership.Known || len(o.Membership.Members) > len(o.HealthyVoters()) {
		return "no member can join during a downgrade, and not every member is a voter that serves."
	}
	for _, r := range o.Voters() {
		runs, cluster := r.Answer.Version, r.Answer.Versions.Cluster
		if !cluster.SameMinor(runs) || runs.Major != c.Minor.Major || runs.Minor != c.Minor.Minor+1 {
			return fmt.Sprintf("%s runs %s in a cluster of version %s, and %s is not one minor below.", r.Name, runs,
				cluster.MinorString(), c.Minor.MinorString())
		}
	}
	return ""
}

// guardFormat lets the first member go to a lower minor only once each member says that its data followed.
func guardFormat(o facts.View, r facts.Replica, version etcdutil.Version) string {
	if version.Compare(r.Record().Version) > 0 {
		return ""
	}
	for _, other := range o.HealthyVoters() {
		if format := other.Answer.Versions.Storage; format.Compare(version) > 0 && !format.SameMinor(version) {
			return fmt.Sprintf("the data of %s is in the format of %s, which etcd %s cannot read.", other.Name,
				format.MinorString(), version)
		}
	}
	return ""
}

// guardCancel asks for no more than that etcd can agree on it. What runs goes on, and etcd raises the cluster version
// only once every member runs the higher minor.
func guardCancel(o facts.View) string {
	if !o.Membership.Known {
		return "the member list is not known."
	}
	return ""
}
