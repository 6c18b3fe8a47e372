package resources

import (
	"reflect"
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// inPlace are fields of spec.pod that members get without a restart.
var inPlace = map[string]bool{"Labels": true, "Annotations": true}

// A field that is in the API and reaches no Pod, or that no roll follows, is a promise that is not kept.
func TestEveryFieldOfAPodsSpecReachesThePodAndARollFollowsIt(t *testing.T) {
	spec := reflect.TypeFor[v1alpha1.PodSpec]()
	for i := range spec.NumField() {
		name := spec.Field(i).Name
		with, without := cluster(full), cluster(full)
		reflect.ValueOf(without.Spec.Pod).Elem().Field(i).SetZero()
		if reflect.DeepEqual(with.Spec.Pod, without.Spec.Pod) {
			t.Errorf("spec.pod %s is not set in full_test.go", name)
			continue
		}
		isFollowed := Inputs(with).Canonical() != Inputs(without).Canonical()
		if isFollowed == inPlace[name] {
			t.Errorf("spec.pod %s: a roll follows it is %v", name, isFollowed)
		}
		a, b := mustPod(t, with, sealed(with)), mustPod(t, without, sealed(without))
		delete(a.Annotations, v1alpha1.AnnotationInputs)
		delete(b.Annotations, v1alpha1.AnnotationInputs)
		if reflect.DeepEqual(a, b) {
			t.Errorf("spec.pod %s reaches no Pod", name)
		}
	}
}
