package report

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

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
	if reason, why := in.whyNotBackedUp(); why != "" {
		return is(v1alpha1.ConditionBackedUp, metav1.ConditionFalse, reason, why)
	}
	switch {
	case o.Proven != nil:
		return is(v1alpha1.ConditionBackedUp, metav1.ConditionTrue, ReasonBackupProven,
			fmt.Sprintf("What was written before %s is in a backup that was restored and compared.",
				words.Format(o.Proven.Time)))
	case slices.ContainsFunc(o.Schedules, func(s facts.Schedule) bool { return s.UpToDate }):
		return is(v1alpha1.ConditionBackedUp, metav1.ConditionTrue, ReasonBackupComplete,
			"Backups of this cluster are complete in time, and none of them is proven. An EtcdBackupSchedule with "+
				"spec.verify: false proves none.")
	}
	return is(v1alpha1.ConditionBackedUp, metav1.ConditionUnknown, ReasonFirstBackup,
		"The first backup is still to come.")
}

// whyNotBackedUp says why no backup is as new as it should be, and what helps, or "".
func (in Input) whyNotBackedUp() (reason, why string) {
	o := in.Observation
	if o.Proven == nil && len(o.Schedules) == 0 {
		return ReasonNoBackup, "No EtcdBackupSchedule backs this cluster up, and no backup of it is proven. Create " +
			"an EtcdBackupSchedule. If the cluster needs no backups, set spec.backups.expected: false."
	}
	age, isSaid := in.Cluster.Spec.BackupAge()
	if !isSaid && len(o.Schedules) == 0 {
		age = v1alpha1.DefaultBackupAge
	}
	if isOld(o, age) {
		return ReasonBackupTooOld, fmt.Sprintf("The newest proven backup is of %s, and older than %s. Take one with "+
			"an EtcdBackup, or create an EtcdBackupSchedule. spec.backups.maxAge is the age that is allowed.",
			words.Format(o.Proven.Time), age)
	}
	late := slices.IndexFunc(o.Schedules, func(s facts.Schedule) bool { return !s.UpToDate && !s.New })
	if isEnough := o.Proven != nil && isSaid; late >= 0 && !isEnough {
		return ReasonBackupTooOld, fmt.Sprintf("The EtcdBackupSchedule %s has no good backup of its last two runs. "+
			"Its conditions say why. Or set spec.backups.maxAge, if an older backup will do.", o.Schedules[late].Name)
	}
	return "", ""
}

// isOld reports that the newest proven backup is older than that; 0 is any age.
func isOld(o facts.Observation, age time.Duration) bool {
	return o.Proven != nil && age > 0 && o.Now.Sub(o.Proven.Time) > age
}
