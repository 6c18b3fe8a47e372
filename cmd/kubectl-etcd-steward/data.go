package main

import (
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// dataOf says what is known of the copies of the data; "" before there is any.
func dataOf(in seen) string {
	status := in.cluster.Status
	if status.ClusterID == "" {
		return ""
	}
	says := strings.TrimSpace(copiesOf(in.cluster) + " " + lostCopies(status))
	if in.operator.State == operatorGone {
		says = "When the operator looked last: " + says
	}
	return says
}

// data is that with how much of it is in a proven backup.
func (p page) data() string {
	switch at := p.Backup.Proven; {
	case p.Data == "":
		return ""
	case at != nil:
		return fmt.Sprintf("%s The newest proven backup is %s old.", p.Data, age(at.Time.Time, p.now))
	}
	return p.Data + " No proven backup is known."
}

// copiesOf says which members answer with a copy, and what it lies on.
func copiesOf(c *v1alpha1.EtcdCluster) string {
	status, on := c.Status, "on a volume of its own"
	if c.Spec.Storage != nil && c.Spec.Storage.Ephemeral != nil {
		on = "in its Pod, and lost with it"
	}
	switch {
	case isAsleep(status):
		return "No member runs, and their volumes are kept."
	case status.Quorum == nil:
		return "No quorum answers, so it is not known how many copies are whole: delete no volume."
	case status.Size == 1 && status.ReadyMembers == 1:
		return fmt.Sprintf("The only member has the only copy, %s.", on)
	}
	return fmt.Sprintf("%d of %d members answer, each with a copy %s.", status.ReadyMembers,
		max(status.Size, c.Spec.Size), on)
}

// lostCopies names the members whose volume is gone. One that just joins has none yet, and no vote.
func lostCopies(status v1alpha1.EtcdClusterStatus) string {
	var lost []string
	for _, m := range status.Members {
		isGone := m.Reason == facts.MemberNoVolume || m.Reason == facts.MemberVolumeLost
		if isGone && (m.Role == v1alpha1.RoleVoter || status.Quorum == nil) && !isAsleep(status) {
			lost = append(lost, m.Name)
		}
	}
	if len(lost) == 0 {
		return ""
	}
	return fmt.Sprintf("Their volume is gone: %s.", strings.Join(lost, ", "))
}
