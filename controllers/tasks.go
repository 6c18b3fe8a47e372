package controllers

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// taskAsker asks Kubernetes, and Pods of restores themselves, for what is shown of them.
type taskAsker struct {
	live     client.Reader
	progress *http.Client
}

// Warning is the last warning that Kubernetes gave about the Pod.
func (a taskAsker) Warning(ctx context.Context, pod *corev1.Pod) (reason, message string) {
	if said := lastWarning(ctx, a.live, pod.Namespace, pod.UID); said != nil {
		return said.Reason, said.Message
	}
	return "", ""
}

// Progress is what the step that runs says of itself.
func (a taskAsker) Progress(ctx context.Context, pod *corev1.Pod) (done, total int64) {
	if said := askProgress(a.progress)(ctx, pod.Status.PodIP); said != nil {
		return said.Bytes, said.Total
	}
	return 0, 0
}
