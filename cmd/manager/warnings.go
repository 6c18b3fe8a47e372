package main

import (
	"context"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// warnings logs what the API server warns of. It leaves out that containers of a Job share a port: steps of a task run
// one after the other, and each says on the same port how far it is
// (kubernetes/kubernetes:pkg/api/pod/warnings.go).
type warnings struct{ rest.WarningHandlerWithContext }

func newWarnings() warnings {
	return warnings{log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{})}
}

// HandleWarningHeaderWithContext gets each warning.
func (w warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	if strings.HasPrefix(text, "spec.template.spec.") && strings.Contains(text, ": duplicate port ") {
		return
	}
	w.WarningHandlerWithContext.HandleWarningHeaderWithContext(ctx, code, agent, text)
}
