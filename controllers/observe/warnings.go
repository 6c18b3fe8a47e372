package observe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// LastWarning is the last warning that Kubernetes gave about an object; nil when it gave none. It is for display only,
// so events that cannot be read are none.
func LastWarning(ctx context.Context, live client.Reader, namespace string, uid types.UID) *corev1.Event {
	var list corev1.EventList
	err := live.List(ctx, &list, client.InNamespace(namespace),
		client.MatchingFields{"involvedObject.uid": string(uid)}, client.Limit(100))
	if err != nil {
		log.FromContext(ctx).Info("the events of an object cannot be listed", "uid", uid, "error", err.Error())
		return nil
	}
	var last *corev1.Event
	for i := range list.Items {
		event := &list.Items[i]
		if event.Type == corev1.EventTypeWarning && (last == nil || lastSeen(event).After(lastSeen(last))) {
			last = event
		}
	}
	return last
}

// lastSeen is when an event last happened; its author filled in one of several fields.
func lastSeen(event *corev1.Event) time.Time {
	switch {
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	}
	return event.CreationTimestamp.Time
}
