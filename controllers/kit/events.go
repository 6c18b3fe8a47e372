package kit

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/words"
)

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
