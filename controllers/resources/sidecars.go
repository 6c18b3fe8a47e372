package resources

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Sidecars are containers of the user beside etcd, as native sidecars: init containers that are restarted always. etcd
// starts once they have started, so what could hold their start up without need is optional: Secrets and ConfigMaps
// that do not exist.

// SidecarNames are the names of the sidecars that a Pod was made with. What webhooks added is not among them.
func (in RollInputs) SidecarNames() []string {
	if in.Pod == nil {
		return nil
	}
	names := make([]string, 0, len(in.Pod.Sidecars))
	for _, sidecar := range in.Pod.Sidecars {
		names = append(names, sidecar.Name)
	}
	return names
}

// addSidecars puts them, and the volumes of their mounts, into a member's Pod.
func addSidecars(spec *corev1.PodSpec, c *v1alpha1.EtcdCluster, in *v1alpha1.PodSpec) error {
	if in == nil {
		return nil
	}
	for _, sidecar := range in.Sidecars {
		container, err := buildSidecar(sidecar)
		if err != nil {
			return fmt.Errorf("sidecar %s: %w", sidecar.Name, err)
		}
		for i, mount := range sidecar.Mounts {
			source, err := mounted(c, mount)
			if err != nil {
				return fmt.Errorf("sidecar %s: %w", sidecar.Name, err)
			}
			volume := fmt.Sprintf("sidecar-%s-%d", sidecar.Name, i)
			container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: volume,
				MountPath: mount.MountPath, ReadOnly: mount.EmptyDir == nil})
			spec.Volumes = append(spec.Volumes, corev1.Volume{Name: volume, VolumeSource: source})
		}
		spec.InitContainers = append(spec.InitContainers, container)
	}
	return nil
}

func buildSidecar(s v1alpha1.Sidecar) (corev1.Container, error) {
	container := corev1.Container{
		Name:            s.Name,
		Image:           s.Image,
		ImagePullPolicy: cmp.Or(s.ImagePullPolicy, DefaultPullPolicy),
		Command:         slices.Clone(s.Command),
		Args:            slices.Clone(s.Args),
		RestartPolicy:   new(corev1.ContainerRestartPolicyAlways),
		ReadinessProbe:  sidecarProbe(s.ReadinessProbe),
		LivenessProbe:   sidecarProbe(s.LivenessProbe),
		SecurityContext: sidecarSecurity(s.SecurityContext),

		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	for _, variable := range s.Env {
		container.Env = append(container.Env, sidecarEnv(variable))
	}
	for _, port := range s.Ports {
		container.Ports = append(container.Ports, corev1.ContainerPort{Name: port.Name,
			ContainerPort: port.ContainerPort, Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP)})
	}
	var err error
	if s.Resources != nil {
		container.Resources, err = requirements(*s.Resources)
	}
	return container, err
}

func sidecarEnv(e v1alpha1.SidecarEnv) corev1.EnvVar {
	variable := corev1.EnvVar{Name: e.Name, Value: e.Value}
	from := e.ValueFrom
	switch {
	case from == nil:
	case from.FieldRef != nil:
		variable.ValueFrom = &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: from.FieldRef.FieldPath}}
	case from.SecretKeyRef != nil:
		variable.ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: from.SecretKeyRef.Name},
			Key:                  from.SecretKeyRef.Key, Optional: new(true)}}
	case from.ConfigMapKeyRef != nil:
		variable.ValueFrom = &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: from.ConfigMapKeyRef.Name},
			Key:                  from.ConfigMapKeyRef.Key, Optional: new(true)}}
	}
	return variable
}

// mounted is where a mount comes from. The group of the Pod may read what a Secret holds.
func mounted(c *v1alpha1.EtcdCluster, m v1alpha1.SidecarMount) (corev1.VolumeSource, error) {
	switch {
	case m.ConfigMap != nil:
		return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: m.ConfigMap.Name}, Optional: new(true)}}, nil
	case m.Secret != nil:
		return optionalSecret(m.Secret.Name), nil
	case m.ClientCertificate != nil:
		return optionalSecret(ClientSecret(c.Name)), nil
	case m.EmptyDir != nil:
		dir := &corev1.EmptyDirVolumeSource{Medium: m.EmptyDir.Medium}
		if m.EmptyDir.SizeLimit != "" {
			limit, err := parseQuantity(m.EmptyDir.SizeLimit)
			if err != nil {
				return corev1.VolumeSource{}, err
			}
			dir.SizeLimit = &limit
		}
		return corev1.VolumeSource{EmptyDir: dir}, nil
	}
	return corev1.VolumeSource{}, fmt.Errorf("nothing is mounted at %s", m.MountPath)
}

func optionalSecret(name string) corev1.VolumeSource {
	source := mountedSecret("", name).VolumeSource
	source.Secret.Optional = new(true)
	return source
}

func sidecarProbe(p *v1alpha1.SidecarProbe) *corev1.Probe {
	if p == nil {
		return nil
	}
	probe := &corev1.Probe{InitialDelaySeconds: p.InitialDelaySeconds, PeriodSeconds: cmp.Or(p.PeriodSeconds, 10),
		TimeoutSeconds: cmp.Or(p.TimeoutSeconds, 1), SuccessThreshold: 1,
		FailureThreshold: cmp.Or(p.FailureThreshold, 3)}
	switch {
	case p.HTTPGet != nil:
		probe.HTTPGet = &corev1.HTTPGetAction{Path: cmp.Or(p.HTTPGet.Path, "/"),
			Port: intstr.FromInt32(p.HTTPGet.Port), Scheme: cmp.Or(p.HTTPGet.Scheme, corev1.URISchemeHTTP)}
	case p.TCPSocket != nil:
		probe.TCPSocket = &corev1.TCPSocketAction{Port: intstr.FromInt32(p.TCPSocket.Port)}
	case p.Exec != nil:
		probe.Exec = &corev1.ExecAction{Command: slices.Clone(p.Exec.Command)}
	}
	return probe
}

// sidecarSecurity is that of etcd's own container, and what a sidecar may choose within it.
func sidecarSecurity(asked *v1alpha1.SidecarSecurityContext) *corev1.SecurityContext {
	security := containerSecurity()
	if asked == nil {
		return security
	}
	if asked.ReadOnlyRootFilesystem != nil {
		security.ReadOnlyRootFilesystem = new(*asked.ReadOnlyRootFilesystem)
	}
	if asked.RunAsUser != nil && *asked.RunAsUser > 0 {
		security.RunAsUser = new(*asked.RunAsUser)
	}
	return security
}

// sidecarWithoutDefaults takes out everything that says no more than its absence would.
func sidecarWithoutDefaults(s v1alpha1.Sidecar) v1alpha1.Sidecar {
	s = *s.DeepCopy()
	s.ImagePullPolicy = unless(s.ImagePullPolicy, DefaultPullPolicy)
	s.Command, s.Args, s.Env, s.Mounts = orNil(s.Command), orNil(s.Args), orNil(s.Env), orNil(s.Mounts)
	s.Ports = orNil(s.Ports)
	for i := range s.Ports {
		s.Ports[i].Protocol = unless(s.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range s.Mounts {
		if dir := s.Mounts[i].EmptyDir; dir != nil && dir.SizeLimit != "" {
			dir.SizeLimit = canonicalAmount(corev1.ResourceStorage, dir.SizeLimit)
		}
	}
	s.Resources = present(s.Resources, canonicalResources)
	s.ReadinessProbe, s.LivenessProbe = probeWithoutDefaults(s.ReadinessProbe), probeWithoutDefaults(s.LivenessProbe)
	s.SecurityContext = present(s.SecurityContext, sidecarSecurityWithoutDefaults)
	return s
}

func probeWithoutDefaults(p *v1alpha1.SidecarProbe) *v1alpha1.SidecarProbe {
	if p == nil {
		return nil
	}
	p.PeriodSeconds, p.TimeoutSeconds = unless(p.PeriodSeconds, 10), unless(p.TimeoutSeconds, 1)
	p.FailureThreshold = unless(p.FailureThreshold, 3)
	if p.HTTPGet != nil {
		p.HTTPGet.Path, p.HTTPGet.Scheme = unless(p.HTTPGet.Path, "/"),
			unless(p.HTTPGet.Scheme, corev1.URISchemeHTTP)
	}
	return p
}

func sidecarSecurityWithoutDefaults(s v1alpha1.SidecarSecurityContext) v1alpha1.SidecarSecurityContext {
	return v1alpha1.SidecarSecurityContext{RunAsUser: s.RunAsUser,
		ReadOnlyRootFilesystem: unlessPointer(s.ReadOnlyRootFilesystem, true)}
}
