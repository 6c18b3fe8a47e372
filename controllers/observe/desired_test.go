package observe

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// onTheWay are what members are asked for: see atStop, and grownFrom.
var onTheWay = []string{"NextSettings", "AtTarget", "Needs", "LeftOut", "Held", "NoWay", "GrownFrom"}

// A field that stays zero is a wish that the planner never hears of, and nothing else would say so.
func TestAllThatASpecAsksForIsSeen(t *testing.T) {
	now := metav1.Now()
	zones := []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone,
		WhenUnsatisfiable: corev1.DoNotSchedule}}
	desired := reflect.ValueOf(desiredOf(&v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now, Annotations: map[string]string{
			v1alpha1.AnnotationOperator: "ops/steward", v1alpha1.AnnotationBeginEmpty: "uid-before",
			v1alpha1.AnnotationDefragment: "2026-01-31T12:00:00Z"}},
		Spec: v1alpha1.EtcdClusterSpec{Size: 3, Version: "3.6.16", Paused: true,
			Pod:  &v1alpha1.PodSpec{TopologySpreadConstraints: zones},
			Etcd: &v1alpha1.EtcdSpec{SnapshotCount: new(int64(5000))},
			Storage: &v1alpha1.StorageSpec{StorageClassName: new("fast"), Ephemeral: &v1alpha1.EphemeralSpec{},
				DeletionPolicy: v1alpha1.DeletionRetain}}},
		"a fault", facts.WantedBackup{Hash: "hash"}, now.Time))
	for i := range desired.NumField() {
		name := desired.Type().Field(i).Name
		if desired.Field(i).IsZero() != slices.Contains(onTheWay, name) {
			t.Errorf("%s is %v", name, desired.Field(i))
		}
	}
}
