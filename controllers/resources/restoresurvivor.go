package resources

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Steps of the Pod that restores on a volume what another member still holds, instead of a backup. etcdutl's is between
// them.
const (
	agentStreamSurvivor   = "stream-survivor"
	agentReadSurvivor     = "read-survivor"
	agentActivateSurvivor = "activate-survivor"
)

// Where the volume of a survivor that does not run is mounted. Nothing is written to it.
const (
	survivorVolume = "survivor"
	survivorMount  = "/survivor"
)

// survivorSteps stand in the place of those that fetch a backup and put it in its place.
func (s RestoreStart) survivorSteps(c *v1alpha1.EtcdCluster) (first, last corev1.Container) {
	args := append(s.placeArgs(), "--survivor="+s.Survivor)
	fetch, mounts := s.askSurvivor(c)
	if s.Mounts != "" {
		fetch, mounts = s.readSurvivor()
	}
	first = s.step(StepFetch, s.AgentImage, []string{agentProgram}, slices.Concat(fetch, args, []string{s.bumpArg()}))
	first.Ports = []corev1.ContainerPort{containerPort("progress", ProgressPort)}
	first.VolumeMounts = append(first.VolumeMounts, mounts...)
	return first, s.step(StepActivate, s.AgentImage, []string{agentProgram},
		append([]string{agentActivateSurvivor}, args...))
}

// askSurvivor asks a member that runs.
func (s RestoreStart) askSurvivor(c *v1alpha1.EtcdCluster) ([]string, []corev1.VolumeMount) {
	args := []string{agentStreamSurvivor, "--endpoints=" + backupEndpoints(c, []string{s.Survivor}), "--cluster-id=" +
		s.ClusterID.String()}
	if !c.Spec.IsTLS() {
		return args, nil
	}
	return append(args, "--tls-dir="+tlsMount),
		[]corev1.VolumeMount{{Name: tlsVolume, MountPath: tlsMount, ReadOnly: true}}
}

// readSurvivor reads what a member left that does not run.
func (s RestoreStart) readSurvivor() ([]string, []corev1.VolumeMount) {
	database := path.Join(survivorMount, s.LaidIn, s.Survivor, "member", "snap", "db")
	return []string{agentReadSurvivor, "--database=" + database, "--member-id=" + s.MemberID.String()},
		[]corev1.VolumeMount{{Name: survivorVolume, MountPath: survivorMount, ReadOnly: true}}
}

// sourceVolumes are what the first step reads with: the store's Secrets, or the certificate that members know the
// operator by.
func (s RestoreStart) sourceVolumes(c *v1alpha1.EtcdCluster) []corev1.Volume {
	switch {
	case s.Survivor == "":
		return mountStore(s.Store, true).volumes
	case s.Mounts != "":
		return []corev1.Volume{claimed(survivorVolume, s.Mounts)}
	case c.Spec.IsTLS():
		return []corev1.Volume{mountedSecret(tlsVolume, OperatorSecret(c.Name))}
	}
	return nil
}
