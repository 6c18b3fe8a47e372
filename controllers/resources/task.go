package resources

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// agentProgram is where the image of the operator has the agent.
const agentProgram = "/agent"

// task is what tells one Pod of the agent from another: it comes to an end once, by itself or in a Job.
type task struct {
	Platform
	name, component string
	over            *v1alpha1.TaskSpec // wins over that of the cluster
	grace           int64              // seconds in which what has begun is called off
	deadline        time.Duration      // zero: none
	steps           []step
}

// step is a container of a task, with the volumes that it mounts.
type step struct {
	corev1.Container
	volumes []corev1.Volume
}

// reach is how a step reaches something: the agent's flags for it, what is mounted, and the volumes of that.
type reach struct {
	args    []string
	mounts  []corev1.VolumeMount
	volumes []corev1.Volume
}

func mount(volume corev1.Volume, path string, readOnly bool, args ...string) reach {
	return reach{args: args, volumes: []corev1.Volume{volume},
		mounts: []corev1.VolumeMount{{Name: volume.Name, MountPath: path, ReadOnly: readOnly}}}
}

// mountOperatorSecret is the certificate that members know the operator by; nothing where there is no TLS.
func mountOperatorSecret(c *v1alpha1.EtcdCluster) reach {
	if !c.Spec.IsTLS() {
		return reach{}
	}
	return mount(mountedSecret(tlsVolume, OperatorSecret(c.Name)), tlsMount, true, "--tls-dir="+tlsMount)
}

func mountScratch(limit *resource.Quantity) reach {
	return mount(corev1.Volume{Name: scratchVolume, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: limit}}}, scratchMount, false, "--scratch="+scratchMount)
}

// stepOf is a step of the agent, or of etcd's own tools. Its termination message says what came of it. It pulls its
// image as the operator's is pulled by default: what the cluster says of pulling is about etcd's.
func stepOf(name, image string, command, args []string, reaches ...reach) step {
	for i := range args {
		args[i] = literal(args[i])
	}
	s := step{Container: corev1.Container{
		Name:            name,
		Image:           image,
		ImagePullPolicy: DefaultPullPolicy,
		Command:         command,
		Args:            args,
		SecurityContext: containerSecurity(),

		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}}
	for _, m := range reaches {
		s.VolumeMounts, s.volumes = append(s.VolumeMounts, m.mounts...), append(s.volumes, m.volumes...)
	}
	return s
}

// agentStep is a step of the agent, by the name of its subcommand.
func agentStep(name, image string, args []string, reaches ...reach) step {
	return stepOf(name, image, []string{agentProgram}, append([]string{name}, args...), reaches...)
}

// agentResources have the limits of CPU and memory that members have: a quota may refuse Pods without. Members without
// limits have tasks without. A limit of memory counts the files that are written as well, and slows a backup down to
// the speed of the node's disk; a limit of CPU keeps its hashing from using CPU that others may want.
func agentResources(members *v1alpha1.PodSpec) corev1.ResourceRequirements {
	asked := corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
	}}
	if members == nil || members.Resources == nil {
		return asked
	}
	for name, request := range asked.Requests {
		limit, err := parseQuantity(members.Resources.Limits[name])
		if err != nil {
			continue // there is none, or none that a Pod could have
		}
		if asked.Limits == nil {
			asked.Limits = corev1.ResourceList{}
		}
		asked.Limits[name] = limit
		if limit.Cmp(request) < 0 {
			asked.Requests[name] = limit
		}
	}
	return asked
}

// leftAlone are labels and annotations by which service meshes and autoscalers of nodes leave a Pod alone. A proxy
// never ends, and in the way of a step that begins before it, nothing is reached
// (istio.io/docs/setup/additional-setup/sidecar-injection, linkerd.io/docs/features/proxy-injection,
// kuma.io/docs/data-plane-proxy, consul.io/docs/k8s/annotations-and-labels). A Pod that is moved to save a node begins
// its backup anew (kubernetes/autoscaler:cluster-autoscaler/FAQ.md, karpenter.sh/docs/concepts/disruption).
func leftAlone() (labels, annotations map[string]string) {
	return map[string]string{"sidecar.istio.io/inject": "false", "kuma.io/sidecar-injection": "disabled"},
		map[string]string{"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled",
			"consul.hashicorp.com/connect-inject":            "false",
			"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}
}

// taskSettings are a cluster's, and over them those of a backup or a schedule: each key of labels and annotations, and
// every other field as a whole.
func taskSettings(c *v1alpha1.EtcdCluster, over *v1alpha1.TaskSpec) v1alpha1.TaskSpec {
	inheritedLabels, inheritedAnnotations := inherited(c)
	labels, annotations := leftAlone()
	all := v1alpha1.TaskSpec{Labels: labels, Annotations: annotations}
	all.Labels, all.Annotations = merged(all.Labels, inheritedLabels), merged(all.Annotations, inheritedAnnotations)
	for _, layer := range []*v1alpha1.TaskSpec{c.Spec.Tasks, over} {
		if layer == nil {
			continue
		}
		l := layer.DeepCopy()
		all.Labels = merged(all.Labels, putLabels(l.Labels))
		all.Annotations = merged(all.Annotations, putPodAnnotations(l.Annotations))
		all.Resources = cmp.Or(l.Resources, all.Resources)
		all.ServiceAccountName = cmp.Or(l.ServiceAccountName, all.ServiceAccountName)
		all.PriorityClassName = cmp.Or(l.PriorityClassName, all.PriorityClassName)
		if l.Env != nil {
			all.Env = l.Env
		}
		if l.NodeSelector != nil {
			all.NodeSelector = l.NodeSelector
		}
		if l.Tolerations != nil {
			all.Tolerations = l.Tolerations
		}
	}
	return all
}

// template describes the Pods of a task. Its steps run one after the other, wherever the cluster's members may. They
// are never restarted in place: etcdutl refuses what it left half done, and a new Pod begins with removing it.
func (t task) template(c *v1alpha1.EtcdCluster) corev1.PodTemplateSpec {
	settings := taskSettings(c, t.over)
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: merged(settings.Labels, ownLabels(c, t.component)),
			Annotations: settings.Annotations},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			ServiceAccountName:            settings.ServiceAccountName,
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			SecurityContext:               podSecurity(securityOf(c.Spec.Pod), t.PlatformIDs),
			HostUsers:                     hostUsers(c.Spec.Pod),
			TerminationGracePeriodSeconds: new(t.grace),
		},
	}
	var steps []corev1.Container
	for _, s := range t.steps {
		s.Env = append(taskEnv(settings), s.Env...)
		if s.Resources.Requests == nil && s.Resources.Limits == nil {
			s.Resources = taskResources(settings, c.Spec.Pod)
		}
		for _, volume := range s.volumes {
			if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume.Name }) {
				pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
			}
		}
		steps = append(steps, s.Container)
	}
	last := len(steps) - 1
	pod.Spec.InitContainers, pod.Spec.Containers = steps[:last:last], steps[last:]
	placeTask(&pod.Spec, c, settings)
	return pod
}

// pod is a task of the cluster that no Job makes. Its images are pulled as those of a member with these settings.
func (t task) pod(c *v1alpha1.EtcdCluster, in RollInputs) *corev1.Pod {
	for i := range t.steps {
		t.steps[i].ImagePullPolicy = pullPolicy(in)
	}
	template := t.template(c)
	pod := &corev1.Pod{ObjectMeta: ownedMeta(c, t.name), Spec: template.Spec}
	pod.Labels, pod.Annotations = template.Labels, template.Annotations
	if t.deadline > 0 {
		pod.Spec.ActiveDeadlineSeconds = new(wholeSeconds(t.deadline))
	}
	t.Images.put(pod, c, in)
	return pod
}

// owner is what the Job of a task is made for, and the label by which that finds it.
type owner struct {
	metav1.Object
	kind, label string
}

// job makes Pods of a task, one after the other, until one succeeds.
func (t task) job(c *v1alpha1.EtcdCluster, by owner, retries int32,
	pull []corev1.LocalObjectReference) *batchv1.Job {
	pod, label := t.template(c), map[string]string{by.label: by.GetName()}
	pod.Spec.ImagePullSecrets = pull
	labels := merged(ownLabels(c, t.component), label)
	pod.Labels = merged(pod.Labels, labels)
	return dress(c, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: by.GetNamespace(), Name: t.name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(by, v1alpha1.GroupVersion.WithKind(by.kind))}},
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(retries),
			ActiveDeadlineSeconds: new(wholeSeconds(t.deadline)),
			// A Pod on a node that died stays Terminating for as long as the node is away; another need not wait for
			// it, since no attempt writes what another one writes.
			PodReplacementPolicy: new(batchv1.TerminatingOrFailed),
			Template:             pod,
		},
	})
}

func taskEnv(settings v1alpha1.TaskSpec) []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, variable := range settings.Env {
		env = append(env, corev1.EnvVar{Name: variable.Name, Value: literal(variable.Value)})
	}
	return env
}

// taskResources are as the settings ask for. Amounts that are none are refused before, and keep no backup from being
// taken.
func taskResources(settings v1alpha1.TaskSpec, members *v1alpha1.PodSpec) corev1.ResourceRequirements {
	if settings.Resources == nil {
		return agentResources(members)
	}
	resources, err := requirements(*settings.Resources)
	if err != nil {
		return agentResources(members)
	}
	return resources
}

// placeTask lets a task run wherever the cluster's members may, and nowhere else: other nodes may be out of reach of
// its network and its images, or of another system. Names mean to it what they mean to members. What keeps
// members apart from each other says nothing of a task.
func placeTask(spec *corev1.PodSpec, c *v1alpha1.EtcdCluster, settings v1alpha1.TaskSpec) {
	members := v1alpha1.PodSpec{}
	if c.Spec.Pod != nil {
		members = *c.Spec.Pod.DeepCopy()
	}
	spec.PriorityClassName = cmp.Or(settings.PriorityClassName, members.PriorityClassName)
	spec.SchedulerName, spec.DNSConfig = members.SchedulerName, members.DNSConfig
	spec.Tolerations = patience()
	if settings.Tolerations == nil {
		settings.Tolerations = members.Tolerations
	}
	spec.Tolerations = append(spec.Tolerations, settings.Tolerations...)
	if settings.NodeSelector != nil {
		spec.NodeSelector = settings.NodeSelector
		return
	}
	spec.NodeSelector = members.NodeSelector
	if affinity := members.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		spec.Affinity = &corev1.Affinity{NodeAffinity: affinity.NodeAffinity}
	}
}

// deadNodeSeconds is how long a task waits for a node that does not answer: it is cheaper to begin anew elsewhere.
const deadNodeSeconds = 30

// patience is a short one with a dead node: of several tolerations that fit a taint, the shortest time counts
// (kubernetes/kubernetes:pkg/controller/tainteviction getMinTolerationTime).
func patience() []corev1.Toleration {
	tolerations := defaultTolerations()
	for i := range tolerations {
		tolerations[i].TolerationSeconds = new(int64(deadNodeSeconds))
	}
	return tolerations
}

// wholeSeconds rounds up, and is never zero: Kubernetes takes no such deadline.
func wholeSeconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}

func mountedSecret(volume, secret string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: new(int32(0o440))},
	}}
}

func claimed(volume, claim string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}
}

// ownSteps are the names of the containers that the operator makes for tasks.
var ownSteps = []string{StepSnapshot, StepFetch, StepRestore, StepCompare, StepPrune, StepPreflight, StepActivate,
	StepHold, StepDefragment}

// Step is a container of a task, and what its kubelet says of it.
type Step struct {
	corev1.Container
	State corev1.ContainerState // empty: nothing yet
}

// Ended reports whether a step is over, and went well.
func (s Step) Ended() (ended, good bool) {
	return s.State.Terminated != nil, s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
}

// Steps are a task's containers, in the order in which they run. What a webhook put into the Pod beside them is none of
// them: it may never end.
func Steps(pod *corev1.Pod) []Step {
	said := map[string]corev1.ContainerState{}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		said[status.Name] = status.State
	}
	var steps []Step
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if slices.Contains(ownSteps, container.Name) {
			steps = append(steps, Step{Container: container, State: said[container.Name]})
		}
	}
	return steps
}

// TaskPhase is how a task stands by its steps: it has failed with the first that does, and succeeded with the last.
// While they say neither, it is how its Pod stands. The kubelet tells of a container about a second before it tells of
// the Pod, and of a Pod in which something else goes on running not at all.
func TaskPhase(pod *corev1.Pod) corev1.PodPhase {
	steps := Steps(pod)
	isThrough := len(steps) > 0
	for _, step := range steps {
		ended, good := step.Ended()
		if ended && !good {
			return corev1.PodFailed
		}
		isThrough = isThrough && good
	}
	if isThrough {
		return corev1.PodSucceeded
	}
	return pod.Status.Phase
}

// clusterArgs are the agent's flags for whose backups are meant.
func clusterArgs(c *v1alpha1.EtcdCluster) []string {
	return []string{"--cluster-namespace=" + c.Namespace, "--cluster-name=" + c.Name, "--cluster-uid=" + string(c.UID)}
}
