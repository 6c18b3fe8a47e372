package schedule

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
)

func claim() client.Object {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "backups"}}
}

func at(times string) func(*v1alpha1.EtcdBackupSchedule) {
	return func(s *v1alpha1.EtcdBackupSchedule) { s.Spec.Schedule = times }
}

func TestAScheduleWhoseTimesCannotBeReadIsRefusedAtOnce(t *testing.T) {
	w := newScheduleWorld(t, hourly(), append(jobworld.Serving(), claim())...)
	for name, row := range map[string]struct {
		before, now *v1alpha1.EtcdBackupSchedule
		field       string
	}{
		"a good one":                     {nil, hourly(), ""},
		"a bad one":                      {nil, hourly(at("0 3 * *")), "spec.schedule"},
		"one that becomes bad":           {hourly(), hourly(at("0 3 * *")), "spec.schedule"},
		"one that is put right":          {hourly(at("0 3 * *")), hourly(), ""},
		"one that was bad, and still is": {hourly(at("0 3 * *")), hourly(at("0 3 * *"), func(s *v1alpha1.EtcdBackupSchedule) { s.Spec.Suspend = new(true) }), ""},
	} {
		said, err := w.keeper.admit(t.Context(), jobworld.MayGetAllBut(), row.before, row.now)
		if err != nil || len(said.Warnings) > 0 || (len(said.Refusals) == 0) != (row.field == "") {
			t.Errorf("%s: %+v, %v", name, said, err)
		}
		if row.field != "" && (len(said.Refusals) != 1 || said.Refusals[0].Field != row.field) {
			t.Errorf("%s: %+v", name, said)
		}
	}
}

func TestAScheduleIsToldWhatIsNotThereYet(t *testing.T) {
	w := newScheduleWorld(t, hourly())
	said, err := w.keeper.admit(t.Context(), jobworld.MayGetAllBut(), nil, hourly())
	warnings := strings.Join(said.Warnings, " ")
	if err != nil || len(said.Refusals) > 0 || !strings.Contains(warnings, "EtcdCluster demo does not exist") ||
		!strings.Contains(warnings, "spec.store.volume.claimName names the PersistentVolumeClaim backups") {
		t.Errorf("%+v, %v", said, err)
	}
	said, err = w.keeper.admit(t.Context(), jobworld.MayGetAllBut(), hourly(), hourly(at("@daily")))
	if err != nil || len(said.Warnings) != 1 {
		t.Errorf("the claim was named before: %+v, %v", said, err)
	}
}

func TestNothingIsSaidOfAScheduleOfAnotherOperatorsCluster(t *testing.T) {
	w := newScheduleWorld(t, hourly(), jobworld.Serving()...)
	w.keeper.Operator = "elsewhere/etcd-steward"
	if said, err := w.keeper.admit(t.Context(), jobworld.MayGetAllBut(), nil, hourly(at("bad"))); err != nil || len(said.Warnings)+len(said.Refusals) > 0 {
		t.Errorf("%+v, %v", said, err)
	}
}
