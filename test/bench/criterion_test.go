package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func pod(uid types.UID, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: uid},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

func TestPodsAreHealthyWhenThreeAreReadyAndNoneIsTheOneThatWasDeleted(t *testing.T) {
	leaving := pod("c", corev1.ConditionTrue)
	leaving.DeletionTimestamp = &metav1.Time{}
	a, b, c := pod("a", corev1.ConditionTrue), pod("b", corev1.ConditionTrue), pod("c", corev1.ConditionTrue)
	for name, row := range map[string]struct {
		pods []*corev1.Pod
		not  without
		ok   bool
	}{
		"all":              {[]*corev1.Pod{a, b, c}, without{}, true},
		"one was replaced": {[]*corev1.Pod{a, b, c}, without{pods: []types.UID{"x"}}, true},
		"one too few":      {[]*corev1.Pod{a, b}, without{}, false},
		"one too many":     {[]*corev1.Pod{a, b, c, pod("d", corev1.ConditionTrue)}, without{}, false},
		"one not Ready":    {[]*corev1.Pod{a, b, pod("c", corev1.ConditionFalse)}, without{}, false},
		"one on its way":   {[]*corev1.Pod{a, b, leaving}, without{}, false},
		"one still there":  {[]*corev1.Pod{a, b, c}, without{pods: []types.UID{"a2", "b"}}, false},
	} {
		if err := checkPods(row.pods, 3, row.not); (err == nil) != row.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMembersAreHealthyWhenThreeVotersHaveStartedAndTheLostOneIsGone(t *testing.T) {
	a, b, c := member{ID: 1, Name: "a"}, member{ID: 2, Name: "b"}, member{ID: 3, Name: "c"}
	for name, row := range map[string]struct {
		list []member
		not  without
		ok   bool
	}{
		"all":             {[]member{a, b, c}, without{}, true},
		"the lost is out": {[]member{a, b, c}, without{member: 4}, true},
		"one too few":     {[]member{a, b}, without{}, false},
		"one too many":    {[]member{a, b, c, {ID: 4, Name: "d"}}, without{}, false},
		"not started":     {[]member{a, b, {ID: 3}}, without{}, false},
		"a learner":       {[]member{a, b, {ID: 3, Name: "c", Learner: true}}, without{}, false},
		"the lost is in":  {[]member{a, b, c}, without{member: 3}, false},
	} {
		if err := checkMembers(row.list, 3, row.not); (err == nil) != row.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
