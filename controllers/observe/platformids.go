package observe

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// openshiftSecurity is the group of the API by which OpenShift hands out IDs, a range to each namespace.
const openshiftSecurity = "security.openshift.io"

// GroupLister lists the groups of the API that a server has.
type GroupLister interface {
	ServerGroups() (*metav1.APIGroupList, error)
}

// What may be said of who chooses users and groups.
const (
	PlatformIDsAuto  = "auto"
	PlatformIDsTrue  = "true"
	PlatformIDsFalse = "false"
)

// PlatformIDs tells whether users and groups of Pods are left to the platform: as given or, with "auto", where it is
// known to hand them out. The API server is asked until it answered once.
func PlatformIDs(given string, server GroupLister) func(context.Context) (bool, error) {
	var (
		mu      sync.Mutex
		isKnown = given != PlatformIDsAuto
		isSo    = given == PlatformIDsTrue
	)
	return func(context.Context) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if isKnown {
			return isSo, nil
		}
		groups, err := server.ServerGroups()
		if err != nil {
			return false, fmt.Errorf("asking which APIs there are, which tells who chooses users and groups: %w", err)
		}
		isKnown = true
		isSo = slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == openshiftSecurity })
		return isSo, nil
	}
}
