package observe

import (
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// onTheWay are what members are asked for, and what the planner makes of the size: see atStop, grownFrom, plan.Decide.
// What is of volumes cannot be asked for beside Ephemeral: see TestTheTwoHalvesOfAVolumeAreOne, and
// TestAVolumeSaysHowFarItIsWithItsVolumeAttributesClass.
var onTheWay = []string{"WAL", "Attributes", "NextSettings", "AtTarget", "Needs", "LeftOut", "Held", "NoWay", "GrownFrom",
	"StorageFrom", "Sleep"}

// A field that stays zero is a wish that the planner never hears of, and nothing else would say so.
func TestAllThatASpecAsksForIsSeen(t *testing.T) {
	now := metav1.Now()
	zones := []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone,
		WhenUnsatisfiable: corev1.DoNotSchedule}}
	desired := reflect.ValueOf(desiredOf(&v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now, Annotations: map[string]string{
			v1alpha1.AnnotationOperator: "ops/steward", v1alpha1.AnnotationBeginEmpty: "uid-before",
			v1alpha1.AnnotationDefragment: "2026-01-31T12:00:00Z", v1alpha1.AnnotationRotateCA: "2026-01-31T12:00:00Z",
			v1alpha1.AnnotationMoveLeader: "demo-1@" + now.UTC().Format(time.RFC3339)}},
		Spec: v1alpha1.EtcdClusterSpec{Size: 3, Version: "3.6.16", Paused: true,
			Maintenance: &v1alpha1.MaintenanceSpec{Window: &v1alpha1.WindowSpec{Schedule: "@daily",
				Duration: metav1.Duration{Duration: time.Hour}}},
			Auth: &v1alpha1.AuthSpec{Enabled: true},
			TLS:  &v1alpha1.TLSSpec{Mode: v1alpha1.TLSPermissive},
			Pod:  &v1alpha1.PodSpec{TopologySpreadConstraints: zones},
			Etcd: &v1alpha1.EtcdSpec{SnapshotCount: new(int64(5000))},
			Storage: &v1alpha1.StorageSpec{StorageClassName: new("fast"), Ephemeral: &v1alpha1.EphemeralSpec{},
				Replace: v1alpha1.ReplaceInPlace, Expand: v1alpha1.ExpandReplace, DeletionPolicy: v1alpha1.DeletionRetain}}},
		"a fault", facts.WantedBackup{Hash: "hash"}, now.Time))
	for i := range desired.NumField() {
		name := desired.Type().Field(i).Name
		if desired.Field(i).IsZero() != slices.Contains(onTheWay, name) {
			t.Errorf("%s is %v", name, desired.Field(i))
		}
	}
}

func TestAWindowOpensByItsScheduleOrByAPerson(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, row := range []struct{ name, now, asked, until, says, scheduled string }{
		{"before it opens", "2027-01-01T12:00:00Z", "", "", "Sunday 2027-01-03 02:00 Europe/Berlin",
			"2026-12-28T04:00:00Z"},
		{"when it opens, with what came since the last one", "2027-01-03T01:00:00Z", "", "2027-01-03T03:00:00Z",
			"Sunday 2027-01-10 02:00 Europe/Berlin", "2027-01-02T04:00:00Z"},
		{"until it closes", "2027-01-03T02:59:59Z", "", "2027-01-03T03:00:00Z", "Sunday 2027-01-10 02:00 Europe/Berlin",
			"2027-01-02T04:00:00Z"},
		{"when it closed, with nothing that came since", "2027-01-03T03:00:00Z", "", "",
			"Sunday 2027-01-10 02:00 Europe/Berlin", ""},
		{"as a person asked", "2027-01-01T12:00:00Z", "2027-01-01T11:00:00Z", "2027-01-01T13:00:00Z",
			"Sunday 2027-01-03 02:00 Europe/Berlin", "2026-12-28T04:00:00Z"},
		{"not before the time for which a person asked", "2027-01-01T12:00:00Z", "2027-01-01T12:00:01Z", "",
			"Sunday 2027-01-03 02:00 Europe/Berlin", "2026-12-28T04:00:00Z"},
		{"as a person asked, a little longer", "2027-01-03T02:00:00Z", "2027-01-03T01:30:00Z", "2027-01-03T03:30:00Z",
			"Sunday 2027-01-10 02:00 Europe/Berlin", "2027-01-02T04:00:00Z"},
		{"and not by what cannot be read", "2027-01-01T12:00:00Z", "now", "", "Sunday 2027-01-03 02:00 Europe/Berlin",
			"2026-12-28T04:00:00Z"},
	} {
		cluster := &v1alpha1.EtcdCluster{Spec: v1alpha1.EtcdClusterSpec{Maintenance: &v1alpha1.MaintenanceSpec{
			Window: &v1alpha1.WindowSpec{Schedule: "0 2 * * 0", Duration: metav1.Duration{Duration: 2 * time.Hour},
				TimeZone: "Europe/Berlin"},
			Defragment: &v1alpha1.DefragmentSpec{Schedule: "0 4 * * 1,6"}}}}
		cluster.Annotations = map[string]string{v1alpha1.AnnotationMaintenance: row.asked}
		d := desiredOf(cluster, "", facts.WantedBackup{}, at(row.now))
		if d.Window.IsClosed != (row.until == "") || !d.Window.IsClosed && !d.Window.Until.Equal(at(row.until)) ||
			d.Window.Says() != row.says {
			t.Errorf("%s: %+v, %s", row.name, d.Window, d.Window.Says())
		}
		if d.Upkeep.Scheduled.IsZero() != (row.scheduled == "") ||
			row.scheduled != "" && !d.Upkeep.Scheduled.Equal(at(row.scheduled)) {
			t.Errorf("%s: the newest time of the schedule is %s", row.name, d.Upkeep.Scheduled)
		}
	}
}

func TestARequestToLeadCountsForTenMinutesFromItsTime(t *testing.T) {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		value string
		since time.Duration
		leads string
	}{
		{"demo-1@2026-01-31T12:00:00Z", 0, "demo-1"}, {"demo-1@2026-01-31T12:00:00Z", 10 * time.Minute, "demo-1"},
		{"demo-1@2026-01-31T12:00:00Z", 10*time.Minute + time.Second, ""}, {"demo-1@2026-01-31T12:00:00Z", -time.Second, ""},
		{"demo-1@2026-01-31T13:00:00+01:00", time.Minute, "demo-1"}, {"demo-1", 0, ""}, {"demo-1@noon", 0, ""},
	} {
		cluster := &v1alpha1.EtcdCluster{}
		cluster.Annotations = map[string]string{v1alpha1.AnnotationMoveLeader: row.value}
		got := desiredOf(cluster, "", facts.WantedBackup{}, at.Add(row.since)).Lead
		if got.Name != row.leads || got.Name != "" && !got.Until.Equal(at.Add(10*time.Minute)) {
			t.Errorf("%s, %s later: %+v", row.value, row.since, got)
		}
	}
}
