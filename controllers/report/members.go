package report

import (
	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// members are the replicas that a person would call members: in the list, or with a Pod or a volume.
func (in Input) members() []v1alpha1.MemberStatus {
	var out []v1alpha1.MemberStatus
	for _, r := range in.Observation.Replicas {
		if r.Member != nil || r.Pod != nil || r.Volume != nil {
			out = append(out, in.member(r, in.oldMember(r.Name)))
		}
	}
	return out
}

func (in Input) member(r plan.Replica, old v1alpha1.MemberStatus) v1alpha1.MemberStatus {
	o := in.Observation
	m := v1alpha1.MemberStatus{
		Name: r.Name, ID: memberID(r), Role: memberRole(r), Healthy: r.IsHealthy(o.Membership), Reason: memberReason(o, r),
		CertificateExpiry: certificateExpiry(r, old.CertificateExpiry),
	}
	if v := runningVersion(r); !v.IsZero() {
		m.Version = v.String()
	}
	if r.Pod != nil {
		m.PodName, m.NodeName = r.Name, r.Pod.Node
	}
	if r.Answer != nil {
		step := in.quota() / 10
		m.DBSize = hold(old.DBSize, r.Answer.DBSize, step)
		m.DBSizeInUse = hold(old.DBSizeInUse, r.Answer.DBSizeInUse, step)
	}
	return m
}

func (in Input) oldMember(name string) v1alpha1.MemberStatus {
	for _, m := range in.Cluster.Status.Members {
		if m.Name == name {
			return m
		}
	}
	return v1alpha1.MemberStatus{}
}

// memberID is what the list says, else what the member says, else what is recorded beside its data.
func memberID(r plan.Replica) string {
	id := r.Record().MemberID
	switch {
	case r.Member != nil:
		id = r.Member.ID
	case r.Answer != nil:
		id = r.Answer.ID
	}
	if id == 0 {
		return ""
	}
	return id.String()
}

// memberRole is absent while the list is not known: what a member without quorum believes may be long past.
func memberRole(r plan.Replica) string {
	switch {
	case r.IsVoter():
		return v1alpha1.RoleVoter
	case r.IsLearner():
		return v1alpha1.RoleLearner
	}
	return ""
}

// runningVersion is what the member says it runs, else what its running container was made from; zero when it does not run.
func runningVersion(r plan.Replica) etcdutil.Version {
	switch {
	case r.Answer != nil:
		return r.Answer.Version
	case r.Pod != nil && r.Pod.Running:
		return r.Pod.Choices.Version
	}
	return etcdutil.Version{}
}

// lowestVersion is the lowest version that a member runs; zero when none does.
func lowestVersion(o plan.Observation) etcdutil.Version {
	var lowest etcdutil.Version
	for _, r := range o.Replicas {
		if v := runningVersion(r); !v.IsZero() && (lowest.IsZero() || v.Compare(lowest) < 0) {
			lowest = v
		}
	}
	return lowest
}

// running are the replicas that have a Pod and, where the list is known, are in it.
func running(o plan.Observation) []plan.Replica {
	var out []plan.Replica
	for _, r := range o.Replicas {
		if r.Pod != nil && (r.Member != nil || !o.Membership.Known) {
			out = append(out, r)
		}
	}
	return out
}

// outdated names the members that run with other settings than those of this spec, or do not run.
func outdated(o plan.Observation) []string {
	var names []string
	for _, r := range o.Replicas {
		isMember := r.Member != nil || !o.Membership.Known && (r.Pod != nil || r.IsRecorded())
		if isMember && (r.Pod == nil || r.Pod.Choices != o.Desired.Choices) {
			names = append(names, r.Name)
		}
	}
	return names
}

// certificateExpiry is the old value itself while it is the same, so that two statuses compare as deeply equal.
func certificateExpiry(r plan.Replica, old *metav1.Time) *metav1.Time {
	if r.Secret.NotAfter.IsZero() {
		return nil
	}
	expiry := seconds(r.Secret.NotAfter)
	if old.Equal(&expiry) {
		return old
	}
	return &expiry
}

// defaultQuota is the operator's own default of spec.etcd.quotaBackendBytes.
const defaultQuota = 2 << 30

func (in Input) quota() int64 {
	if etcd := in.Cluster.Spec.Etcd; etcd != nil && etcd.QuotaBackendBytes != nil {
		return etcd.QuotaBackendBytes.Value()
	}
	return defaultQuota
}

const mebi = 1 << 20

// hold is the size in whole Mi, rounded up. It stays at what was written before until it has moved by a step.
func hold(old *resource.Quantity, bytes, step int64) *resource.Quantity {
	if old != nil && max(bytes-old.Value(), old.Value()-bytes) < max(step, mebi) {
		return old
	}
	return resource.NewQuantity((bytes+mebi-1)/mebi*mebi, resource.BinarySI)
}
