package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// Start takes the image that a member runs, with what it is pulled with, and returns how many members there are.
func Start(ctx context.Context, reader client.Reader, cluster *v1alpha1.EtcdCluster,
	start *resources.BackupStart) (int, error) {
	var pods corev1.PodList
	err := reader.List(ctx, &pods, client.InNamespace(cluster.Namespace),
		client.MatchingLabels(resources.MemberSelector(cluster.Name)))
	if err != nil {
		return 0, fmt.Errorf("listing the members' Pods of %s: %w", client.ObjectKeyFromObject(cluster), err)
	}
	members := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return !resources.IsControlledBy(&pod, cluster.UID)
	})
	count := startFrom(members, start)
	start.PullSecrets = start.Images.AddSecrets(start.PullSecrets)
	return count, nil
}

// PodsOf are a Job's Pods, the oldest first, by a label that they have from it.
func PodsOf(ctx context.Context, reader client.Reader, job *batchv1.Job, label string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := reader.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{label: job.Labels[label]})
	if err != nil {
		return nil, fmt.Errorf("listing the Pods of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	mine := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !resources.IsControlledBy(&pod, job.UID) })
	slices.SortFunc(mine, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return mine, nil
}

// Explain asks for what neither a Job that runs nor its Pods have in their status, since Kubernetes tells it in events
// only: why no Pod is created, which it returns, or why the volumes of the last one are not mounted, which that attempt
// is given.
func Explain(ctx context.Context, live client.Reader, job *batchv1.Job, pods []corev1.Pod,
	attempts []backupplan.Attempt) *backupplan.Trouble {
	if len(pods) == 0 {
		if said := observe.LastWarning(ctx, live, job.Namespace, job.UID); said != nil {
			return refusalOf(said.Message)
		}
		return nil
	}
	pod, latest := &pods[len(pods)-1], &attempts[len(attempts)-1]
	if !startsNothing(pod, latest) {
		return nil
	}
	if said := observe.LastWarning(ctx, live, pod.Namespace, pod.UID); said != nil {
		latest.Trouble = &backupplan.Trouble{Reason: mountTrouble(said.Reason), Message: said.Message}
	}
	return nil
}
