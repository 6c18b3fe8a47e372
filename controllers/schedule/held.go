package schedule

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// births are the birth records of all clusters, by the UIDs of these.
type births map[types.UID]record.Birth

// clusterUIDOf is the UID of the EtcdCluster that controls a Service; empty when none does.
func clusterUIDOf(service *corev1.Service) types.UID {
	owner := metav1.GetControllerOf(service)
	if owner == nil || owner.Kind != resources.KindCluster || !strings.HasPrefix(owner.APIVersion, v1alpha1.Group+"/") {
		return ""
	}
	return owner.UID
}

// heldBy are the snapshots that a cluster begins with, or that are restored beside it to take its place.
func heldBy(birth record.Birth) []string {
	var keys []string
	if birth.ClusterID == 0 && !birth.Void {
		keys = append(keys, birth.Origin.Key)
	}
	keys = append(keys, birth.Next.Origin.Key)
	return slices.DeleteFunc(keys, func(key string) bool { return key == "" }) // what a member left has none
}

// hasNotChosen reports whether a preflight looks for the newest backup of a cluster.
func hasNotChosen(pod *corev1.Pod, cluster *v1alpha1.EtcdCluster) bool {
	if phase := resources.TaskPhase(pod); phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		return false
	}
	asked := "--latest-of=" + cluster.Namespace + "/" + cluster.Name
	return slices.ContainsFunc(resources.Steps(pod), func(s resources.Step) bool {
		return slices.Contains(s.Args, asked)
	})
}

// chosenBy is the key in the last words of a preflight; empty when it found none.
func chosenBy(pod *corev1.Pod) string {
	var manifest struct {
		Key string `json:"key"`
	}
	for _, step := range resources.Steps(pod) {
		if ended := step.State.Terminated; ended != nil && json.Unmarshal([]byte(ended.Message), &manifest) != nil {
			return ""
		}
	}
	return manifest.Key
}

// cameOf reports whether a restore was carried out.
func (b births) cameOf(request string) bool {
	for _, life := range b {
		isPast := slices.ContainsFunc(life.Former, func(p record.Former) bool { return p.Restore == request })
		if isPast || life.Restore == request {
			return true
		}
	}
	return false
}
