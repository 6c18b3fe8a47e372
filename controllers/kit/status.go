package kit

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// WriteStatus stores the status of an object that differs from what it was. It is written only when it is stored; later
// asks to look again first.
func (f *Frame) WriteStatus(ctx context.Context,
	was, updated client.Object) (written bool, later time.Duration, err error) {
	err = f.Client.Status().Patch(ctx, updated, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}),
		apply.FieldOwner)
	switch {
	case apierrors.IsNotFound(err):
		return false, 0, nil
	case apierrors.IsConflict(err): // it switched over, and its next pass says what is true then
		return false, AfterStale, nil
	case err != nil:
		return false, 0, fmt.Errorf("writing the status of %s %s: %w", kindOf(was), client.ObjectKeyFromObject(was),
			err)
	}
	f.Unseen.Wrote(client.ObjectKeyFromObject(was), updated)
	return true, 0, nil
}

// Tell tells people of an object what happened.
func (f *Frame) Tell(about client.Object, told []words.Event) {
	for _, event := range told {
		f.Recorder.Eventf(about, podOf(about, event.Member), event.Type(), event.Reason, event.Action, "%s", event.Note)
	}
}

// podOf is the Pod that an event is about as well. The API server tells series of events apart by it, and would drop
// what happens to a second member soon after the first.
func podOf(about client.Object, member string) runtime.Object {
	if member == "" {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: about.GetNamespace(), Name: member}
}
