package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestAWatchThatTheInstallDoesNotAllowSaysWhatToApply(t *testing.T) {
	if cacheOptions(nil).DefaultWatchErrorHandler == nil {
		t.Error("nothing is told")
	}
	forbidden := apierrors.NewForbidden(networkingv1.Resource("networkpolicies"), "", errors.New("no role says so"))
	listing := fmt.Errorf("failed to list: %w", forbidden)
	if said := withRemedy(listing); !errors.Is(said, forbidden) || !strings.Contains(said.Error(), "docs/install.md#upgrade") {
		t.Errorf("%v", said)
	}
	if away := errors.New("connection refused"); withRemedy(away).Error() != away.Error() {
		t.Error("an API server that is away has another remedy")
	}
}
