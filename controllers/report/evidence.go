package report

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Backup is a complete backup of the cluster, as its EtcdBackup says.
type Backup struct {
	Name      string
	ClusterID string // etcd's identity of the cluster that it was taken of
	Revision  int64
	StartedAt time.Time // later writes may be missing in it
	Proven    bool      // it was restored and compared
}

// ShowsEvidence reports whether the status has to say what a restore would give up.
func ShowsEvidence(o facts.Observation) bool {
	return hasServed(o) && (len(o.Requests) > 0 || plan.EvidenceOf(o).Quorum == plan.QuorumLost ||
		plan.WayBack(o) != "")
}

// evidence is what a person has to read before anything is given up. While a quorum answers it is not written again for
// a revision alone: revisions move with every write of a client.
func (in Input) evidence() *v1alpha1.EvidenceStatus {
	if !ShowsEvidence(in.Observation) {
		return nil
	}
	e := plan.EvidenceOf(in.Observation)
	status := &v1alpha1.EvidenceStatus{
		Digest: e.Digest, Quorum: string(e.Quorum), Incarnation: e.Incarnation, Revision: e.Furthest().Revision,
		Members: membersIn(e),
	}
	if e.ClusterID != 0 {
		status.ClusterID = e.ClusterID.String()
	}
	status.Backup = in.newestBackup(e)
	in.holdEvidence(status)
	status.Message = in.losses(e, status)
	if old := in.old().Evidence; reflect.DeepEqual(old, status) {
		return old
	}
	return status
}

// holdEvidence leaves what was written before as it is, where nothing but a revision, or the zone of a time, is another
// one.
func (in Input) holdEvidence(status *v1alpha1.EvidenceStatus) {
	old := in.old().Evidence
	if old == nil || old.Digest != status.Digest {
		return
	}
	if status.Quorum == string(plan.QuorumHolds) && old.Quorum == status.Quorum && !in.fresh {
		status.Revision = cmp.Or(old.Revision, status.Revision)
	}
	if old.Backup != nil && status.Backup != nil && old.Backup.StartedAt.Equal(&status.Backup.StartedAt) {
		status.Backup.StartedAt = old.Backup.StartedAt
	}
}

func membersIn(e plan.Evidence) []v1alpha1.MemberEvidence {
	members := make([]v1alpha1.MemberEvidence, 0, len(e.Members))
	for _, m := range e.Members {
		shown := v1alpha1.MemberEvidence{Name: m.Name, State: string(m.State), Why: m.Why, VolumeUID: m.VolumeUID}
		if m.ID != 0 {
			shown.MemberID = m.ID.String()
		}
		if e.Quorum != plan.QuorumHolds {
			shown.Revision, shown.AppliedIndex = m.Revision, int64(m.Applied)
		}
		members = append(members, shown)
	}
	return members
}

// newestBackup is the newest one that was proven, of this incarnation of the cluster where there is one.
func (in Input) newestBackup(e plan.Evidence) *v1alpha1.BackupEvidence {
	proven := slices.DeleteFunc(slices.Clone(in.Backups), func(b Backup) bool { return !b.Proven })
	if len(proven) == 0 {
		return nil
	}
	isOurs := func(b Backup) int {
		if b.ClusterID == e.ClusterID.String() {
			return 1
		}
		return 0
	}
	newest := slices.MaxFunc(proven, func(a, b Backup) int {
		return cmp.Or(cmp.Compare(isOurs(a), isOurs(b)), cmp.Compare(a.Revision, b.Revision),
			a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.Name, b.Name))
	})
	return &v1alpha1.BackupEvidence{Name: newest.Name, ClusterID: newest.ClusterID, Revision: newest.Revision,
		StartedAt: seconds(newest.StartedAt)}
}

// losses says what each way would lose.
func (in Input) losses(e plan.Evidence, status *v1alpha1.EvidenceStatus) string {
	if e.Quorum != plan.QuorumLost {
		return join(stillAnswers(e), in.lossToBackup(e, status), in.lossToPrevious())
	}
	var lost []string
	for _, m := range e.Members {
		if m.Why != "" {
			lost = append(lost, fmt.Sprintf("%s (%s)", m.Name, m.Why))
		}
	}
	return join(
		fmt.Sprintf("%d of %d members have lost their data: %s. So no quorum is left. The operator rebuilds nothing "+
			"without an approved EtcdRestore.", len(lost), len(e.Members), strings.Join(lost, ", ")),
		lossToSurvivor(e), in.lossToBackup(e, status), "With source.empty everything would be lost.",
		in.lossToPrevious())
}

func stillAnswers(e plan.Evidence) string {
	if e.Quorum == plan.QuorumHolds {
		return "A quorum of the members answers, so only a backup may be restored."
	}
	const says = "No quorum answers, and it is not certain that it is lost: members that stopped answering " +
		"may come back."
	if len(e.Vanished) == 0 {
		return says
	}
	return says +
		fmt.Sprintf(" The first members %s have no volume, and nothing says whether they were removed before. "+
			"So source.survivor and source.empty are refused, and only a backup may be restored.",
			strings.Join(e.Vanished, ", "))
}

func lossToSurvivor(e plan.Evidence) string {
	m := e.Furthest()
	if m.Name == "" {
		return unheardSurvivors(e)
	}
	return fmt.Sprintf("With source.survivor %s the cluster gets all up to its revision %d. Newer writes that only "+
		"the lost members had are lost.", m.Name, m.Revision)
}

// unheardSurvivors are members whose data is there. How much it is, is unknown before one of them was started. Where
// there is none, a backup tool may have put volumes back.
func unheardSurvivors(e plan.Evidence) string {
	if unheard := inState(e, plan.MemberSilent); unheard != "" {
		return fmt.Sprintf("No member answers. source.survivor may name one that stopped answering (%s): it is "+
			"started without the others, stopped, and its volume is read.", unheard)
	}
	if copies := inState(e, plan.MemberPutBack); copies != "" {
		return fmt.Sprintf("No member still holds its own data. source.survivor may name one whose volume was put "+
			"back (%s): it is read as it is. What was written after that copy was made is lost, and nothing says "+
			"when that was.", copies)
	}
	return "No voter still holds the data, so source.survivor can name no member. A copy that a learner has may be " +
		"incomplete."
}

// inState are the names of the members in a state.
func inState(e plan.Evidence, state plan.MemberState) string {
	var names []string
	for _, m := range e.Members {
		if m.State == state {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}

// lossToPrevious says that a cluster that switched over to what never served can go back.
func (in Input) lossToPrevious() string {
	if plan.WayBack(in.Observation) == "" {
		return ""
	}
	return "With source.previous nothing is lost that a client was told is written: the cluster goes back to what it " +
		"held before the switch-over."
}

func (in Input) lossToBackup(e plan.Evidence, status *v1alpha1.EvidenceStatus) string {
	b := status.Backup
	if b == nil {
		return "No EtcdBackup of this cluster is complete, restored and compared. A store may hold one all the same: " +
			"look there before you approve source.empty."
	}
	says := fmt.Sprintf("With the EtcdBackup %s, of %s, everything after its revision %d would be lost", b.Name,
		b.StartedAt.UTC().Format(time.RFC3339), b.Revision)
	switch {
	case b.ClusterID != e.ClusterID.String():
		return says + ", and it is of a former incarnation of the cluster."
	case status.Revision > b.Revision:
		return fmt.Sprintf("%s; the members are at revision %d or later.", says, status.Revision)
	}
	return says + "."
}

// lastProven is the newest proven backup as the status shows it. It is not written again for the zone of its time.
func (in Input) lastProven() *v1alpha1.RestorePoint {
	b := in.Observation.Proven
	if b == nil {
		return nil
	}
	shown := &v1alpha1.RestorePoint{Time: seconds(b.Time.UTC()), Revision: b.Revision, Key: b.Key}
	if old := in.old().LastProvenBackup; old != nil && old.Time.Equal(&shown.Time) {
		shown.Time = old.Time
	}
	return shown
}

// backedUp says whether there is a backup as new as the spec, or else the cluster's schedules, want one.
func (in Input) backedUp(s step) metav1.Condition {
	o := in.Observation
	if in.IsBlind {
		return is(v1alpha1.ConditionBackedUp, metav1.ConditionUnknown, s.reason, s.message)
	}
	if isAsleep(o) {
		return is(v1alpha1.ConditionBackedUp, metav1.ConditionUnknown, facts.ReasonAsleep,
			"The cluster sleeps: nothing is written, and no backup is taken.")
	}
	if reason, why := in.whyNotBackedUp(); why != "" {
		return is(v1alpha1.ConditionBackedUp, metav1.ConditionFalse, reason, join(in.heldUp(), why))
	}
	switch {
	case o.Proven != nil:
		return is(v1alpha1.ConditionBackedUp, metav1.ConditionTrue, ReasonBackupProven,
			join(fmt.Sprintf("What was written before %s is in a backup that was restored and compared.",
				words.Format(o.Proven.Time)), in.provenBeforeRestore()))
	case slices.ContainsFunc(o.Schedules, func(s facts.Schedule) bool { return s.UpToDate }):
		return is(v1alpha1.ConditionBackedUp, metav1.ConditionTrue, ReasonBackupComplete,
			"Backups of this cluster are complete in time, and none of them was restored and compared: the "+
				"EtcdBackupSchedule has spec.verify: false.")
	}
	return is(v1alpha1.ConditionBackedUp, metav1.ConditionUnknown, ReasonFirstBackup,
		join(in.heldUp(), "The first backup is still to come."))
}

// provenBeforeRestore tells of a backup that a restore in place or of a survivor made one of the past, or "".
func (in Input) provenBeforeRestore() string {
	backup, now := in.Observation.Proven.ClusterID, in.Observation.Current.Bootstrap.ClusterID
	if backup == "" || now == 0 || backup == now.String() {
		return ""
	}
	return "It is of the cluster as it was before its last restore. To back up what it holds now, create an EtcdBackup."
}

// heldUp tells of a backup that does not get on, or "".
func (in Input) heldUp() string {
	held := in.Observation.HeldUp
	if held == nil {
		return ""
	}
	return fmt.Sprintf("EtcdBackup %s has waited since %s: %s", held.Name, words.Format(held.Created),
		sentence(held.Why))
}

// whyNotBackedUp says why no backup is as new as it should be, and what helps, or "".
func (in Input) whyNotBackedUp() (reason, why string) {
	o := in.Observation
	switch {
	case o.Proven != nil || len(o.Schedules) > 0:
	case o.HeldUp != nil:
		return ReasonNoBackup, "No other backup of this EtcdCluster was restored and compared. An " +
			"EtcdBackupSchedule, which this cluster does not have, takes further ones by itself."
	default:
		return ReasonNoBackup, "No EtcdBackupSchedule backs this cluster up, and no backup was restored and compared " +
			"since this EtcdCluster was created. " + failedBackup(o.Failed) + "Create an EtcdBackupSchedule. If the " +
			"cluster needs no backups, set spec.backups.expected: false."
	}
	age, isSaid := in.Cluster.Spec.BackupAge()
	if !isSaid && len(o.Schedules) == 0 {
		age = v1alpha1.DefaultBackupAge
	}
	if isOld(o, age) {
		return ReasonBackupTooOld, fmt.Sprintf("The newest backup that was restored and compared is of %s, and "+
			"older than %s. Take one with an EtcdBackup, or create an EtcdBackupSchedule. spec.backups.maxAge is "+
			"the age that is allowed.",
			words.Format(o.Proven.Time), age)
	}
	late := slices.IndexFunc(o.Schedules, func(s facts.Schedule) bool { return !s.UpToDate && !s.New })
	if isEnough := o.Proven != nil && isSaid; late >= 0 && !isEnough {
		s := o.Schedules[late]
		hasMade := func(s facts.Schedule) bool { return !s.Never }
		if o.Proven == nil && !slices.ContainsFunc(o.Schedules, hasMade) {
			return ReasonNoBackup, fmt.Sprintf("The EtcdBackupSchedule %s has made no good backup so far. %s Put that "+
				"right, and its next run ends this.", s.Name, cmp.Or(s.Failed, "Its conditions say why."))
		}
		return ReasonBackupTooOld, fmt.Sprintf("The EtcdBackupSchedule %s has no good backup of its last two runs. %s "+
			"Put that right, and its next run ends this.%s", s.Name, cmp.Or(s.Failed, "Its conditions say why."),
			orOlder(o.Proven))
	}
	return "", ""
}

// failedBackup names the newest backup where that failed, as a sentence with a space behind, or "".
func failedBackup(b *facts.FailedBackup) string {
	if b == nil {
		return ""
	}
	return fmt.Sprintf("EtcdBackup %s, created at %s, failed (%s): its conditions say why. ", b.Name,
		words.Format(b.Created), b.Reason)
}

// orOlder is the other way on where there is an older backup, as a sentence with a space in front, or "".
func orOlder(proven *facts.Backup) string {
	if proven == nil {
		return ""
	}
	return " Or set spec.backups.maxAge, if an older backup will do."
}

// isOld reports that the newest proven backup is older than that; 0 is any age.
func isOld(o facts.Observation, age time.Duration) bool {
	return o.Proven != nil && age > 0 && o.Now.Sub(o.Proven.Time) > age
}
