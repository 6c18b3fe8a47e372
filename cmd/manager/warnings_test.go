package main

import (
	"context"
	"slices"
	"testing"
)

type warned []string

func (h *warned) HandleWarningHeaderWithContext(_ context.Context, _ int, _ string, text string) {
	*h = append(*h, text)
}

func TestOfWarningsOnlyThatStepsOfATaskShareAPortIsLeftOut(t *testing.T) {
	want := []string{
		"spec.initContainers[0].ports[0]: duplicate port definition with spec.containers[0].ports[0]", // of a member's sidecar
		"spec.template.spec.containers[0].env[1]: hides previous definition of \"A\"",
	}
	logged := &warned{}
	handler := warnings{logged}
	for _, text := range slices.Concat(want, []string{
		"spec.template.spec.initContainers[1].ports[0]: duplicate port definition with spec.template.spec.initContainers[0].ports[0]",
		"spec.template.spec.containers[0].ports[0]: duplicate port name \"progress\" with spec.template.spec.initContainers[0].ports[0], services " +
			"and probes that select ports by name will use spec.template.spec.initContainers[0].ports[0]",
	}) {
		handler.HandleWarningHeaderWithContext(t.Context(), 299, "", text)
	}
	if !slices.Equal(*logged, want) {
		t.Errorf("%q", *logged)
	}
}
