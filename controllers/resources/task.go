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

// task is a step of a Pod that comes to an end: of the agent, or of etcd's own tools. Its termination message says what
// came of it. It pulls its image as the operator's is pulled by default: what the cluster says of pulling is about
// etcd's.
func task(name, image string, command, args []string) corev1.Container {
	for i := range args {
		args[i] = literal(args[i])
	}
	return corev1.Container{
		Name:            name,
		Image:           image,
		ImagePullPolicy: DefaultPullPolicy,
		Command:         command,
		Args:            args,
		SecurityContext: containerSecurity(),

		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// agentTask is a step of the agent, by the name of its subcommand.
func agentTask(name, image string, args []string) corev1.Container {
	return task(name, image, []string{agentProgram}, args)
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

// taskKind is what tells the Pods of one task from those of another.
type taskKind struct {
	component   string
	over        *v1alpha1.TaskSpec // wins over that of the cluster
	platformIDs bool               // see PodStart
}

// taskPod describes the Pods of a task. Its steps run one after the other, wherever the cluster's members may. They are
// never restarted in place: etcdutl refuses what it left half done, and a new Pod begins with removing it.
func taskPod(c *v1alpha1.EtcdCluster, kind taskKind, steps ...corev1.Container) corev1.PodTemplateSpec {
	settings := taskSettings(c, kind.over)
	for i := range steps {
		steps[i].Env = append(taskEnv(settings), steps[i].Env...)
		if steps[i].Resources.Requests == nil && steps[i].Resources.Limits == nil {
			steps[i].Resources = taskResources(settings, c.Spec.Pod)
		}
	}
	last := len(steps) - 1
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: merged(settings.Labels, ownLabels(c, kind.component)),
			Annotations: settings.Annotations},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			ServiceAccountName:           settings.ServiceAccountName,
			AutomountServiceAccountToken: new(false),
			EnableServiceLinks:           new(false),
			SecurityContext:              podSecurity(securityOf(c.Spec.Pod), kind.platformIDs),
			InitContainers:               steps[:last:last],
			Containers:                   steps[last:],
		},
	}
	placeTask(&pod.Spec, c, settings)
	return pod
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

// taskJob makes Pods of a task, one after the other, until one succeeds.
func taskJob(c *v1alpha1.EtcdCluster, meta metav1.ObjectMeta, retries int32, deadline time.Duration,
	pod corev1.PodTemplateSpec) *batchv1.Job {
	pod.Labels = merged(pod.Labels, meta.Labels)
	return dress(c, &batchv1.Job{
		ObjectMeta: meta,
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(retries),
			ActiveDeadlineSeconds: new(wholeSeconds(deadline)),
			// A Pod on a node that died stays Terminating for as long as the node is away; another need not wait for
			// it, since no attempt writes what another one writes.
			PodReplacementPolicy: new(batchv1.TerminatingOrFailed),
			Template:             pod,
		},
	})
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
