package resources

import (
	"fmt"
	"path"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Further steps of a restore, by the names of their containers: StepFetch and StepRestore come before StepActivate.
const (
	StepPreflight = "preflight"
	StepActivate  = "activate"
	StepHold      = "hold"
)

// PreflightPod is the name of the Pod that looks at a backup before anything is made of it.
func PreflightPod(cluster string) string { return cluster + "-preflight" }

// RestorePod is the name of the Pod that restores a member's volume. No member has such a name.
func RestorePod(member string) string { return member + "-restore" }

// RestoreStart says which member's volume is restored, from which backup, and what its member is made from.
type RestoreStart struct {
	// the incarnation as the birth record has it: which data it begins with, and by how much the revision is raised
	record.Next

	Member      string
	Initial     []etcdutil.NamedURL // all first members of the incarnation, in the same order for each
	Inputs      RollInputs          // of the member: where it will run, and with which etcd
	AgentImage  string
	PlatformIDs bool // the platform chooses the user and the groups that the spec does not name
	Images      ImageDefaults

	Store v1alpha1.BackupStore
	Hash  string // of the source

	ClusterID etcdutil.ID // that the survivor must have, which runs
	Mounts    string      // the survivor's claim, where it does not run: what lies there is read
	LaidIn    string      // the incarnation that the survivor's data there is of
	MemberID  etcdutil.ID // that this data must know
}

// BuildRestorePod builds the Pod that restores a backup on one member's volume: fetch, etcd's own restore, activate,
// one after the other, each at most once. It goes to where the member will run, and asks for what the member will ask
// for, since a volume that is bound late is bound to the node that this Pod gets.
func BuildRestorePod(c *v1alpha1.EtcdCluster, s RestoreStart) (*corev1.Pod, error) {
	version, requirements, err := s.Inputs.parse()
	if err != nil {
		return nil, fmt.Errorf("building the Pod that restores member %s: %w", s.Member, err)
	}
	steps := []corev1.Container{
		s.fetchStep(),
		s.step(StepRestore, s.Images.reference(c, s.Inputs, version), []string{"etcdutl"}, s.restoreArgs(c)),
		s.step(StepActivate, s.AgentImage, []string{agentProgram}, append([]string{StepActivate}, s.originArgs()...)),
	}
	if s.Survivor != "" {
		steps[0], steps[2] = s.survivorSteps(c)
	}
	for i := range steps {
		steps[i].Resources = *requirements.DeepCopy()
	}
	return s.podOf(c, steps, s.sourceVolumes(c)), nil
}

// podOf is a Pod that works on the volume of a member, where that member will run.
func (s RestoreStart) podOf(c *v1alpha1.EtcdCluster, steps []corev1.Container, sources []corev1.Volume) *corev1.Pod {
	pod := podOf(c, RestorePod(s.Member), taskPod(c, taskKind{component: v1alpha1.ComponentRestore}, steps...))
	pod.Labels = ofMember(pod.Labels, s.Member, s.Incarnation)
	pod.Annotations = merged(pod.Annotations, map[string]string{
		v1alpha1.AnnotationInputs: s.Inputs.Canonical(), v1alpha1.AnnotationRestoreHash: s.Hash,
	})
	pod.Spec.Volumes = append([]corev1.Volume{claimed(dataVolume, s.Member)}, sources...)
	schedule(&pod.Spec, c, s.Inputs.Pod)
	pod.Spec.SecurityContext = podSecurity(securityOf(s.Inputs.Pod), s.PlatformIDs) // the member reads what it writes
	pod.Spec.TerminationGracePeriodSeconds = new(restoreGraceSeconds)
	besideMembers(&pod.Spec, c, s)
	s.Images.put(pod, c, s.Inputs)
	return pod
}

// restoreGraceSeconds is enough: each step is killed at no loss.
const restoreGraceSeconds int64 = 5

func (s RestoreStart) step(name, image string, command, args []string) corev1.Container {
	step := task(name, image, command, args)
	step.ImagePullPolicy = pullPolicy(s.Inputs)
	step.VolumeMounts = []corev1.VolumeMount{{Name: dataVolume, MountPath: dataMount}}
	return step
}

func (s RestoreStart) fetchStep() corev1.Container {
	store := mountStore(s.Store, true)
	args := append([]string{"fetch-for-restore"}, store.args...)
	step := s.step(StepFetch, s.AgentImage, []string{agentProgram}, append(args, s.originArgs()...))
	step.VolumeMounts = append(step.VolumeMounts, store.mounts...)
	step.Ports = []corev1.ContainerPort{containerPort("progress", ProgressPort)}
	return step
}

// placeArgs are the agent's flags for the volume that is restored.
func (s RestoreStart) placeArgs() []string {
	return []string{"--volume=" + dataMount, "--incarnation=" + s.Incarnation, "--member=" + s.Member}
}

// originArgs are the agent's flags for what is restored where.
func (s RestoreStart) originArgs() []string {
	return append(s.placeArgs(),
		"--key="+s.Origin.Key,
		"--sha256="+s.Origin.SHA256,
		"--size-bytes="+strconv.FormatInt(s.Origin.SizeBytes, 10),
		"--revision="+strconv.FormatInt(s.Origin.Revision, 10),
		s.bumpArg(),
	)
}

// bumpArg is the same for the agent and for etcdutl.
func (s RestoreStart) bumpArg() string {
	return "--bump-revision=" + strconv.FormatInt(s.Bump, 10)
}

// restoreArgs are etcdutl's. The list, the token and the URLs are those that the members start with, letter by letter:
// the cluster's ID is made from them, and etcd asks DNS where two texts differ.
func (s RestoreStart) restoreArgs(c *v1alpha1.EtcdCluster) []string {
	staging := path.Join(dataMount, s.Incarnation+".restore", s.Member)
	args := []string{
		"snapshot", "restore", path.Join(staging, "snapshot.db"),
		"--data-dir=" + path.Join(staging, "data"),
		"--name=" + s.Member,
		"--initial-cluster=" + etcdutil.InitialCluster(s.Initial),
		"--initial-cluster-token=" + s.Token,
		"--initial-advertise-peer-urls=" + PeerURL(c, s.Member),
	}
	if s.Bump == 0 { // etcdutl takes neither flag without the other
		return args
	}
	return append(args, s.bumpArg(), "--mark-compacted")
}
