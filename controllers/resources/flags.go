package resources

import (
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// StartFlags says with which membership flags the next container of a Pod starts. The values are those of facts.Flags.
type StartFlags string

// The kinds of flags. Only StartBirth and StartJoin can start from an empty directory. Pods of earlier releases start
// with those of StartComparing.
const (
	StartBirth     StartFlags = "Birth"
	StartJoin      StartFlags = "Join"
	StartSealed    StartFlags = "Sealed"
	StartComparing StartFlags = "Comparing"
	StartNone      StartFlags = "None"
)

// Whether etcd compares a member's data with its peers' before it serves. Members that start together would wait for
// each other in vain, 7 s for each peer: none answers peers before it has asked all of them
// (etcd-io/etcd:server/embed/etcd.go). The operator compares their copies instead: docs/decisions/0031.
const (
	compares       = "true"
	doesNotCompare = "false"
)

// PeerURL is the URL that identifies a member of the cluster.
func PeerURL(c *v1alpha1.EtcdCluster, member string) string {
	return etcdutil.PeerURL(scheme(c.Spec.IsTLS()), member, c.Name, c.Namespace)
}

// ClientURL is the client URL that a member advertises.
func ClientURL(c *v1alpha1.EtcdCluster, member string) string {
	return etcdutil.ClientURL(scheme(c.Spec.IsTLS()), member, c.Name, c.Namespace)
}

// InitialAnnotations are what the Pod's --initial-cluster-state and --initial-cluster, and whether etcd compares its
// data first, are read from at each start of its container. For StartSealed the list given is not used: such a member
// knows only itself.
func InitialAnnotations(c *v1alpha1.EtcdCluster, member string, flags StartFlags,
	initial []etcdutil.NamedURL) map[string]string {
	state, list := etcdutil.StateExisting, etcdutil.InitialCluster(initial)
	if flags == StartBirth {
		state = etcdutil.StateNew
	}
	if flags == StartSealed {
		list = etcdutil.SealedInitialCluster(member, PeerURL(c, member))
	}
	return map[string]string{
		v1alpha1.AnnotationInitialState: state, v1alpha1.AnnotationInitialCluster: list,
		v1alpha1.AnnotationInitialCompare: doesNotCompare,
	}
}

// FlagsOf says what a Pod's annotations would make its next container do. Everything that the operator did not write
// there is StartNone.
func FlagsOf(c *v1alpha1.EtcdCluster, member string, annotations map[string]string) StartFlags {
	state, list := annotations[v1alpha1.AnnotationInitialState], annotations[v1alpha1.AnnotationInitialCluster]
	withData := flagsWithData(annotations)
	own := etcdutil.SealedInitialCluster(member, PeerURL(c, member))
	hasOwn := strings.Contains(","+list+",", ","+own+",")
	switch {
	case withData == StartNone:
		return StartNone
	case state == etcdutil.StateExisting && list == own:
		return withData
	case state == etcdutil.StateExisting && hasOwn:
		return StartJoin
	case state == etcdutil.StateNew && hasOwn:
		return StartBirth
	}
	return StartNone
}

// flagsWithData says what a Pod that starts from its data would do with it. Pods of the first renderer, which are not
// asked, always compare.
func flagsWithData(annotations map[string]string) StartFlags {
	switch compare, isSaid := annotations[v1alpha1.AnnotationInitialCompare]; {
	case compare == compares, !isSaid && annotations[v1alpha1.AnnotationRenderer] == "1":
		return StartComparing
	case compare == doesNotCompare:
		return StartSealed
	}
	return StartNone
}

func scheme(isTLS bool) string {
	if isTLS {
		return etcdutil.SchemeHTTPS
	}
	return etcdutil.SchemeHTTP
}
