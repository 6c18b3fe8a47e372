package main

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	semver "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
)

// oldestKubernetes is the one below which neither the chart nor the bundle installs. Manifests are applied on any.
const oldestKubernetes = "1.34"

// oldKubernetes has the leader log once that this Kubernetes is too old. The operator goes on: who upgrades it there
// must not lose it for all clusters. Where the API server does not answer, all else tells of that.
type oldKubernetes struct {
	server discovery.ServerVersionInterfaceWithContext
	log    logr.Logger
}

func addOldKubernetes(mgr manager.Manager, config *rest.Config) error {
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("preparing to ask for the version of Kubernetes: %w", err)
	}
	return mgr.Add(oldKubernetes{server, ctrl.Log})
}

// Start asks once.
func (o oldKubernetes) Start(ctx context.Context) error {
	if info, err := o.server.ServerVersionWithContext(ctx); err == nil && isTooOld(info.GitVersion) {
		o.log.Error(nil, "This Kubernetes is older than any that the operator is made for and tested on. The operator "+
			"goes on, and may fail where it needs what is newer. Upgrade Kubernetes: "+
			pages.Docs+"docs/support.md#kubernetes", "kubernetes", info.GitVersion, "oldest", oldestKubernetes)
	}
	return nil
}

// isTooOld takes versions as distributions write them, such as v1.33.5-eks-113cf36. One that is none is not judged.
func isTooOld(gitVersion string) bool {
	v, err := semver.ParseGeneric(gitVersion)
	return err == nil && v.LessThan(semver.MustParseGeneric(oldestKubernetes))
}
