package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// restore is one EtcdRestore in one pass over its cluster.
type restore struct {
	Input
	object   *v1alpha1.EtcdRestore
	request  facts.Request
	standing plan.Standing
	evidence *v1alpha1.EvidenceStatus
}

// Restore is the complete new status of an EtcdRestore that names the cluster; false when the pass did not see it. What
// the cluster's new status says of the evidence is said here in the same words, and as seldom.
func Restore(in Input, evidence *v1alpha1.EvidenceStatus,
	r *v1alpha1.EtcdRestore) (v1alpha1.EtcdRestoreStatus, bool) {
	i := slices.IndexFunc(in.Observation.Requests, func(q facts.Request) bool { return q.Name == r.Name })
	if i < 0 || in.IsBlind {
		return v1alpha1.EtcdRestoreStatus{}, false
	}
	request := in.Observation.Requests[i]
	x := restore{Input: in, object: r, request: request, standing: plan.StandingOf(in.Observation, request),
		evidence: evidence}
	wasComplete := r.Status.CompletedAt != nil
	switch {
	case x.standing == plan.StandingMoved && wasComplete: // a cluster that went back served since
		x.standing = plan.StandingComplete
	case x.standing == plan.StandingComplete && !wasComplete && !x.isSuperseded() &&
		in.Observation.Current.HasQuorum() && !leadsClients(in.Observation):
		x.standing = plan.StandingMoved // a client that waits for it would connect in vain
	}
	return x.status(), true
}

// leadsClients reports a cluster whose client Service leads to a member.
func leadsClients(o facts.Observation) bool {
	return slices.ContainsFunc(o.Current.Members, func(r facts.Replica) bool {
		return r.Pod != nil && r.Pod.Role == facts.RoleVoter
	})
}

func (r restore) status() v1alpha1.EtcdRestoreStatus {
	old := r.object.Status
	status := v1alpha1.EtcdRestoreStatus{
		ObservedGeneration: r.object.Generation,
		Conditions:         words.Since(r.Observation.Now, r.object.Generation, r.conditions(), old.Conditions),
		Stage:              r.stage(),
		Evidence:           plan.EvidenceOf(r.Observation).Digest,
		OldVolumes:         r.oldVolumes(),
		StartedAt:          r.startedAt(),
		CompletedAt:        r.completedAt(),
		Key:                old.Key, Revision: old.Revision,
	}
	status.FromIncarnation, status.ToIncarnation = r.incarnations()
	if origin := r.origin(); !origin.IsZero() {
		status.Key, status.Revision = origin.Key, origin.Revision
	}
	return status
}

// Stages of an EtcdRestore.
const (
	stageWaiting   = "Waiting"   // for an approval, for another one, or, while it is Failed, for a person
	stageLooking   = "Checking"  // at the backup
	stageRestoring = "Restoring" // the data on the volumes of the next members
	stageStopping  = "Stopping"  // the old members
	stageStarting  = "Starting"  // the next members
	stageComplete  = "Complete"
	stageFailed    = "Failed" // for good: another one took its place before it was seen to be complete
)

func (r restore) stage() string {
	hasPod := func(replica facts.Replica) bool { return replica.Pod != nil }
	switch r.standing {
	case plan.StandingComplete:
		if r.isSuperseded() && r.object.Status.CompletedAt == nil {
			return stageFailed
		}
		return stageComplete
	case plan.StandingMoved:
		if slices.ContainsFunc(r.Observation.FormerMembers(), hasPod) {
			return stageStopping
		}
		return stageStarting
	case plan.StandingRestoring:
		return stageRestoring
	case plan.StandingApproved:
		if r.held() != nil {
			return stageWaiting
		}
		return stageLooking
	case plan.StandingNotBootstrapped, plan.StandingMissing, plan.StandingStale, plan.StandingAnother:
	}
	return stageWaiting
}

// incarnations are the one that ends with this restore, and the one that begins with it; empty where nothing is known
// of them.
func (r restore) incarnations() (from, to string) {
	bootstrap := r.Observation.Current.Bootstrap
	all := append(slices.Clone(bootstrap.Former),
		record.Former{Incarnation: bootstrap.Incarnation, Restore: bootstrap.Restore},
		record.Former{Incarnation: bootstrap.Next.Incarnation, Restore: bootstrap.Next.Restore})
	for i, incarnation := range all {
		isGivenUp := incarnation.Back != "" // then the one that it had followed came after it
		switch {
		case isGivenUp && incarnation.Back == r.request.ID:
			return incarnation.Incarnation, all[i+1].Incarnation
		case isGivenUp && incarnation.Restore == r.request.ID:
			return all[i+1].Incarnation, incarnation.Incarnation
		case incarnation.Restore == r.request.ID:
			return from, incarnation.Incarnation
		case !isGivenUp:
			from = incarnation.Incarnation
		}
	}
	return "", ""
}

// origin is what the incarnation of this restore begins with, as long as the record says it.
func (r restore) origin() record.Origin {
	bootstrap := r.Observation.Current.Bootstrap
	switch r.request.ID {
	case bootstrap.Next.Restore:
		return bootstrap.Next.Origin
	case bootstrap.Restore:
		return bootstrap.Origin
	}
	return record.Origin{}
}

// oldVolumes are those of the former incarnation, as long as they are there.
func (r restore) oldVolumes() []string {
	from, _ := r.incarnations()
	if r.standing != plan.StandingMoved && r.standing != plan.StandingComplete || from == "" {
		return nil
	}
	var names []string
	for _, replica := range r.Observation.FormerMembers() {
		if v := replica.Volume; v != nil && (r.Observation.Current.IsEndedBy(r.request.ID, v) || v.Superseded == "" &&
			v.Incarnation == from) {
			names = append(names, replica.Name)
		}
	}
	return names
}

// startedAt is when the first volume of the incarnation of this restore was made. One that goes back makes none: then
// it is when that was first seen.
func (r restore) startedAt() *metav1.Time {
	_, to := r.incarnations()
	old, first := r.object.Status.StartedAt, r.firstMade(to)
	if r.request.Source == record.SourcePrevious && to != "" {
		first = r.Observation.Now
	}
	if old != nil && to != "" || first.IsZero() {
		return old
	}
	return new(seconds(first))
}

// firstMade is when the first volume of an incarnation was made; zero where none was.
func (r restore) firstMade(incarnation string) time.Time {
	var first time.Time
	for _, replica := range slices.Concat(r.Observation.Next.Members, r.Observation.Current.Members) {
		if v := replica.Volume; incarnation != "" && v != nil && v.Incarnation == incarnation &&
			(first.IsZero() || v.Created.Before(first)) {
			first = v.Created
		}
	}
	return first
}

// completedAt is when this was first seen: nothing in the world says since when a cluster serves.
func (r restore) completedAt() *metav1.Time {
	switch {
	case r.standing != plan.StandingComplete:
		return nil
	case r.object.Status.CompletedAt != nil || r.isSuperseded():
		return r.object.Status.CompletedAt
	}
	return new(seconds(r.Observation.Now))
}

// isSuperseded reports that the incarnation of this restore has ended as well. Nothing in the world says then whether
// it ever served.
func (r restore) isSuperseded() bool {
	_, to := r.incarnations()
	return r.standing == plan.StandingComplete && r.Observation.Current.Bootstrap.Incarnation != to
}

// held is what keeps a restore from going on without a person; nil when nothing does. A restore that waits may go on
// when its approver has forgotten it, so it says how to end that, as long as it can be ended.
func (r restore) held() *facts.Note {
	if r.standing != plan.StandingApproved && r.standing != plan.StandingRestoring && r.standing != plan.StandingMoved {
		return nil
	}
	note := r.note()
	if note == nil || !note.NeedsHuman {
		return nil
	}
	if r.standing != plan.StandingMoved {
		note.Message += fmt.Sprintf(" It goes on once that is done. Its approval expires after 24–48 h; "+
			"then approve again. To end it for good, delete the EtcdRestore. To stop it until you approve again: "+
			`kubectl patch etcdrestore %s -n %s --type merge -p '{"spec":{"approval":""}}'`, r.name(),
			r.object.Namespace)
	}
	return note
}

// note is what the planner says of the restore that it carries out; nil when it says nothing.
func (r restore) note() *facts.Note {
	d := r.Decision
	notes := append([]facts.Note{d.Note()}, d.Trace.Yielded()...)
	isAbout := func(n facts.Note) bool { return slices.Contains(restoreRules, n.Rule) }
	if r.standing == plan.StandingMoved && !slices.ContainsFunc(notes, isAbout) {
		return &notes[0] // all that is done now is done for it
	}
	i := slices.IndexFunc(notes, isAbout)
	if i < 0 {
		return nil
	}
	notes[i].Message = sentence(notes[i].Message)
	return &notes[i]
}

// restoreRules are those that carry a restore out.
var restoreRules = []string{"restore-fence", "restore-call-off", "restore-begin", "restore-prepare",
	"restore-switch-over", "restore-go-back", "collect"}

func (r restore) name() string { return cmp.Or(r.object.Name, r.request.Name) }

// RestoreEvents are what became different about an EtcdRestore. The caller sends them after the status was stored.
func RestoreEvents(old, now v1alpha1.EtcdRestoreStatus) []words.Event {
	var events []words.Event
	for kind, reason := range map[string]string{
		v1alpha1.RestoreApproved: EventRestoreApproved, v1alpha1.RestorePrepared: EventRestorePrepared,
		v1alpha1.RestoreComplete: EventRestoreComplete,
	} {
		if c := turned(old, now, kind); c != nil {
			events = append(events, normal(reason, actionObserve, shorten(c.Message))...)
		}
	}
	approved := meta.FindStatusCondition(now.Conditions, v1alpha1.RestoreApproved)
	before := meta.FindStatusCondition(old.Conditions, v1alpha1.RestoreApproved)
	if approved != nil && approved.Reason == RestoreReasonMissing && before == nil {
		events = append(events, normal(EventRestoreWaits, actionObserve, shorten(approved.Message))...)
	}
	if c := turned(old, now, v1alpha1.RestoreFailed); c != nil {
		events = append(events, warning(c.Reason, actionDecide, shorten(c.Message))...)
	}
	return events
}

// turned is a condition that became True just now; nil when it did not.
func turned(old, now v1alpha1.EtcdRestoreStatus, kind string) *metav1.Condition {
	if !meta.IsStatusConditionTrue(now.Conditions, kind) || meta.IsStatusConditionTrue(old.Conditions, kind) {
		return nil
	}
	return meta.FindStatusCondition(now.Conditions, kind)
}

// Orphan is the status of an EtcdRestore whose cluster does not exist. No pass over a cluster reports it.
func Orphan(now time.Time, r *v1alpha1.EtcdRestore) v1alpha1.EtcdRestoreStatus {
	says := NoCluster(r)
	status := v1alpha1.EtcdRestoreStatus{
		ObservedGeneration: r.Generation, Stage: stageWaiting, Key: r.Status.Key, Revision: r.Status.Revision,
		FromIncarnation: r.Status.FromIncarnation, ToIncarnation: r.Status.ToIncarnation, StartedAt: r.Status.StartedAt,
		CompletedAt: r.Status.CompletedAt,
	}
	for _, kind := range []string{v1alpha1.RestoreApproved, v1alpha1.RestorePrepared, v1alpha1.RestoreComplete} {
		status.Conditions = append(status.Conditions, is(kind, metav1.ConditionFalse, RestoreReasonAbsent, says))
	}
	status.Conditions = words.Since(now, r.Generation, status.Conditions, r.Status.Conditions)
	return status
}

// NoCluster says that the cluster of an EtcdRestore does not exist.
func NoCluster(r *v1alpha1.EtcdRestore) string {
	return "There is no EtcdCluster " + r.Spec.ClusterRef.Name +
		" in this namespace. To create a cluster from a backup, use spec.bootstrap.restore."
}

// RestoreStates are all that RestoreState says.
var RestoreStates = []string{"waiting", "running", "complete", "failed"}

// RestoreState is what an EtcdRestore is in one word, for metrics: failed is one that does not go on without a person.
func RestoreState(status v1alpha1.EtcdRestoreStatus) string {
	switch {
	case status.Stage == stageFailed, meta.IsStatusConditionTrue(status.Conditions, v1alpha1.RestoreFailed):
		return "failed"
	case status.Stage == stageComplete:
		return "complete"
	case status.Stage == stageWaiting, status.Stage == "":
		return "waiting"
	}
	return "running"
}
