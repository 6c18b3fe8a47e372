package resources

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// RestoredMember is the member whose volume a restore Pod of that name is for; false for all other names.
func RestoredMember(pod string) (string, bool) { return strings.CutSuffix(pod, RestorePod("")) }

// PreflightAsked is what a preflight Pod was to find out, as its arguments, which nobody can change, say it: the version of etcd,
// and the size of the volumes.
func PreflightAsked(pod *corev1.Pod) (version string, bytes int64) {
	for _, container := range pod.Spec.Containers {
		for _, arg := range container.Args {
			if text, ok := strings.CutPrefix(arg, "--etcd-version="); ok {
				version = text
			}
			if text, ok := strings.CutPrefix(arg, "--volume-bytes="); ok {
				bytes, _ = strconv.ParseInt(text, 10, 64)
			}
		}
	}
	return version, bytes
}

// Pulling is how the Pods of the cluster get their images, whatever these are.
func Pulling(c *v1alpha1.EtcdCluster) (corev1.PullPolicy, []corev1.LocalObjectReference) {
	inputs := Inputs(c)
	var secrets []corev1.LocalObjectReference
	for _, name := range image(inputs).PullSecrets {
		secrets = append(secrets, corev1.LocalObjectReference{Name: name})
	}
	return pullPolicy(inputs), secrets
}

// LostTaskLabels are the labels that a Pod of a restore must have and lacks. It is no member's Pod, whatever it is called.
func LostTaskLabels(c *v1alpha1.EtcdCluster, pod *corev1.Pod) map[string]string {
	component := v1alpha1.ComponentPreflight
	if _, ok := RestoredMember(pod.Name); ok {
		component = v1alpha1.ComponentRestore
	}
	lost := map[string]string{}
	for key, value := range RestoreLabels(c, component) {
		if pod.Labels[key] != value {
			lost[key] = value
		}
	}
	return lost
}

// IsTask reports whether a Pod of the cluster is one of a restore, by its name.
func IsTask(c *v1alpha1.EtcdCluster, pod string) bool {
	_, isRestore := RestoredMember(pod)
	return isRestore || pod == PreflightPod(c.Name)
}
