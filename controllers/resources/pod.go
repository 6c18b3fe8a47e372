package resources

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresources "k8s.io/component-helpers/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Renderer is raised whenever the same settings make another Pod than before. It is written on the Pod for people; a
// Pod of an older renderer is as good as it was and is not restarted for it.
const Renderer = 7

// Container is the name of the etcd container.
const Container = "etcd"

const (
	dataVolume = "data"
	tlsVolume  = "tls"
)

// PodStart says which member's Pod to build, and how etcd starts in it.
type PodStart struct {
	Name        string
	Incarnation string // of the member's data
	Token       string // --initial-cluster-token of the incarnation
	Flags       StartFlags
	Initial     []etcdutil.NamedURL // for StartBootstrap and StartJoin
	Inputs      RollInputs
	Operator    string // namespace/name of the install that looks after the cluster
	Role        string // role label, for sealed Pods only
	Platform

	HasWAL         bool     // its write-ahead log lies on a volume of its own
	Leaving        []string // members that leave once it votes: by default it does not keep apart from them
	SelectedByName bool     // what selects members still asks for the name that Pods had in earlier releases
}

// BuildPod builds a member's Pod from settings that were made, maybe long ago, and from the cluster's labels and
// annotations of today. It fails when the settings name no version, or resources that are none.
func BuildPod(c *v1alpha1.EtcdCluster, s PodStart) (*corev1.Pod, error) {
	version, resources, err := s.Inputs.parse()
	if err != nil {
		return nil, fmt.Errorf("building the Pod of member %s: %w", s.Name, err)
	}
	pod := &corev1.Pod{ObjectMeta: ownedMeta(c, s.Name)}
	pod.Labels = MemberLabels(c, s.Name, s.Incarnation)
	if s.SelectedByName {
		pod.Labels[v1alpha1.LabelName] = v1alpha1.NameValue
	}
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
		SecurityContext:              podSecurity(securityOf(s.Inputs.Pod), s.PlatformIDs),
		HostUsers:                    hostUsers(s.Inputs.Pod),
		Containers:                   []corev1.Container{buildContainer(c, s, version)},
		Volumes:                      buildVolumes(s),
	}
	pod.Spec.Containers[0].Resources = resources
	schedule(&pod.Spec, c, s.Inputs.Pod, s.Leaving)
	s.Images.put(pod, c, s.Inputs)
	if err := addSidecars(&pod.Spec, c, s.Inputs.Pod); err != nil {
		return nil, fmt.Errorf("building the Pod of member %s: %w", s.Name, err)
	}
	return dress(c, pod), nil
}

func podAnnotations(c *v1alpha1.EtcdCluster, s PodStart) map[string]string {
	annotations := map[string]string{
		v1alpha1.AnnotationInputs: s.Inputs.Canonical(), v1alpha1.AnnotationRenderer: strconv.Itoa(Renderer),
	}
	if s.Inputs.Ephemeral != nil && s.Operator != "" {
		annotations[v1alpha1.AnnotationOperator] = s.Operator
	}
	maps.Copy(annotations, InitialAnnotations(c, s.Name, s.Inputs.TLS, s.Flags, s.Initial))
	return annotations
}

func buildContainer(c *v1alpha1.EtcdCluster, s PodStart, version etcdutil.Version) corev1.Container {
	container := corev1.Container{
		Name:            Container,
		Image:           s.Images.reference(c, s.Inputs, version),
		ImagePullPolicy: pullPolicy(s.Inputs),
		Command:         []string{"etcd"},
		Args:            buildArgs(c, s, version),
		Env:             buildEnv(s.Inputs.TLS.HasCertificates()),
		Ports: []corev1.ContainerPort{
			containerPort(clientPortName, etcdutil.ClientPort),
			containerPort(peerPortName, etcdutil.PeerPort),
			containerPort(metricsPortName, etcdutil.MetricsPort),
		},
		VolumeMounts:             []corev1.VolumeMount{{Name: dataVolume, MountPath: dataMount}},
		StartupProbe:             startupProbe(),
		LivenessProbe:            livenessProbe(s.Inputs.QuotaBytes()),
		ReadinessProbe:           readinessProbe(),
		Lifecycle:                leaveFirst(),
		SecurityContext:          containerSecurity(),
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError, // why etcd stopped is evidence
	}
	container.VolumeMounts = append(container.VolumeMounts, s.mountsOfWAL()...)
	if s.Inputs.TLS.HasCertificates() {
		container.VolumeMounts = append(container.VolumeMounts,
			corev1.VolumeMount{Name: tlsVolume, MountPath: tlsMount, ReadOnly: true})
	}
	return container
}

func pullPolicy(in RollInputs) corev1.PullPolicy {
	return cmp.Or(imageOf(in).PullPolicy, DefaultPullPolicy)
}

func containerPort(name string, port int32) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: port, Protocol: corev1.ProtocolTCP}
}

// buildEnv feeds the arguments that a seal changes, and lets etcdctl work inside the Pod with no flags. Its endpoint is
// the one it has by itself, 127.0.0.1:2379: a variable beside --endpoints would stop it
// (etcd-io/etcd:pkg/flags/flag.go verifyEnv).
func buildEnv(isTLS bool) []corev1.EnvVar {
	env := []corev1.EnvVar{
		fromAnnotation(stateVariable, v1alpha1.AnnotationInitialState),
		fromAnnotation(clusterVariable, v1alpha1.AnnotationInitialCluster),
		fromAnnotation(compareVariable, v1alpha1.AnnotationInitialCompare),
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
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + annotation +
			"']"},
	}}
}

func buildVolumes(s PodStart) []corev1.Volume {
	data := claimed(dataVolume, s.Name)
	if ephemeral := s.Inputs.Ephemeral; ephemeral != nil {
		data.VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: ephemeral.Medium}}
	}
	volumes := append([]corev1.Volume{data}, s.volumesOfWAL()...)
	if s.Inputs.TLS.HasCertificates() {
		volumes = append(volumes, mountedSecret(tlsVolume, MemberSecret(s.Name)))
	}
	return volumes
}

// DataOf is the emptyDir that a member's Pod has its data in; nil for a volume. Of a Pod that has neither nothing is
// known.
func DataOf(pod *corev1.Pod) (ephemeral *v1alpha1.EphemeralSpec, isKnown bool) {
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.Name != dataVolume:
		case v.EmptyDir != nil:
			return &v1alpha1.EphemeralSpec{Medium: v.EmptyDir.Medium}, true
		default:
			return nil, true
		}
	}
	return nil, false
}

// BuildPlacePod builds the Pod that holds the place of a member whose volume is restored. It is a restore Pod with
// nothing left to restore: it waits where the member will run, with that volume mounted, and asks for all that the
// member and the containers beside it will ask for.
func BuildPlacePod(c *v1alpha1.EtcdCluster, s RestoreStart) (*corev1.Pod, error) {
	_, requirements, err := s.Inputs.parse()
	member := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: requirements}}}}
	if err == nil {
		err = addSidecars(&member.Spec, c, s.Inputs.Pod)
	}
	if err != nil {
		return nil, fmt.Errorf("building the Pod that holds the place of member %s: %w", s.Member, err)
	}
	step := s.step(StepHold, s.AgentImage, []string{agentProgram}, []string{StepHold})
	step.Resources = wholeOf(member)
	return s.podOf(c, step), nil
}

// wholeOf is what a Pod asks for, as one container would. One of its containers may have no limit where another one
// has, so no limit is below what is asked for.
func wholeOf(pod *corev1.Pod) corev1.ResourceRequirements {
	all := corev1.ResourceRequirements{
		Requests: podresources.PodRequests(pod, podresources.PodResourcesOptions{}),
		Limits:   podresources.PodLimits(pod, podresources.PodResourcesOptions{}),
	}
	for name, limit := range all.Limits {
		if asked := all.Requests[name]; asked.Cmp(limit) > 0 {
			all.Limits[name] = asked
		}
	}
	return all
}

// HoldsPlace reports a restore Pod that only holds a place.
func HoldsPlace(pod *corev1.Pod) bool {
	steps := Steps(pod)
	return len(steps) == 1 && steps[0].Name == StepHold
}

// ownUser is the user of distroless images, and the group. It is a number, since the kubelet cannot tell whether a name
// is root.
const ownUser int64 = 65532

// podSecurity passes Pod Security "restricted". The group owns what is mounted. It follows the user, so that another
// user has another group: by that the kubelet sees that it has to give the group what the user before wrote for itself
// alone, as etcd does (etcd-io/etcd:client/pkg/fileutil, kubernetes/kubernetes:pkg/volume/volume_linux.go). A platform
// that hands out IDs has a range for each namespace, and refuses others: there what the spec does not name stays open.
func podSecurity(asked *v1alpha1.PodSecurityContext, platformIDs bool) *corev1.PodSecurityContext {
	if asked == nil {
		asked = &v1alpha1.PodSecurityContext{}
	}
	asked = asked.DeepCopy()
	out := &corev1.PodSecurityContext{
		RunAsNonRoot:        new(true),
		RunAsUser:           asked.RunAsUser,
		RunAsGroup:          asked.RunAsGroup,
		FSGroup:             asked.FSGroup,
		FSGroupChangePolicy: new(cmp.Or(asked.FSGroupChangePolicy, DefaultGroupChange)),
		SupplementalGroups:  asked.SupplementalGroups,
		SELinuxOptions:      asked.SELinuxOptions,
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if asked.SupplementalGroupsPolicy == corev1.SupplementalGroupsPolicyStrict {
		out.SupplementalGroupsPolicy = &asked.SupplementalGroupsPolicy
	}
	if !platformIDs {
		out.RunAsUser = cmp.Or(out.RunAsUser, new(ownUser))
		out.RunAsGroup = cmp.Or(out.RunAsGroup, new(*out.RunAsUser))
		out.FSGroup = cmp.Or(out.FSGroup, new(*out.RunAsUser))
	}
	return out
}

// securityOf is what the spec says of the user and the groups of the cluster's Pods.
func securityOf(in *v1alpha1.PodSpec) *v1alpha1.PodSecurityContext {
	if in == nil {
		return nil
	}
	return in.SecurityContext
}

// hostUsers is false where the spec asks for a user namespace. Else nothing is said, as before there was such a field.
func hostUsers(in *v1alpha1.PodSpec) *bool {
	if in == nil || in.HostUsers == nil || *in.HostUsers {
		return nil
	}
	return new(false)
}

func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// ResizePatch is a strategic merge patch of pods/resize that gives a member's Pod the amounts of these settings. What
// the Pod has beside them is taken away; that Kubernetes may refuse.
func ResizePatch(pod *corev1.Pod, in RollInputs) ([]byte, error) {
	wanted, err := requirements(resourcesOf(in.Pod))
	if err != nil {
		return nil, fmt.Errorf("resizing the Pod of member %s: %w", pod.Name, err)
	}
	has := containerOf(pod).Resources
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"spec": map[string]any{"containers": []any{map[string]any{
			"name": Container,
			"resources": map[string]any{
				"limits": amounts(has.Limits, wanted.Limits), "requests": amounts(has.Requests, wanted.Requests),
			},
		}}},
	})
}

// amounts are CPU and memory as they are wanted; null takes away what is there and not wanted.
func amounts(has, wanted corev1.ResourceList) map[corev1.ResourceName]*resource.Quantity {
	out := map[corev1.ResourceName]*resource.Quantity{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if quantity, isWanted := wanted[name]; isWanted {
			out[name] = &quantity
		} else if _, isThere := has[name]; isThere {
			out[name] = nil
		}
	}
	return out
}

// HasItsAmounts reports a Pod whose etcd has the CPU and memory that the Pod says it was made from. It has others where
// a VerticalPodAutoscaler changed them.
func HasItsAmounts(pod *corev1.Pod) bool {
	in, err := DecodeInputs(pod.Annotations[v1alpha1.AnnotationInputs])
	if err != nil {
		return false
	}
	wanted, err := requirements(resourcesOf(in.Pod))
	has := containerOf(pod).Resources
	return err == nil && holds(has.Limits, wanted.Limits) && holds(has.Requests, wanted.Requests)
}

func holds(has, wanted corev1.ResourceList) bool {
	for name, quantity := range wanted {
		if there, ok := has[name]; !ok || there.Cmp(quantity) != 0 {
			return false
		}
	}
	return true
}

// containerOf is the etcd container; an empty one where there is none.
func containerOf(pod *corev1.Pod) corev1.Container {
	for _, c := range pod.Spec.Containers {
		if c.Name == Container {
			return c
		}
	}
	return corev1.Container{}
}
