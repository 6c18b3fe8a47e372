package jobs

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
)

// ToEnd is what ends a task: its Job, or one of the Job's Pods.
func ToEnd(namespace, job string, change backupplan.EndTask) client.Object {
	if change.Pod != "" {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: change.Pod}}
	}
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: job}}
}
