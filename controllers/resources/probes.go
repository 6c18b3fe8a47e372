package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Probes use the plain listener: the kubelet has no client certificate. A probe cannot be changed in a running Pod, so
// each must fit a learner as well as a voter.

// startupProbe holds the others back for up to half an hour: a member may replay a long log, or receive gigabytes,
// first. Nothing it asks needs a quorum, which at birth is not there yet. It looks often, since readiness waits for it.
func startupProbe() *corev1.Probe {
	return probe("/livez", 1, 10, 1800)
}

// livenessProbe restarts a process that hangs, and only that. Defragmentation blocks even /livez (etcd-io/etcd#16858):
// two minutes are more than that of a full database takes.
func livenessProbe() *corev1.Probe {
	return probe("/livez", 10, 10, 12)
}

// readinessProbe reads linearizably. It is what the disruption budget counts by, so it is asked often enough for a
// drain or a repair not to wait for it. A learner is to become ready too, hence the exclusion.
func readinessProbe() *corev1.Probe {
	return probe("/readyz?exclude=non_learner", 2, 3, 3)
}

// probe takes period and timeout in seconds.
func probe(path string, period, timeout, threshold int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString(metricsPortName), Scheme: corev1.URISchemeHTTP,
		}},
		PeriodSeconds: period, TimeoutSeconds: timeout, SuccessThreshold: 1, FailureThreshold: threshold,
	}
}

// leaveSeconds is how long etcd serves on after its Pod is told to stop. kube-proxy changes its rules at most once a
// second (kubernetes/kubernetes:pkg/proxy/apis/config/v1alpha1/defaults.go, MinSyncPeriod); the rest is for the news to
// reach it. It counts within the grace period, of which the least that a spec may ask for, 30 s, leaves enough to hand
// over leadership and stop.
const leaveSeconds = 2

// leaveFirst lets a member leave the Service before it stops, in every case. Otherwise a client that etcd turns away
// may be led back to the same Pod, is refused there, and waits a second. The kubelet itself sleeps: no program runs in
// the container.
func leaveFirst() *corev1.Lifecycle {
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: leaveSeconds}}}
}
