package resources

import (
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// KindSchedule is the kind that owns a Job that prunes.
const KindSchedule = "EtcdBackupSchedule"

// ComponentPrune is what a Job that prunes, and its Pods, have as the label of a component.
const ComponentPrune = "prune"

// StepPrune is the name of the only container of a Job that prunes. Its termination message says what was removed.
const StepPrune = "prune"

const (
	// scheduledRetries is how many further Pods a Job of a schedule may take: what is left over goes with the next one.
	scheduledRetries = 2
	// keepFinishedScheduled is how long, in seconds, such a Job stays after its end: nothing is lost with it, and a schedule of each
	// minute does not leave a day's Pods behind.
	keepFinishedScheduled = 3600
	scheduledGraceSeconds = 10
)

// Retention says which backups stay: every one that any rule keeps, and the newest one always. Without a rule all stay.
type Retention struct {
	KeepLast   int32         // the newest N
	KeepDaily  int32         // the newest of each of the last N days that have one
	KeepWeekly int32         // the newest of each of the last N ISO weeks that have one
	KeepWithin time.Duration // all that are no older
	TimeZone   string        // in which days and weeks begin; empty: UTC
}

// PruneStart is what a Job that prunes is made from beside its schedule and the cluster.
type PruneStart struct {
	AgentImage  string
	PullSecrets []corev1.LocalObjectReference
	At          time.Time // of the run: part of the Job's name, so that there is one whatever crashes
	Retention   Retention
	Ask         []string      // keys of snapshots: the Job says which of them have gone
	Held        []string      // keys of snapshots that stay whatever the rules say: somebody restores from them
	NotAfter    time.Time     // until when that is believed: later nothing is removed
	Deadline    time.Duration // of the whole run
}

// PruneJob is the name of the Job of one run: by the cluster, so that people see what it works on, and by the schedule's
// UID and the time.
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

// scheduledLabels are on a Job of a schedule and on its Pods. No selector of the cluster's Services and budget fits them.
func scheduledLabels(s *v1alpha1.EtcdBackupSchedule, c *v1alpha1.EtcdCluster, component string) map[string]string {
	labels := Labels(c)
	labels[v1alpha1.LabelComponent] = component
	labels[v1alpha1.LabelSchedule] = s.Name
	return labels
}

// BuildPruneJob builds the Job that removes from the schedule's store what its retention does not keep. It looks at the
// backups of this cluster, by its UID, that this schedule made, and mounts nothing of the cluster.
func BuildPruneJob(s *v1alpha1.EtcdBackupSchedule, c *v1alpha1.EtcdCluster, p PruneStart) *batchv1.Job {
	job := scheduledJobOf(s, c, ComponentPrune, p.Deadline)
	job.Name = PruneJob(s, p.At)
	job.Spec.Template.Spec.ImagePullSecrets = p.PullSecrets
	job.Spec.Template.Spec.Containers = []corev1.Container{pruneStep(s, c, p)}
	job.Spec.Template.Spec.Volumes = storeVolumes(s.Spec.Store)
	return job
}

// scheduledJobOf is what all Jobs of a schedule have, but their names.
func scheduledJobOf(s *v1alpha1.EtcdBackupSchedule, c *v1alpha1.EtcdCluster, component string, deadline time.Duration) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Labels: scheduledLabels(s, c, component),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind(KindSchedule))},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit:            new(int32(scheduledRetries)),
			ActiveDeadlineSeconds:   new(wholeSeconds(deadline)),
			TTLSecondsAfterFinished: new(int32(keepFinishedScheduled)),
			PodReplacementPolicy:    new(batchv1.TerminatingOrFailed),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: scheduledLabels(s, c, component)},
				Spec: corev1.PodSpec{
					RestartPolicy:                 corev1.RestartPolicyNever,
					AutomountServiceAccountToken:  new(false),
					EnableServiceLinks:            new(false),
					SecurityContext:               podSecurity(),
					TerminationGracePeriodSeconds: new(int64(scheduledGraceSeconds)),
					NodeSelector:                  nodeSelectorOf(c),
					Tolerations:                   backupTolerations(c),
				},
			},
		},
	}
}

func pruneStep(s *v1alpha1.EtcdBackupSchedule, c *v1alpha1.EtcdCluster, p PruneStart) corev1.Container {
	args := append([]string{StepPrune}, storeArgs(s.Spec.Store)...)
	args = append(args,
		"--progress-address=", // there is nobody to ask
		"--cluster-namespace="+c.Namespace,
		"--cluster-name="+c.Name,
		"--cluster-uid="+string(c.UID),
		"--schedule="+s.Name,
		"--not-after="+p.NotAfter.UTC().Format(time.RFC3339),
	)
	args = append(args, p.Retention.args()...)
	for _, key := range p.Held {
		args = append(args, "--hold="+key)
	}
	for _, key := range p.Ask {
		args = append(args, "--ask="+key)
	}
	for i := range args {
		args[i] = literal(args[i])
	}
	return corev1.Container{
		Name:                     StepPrune,
		Image:                    p.AgentImage,
		ImagePullPolicy:          DefaultPullPolicy,
		Command:                  []string{agentProgram},
		Args:                     args,
		VolumeMounts:             storeMounts(s.Spec.Store, false),
		SecurityContext:          containerSecurity(),
		Resources:                agentResources(),
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// args are the agent's flags. A rule that is not set is not passed.
func (r Retention) args() []string {
	var args []string
	for _, rule := range []struct {
		flag string
		n    int32
	}{{"--keep-last=", r.KeepLast}, {"--keep-daily=", r.KeepDaily}, {"--keep-weekly=", r.KeepWeekly}} {
		if rule.n > 0 {
			args = append(args, rule.flag+strconv.Itoa(int(rule.n)))
		}
	}
	if r.KeepWithin > 0 {
		args = append(args, "--keep-within="+r.KeepWithin.String())
	}
	if r.TimeZone != "" {
		args = append(args, "--time-zone="+r.TimeZone)
	}
	return args
}
