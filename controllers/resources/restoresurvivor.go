package resources

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Steps of the Pod that lays on a volume what another member still holds, instead of a backup. etcdutl's is between them.
const (
	agentStreamSurvivor   = "stream-survivor"
	agentActivateSurvivor = "activate-survivor"
)

// survivorSteps stand in the place of those that fetch a backup and put it in its place.
func (s RestoreStart) survivorSteps(c *v1alpha1.EtcdCluster) (first, last corev1.Container) {
	args := []string{
		"--volume=" + dataMount, "--incarnation=" + s.Incarnation, "--member=" + s.Member, "--survivor=" + s.Survivor,
	}
	stream := append([]string{
		agentStreamSurvivor, "--endpoints=" + backupEndpoints(c, []string{s.Survivor}), "--cluster-id=" + s.ClusterID.String(),
		"--bump-revision=" + strconv.FormatInt(s.BumpRevision, 10),
	}, args...)
	if c.Spec.IsTLS() {
		stream = append(stream, "--tls-dir="+tlsMount)
	}
	first = s.step(StepFetch, s.AgentImage, []string{agentProgram}, stream)
	first.Ports = []corev1.ContainerPort{containerPort("progress", ProgressPort)}
	if c.Spec.IsTLS() {
		first.VolumeMounts = append(first.VolumeMounts, corev1.VolumeMount{Name: tlsVolume, MountPath: tlsMount, ReadOnly: true})
	}
	return first, s.step(StepActivate, s.AgentImage, []string{agentProgram}, append([]string{agentActivateSurvivor}, args...))
}

// sourceVolumes are what the first step reads with: the store's Secrets, or the certificate that members know the operator by.
func (s RestoreStart) sourceVolumes(c *v1alpha1.EtcdCluster) []corev1.Volume {
	switch {
	case s.Survivor == "":
		return storeVolumes(s.Store)
	case c.Spec.IsTLS():
		return []corev1.Volume{mountedSecret(tlsVolume, OperatorSecret(c.Name))}
	}
	return nil
}
