package report

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// members are the replicas that a person would call members: in the list, or with a Pod or a volume, or, while the list
// is not known, remembered by a survivor.
func (in Input) members() []v1alpha1.MemberStatus {
	var out []v1alpha1.MemberStatus
	remembered, judged := in.remembered(), judge.Members(in.Observation)
	for _, r := range in.Observation.Current.Members {
		id, isRemembered := remembered[r.Name]
		if r.Member != nil || r.Pod != nil || r.Volume != nil || isRemembered {
			m := in.member(r, id, in.oldMember(r.Name))
			m.Reason = judged[r.Name].Reason
			out = append(out, m)
		}
	}
	return out
}

// remembered are the members, with their IDs, that a survivor without quorum still has in its own list.
func (in Input) remembered() map[string]etcdutil.ID {
	o := in.Observation
	out := map[string]etcdutil.ID{}
	for _, m := range o.Current.Membership.LastKnown {
		for _, url := range m.PeerURLs {
			if name, ok := etcdutil.MemberFromPeerURL(url, o.Cluster.Name, o.Cluster.Namespace); ok {
				out[name] = m.ID
			}
		}
	}
	return out
}

func (in Input) member(r facts.Replica, remembered etcdutil.ID, old v1alpha1.MemberStatus) v1alpha1.MemberStatus {
	o := in.Observation
	m := v1alpha1.MemberStatus{
		Name: r.Name, ID: memberID(r, remembered), Role: memberRole(r), Healthy: r.IsHealthy(o.Current.Membership),
		CertificateExpiry: certificateExpiry(r, old.CertificateExpiry),
	}
	if v := runningVersion(r); !v.IsZero() {
		m.Version = v.String()
	}
	if r.Pod != nil {
		m.PodName, m.NodeName = r.Name, r.Pod.Node
	}
	if r.Volume != nil {
		m.StorageClassName = r.Volume.Class
	}
	if r.Answer != nil {
		m.DBSize = in.hold(old.DBSize, r.Answer.DBSize)
		m.DBSizeInUse = in.hold(old.DBSizeInUse, r.Answer.DBSizeInUse)
	}
	if quota := r.RunsWith().QuotaBytes; quota > 0 {
		m.QuotaBackendBytes = old.QuotaBackendBytes
		if m.QuotaBackendBytes == nil || m.QuotaBackendBytes.Value() != quota {
			m.QuotaBackendBytes = resource.NewQuantity(quota, resource.BinarySI)
		}
	}
	m.Defragmentation = defragmentation(r, old.Defragmentation)
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

// memberID is what the list says, else what the member says, else what is recorded beside its data, else what a
// survivor remembers.
func memberID(r facts.Replica, remembered etcdutil.ID) string {
	id := cmp.Or(r.Record().MemberID, remembered)
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
func memberRole(r facts.Replica) string {
	switch {
	case r.IsVoter():
		return v1alpha1.RoleVoter
	case r.IsLearner():
		return v1alpha1.RoleLearner
	}
	return ""
}

// runningVersion is what the member says it runs, else what its running container was made from; zero when it does not
// run.
func runningVersion(r facts.Replica) etcdutil.Version {
	switch {
	case r.Answer != nil:
		return r.Answer.Version
	case r.Pod != nil && r.Pod.Running:
		return r.Pod.Settings.Version
	}
	return etcdutil.Version{}
}

// lowestVersion is the lowest version that a member runs; zero when none does.
func lowestVersion(o facts.Observation) etcdutil.Version {
	var lowest etcdutil.Version
	for _, r := range o.Current.Members {
		if v := runningVersion(r); !v.IsZero() && (lowest.IsZero() || v.Compare(lowest) < 0) {
			lowest = v
		}
	}
	return lowest
}

// stoppedMembers names the members whose container does not run.
func stoppedMembers(o facts.Observation) []string {
	return namesOf(o, func(r facts.Replica) bool { return r.Member != nil && (r.Pod == nil || !r.Pod.Running) })
}

// outdatedMembers names the members that are made with other settings than those of this spec, or that run with others
// until they are restarted; while the list is not known, every replica that has a Pod counts as one.
func outdatedMembers(o facts.Observation) []string {
	return namesOf(o, func(r facts.Replica) bool {
		isMember := r.Member != nil || !o.Current.Membership.Known && r.Pod != nil
		isPlaced := r.IsUnwanted || r.IsDrained() || r.WhyMoved(o.Desired) == "" // who asks for these is not the spec
		isSo := isPlaced && o.Desired.IsMetBy(r.Settings()) && o.Desired.IsMetBy(r.RunsWith())
		return isMember && !r.Settings().IsZero() && !isSo
	})
}

func namesOf(o facts.Observation, counts func(facts.Replica) bool) []string {
	var names []string
	for _, r := range o.Current.Members {
		if counts(r) {
			names = append(names, r.Name)
		}
	}
	return names
}

// updatedMembers counts the members that run with the settings of this spec.
func updatedMembers(o facts.Observation) int32 {
	return int32(len(namesOf(o, func(r facts.Replica) bool {
		return (r.Member != nil || !o.Current.Membership.Known) && r.Pod != nil && r.Pod.Running &&
			o.Desired.IsMetBy(r.Pod.Settings)
	})))
}

func certificateExpiry(r facts.Replica, old *metav1.Time) *metav1.Time {
	if r.Secret.NotAfter.IsZero() {
		return nil
	}
	return holdTime(old, r.Secret.NotAfter)
}

const mebi = 1 << 20

// hold is the size in whole Mi, rounded up. It stays at what was written before until it has moved by a tenth of the
// quota, or until the status is written anyway.
func (in Input) hold(old *resource.Quantity, bytes int64) *resource.Quantity {
	rounded := (bytes + mebi - 1) / mebi * mebi
	if old != nil {
		quota := in.Cluster.Spec.QuotaOrDefault()
		moved := max(bytes-old.Value(), old.Value()-bytes)
		if old.Value() == rounded || !in.fresh && moved < max(quota.Value()/10, mebi) {
			return old
		}
	}
	return resource.NewQuantity(rounded, resource.BinarySI)
}

// sidecars counts members' Pods by their sidecars; nil where neither the spec nor a Pod has any.
func sidecars(o facts.Observation) *v1alpha1.SidecarsStatus {
	counts, wanted := v1alpha1.SidecarsStatus{}, o.Desired.Settings.Sidecars
	isAny := wanted != ""
	for _, r := range o.Current.Members {
		if r.Pod == nil {
			continue
		}
		counts.Matched++
		if r.Pod.Settings.Sidecars == wanted {
			counts.Updated++
		}
		isAny = isAny || len(r.Pod.Sidecars) > 0
		isUnready := func(s facts.Sidecar) bool { return !s.Ready }
		if len(r.Pod.Sidecars) > 0 && !slices.ContainsFunc(r.Pod.Sidecars, isUnready) {
			counts.Ready++
		}
	}
	if !isAny {
		return nil
	}
	return &counts
}

// keptVolumes are the volumes of replaced members, in the order in which they were observed.
func (in Input) keptVolumes() []v1alpha1.KeptVolume {
	var kept []v1alpha1.KeptVolume
	for _, v := range in.Observation.Kept {
		kept = append(kept, in.keptVolume(v, in.oldVolume(v.Name)))
	}
	return kept
}

// keptVolume leaves the times out while it is not known since when the volume is kept.
func (in Input) keptVolume(v facts.KeptVolume, old v1alpha1.KeptVolume) v1alpha1.KeptVolume {
	kept := v1alpha1.KeptVolume{Name: v.Name, Reason: string(v.For), UnusedSince: unusedSince(v, old)}
	if v.Since.IsZero() {
		return kept
	}
	kept.Since = holdTime(old.Since, v.Since)
	if v.For != facts.CauseCorruption {
		kept.Until = holdTime(old.Until, v.Since.Add(in.Observation.Desired.KeepVolumes))
	}
	return kept
}

// unusedSince falls back to when a volume was put aside: its member's Pod is gone by then.
func unusedSince(v facts.KeptVolume, old v1alpha1.KeptVolume) *metav1.Time {
	at := v.Usage.UnusedSince
	if at.IsZero() {
		at = v.Since
	}
	if v.Usage.InUse || at.IsZero() {
		return nil
	}
	return holdTime(old.UnusedSince, at)
}

func (in Input) oldVolume(name string) v1alpha1.KeptVolume {
	for _, v := range in.old().KeptVolumes {
		if v.Name == name {
			return v
		}
	}
	return v1alpha1.KeptVolume{}
}

// holdTime is the old value itself while it is the same, so that two statuses compare as deeply equal.
func holdTime(old *metav1.Time, at time.Time) *metav1.Time {
	now := seconds(at)
	if old.Equal(&now) {
		return old
	}
	return &now
}

// keptByReason counts kept volumes. A reason that no member is replaced for was written by a person: it counts
// as Unknown, so that the set of reasons stays closed.
func keptByReason(volumes []v1alpha1.KeptVolume) map[string]int {
	counts := map[string]int{}
	for _, v := range volumes {
		reason := facts.CauseUnknown
		if kind := facts.Cause(v.Reason).Kind(); kind == facts.OwnKind || kind == facts.DoubtKind {
			reason = facts.Cause(v.Reason)
		}
		counts[string(reason)]++
	}
	return counts
}
