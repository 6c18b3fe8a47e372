package resources

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// RestoredMember is the member whose volume a restore Pod of that name is for; false for all other names.
func RestoredMember(pod string) (string, bool) { return strings.CutSuffix(pod, RestorePod("")) }

// PreflightAsked is what a preflight Pod was asked, as its arguments, which cannot change, say it: the version of etcd,
// and the size of the volumes.
func PreflightAsked(pod *corev1.Pod) (version string, bytes int64) {
	bytes, _ = strconv.ParseInt(argOf(pod, StepPreflight, "--volume-bytes="), 10, 64)
	return argOf(pod, StepPreflight, "--etcd-version="), bytes
}

// taskOf is the component that a Pod of a restore is, by its name.
func taskOf(pod string) string {
	if _, ok := RestoredMember(pod); ok {
		return v1alpha1.ComponentRestore
	}
	return v1alpha1.ComponentPreflight
}

// IsTask reports whether a Pod of the cluster is one of a restore, by its name.
func IsTask(c *v1alpha1.EtcdCluster, pod string) bool {
	_, isRestore := RestoredMember(pod)
	return isRestore || pod == PreflightPod(c.Name)
}
