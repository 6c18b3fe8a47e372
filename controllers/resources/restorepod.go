package resources

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

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
	HasWAL     bool        // the member's write-ahead log lies on a volume of its own
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
	agent := []string{agentProgram}
	fetch, source := s.fetching(c)
	steps := []step{
		s.step(StepFetch, s.AgentImage, agent, fetch, source),
		s.step(StepRestore, s.Images.reference(c, s.Inputs, version), []string{"etcdutl"}, s.restoreArgs(c)),
		s.step(StepActivate, s.AgentImage, agent, s.activateArgs()),
	}
	steps[0].Ports = []corev1.ContainerPort{containerPort("progress", ProgressPort)}
	for i := range steps {
		steps[i].Resources = *requirements.DeepCopy()
	}
	return s.podOf(c, steps...), nil
}

// podOf is a Pod that works on the volume of a member, where that member will run.
func (s RestoreStart) podOf(c *v1alpha1.EtcdCluster, steps ...step) *corev1.Pod {
	pod := task{name: RestorePod(s.Member), component: v1alpha1.ComponentRestore, Platform: s.Platform,
		steps: steps}.pod(c, s.Inputs)
	pod.Labels = ofMember(pod.Labels, s.Member, s.Incarnation)
	pod.Annotations = merged(pod.Annotations, map[string]string{
		v1alpha1.AnnotationInputs: s.Inputs.Canonical(), v1alpha1.AnnotationRestoreHash: s.Hash,
	})
	schedule(&pod.Spec, c, s.Inputs.Pod, nil)
	pod.Spec.TerminationGracePeriodSeconds = new(podGraceSeconds)
	pod.Spec.SecurityContext = podSecurity(securityOf(s.Inputs.Pod), s.PlatformIDs) // the member reads what it writes
	pod.Spec.HostUsers = hostUsers(s.Inputs.Pod)
	besideMembers(&pod.Spec, c, s)
	return pod
}

// podGraceSeconds are enough: each step of a Pod that no Job makes is killed at no loss.
const podGraceSeconds int64 = 5

// step has the member's volume mounted before all else.
func (s RestoreStart) step(name, image string, command, args []string, reaches ...reach) step {
	own := []reach{mount(claimed(dataVolume, s.Member), dataMount, false)}
	if s.HasWAL {
		own = append(own, mount(claimed(walVolume, WALClaim(s.Member)), walMount, false))
	}
	return stepOf(name, image, command, args, append(own, reaches...)...)
}

// placeArgs are the agent's flags for the volume that is restored.
func (s RestoreStart) placeArgs() []string {
	args := []string{"--volume=" + dataMount, "--incarnation=" + s.Incarnation, "--member=" + s.Member}
	if s.HasWAL {
		args = append(args, "--wal-volume="+walMount)
	}
	return args
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
	staged := path.Join(s.Incarnation+".restore", s.Member)
	staging := path.Join(dataMount, staged)
	args := []string{
		"snapshot", "restore", path.Join(staging, "snapshot.db"),
		"--data-dir=" + path.Join(staging, "data"),
		"--name=" + s.Member,
		"--initial-cluster=" + etcdutil.InitialCluster(s.Initial),
		"--initial-cluster-token=" + s.Token,
		"--initial-advertise-peer-urls=" + PeerURLOf(c, s.Member, s.Inputs.TLS),
	}
	if s.HasWAL {
		args = append(args, "--wal-dir="+path.Join(walMount, staged, "wal"))
	}
	if s.Bump == 0 { // etcdutl takes neither flag without the other
		return args
	}
	return append(args, s.bumpArg(), "--mark-compacted")
}

// Where the volume of a survivor that does not run is mounted. Nothing is written to it.
const (
	survivorVolume = "survivor"
	survivorMount  = "/survivor"
)

// fetching is how the agent gets what is restored: a backup, what a member says that runs, or what one left that does
// not.
func (s RestoreStart) fetching(c *v1alpha1.EtcdCluster) ([]string, reach) {
	store, secret := mountStore(s.Store, true), mountOperatorSecret(c)
	switch {
	case s.Survivor == "":
		return slices.Concat([]string{"fetch-for-restore"}, store.args, s.originArgs()), store
	case s.Mounts != "":
		database := path.Join(survivorMount, s.RestoredIn, s.Survivor, "member", "snap", "db")
		return slices.Concat([]string{"read-survivor", "--database=" + database, "--member-id=" + s.MemberID.String()},
			s.survivorArgs(), []string{s.bumpArg()}), mount(claimed(survivorVolume, s.Mounts), survivorMount, true)
	}
	return slices.Concat([]string{"stream-survivor", "--endpoints=" + backupEndpoints(c, []string{s.Survivor}),
		"--cluster-id=" + s.ClusterID.String()}, secret.args, s.survivorArgs(), []string{s.bumpArg()}), secret
}

// activateArgs are those of the step that puts what was restored in its place.
func (s RestoreStart) activateArgs() []string {
	if s.Survivor != "" {
		return append([]string{"activate-survivor"}, s.survivorArgs()...)
	}
	return append([]string{StepActivate}, s.originArgs()...)
}

func (s RestoreStart) survivorArgs() []string { return append(s.placeArgs(), "--survivor="+s.Survivor) }

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
const preflightDeadline = time.Hour

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
	args, reaches := s.args(c, store.args), []reach{store}
	if s.Key != "" {
		// what restores on the members' volumes is smaller than those, so a limit of their size ends only what has gone
		// wrong
		var limit *resource.Quantity
		if s.VolumeBytes > 0 {
			limit = resource.NewQuantity(s.VolumeBytes, resource.BinarySI)
		}
		scratch := mountScratch(limit)
		args, reaches = append(args, scratch.args...), append(reaches, scratch)
	}
	pod := task{name: PreflightPod(c.Name), component: v1alpha1.ComponentPreflight, Platform: s.Platform,
		grace: podGraceSeconds, deadline: preflightDeadline,
		steps: []step{agentStep(StepPreflight, s.AgentImage, args, reaches...)}}.pod(c, Inputs(c))
	pod.Annotations[v1alpha1.AnnotationRestoreHash] = s.Hash
	return pod
}

func (s PreflightStart) args(c *v1alpha1.EtcdCluster, args []string) []string {
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
