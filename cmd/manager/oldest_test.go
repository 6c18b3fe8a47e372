package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// answers is an API server that says its version, or nothing if that is empty.
type answers string

func (a answers) ServerVersionWithContext(context.Context) (*apiversion.Info, error) {
	if a == "" {
		return nil, errors.New("it does not answer")
	}
	return &apiversion.Info{GitVersion: string(a)}, nil
}

// The manifests install on a Kubernetes that the chart refuses.
func TestAnOperatorOnATooOldKubernetesSaysSoAndGoesOn(t *testing.T) {
	for gitVersion, isTold := range map[string]bool{
		"v1.33.9": true, "v1.33.5-eks-113cf36": true, "v1.9.0": true,
		"v1.34.0": false, "v1.34.1+k3s1": false, "v1.34.0-beta.0": false, "v1.37.2-gke.1044000": false, "v1.100.0": false,
		"": false, "unknown": false,
	} {
		var logged []string
		log := funcr.New(func(_, text string) { logged = append(logged, text) }, funcr.Options{})
		if err := (oldKubernetes{answers(gitVersion), log}).Start(t.Context()); err != nil {
			t.Errorf("%q ends the operator: %v", gitVersion, err)
		}
		says := strings.Join(logged, "\n")
		if isTold != (says != "") || isTold && !(strings.Contains(says, gitVersion) && strings.Contains(says, oldestKubernetes)) {
			t.Errorf("%q: logged is %q", gitVersion, says)
		}
	}
}
