package observe

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// managerContainer is the operator's own container, as config/manager calls it.
const managerContainer = "manager"

// AgentImage tells which image backups run from: the given one or, without one, the operator's own, as its Pod has it.
// There is nothing to configure then, and an upgrade of the operator is one of the agent. Empty: it is not known.
func AgentImage(given string, reader client.Reader, self types.NamespacedName) func(context.Context) (string, error) {
	var (
		mu    sync.Mutex
		image = given
	)
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if image != "" || self.Name == "" {
			return image, nil
		}
		pod, err := Find[corev1.Pod](ctx, reader, self.Namespace, self.Name)
		if err != nil {
			return "", fmt.Errorf("looking for the operator's own image: %w", err)
		}
		if pod == nil {
			return "", nil
		}
		for _, container := range pod.Spec.Containers {
			if container.Name == managerContainer {
				image = container.Image
			}
		}
		return image, nil
	}
}
