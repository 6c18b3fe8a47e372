package jobs

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/apply"
	backup "github.com/etcdsteward/etcd-steward/controllers/backup/plan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
)

// End deletes a Job, with its Pods, or one of its Pods, as it was seen and no other one of its name.
func End(ctx context.Context, frame *kit.Frame, owner client.Object, job string, change backup.EndTask) error {
	var object client.Object = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: job}}
	if change.Pod != "" {
		object = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: change.Pod}}
	}
	uid := types.UID(change.UID)
	err := frame.Client.Delete(ctx, object, client.Preconditions{UID: &uid},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return apply.Answer(err, fmt.Sprintf("ending %s", object.GetName()))
	}
	frame.Unseen.Deleted(client.ObjectKeyFromObject(owner), object, uid)
	return nil
}
