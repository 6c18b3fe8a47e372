package resources

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAPodThatHadAMemberDefragmentedSaysHowLargeTheFileWasOnceItEndedWell(t *testing.T) {
	said := &corev1.ContainerStateTerminated{Message: `{"before":300,"after":20}`}
	failed := &corev1.ContainerStateTerminated{Message: said.Message, ExitCode: 1}
	for name, row := range map[string]struct {
		state         corev1.ContainerState
		before, after int64
	}{
		"it ended well": {corev1.ContainerState{Terminated: said}, 300, 20},
		"it failed":     {corev1.ContainerState{Terminated: failed}, 0, 0},
		"it runs":       {corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, 0, 0},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: StepDefragment}}}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: StepDefragment, State: row.state}}
		if before, after := Defragmented(pod); before != row.before || after != row.after {
			t.Errorf("%s: before %d, after %d", name, before, after)
		}
	}
}
