package observe

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

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
	if o.Progress == nil {
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
	startsNothing := pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending && !task.Started &&
		task.Message == ""
	switch {
	case task.Terminating:
	case startsNothing && o.Now().Sub(task.Created) >= warningAfter:
		if last := o.Warning(ctx, pod.Namespace, pod.UID); last != nil {
			said.waiting, said.message = last.Reason, last.Message
		}
	case task.Step == resources.StepFetch:
		if progress := o.Progress(ctx, pod.Status.PodIP); progress != nil {
			said.done, said.total = progress.Bytes, progress.Total
		}
	}
	return said
}
