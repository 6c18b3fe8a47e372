package report

import (
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of the conditions of an EtcdRestore, each with a sentence in docs/restore.md. Beside them stand those of the
// planner, with the word of the rule that carries the restore out.
const (
	RestoreReasonApproved        = "Approved"               // the approval quotes the evidence
	RestoreReasonMissing         = "ApprovalMissing"        // there is no approval
	RestoreReasonStale           = "ApprovalStale"          // the approval quotes other evidence than there is
	RestoreReasonAnother         = "AnotherRestore"         // another EtcdRestore is carried out first
	RestoreReasonNotBootstrapped = "ClusterNotBootstrapped" // the cluster never served
	RestoreReasonAbsent          = "ClusterMissing"         // there is no such cluster
	RestoreReasonWaiting         = "Waiting"                // nothing was begun
	RestoreReasonRestoring       = "Restoring"              // the data is restored on the volumes of the next members
	RestoreReasonPrepared        = "Prepared"               // it lies there
	RestoreReasonComplete        = "Complete"               // the cluster serves with it
	RestoreReasonAfter           = "Superseded"             // another restore took its place before it was complete
)

// conditions are all conditions, always in the same order; Failed is there only while True.
func (r restore) conditions() []metav1.Condition {
	all := []metav1.Condition{r.approved(), r.prepared(), r.complete()}
	if note := r.held(); note != nil {
		all = append(all, is(v1alpha1.RestoreFailed, metav1.ConditionTrue, note.Reason, note.Message))
	}
	return all
}

func (r restore) approved() metav1.Condition {
	approved := func(status metav1.ConditionStatus, reason string, says ...string) metav1.Condition {
		return is(v1alpha1.RestoreApproved, status, reason, join(says...))
	}
	evidence := plan.EvidenceOf(r.Observation)
	digest := evidence.Digest
	switch r.standing {
	case plan.StandingNotBootstrapped:
		return approved(metav1.ConditionFalse, RestoreReasonNotBootstrapped,
			"The cluster has never served, so there is no data to replace. To create a cluster from a backup, use "+
				"spec.bootstrap.restore.")
	case plan.StandingMissing:
		return approved(metav1.ConditionFalse, RestoreReasonMissing, "The operator does nothing without an approval.",
			r.choice(digest))
	case plan.StandingStale:
		return approved(metav1.ConditionFalse, RestoreReasonStale, r.stale(digest), r.choice(digest))
	case plan.StandingRestoring:
		if !evidence.Accepts(r.request.Approval) {
			return approved(metav1.ConditionFalse, RestoreReasonStale, r.stale(digest),
				"The data is still restored on new volumes, and the old members are not stopped before you "+
					"approve again.", r.way(digest))
		}
	case plan.StandingApproved, plan.StandingAnother, plan.StandingMoved, plan.StandingComplete:
	}
	return approved(metav1.ConditionTrue, RestoreReasonApproved, "The approval matches the evidence.")
}

// choice says what would be lost, how to approve it, and how to refuse it. What can restore nothing is not to approve.
func (r restore) choice(digest string) string {
	refuse := fmt.Sprintf("kubectl delete etcdrestore %s -n %s", r.name(), r.object.Namespace)
	if w := r.request.WantedBackup; w.Fault != "" && !w.Later {
		return join("Nothing can be restored:", sentence(w.Fault), "To remove this EtcdRestore: "+refuse)
	}
	return join(r.loss(), r.way(digest), "To refuse it: "+refuse)
}

func (r restore) stale(digest string) string {
	return fmt.Sprintf("Approval %s does not match the current evidence %s: the members, their losses or the quorum "+
		"changed, or the approval expired. Review the evidence and approve again. An approval given while quorum "+
		"held is still valid when quorum is unknown.",
		r.request.Approval, digest)
}

// loss says what would be given up by this very restore.
func (r restore) loss() string {
	at := ""
	if r.evidence != nil && r.evidence.Revision > 0 {
		at = fmt.Sprintf(" The cluster is at revision %d or later.", r.evidence.Revision)
	}
	switch r.request.Source {
	case record.SourceSurvivor:
		return fmt.Sprintf("All data that %s does not hold would be lost.%s", r.request.Survivor, at)
	case record.SourceEmpty:
		return "Every key would be lost." + at
	case record.SourcePrevious:
		return "Nothing is lost that a client was told is written: the restored data was never served. Its volumes " +
			"are kept."
	case record.SourceBackup:
	}
	if b := r.named(); b != nil {
		return fmt.Sprintf("Everything after revision %d, at which %s was taken at %s, would be lost.%s",
			b.Revision, b.Name, seconds(b.StartedAt).UTC().Format("2006-01-02T15:04:05Z"), at)
	}
	return "Everything after the backup would be lost." + at
}

// named is the EtcdBackup that the restore names, if it is one that is complete.
func (r restore) named() *Backup {
	ref := r.object.Spec.Source.BackupRef
	if ref == nil {
		return nil
	}
	for i := range r.Backups {
		if r.Backups[i].Name == ref.Name {
			return &r.Backups[i]
		}
	}
	return nil
}

// way is how to approve it.
func (r restore) way(digest string) string {
	return fmt.Sprintf(
		`Read status.evidence of the EtcdCluster, then: `+
			`kubectl patch etcdrestore %s -n %s --type merge -p '{"spec":{"approval":"%s"}}'`,
		r.name(), r.object.Namespace, digest)
}

func (r restore) prepared() metav1.Condition {
	isBegun := r.standing == plan.StandingMoved || r.standing == plan.StandingComplete
	if isBegun && r.request.Source == record.SourcePrevious {
		return is(v1alpha1.RestorePrepared, metav1.ConditionTrue, RestoreReasonPrepared,
			"Nothing has to be restored: the previous volumes are there.")
	}
	switch r.standing {
	case plan.StandingMoved, plan.StandingComplete:
		return is(v1alpha1.RestorePrepared, metav1.ConditionTrue, RestoreReasonPrepared,
			join("Every volume of the next members is restored.", caveats(r.origin())))
	case plan.StandingRestoring:
		return r.restoring()
	case plan.StandingNotBootstrapped, plan.StandingMissing, plan.StandingStale, plan.StandingAnother,
		plan.StandingApproved:
	}
	return is(v1alpha1.RestorePrepared, metav1.ConditionFalse, RestoreReasonWaiting,
		"The operator has made nothing for it yet.")
}

func (r restore) restoring() metav1.Condition {
	var missing []string
	for _, replica := range r.Observation.Next.Members {
		if !isPrepared(replica, r.request.Source) {
			missing = append(missing, replica.Name)
		}
	}
	if len(missing) == 0 {
		return is(v1alpha1.RestorePrepared, metav1.ConditionTrue, RestoreReasonPrepared,
			join("Every volume of the next members is restored.", r.meanwhile(), caveats(r.origin())))
	}
	return is(v1alpha1.RestorePrepared, metav1.ConditionFalse, RestoreReasonRestoring,
		fmt.Sprintf("The volumes of these next members are not restored yet: %s. %s",
			strings.Join(missing, ", "), r.meanwhile()))
}

// meanwhile says how the old members are until the switch-over.
func (r restore) meanwhile() string {
	if plan.EvidenceOf(r.Observation).Quorum == plan.QuorumHolds {
		return "The old members serve on."
	}
	return "No data of the old members is deleted."
}

func isPrepared(r facts.Replica, source record.Source) bool {
	v := r.Volume
	return v != nil && (r.Restoring == nil || r.Restoring.Holds) &&
		(source == record.SourceEmpty || v.Restored != "" && v.Restored == v.Incarnation)
}

func (r restore) complete() metav1.Condition {
	condition := func(reason, message string) metav1.Condition {
		return is(v1alpha1.RestoreComplete, metav1.ConditionFalse, reason, message)
	}
	switch r.standing {
	case plan.StandingComplete:
		return r.completed()
	case plan.StandingAnother:
		return condition(RestoreReasonAnother, r.another())
	case plan.StandingMissing:
		return condition(RestoreReasonMissing, "It waits for its approval.")
	case plan.StandingStale:
		return condition(RestoreReasonStale, "It waits for an approval of the current evidence.")
	case plan.StandingNotBootstrapped:
		return condition(RestoreReasonNotBootstrapped, "The cluster has never served.")
	case plan.StandingApproved, plan.StandingRestoring, plan.StandingMoved:
	}
	if note := r.note(); note != nil {
		return condition(note.Reason, note.Message)
	}
	return condition(RestoreReasonWaiting, sentence(r.Decision.Message))
}

// another names the one that is carried out first: it may wait for a person for a long time.
func (r restore) another() string {
	first := plan.ChosenBefore(r.Observation, r.request)
	return fmt.Sprintf("The EtcdRestore %s of this cluster is carried out first. After that this approval is stale. "+
		"To carry out this one instead, delete %s or take its approval back: "+
		`kubectl patch etcdrestore %s -n %s --type merge -p '{"spec":{"approval":""}}'`, first, first,
		first, r.object.Namespace)
}

// completed tells of an incarnation that serves, or of one that has ended as well.
func (r restore) completed() metav1.Condition {
	serves := "The cluster serves with the restored data."
	if r.request.Source == record.SourcePrevious {
		serves = "The cluster serves with the data that it held before the last switch-over."
	}
	switch {
	case !r.isSuperseded():
		return is(v1alpha1.RestoreComplete, metav1.ConditionTrue, RestoreReasonComplete,
			join(serves, caveats(r.origin()), r.keeping()))
	case r.object.Status.CompletedAt == nil:
		return is(v1alpha1.RestoreComplete, metav1.ConditionFalse, RestoreReasonAfter,
			join("Another EtcdRestore took its place before the cluster was seen to serve with the restored data.",
				r.keeping()))
	}
	return is(v1alpha1.RestoreComplete, metav1.ConditionTrue, RestoreReasonComplete,
		join("The cluster served with the restored data until another EtcdRestore took its place.", r.keeping()))
}

// keeping says what became of the old volumes.
func (r restore) keeping() string {
	volumes := r.oldVolumes()
	switch {
	case len(volumes) == 0:
		return ""
	case r.request.DeletesOld:
		return "The old volumes are deleted: " + strings.Join(volumes, ", ") + "."
	}
	return fmt.Sprintf(
		`The old volumes are kept: %s. To delete them once you do not need them: `+
			`kubectl patch etcdrestore %s -n %s --type merge -p '{"spec":{"oldVolumes":"Delete"}}'`,
		strings.Join(volumes, ", "), r.name(), r.object.Namespace)
}
