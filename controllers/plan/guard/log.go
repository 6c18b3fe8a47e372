package guard

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// firstBlind is the first minor of etcd that cannot read what 3.5 wrote to raft's log.
var firstBlind = etcdutil.Version{Major: 3, Minor: 7}

// guardUncovered lets no member go to a minor that cannot read what 3.5 wrote, while its log may still hold that. Where
// another voter serves with that minor, it was covered before; no 3.5 could join since.
func guardUncovered(o facts.View, r facts.Replica, version etcdutil.Version) string {
	isAhead := func(other facts.Replica) bool {
		return other.IsHealthy(o.Membership) && other.Answer.Version.Compare(firstBlind) >= 0
	}
	if version.Compare(firstBlind) < 0 || r.Record().Version.Compare(firstBlind) >= 0 ||
		slices.ContainsFunc(o.Voters(), isAhead) || o.IsLogCovered() {
		return ""
	}
	return fmt.Sprintf("raft's log of %s may still hold what etcd 3.5 wrote, and %s cannot read it.", r.Name, version)
}

// guardLogMark lets a mark be written only of what the member says now, and while no 3.5 can write.
func guardLogMark(o facts.View, r facts.Replica, mark record.LogMark) string {
	if mark == r.Record().LogMark || mark == (record.LogMark{}) {
		return ""
	}
	if !o.MayMarkLog() || mark != o.NextLogMark(r) {
		return fmt.Sprintf("%s does not say how far it is in raft's log while every voter runs 3.6.", r.Name)
	}
	return ""
}

// guardAppend adds more than one entry only while all voters take them: one that lags would fall behind further.
func guardAppend(o facts.View, c changes.AppendEntries) string {
	isOne := c.Until == 0
	if !o.Membership.Known || !isOne && len(o.HealthyVoters()) < len(o.Voters()) {
		return "entries are added to raft's log only while every voter answers."
	}
	return ""
}
