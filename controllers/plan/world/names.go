package world

import (
	"maps"
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func (w *World) url(name, scheme string) string {
	return etcdutil.PeerURL(scheme, name, w.Cluster.Name, w.Cluster.Namespace)
}

func (w *World) nameOfURL(url string) string {
	name, _ := etcdutil.MemberFromPeerURL(url, w.Cluster.Name, w.Cluster.Namespace)
	return name
}

// nameOf finds a Pod's name by its UID.
func (w *World) nameOf(p pod) string {
	for name, other := range w.objects.pods {
		if other.UID == p.UID {
			return name
		}
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func sortedIDs(m map[etcdutil.ID]*cluster) []etcdutil.ID { return slices.Sorted(maps.Keys(m)) }

func keys[V any](m map[string]V) map[string]bool {
	out := make(map[string]bool, len(m))
	for k := range m {
		out[k] = true
	}
	return out
}
