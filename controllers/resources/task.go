package resources

import (
	"maps"
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
		Resources:       agentResources(),

		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// agentTask is a step of the agent, by the name of its subcommand.
func agentTask(name, image string, args []string) corev1.Container {
	return task(name, image, []string{agentProgram}, args)
}

// agentResources have no limits. A limit of memory counts the files that are written as well, and would slow a backup
// down to the speed of the node's disk; a limit of CPU would keep its hashing from using what nobody else wants.
func agentResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
	}}
}

// taskPod is what all Pods of tasks have; the steps run one after the other. They are never restarted in place: etcdutl
// refuses what it left half done, and a new Pod begins with removing it.
func taskPod(steps ...corev1.Container) corev1.PodSpec {
	last := len(steps) - 1
	return corev1.PodSpec{
		RestartPolicy:                corev1.RestartPolicyNever,
		AutomountServiceAccountToken: new(false),
		EnableServiceLinks:           new(false),
		SecurityContext:              podSecurity(),
		InitContainers:               steps[:last:last],
		Containers:                   steps[last:],
	}
}

// taskJob makes Pods of a task, one after the other, until one succeeds. The Pods run on the nodes of the cluster's
// members, and have the labels of the Job.
func taskJob(c *v1alpha1.EtcdCluster, meta metav1.ObjectMeta, retries int32, deadline time.Duration,
	pod corev1.PodSpec) *batchv1.Job {
	placeTask(&pod, c)
	return &batchv1.Job{
		ObjectMeta: meta,
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(retries),
			ActiveDeadlineSeconds: new(wholeSeconds(deadline)),
			// A Pod on a node that died stays Terminating for as long as the node is away; another need not wait for
			// it, since no attempt writes what another one writes.
			PodReplacementPolicy: new(batchv1.TerminatingOrFailed),
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(meta.Labels)},
				Spec: pod},
		},
	}
}

// placeTask lets a task run wherever the cluster's members may, and nowhere else: other nodes may be out of reach of
// its network and its images, or of another system. What keeps members apart from each other says nothing of a task.
func placeTask(spec *corev1.PodSpec, c *v1alpha1.EtcdCluster) {
	spec.Tolerations = taskTolerations(c)
	if c.Spec.Pod == nil {
		return
	}
	spec.NodeSelector = maps.Clone(c.Spec.Pod.NodeSelector)
	spec.PriorityClassName = c.Spec.Pod.PriorityClassName
	if affinity := c.Spec.Pod.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		spec.Affinity = &corev1.Affinity{NodeAffinity: affinity.NodeAffinity.DeepCopy()}
	}
}

// deadNodeSeconds is how long a task waits for a node that does not answer: it is cheaper to begin anew elsewhere.
const deadNodeSeconds = 30

// taskTolerations are the members', so that a task can run where they do, and a short patience with a dead node: of
// several that fit a taint, the shortest time counts (kubernetes/kubernetes:pkg/controller/tainteviction
// getMinTolerationTime).
func taskTolerations(c *v1alpha1.EtcdCluster) []corev1.Toleration {
	tolerations := defaultTolerations()
	for i := range tolerations {
		tolerations[i].TolerationSeconds = new(int64(deadNodeSeconds))
	}
	if c.Spec.Pod == nil {
		return tolerations
	}
	for _, toleration := range c.Spec.Pod.Tolerations {
		tolerations = append(tolerations, *toleration.DeepCopy())
	}
	return tolerations
}

// wholeSeconds rounds up, and is never zero: Kubernetes takes no such deadline.
func wholeSeconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}

// taskLabels are on a task's Job and on its Pods. No selector of the cluster's Services and budget fits them.
func taskLabels(c *v1alpha1.EtcdCluster, component string) map[string]string {
	return merged(Labels(c), map[string]string{v1alpha1.LabelComponent: component})
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
