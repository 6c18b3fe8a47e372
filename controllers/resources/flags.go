package resources

import (
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// StartFlags says with which membership flags the next container of a Pod starts. The values are those of plan.Flags.
type StartFlags string

// The kinds of flags. Only StartBirth and StartJoin can start from an empty directory.
const (
	StartBirth  StartFlags = "Birth"
	StartJoin   StartFlags = "Join"
	StartSealed StartFlags = "Sealed"
	StartNone   StartFlags = "None"
)

// PeerURL is the URL that identifies a member of the cluster.
func PeerURL(c *v1alpha1.EtcdCluster, member string) string {
	return etcdutil.PeerURL(scheme(c.Spec.IsTLS()), member, c.Name, c.Namespace)
}

// ClientURL is the client URL that a member advertises.
func ClientURL(c *v1alpha1.EtcdCluster, member string) string {
	return etcdutil.ClientURL(scheme(c.Spec.IsTLS()), member, c.Name, c.Namespace)
}

// InitialAnnotations are what the Pod's --initial-cluster-state and --initial-cluster are read from at each start of its
// container. For StartSealed the list given is not used: a sealed member knows only itself.
func InitialAnnotations(c *v1alpha1.EtcdCluster, member string, flags StartFlags, initial []etcdutil.NamedURL) map[string]string {
	state, list := etcdutil.StateExisting, etcdutil.InitialCluster(initial)
	if flags == StartBirth {
		state = etcdutil.StateNew
	}
	if flags == StartSealed {
		list = etcdutil.SealedInitialCluster(member, PeerURL(c, member))
	}
	return map[string]string{v1alpha1.AnnotationInitialState: state, v1alpha1.AnnotationInitialCluster: list}
}

// FlagsOf says what a Pod's annotations would make its next container do. Everything that the operator did not write
// there is StartNone.
func FlagsOf(c *v1alpha1.EtcdCluster, member string, annotations map[string]string) StartFlags {
	state, list := annotations[v1alpha1.AnnotationInitialState], annotations[v1alpha1.AnnotationInitialCluster]
	own := etcdutil.SealedInitialCluster(member, PeerURL(c, member))
	hasOwn := strings.Contains(","+list+",", ","+own+",")
	switch {
	case state == etcdutil.StateExisting && list == own:
		return StartSealed
	case state == etcdutil.StateExisting && hasOwn:
		return StartJoin
	case state == etcdutil.StateNew && hasOwn:
		return StartBirth
	}
	return StartNone
}

func scheme(isTLS bool) string {
	if isTLS {
		return etcdutil.SchemeHTTPS
	}
	return etcdutil.SchemeHTTP
}
