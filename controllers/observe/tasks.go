package observe

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// TaskAsker finds out of Pods of restores what their status does not say. All of it is for display: whoever cannot say
// answers nothing.
type TaskAsker interface {
	// Warning is the last warning that Kubernetes gave about the Pod.
	Warning(ctx context.Context, pod *corev1.Pod) (reason, message string)
	// Progress is how many bytes the step that runs has moved, and is to move.
	Progress(ctx context.Context, pod *corev1.Pod) (done, total int64)
}

// warningAfter is how long a Pod that has its node may take to start before it is asked why it does not.
const warningAfter = 5 * time.Second

// told is what was found out about a Pod of a restore.
type told struct {
	waiting, message string
	done, total      int64
}

// askTasks asks all at once.
func (o *Observer) askTasks(ctx context.Context, pods []corev1.Pod) map[string]told {
	all := map[string]told{}
	if o.Tasks == nil {
		return all
	}
	var (
		mu    sync.Mutex
		group sync.WaitGroup
	)
	for i := range pods {
		group.Go(func() {
			said := o.askTask(ctx, &pods[i])
			mu.Lock()
			defer mu.Unlock()
			all[pods[i].Name] = said
		})
	}
	group.Wait()
	return all
}

func (o *Observer) askTask(ctx context.Context, pod *corev1.Pod) (said told) {
	task := taskOf(pod, told{})
	isStuck := pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending && !task.Started && task.Message == ""
	switch {
	case task.Terminating:
	case isStuck && o.Now().Sub(task.Created) >= warningAfter:
		said.waiting, said.message = o.Tasks.Warning(ctx, pod)
	case task.Step == resources.StepFetch:
		said.done, said.total = o.Tasks.Progress(ctx, pod)
	}
	return said
}
