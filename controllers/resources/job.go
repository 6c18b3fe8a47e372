package resources

import (
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Steps of a backup, by the names of their containers, in the order in which they run.
const (
	StepSnapshot = "snapshot"
	StepFetch    = "fetch"
	StepRestore  = "restore"
	StepCompare  = "compare"
)

// ProgressPort is where a step says how far it is.
const ProgressPort = 8099

// BackupRetries is how many further Pods a backup may take. One that is drained away counts as well.
const BackupRetries = 3

const (
	scratchVolume     = "scratch"
	credentialsVolume = "credentials"
	storeCAVolume     = "store-ca"
	backupsVolume     = "backups"

	scratchMount     = "/scratch"
	credentialsMount = "/etc/store/credentials"
	storeCAMount     = "/etc/store/ca"
	backupsMount     = "/backups"
)

// BackupStart is what a backup's Job is made from beside the EtcdBackup and its cluster.
type BackupStart struct {
	Platform
	EtcdImage   string            // that the members run: its etcdutl restores what they wrote
	PullPolicy  corev1.PullPolicy // of EtcdImage alone
	PullSecrets []corev1.LocalObjectReference
	ClusterID   etcdutil.ID // that the members must have
	Incarnation int
	Members     []string      // names of members to choose from
	Deadline    time.Duration // what is left of it
	Schedule    string        // that the backup is of; empty: a person made it by hand
	TLS         *bool         // whether all members take TLS; nil where their Pods do not say: as the spec asks
}

// BuildBackupJob builds the Job that makes a backup: snapshot and, to prove it, fetch, restore and compare, one after
// the other in one Pod. Where no proof is wanted, snapshot is all there is.
func BuildBackupJob(b *v1alpha1.EtcdBackup, c *v1alpha1.EtcdCluster, s BackupStart) *batchv1.Job {
	steps := []step{s.snapshotStep(b, c)}
	if b.Spec.IsVerified() {
		read, write := mountStore(b.Spec.Store, true), mountStore(b.Spec.Store, false)
		// compare writes the manifest, so that nothing has one that was to be proven and was not
		steps = append(steps, s.step(c, StepFetch, read.args, read), s.restoreStep(), s.step(c, StepCompare,
			append(write.args, "--largest-depth="+strconv.Itoa(int(b.Spec.LargestDepthOrDefault()))), write))
	}
	t := task{name: BackupJob(b), component: v1alpha1.ComponentBackup, over: b.Spec.Tasks, Platform: s.Platform,
		grace: 30, deadline: s.Deadline, steps: steps} // an upload is called off within its grace
	return t.job(c, owner{b, KindBackup, v1alpha1.LabelBackup}, BackupRetries, s.PullSecrets)
}

// scratchLimit ends a backup before it fills its node's disk, which members may share: what it needs is the snapshot
// and the restored copy, and neither is much larger than the quota, or than the database where the quota was lowered
// later. It is no request: a backup that needs a part of it for a minute would not be scheduled on many nodes that have
// the room.
func scratchLimit(c *v1alpha1.EtcdCluster) *resource.Quantity {
	quota := c.Spec.QuotaOrDefault()
	size := quota.Value()
	if known := c.Status.DBSize; known != nil {
		size = max(size, known.Value())
	}
	return resource.NewQuantity(3*size+1<<30, resource.BinarySI)
}

func (s BackupStart) snapshotStep(b *v1alpha1.EtcdBackup, c *v1alpha1.EtcdCluster) step {
	if s.TLS != nil {
		c = ReachedWith(c, *s.TLS)
	}
	store, secret := mountStore(b.Spec.Store, false), mountOperatorSecret(c)
	args := slices.Concat(store.args, []string{"--endpoints=" + backupEndpoints(c, s.Members)}, clusterArgs(c),
		[]string{"--cluster-id=" + s.ClusterID.String(), "--incarnation=" + strconv.Itoa(s.Incarnation),
			"--backup-uid=" + string(b.UID), "--verify=" + strconv.FormatBool(b.Spec.IsVerified())})
	if s.Schedule != "" {
		args = append(args, "--schedule="+s.Schedule)
	}
	return s.step(c, StepSnapshot, append(args, secret.args...), store, secret)
}

// Names that the agent gives to what it hands to etcdutl in the scratch directory, and looks for after it.
const (
	scratchFetched  = "fetched.db"
	scratchRestored = "restored"
)

// restoreStep is what a person would run to restore the backup, with the cluster's own etcd. Who writes the cluster's
// spec chooses its image. It sees the snapshot, and writes the copy. It reaches nothing else that the agent's steps
// hand on to each other, such as the manifest by which the copy is judged.
func (s BackupStart) restoreStep() step {
	fetched := corev1.VolumeMount{Name: scratchVolume, MountPath: scratchMount + "/" + scratchFetched,
		SubPath: scratchFetched, ReadOnly: true}
	restored := corev1.VolumeMount{Name: scratchVolume, MountPath: scratchMount + "/" + scratchRestored,
		SubPath: scratchRestored}
	step := stepOf(StepRestore, s.EtcdImage, []string{"etcdutl"}, []string{
		"snapshot", "restore", fetched.MountPath, "--data-dir=" + restored.MountPath,
	})
	step.ImagePullPolicy, step.VolumeMounts = s.PullPolicy, []corev1.VolumeMount{fetched, restored}
	return step
}

// step is one of the agent that works in the scratch directory, and says on a port how far it is.
func (s BackupStart) step(c *v1alpha1.EtcdCluster, name string, args []string, reaches ...reach) step {
	scratch := mountScratch(scratchLimit(c))
	step := agentStep(name, s.AgentImage, append(args, scratch.args...), append([]reach{scratch}, reaches...)...)
	step.Env = []corev1.EnvVar{{Name: "TMPDIR", Value: scratchMount}} // there is no other place to write to
	step.Ports = []corev1.ContainerPort{containerPort("progress", ProgressPort)}
	return step
}

// backupEndpoints name members by what their certificates say.
func backupEndpoints(c *v1alpha1.EtcdCluster, members []string) string {
	endpoints := make([]string, len(members))
	for i, member := range members {
		endpoints[i] = member + "=" + ClientURL(c, member)
	}
	return strings.Join(endpoints, ",")
}

// KindSchedule is the kind that owns a Job that prunes.
const KindSchedule = "EtcdBackupSchedule"

// ComponentPrune is what a Job that prunes, and its Pods, have as the label of a component.
const ComponentPrune = "prune"

// StepPrune is the name of the only container of a Job that prunes. Its termination message says what was removed.
const StepPrune = "prune"

const (
	// scheduledRetries is how many further Pods a Job of a schedule may take: what is left over goes with the next one.
	scheduledRetries = 2
	// keepFinishedScheduled is how long, in seconds, such a Job stays after its end: nothing is lost with it, and a
	// schedule of each minute does not leave a day's Pods behind.
	keepFinishedScheduled = 3600
	scheduledGraceSeconds = 10
)

// PruneStart is what a Job that prunes is made from beside its schedule and the cluster.
type PruneStart struct {
	BackupStart           // it asks no member
	At          time.Time // of the run: part of the Job's name, so that a crash never makes a second one
	Ask         []string  // keys of snapshots: the Job says which of them have gone
	Held        []string  // keys of snapshots that no rule removes: somebody restores from them
	KeepAll     bool      // no rule is passed on, and so no backup is removed
	NotBefore   time.Time // a clock that says less is wrong: nothing is removed by it
	NotAfter    time.Time // until when what is held is believed: later nothing is removed
}

// PruneJob is the name of the Job of one run: by the cluster, so that people see what it works on, and by the
// schedule's UID and the time.
func PruneJob(s *v1alpha1.EtcdBackupSchedule, at time.Time) string {
	return scheduledJob(s, ComponentPrune, at)
}

func scheduledJob(s *v1alpha1.EtcdBackupSchedule, word string, at time.Time) string {
	uid := strings.ReplaceAll(string(s.UID), "-", "")
	return s.Spec.ClusterRef.Name + "-" + word + "-" + uid[:min(len(uid), 8)] + "-" + strconv.FormatInt(at.Unix(), 36)
}

// ScheduledAt is the time in the name of a Job of a schedule; zero for all other names.
func ScheduledAt(job string) time.Time {
	seconds, err := strconv.ParseInt(job[strings.LastIndex(job, "-")+1:], 36, 64)
	if err != nil || seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// BuildPruneJob builds the Job that removes from the schedule's store what its retention does not keep. It looks at the
// backups of this cluster, by its UID, that this schedule made, and mounts nothing of the cluster.
func BuildPruneJob(s *v1alpha1.EtcdBackupSchedule, c *v1alpha1.EtcdCluster, p PruneStart) *batchv1.Job {
	store := mountStore(s.Spec.Store, false)
	args := slices.Concat(store.args, []string{"--progress-address="}, // the operator never asks a Job that prunes
		clusterArgs(c), []string{"--schedule=" + s.Name, "--not-before=" + p.NotBefore.UTC().Format(time.RFC3339),
			"--not-after=" + p.NotAfter.UTC().Format(time.RFC3339)})
	if !p.KeepAll {
		args = append(args, retentionArgs(s)...)
	}
	for _, key := range p.Held {
		args = append(args, "--hold="+key)
	}
	for _, key := range p.Ask {
		args = append(args, "--ask="+key)
	}
	return scheduledJobOf(s, c, p.BackupStart, task{name: PruneJob(s, p.At), component: ComponentPrune,
		steps: []step{agentStep(StepPrune, p.AgentImage, args, store)}})
}

// scheduledJobOf is what all Jobs of a schedule have.
func scheduledJobOf(s *v1alpha1.EtcdBackupSchedule, c *v1alpha1.EtcdCluster, start BackupStart, t task) *batchv1.Job {
	t.Platform, t.over, t.grace, t.deadline = start.Platform, s.Spec.Tasks, scheduledGraceSeconds, start.Deadline
	job := t.job(c, owner{s, KindSchedule, v1alpha1.LabelSchedule}, scheduledRetries, start.PullSecrets)
	job.Spec.TTLSecondsAfterFinished = new(int32(keepFinishedScheduled))
	return job
}

// retentionArgs are the agent's flags for what stays: every backup that any rule keeps, and the newest one always. A
// rule that is not set is not passed; without a rule all stay.
func retentionArgs(s *v1alpha1.EtcdBackupSchedule) []string {
	retention := s.Spec.Retention
	if retention == nil {
		return nil
	}
	var args []string
	for _, rule := range []struct {
		flag string
		n    *int32
	}{{"--keep-last=", retention.KeepLast}, {"--keep-daily=", retention.KeepDaily},
		{"--keep-weekly=", retention.KeepWeekly}} {
		if rule.n != nil && *rule.n > 0 {
			args = append(args, rule.flag+strconv.Itoa(int(*rule.n)))
		}
	}
	if within := retention.KeepWithin; within != nil && within.Duration > 0 {
		args = append(args, "--keep-within="+within.Duration.String())
	}
	if zone := s.Spec.TimeZone; zone != nil && *zone != "" {
		args = append(args, "--time-zone="+*zone)
	}
	return args
}

// ComponentTestRestore is what a Job of a test restore, and its Pods, have as the label of a component.
const ComponentTestRestore = "test-restore"

// TestRestoreJob is the name of the Job of a test restore.
func TestRestoreJob(s *v1alpha1.EtcdBackupSchedule, at time.Time) string {
	return scheduledJob(s, "test", at) // the whole word would be too long behind a long name
}

// BuildTestRestoreJob builds the Job that restores the newest backup of a schedule as the store has it, in a scratch
// directory, and compares it with what its manifest says: the proof of a backup, without the members and without
// writing to the store. The time that it is made for is in its name, so that a crash never makes a second one.
func BuildTestRestoreJob(s *v1alpha1.EtcdBackupSchedule, c *v1alpha1.EtcdCluster, start BackupStart,
	at time.Time) *batchv1.Job {
	store := mountStore(s.Spec.Store, true)
	args := slices.Concat(store.args, []string{"--newest"}, clusterArgs(c), []string{"--schedule=" + s.Name})
	return scheduledJobOf(s, c, start, task{name: TestRestoreJob(s, at), component: ComponentTestRestore,
		steps: []step{start.step(c, StepFetch, args, store), start.restoreStep(),
			start.step(c, StepCompare, []string{"--proof-only"})}})
}
