package resources

import (
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Renderer is raised whenever the same choices make another Pod than before. It is written on the Pod for people; a Pod
// of an older renderer is as good as it was and is not restarted for it.
const Renderer = 2

// Container is the name of the etcd container.
const Container = "etcd"

const (
	dataVolume = "data"
	tlsVolume  = "tls"

	// nonRoot is the user of distroless images. It is a number, since the kubelet cannot tell whether a name is root.
	nonRoot int64 = 65532
)

// PodStart says which member's Pod to build, and how etcd starts in it.
type PodStart struct {
	Name        string
	Incarnation string // of the member's data
	Token       string // --initial-cluster-token of the incarnation
	Flags       StartFlags
	Initial     []etcdutil.NamedURL // for StartBirth and StartJoin
	Inputs      RollInputs
	Role        string // role label, for sealed Pods only
}

// BuildPod builds a member's Pod from choices that were made, maybe long ago, and from the cluster's labels and annotations
// of today. It fails when the choices name no version, or resources that are none.
func BuildPod(c *v1alpha1.EtcdCluster, s PodStart) (*corev1.Pod, error) {
	version, err := etcdutil.ParseVersion(s.Inputs.Version)
	if err != nil {
		return nil, fmt.Errorf("building the Pod of member %s: %w", s.Name, err)
	}
	resources, err := resourcesOf(s.Inputs).requirements()
	if err != nil {
		return nil, fmt.Errorf("building the Pod of member %s: %w", s.Name, err)
	}
	pod := &corev1.Pod{ObjectMeta: ownedMeta(c, s.Name)}
	pod.Labels = PodLabels(c, s.Name, s.Incarnation)
	if s.Role != "" {
		pod.Labels[v1alpha1.LabelRole] = s.Role
	}
	pod.Annotations = podAnnotations(c, s)
	pod.Spec = corev1.PodSpec{
		Hostname:                     s.Name,
		Subdomain:                    PeerService(c.Name),
		RestartPolicy:                corev1.RestartPolicyAlways,
		AutomountServiceAccountToken: new(false),
		EnableServiceLinks:           new(false), // a Service called etcd would set etcd's own variables
		SecurityContext:              podSecurity(),
		Containers:                   []corev1.Container{buildContainer(c, s, version)},
		Volumes:                      buildVolumes(s),
	}
	pod.Spec.Containers[0].Resources = resources
	schedule(&pod.Spec, c, s.Inputs.Pod)
	for _, name := range image(s.Inputs).PullSecrets {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return pod, nil
}

func podAnnotations(c *v1alpha1.EtcdCluster, s PodStart) map[string]string {
	annotations := merged(userAnnotations(c))
	if record := dressedIn(userLabels(c), userAnnotations(c)); !record.isZero() {
		annotations[v1alpha1.AnnotationDressed] = encode(record)
	}
	annotations[v1alpha1.AnnotationInputs] = s.Inputs.Canonical()
	annotations[v1alpha1.AnnotationRenderer] = strconv.Itoa(Renderer)
	maps.Copy(annotations, InitialAnnotations(c, s.Name, s.Flags, s.Initial))
	return annotations
}

func buildContainer(c *v1alpha1.EtcdCluster, s PodStart, version etcdutil.Version) corev1.Container {
	container := corev1.Container{
		Name:            Container,
		Image:           imageReference(s.Inputs, version),
		ImagePullPolicy: DefaultPullPolicy,
		Command:         []string{"etcd"},
		Args:            buildArgs(c, s, version),
		Env:             buildEnv(s.Inputs.TLS == ""),
		Ports: []corev1.ContainerPort{
			containerPort(clientPortName, etcdutil.ClientPort),
			containerPort(peerPortName, etcdutil.PeerPort),
			containerPort(metricsPortName, etcdutil.MetricsPort),
		},
		VolumeMounts:             []corev1.VolumeMount{{Name: dataVolume, MountPath: dataMount}},
		StartupProbe:             startupProbe(),
		LivenessProbe:            livenessProbe(),
		ReadinessProbe:           readinessProbe(),
		SecurityContext:          containerSecurity(),
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError, // why etcd stopped is evidence
	}
	if policy := image(s.Inputs).PullPolicy; policy != "" {
		container.ImagePullPolicy = policy
	}
	if s.Inputs.TLS == "" {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: tlsVolume, MountPath: tlsMount, ReadOnly: true})
	}
	return container
}

func resourcesOf(in RollInputs) ResourceInputs {
	if in.Pod == nil || in.Pod.Resources == nil {
		return defaultResources()
	}
	return *in.Pod.Resources
}

func image(in RollInputs) ImageInputs {
	if in.Image == nil {
		return ImageInputs{}
	}
	return *in.Image
}

// imageReference prefers the digest, alone: not every runtime accepts a tag beside it.
func imageReference(in RollInputs, version etcdutil.Version) string {
	repository := image(in).Repository
	if repository == "" {
		repository = DefaultRepository
	}
	if digest := image(in).Digest; digest != "" {
		return repository + "@" + digest
	}
	return repository + ":v" + version.String()
}

func containerPort(name string, port int32) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: port, Protocol: corev1.ProtocolTCP}
}

// buildEnv feeds the arguments that a seal changes, and lets etcdctl work inside the Pod with no flags.
func buildEnv(isTLS bool) []corev1.EnvVar {
	env := []corev1.EnvVar{
		fromAnnotation(stateVariable, v1alpha1.AnnotationInitialState),
		fromAnnotation(clusterVariable, v1alpha1.AnnotationInitialCluster),
		fromAnnotation(compareVariable, v1alpha1.AnnotationInitialCompare),
		{Name: "ETCDCTL_ENDPOINTS", Value: fmt.Sprintf("%s://localhost:%d", scheme(isTLS), etcdutil.ClientPort)},
	}
	if isTLS {
		env = append(env,
			corev1.EnvVar{Name: "ETCDCTL_CACERT", Value: tlsMount + "/" + KeyCA},
			corev1.EnvVar{Name: "ETCDCTL_CERT", Value: tlsMount + "/" + KeyCert},
			corev1.EnvVar{Name: "ETCDCTL_KEY", Value: tlsMount + "/" + KeyKey},
		)
	}
	return env
}

func fromAnnotation(variable, annotation string) corev1.EnvVar {
	return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + annotation + "']"},
	}}
}

func buildVolumes(s PodStart) []corev1.Volume {
	data := corev1.Volume{Name: dataVolume}
	if s.Inputs.Ephemeral != nil {
		data.EmptyDir = &corev1.EmptyDirVolumeSource{Medium: s.Inputs.Ephemeral.Medium}
	} else {
		data.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.Name}
	}
	if s.Inputs.TLS != "" {
		return []corev1.Volume{data}
	}
	return []corev1.Volume{data, {Name: tlsVolume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: MemberSecret(s.Name), DefaultMode: new(int32(0o440))},
	}}}
}
