package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestAWatchThatTheInstallDoesNotAllowSaysWhatToApply(t *testing.T) {
	if cacheOptions(nil).DefaultWatchErrorHandler == nil {
		t.Error("nothing is told")
	}
	forbidden := apierrors.NewForbidden(networkingv1.Resource("networkpolicies"), "", errors.New("no role says so"))
	unknown := &meta.NoKindMatchError{GroupKind: v1alpha1.GroupVersion.WithKind("EtcdCluster").GroupKind()}
	for _, err := range []error{forbidden, unknown} {
		listing := fmt.Errorf("failed to list: %w", err)
		if said := withRemedy(listing); !errors.Is(said, err) || !strings.Contains(said.Error(), "helm upgrade") {
			t.Errorf("%v", said)
		}
	}
	if away := errors.New("connection refused"); withRemedy(away).Error() != away.Error() {
		t.Error("an API server that is away has another remedy")
	}
}
