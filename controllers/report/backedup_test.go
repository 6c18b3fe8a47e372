package report

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestAClusterSaysHowItIsBackedUp(t *testing.T) {
	aged := func(age time.Duration) *facts.Backup {
		return &facts.Backup{Key: "a/b/c/snapshot.db", Revision: 7, Time: begin.Add(-age)}
	}
	most := func(age time.Duration) *v1alpha1.BackupsSpec {
		return &v1alpha1.BackupsSpec{MaxAge: &metav1.Duration{Duration: age}}
	}
	promised, first := facts.Schedule{Name: "hourly", UpToDate: true}, facts.Schedule{Name: "hourly", New: true}
	late := facts.Schedule{Name: "nightly"}
	for _, row := range []struct {
		name      string
		spec      *v1alpha1.BackupsSpec
		schedules []facts.Schedule
		proven    *facts.Backup
		want      string // status, reason, and words of the message
	}{
		{"nothing backs it up", nil, nil, nil, "False NoBackup spec.backups.expected: false"},
		{"nothing does, and any age is good", most(0), nil, nil,
			"False NoBackup since this EtcdCluster was created"},
		{"a backup made by hand", nil, nil, aged(47 * time.Hour), "True BackupProven 2026-05-02T10:00:00Z"},
		{"an older one", nil, nil, aged(49 * time.Hour), "False BackupTooOld 48h"},
		{"an older one, and any age is good", most(0), nil, aged(9999 * time.Hour), "True BackupProven restored"},
		{"one that is older than was asked for", most(time.Hour), nil, aged(2 * time.Hour), "False BackupTooOld 1h"},
		{"a schedule that is too new", nil, []facts.Schedule{first}, nil, "Unknown FirstBackup first"},
		{"a schedule that keeps to its times", nil, []facts.Schedule{promised}, aged(72 * time.Hour),
			"True BackupProven compared"},
		{"one that is late beside it", nil, []facts.Schedule{promised, late}, aged(time.Hour),
			"False BackupTooOld nightly"},
		{"one whose runs fail says why", nil, []facts.Schedule{{Name: "nightly", Failed: "There is no bucket."}}, nil,
			"False BackupTooOld runs. There is no bucket. Put that right, and its next run ends this."},
		{"one none of whose runs was good says that there is no backup", nil,
			[]facts.Schedule{{Name: "nightly", Never: true, Failed: "There is no bucket."}}, nil,
			"False NoBackup no good backup so far. There is no bucket. Put that right, and its next run ends this."},
		{"but not beside one that has made some", nil,
			[]facts.Schedule{{Name: "nightly", Never: true, Failed: "There is no bucket."}, {Name: "weekly", UpToDate: true}}, nil,
			"False BackupTooOld nightly"},
		{"and that an older one may do", nil, []facts.Schedule{{Name: "nightly", Failed: "There is no bucket."}}, aged(time.Hour),
			"False BackupTooOld Or set spec.backups.maxAge"},
		{"one that is late, and less was asked for", most(90 * time.Minute), []facts.Schedule{late}, aged(time.Hour),
			"True BackupProven compared"},
		{"one that never made any", most(0), []facts.Schedule{late}, nil, "False BackupTooOld nightly"},
		{"a new schedule, and an old backup made by hand", nil, []facts.Schedule{first}, aged(99 * time.Hour),
			"True BackupProven compared"},
		{"a schedule that proves nothing", nil, []facts.Schedule{promised}, nil, "True BackupComplete spec.verify"},
		{"a refused age", most(-1), nil, aged(49 * time.Hour), "False BackupTooOld 48h"},
		{"none is expected", &v1alpha1.BackupsSpec{Expected: new(false)}, nil, nil, ""},
		{"one is expected of what is kept in Pods", &v1alpha1.BackupsSpec{Expected: new(true)}, nil, nil,
			"False NoBackup EtcdBackup"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := demo(3, begin).settled()
			w.cluster.Spec.Backups, w.o.Schedules, w.o.Proven = row.spec, row.schedules, row.proven
			if strings.Contains(row.name, "kept in Pods") {
				w.cluster.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
			}
			status := Status(w.input())
			got := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionBackedUp)
			if got == nil || row.want == "" {
				if (got == nil) != (row.want == "") {
					t.Errorf("got %v", got)
				}
				return
			}
			want := strings.SplitN(row.want, " ", 3)
			if string(got.Status) != want[0] || got.Reason != want[1] || !strings.Contains(got.Message, want[2]) {
				t.Errorf("got %s/%s: %s; want %q", got.Status, got.Reason, got.Message, row.want)
			}
			if shown := status.LastProvenBackup; (shown == nil) != (row.proven == nil) ||
				shown != nil && (!shown.Time.Time.Equal(row.proven.Time) || shown.Key != row.proven.Key) {
				t.Errorf("shown is %+v", shown)
			}
		})
	}
}

func TestABackupThatDoesNotGetOnIsToldWhereNoneIsGood(t *testing.T) {
	const told = "EtcdBackup nightly has waited since 2026-05-04T09:50:00Z: Secret s3 is missing."
	for _, row := range []struct {
		name      string
		schedules []facts.Schedule
		proven    *facts.Backup
		want      string // of the message
	}{
		{"none is good", nil, nil, told + " No other backup of this EtcdCluster was restored and compared. An EtcdBackupSchedule, which"},
		{"the good one is too old", nil, &facts.Backup{Time: begin.Add(-49 * time.Hour)}, told + " The newest backup"},
		{"the first one is to come", []facts.Schedule{{Name: "hourly", New: true}}, nil, told + " The first backup"},
		{"one is good", nil, &facts.Backup{Time: begin.Add(-time.Hour)}, "What was written"},
	} {
		w := demo(3, begin).settled()
		w.o.Schedules, w.o.Proven = row.schedules, row.proven
		w.o.HeldUp = &facts.HeldUp{Name: "nightly", Created: time.Date(2026, 5, 4, 9, 50, 0, 0, time.UTC), Why: "Secret s3 is missing"}
		got := meta.FindStatusCondition(Status(w.input()).Conditions, v1alpha1.ConditionBackedUp)
		if got == nil || !strings.HasPrefix(got.Message, row.want) {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}

func TestABackupThatFailedIsNamedWhereNoScheduleTellsOfIt(t *testing.T) {
	w := demo(3, begin).settled()
	w.o.Schedules, w.o.Failed = nil, &facts.FailedBackup{Name: "nightly", Created: time.Date(2026, 5, 4, 9, 50, 0, 0, time.UTC), Reason: "StoreNotFound"}
	const told = "created. EtcdBackup nightly, created at 2026-05-04T09:50:00Z, failed (StoreNotFound): its conditions say why. Create an"
	got := meta.FindStatusCondition(Status(w.input()).Conditions, v1alpha1.ConditionBackedUp)
	if got == nil || !strings.Contains(got.Message, told) {
		t.Errorf("%+v", got)
	}
}

func TestAClusterOfWhichNothingCanBeSaidDoesNotSayThatItIsBackedUp(t *testing.T) {
	in := demo(3, begin).settled().input()
	in.IsBlind = true
	got := meta.FindStatusCondition(Status(in).Conditions, v1alpha1.ConditionBackedUp)
	if got == nil || got.Status != metav1.ConditionUnknown {
		t.Errorf("got %+v", got)
	}
}

func TestWhatIsKeptInPodsNeedsNoBackup(t *testing.T) {
	w := demo(3, begin).settled()
	w.cluster.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
	if got := meta.FindStatusCondition(Status(w.input()).Conditions, v1alpha1.ConditionBackedUp); got != nil {
		t.Errorf("got %+v", got)
	}
}

func TestAProvenBackupIsNotWrittenAgainForTheZoneOfItsTime(t *testing.T) {
	w := demo(3, begin).settled()
	w.o.Proven = &facts.Backup{Key: "k", Revision: 7, Time: w.o.Now.Add(-time.Hour)}
	w.cluster.Status = Status(w.input())
	at := &w.cluster.Status.LastProvenBackup.Time
	*at = metav1.NewTime(at.In(time.FixedZone("as it is read", 3600)))
	if again := Status(w.input()); !reflect.DeepEqual(again, w.cluster.Status) {
		t.Errorf("got %+v, want %+v", again.LastProvenBackup, w.cluster.Status.LastProvenBackup)
	}
}

func TestABackupFromBeforeTheLastRestoreIsToldAsThat(t *testing.T) {
	const says = "before its last restore. To back up what it holds now, create an EtcdBackup."
	for id, isTold := range map[string]bool{clusterID.String(): false, "": false, "8d1e3fa0c5b79264": true} {
		w := demo(3, begin).settled()
		w.o.Proven = &facts.Backup{Key: "a/b/c/snapshot.db", ClusterID: id, Revision: 7, Time: begin.Add(-time.Hour)}
		got := meta.FindStatusCondition(Status(w.input()).Conditions, v1alpha1.ConditionBackedUp)
		if got.Status != metav1.ConditionTrue || got.Reason != ReasonBackupProven ||
			strings.Contains(got.Message, says) != isTold {
			t.Errorf("of cluster %q: %s/%s: %s", id, got.Status, got.Reason, got.Message)
		}
	}
}
