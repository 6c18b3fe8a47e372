package resources

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

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
	// the incarnation as the bootstrap record has it: which data it begins with, and by how much the revision is raised
	record.Next

	Member  string
	Initial []etcdutil.NamedURL // all first members of the incarnation, in the same order for each
	Inputs  RollInputs          // of the member: where it will run, and with which etcd
	Platform

	Store v1alpha1.BackupStore
	Hash  string // of the source

	ClusterID  etcdutil.ID // that the survivor must have, which runs
	Mounts     string      // the survivor's claim, where it does not run: what lies there is read
	RestoredIn string      // the incarnation that the survivor's data there is of
	MemberID   etcdutil.ID // that this data must know
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
	database := path.Join(survivorMount, s.RestoredIn, s.Survivor, "member", "snap", "db")
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

// RestoredMember is the member whose volume a restore Pod of that name is for; false for all other names.
func RestoredMember(pod string) (string, bool) { return strings.CutSuffix(pod, RestorePod("")) }

// PreflightAsked is what a preflight Pod was asked, as its arguments, which cannot change, say it: the version of etcd,
// and the size of the volumes.
func PreflightAsked(pod *corev1.Pod) (version string, bytes int64) {
	bytes, _ = strconv.ParseInt(argOf(pod, StepPreflight, "--volume-bytes="), 10, 64)
	return argOf(pod, StepPreflight, "--etcd-version="), bytes
}

// taskOf is the component that a Pod of the agent is, by its name.
func taskOf(pod string) string {
	if _, ok := RestoredMember(pod); ok {
		return v1alpha1.ComponentRestore
	}
	if _, ok := DefragmentedMember(pod); ok {
		return v1alpha1.ComponentDefrag
	}
	return v1alpha1.ComponentPreflight
}

// IsTask reports whether a Pod of the cluster is one of the agent, by its name.
func IsTask(c *v1alpha1.EtcdCluster, pod string) bool {
	_, isRestore := RestoredMember(pod)
	_, isDefrag := DefragmentedMember(pod)
	return isRestore || isDefrag || pod == PreflightPod(c.Name)
}

// preflightDeadline is for a store that never answers, and for one from which a large snapshot comes slowly. The agent
// gives up a call after a minute, and a transfer that stands still sooner.
const preflightDeadline int64 = 3600

// PreflightStart names a backup, by its key or as the newest of a cluster, and what is restored from it.
type PreflightStart struct {
	Platform

	Store    v1alpha1.BackupStore
	Hash     string // of the source
	Key      string // empty: LatestOf says which
	SHA256   string // of the snapshot at the key; empty: not known
	LatestOf v1alpha1.BackedUpCluster

	Version     string // of etcd that is to run on it
	VolumeBytes int64  // of each member's volume
}

// BuildPreflightPod builds the Pod that says, before anything is made or stopped, whether a backup can be restored. Its
// termination message says what it found. It mounts nothing of the cluster's. A snapshot that no manifest speaks of is
// downloaded to be read; only one that is named by its key can be such a one.
func BuildPreflightPod(c *v1alpha1.EtcdCluster, s PreflightStart) *corev1.Pod {
	store := mountStore(s.Store, true)
	step := agentTask(StepPreflight, s.AgentImage, s.args(c, store.args))
	step.ImagePullPolicy, step.VolumeMounts = pullPolicy(Inputs(c)), store.mounts
	pod := podOf(c, PreflightPod(c.Name), taskPod(c,
		taskKind{component: v1alpha1.ComponentPreflight, platformIDs: s.PlatformIDs}, step))
	pod.Annotations[v1alpha1.AnnotationRestoreHash] = s.Hash
	pod.Spec.Volumes = store.volumes
	if s.Key != "" {
		addScratch(&pod.Spec, s.VolumeBytes)
	}
	s.Images.put(pod, c, Inputs(c))
	pod.Spec.ActiveDeadlineSeconds = new(preflightDeadline)
	pod.Spec.TerminationGracePeriodSeconds = new(restoreGraceSeconds)
	return pod
}

// addScratch gives the one step of a preflight a place for a snapshot. What restores on the members' volumes is smaller
// than those, so a limit of their size ends only what has gone wrong.
func addScratch(spec *corev1.PodSpec, volumeBytes int64) {
	directory := &corev1.EmptyDirVolumeSource{}
	if volumeBytes > 0 {
		directory.SizeLimit = resource.NewQuantity(volumeBytes, resource.BinarySI)
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: scratchVolume,
		VolumeSource: corev1.VolumeSource{EmptyDir: directory}})
	step := &spec.Containers[0]
	step.Args = append(step.Args, "--scratch="+scratchMount)
	step.VolumeMounts = append(step.VolumeMounts, corev1.VolumeMount{Name: scratchVolume, MountPath: scratchMount})
}

// podOf is a Pod of the cluster that no Job makes.
func podOf(c *v1alpha1.EtcdCluster, name string, template corev1.PodTemplateSpec) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: ownedMeta(c, name), Spec: template.Spec}
	pod.Labels, pod.Annotations = template.Labels, template.Annotations
	return pod
}

func (s PreflightStart) args(c *v1alpha1.EtcdCluster, store []string) []string {
	args := append([]string{StepPreflight}, store...)
	if s.Key != "" {
		args = append(args, "--key="+s.Key)
		if s.SHA256 != "" {
			args = append(args, "--expect-sha256="+s.SHA256)
		}
	} else {
		args = append(args, "--latest-of="+cmp.Or(s.LatestOf.Namespace, c.Namespace)+"/"+
			cmp.Or(s.LatestOf.Name, c.Name))
		if s.LatestOf.UID != "" {
			args = append(args, "--latest-uid="+s.LatestOf.UID)
		}
	}
	return append(args, "--etcd-version="+s.Version, "--volume-bytes="+strconv.FormatInt(s.VolumeBytes, 10))
}
