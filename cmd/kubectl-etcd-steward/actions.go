package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

const (
	// lookAgain is how often a backup is looked at while a person waits for it.
	lookAgain = 2 * time.Second
	// lateness is how long after its deadline a backup may become Failed.
	lateness = time.Minute
)

type backupOptions struct {
	name, schedule, store string
	verify, wait          bool
	timeout               time.Duration
	hasVerify             bool // --verify was given
}

func (p program) backupCommand() *cobra.Command {
	var o backupOptions
	c := &cobra.Command{
		Use: "backup CLUSTER", Short: "Back a cluster up now", Args: oneCluster,
		Example: "  kubectl etcd-steward backup demo --wait\n" +
			"  kubectl etcd-steward backup demo --schedule demo-nightly\n" +
			"  kubectl etcd-steward backup demo --store '{volume: {claimName: etcd-backups}}'",
		Long: "Creates an EtcdBackup. Store, deadline and settings of its Pods are those of the cluster's " +
			"EtcdBackupSchedule, or the store is that of --store.",
		RunE: p.onCluster(func(c *cobra.Command, s *session, name string) error {
			o.hasVerify = c.Flags().Changed("verify")
			return s.backUp(c.Context(), p.out, name, o)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&o.name, "name", "", "Name of the EtcdBackup; empty: the cluster's name, \"manual\" and the time.")
	flags.StringVar(&o.schedule, "schedule", "",
		"EtcdBackupSchedule to take the store and all settings from; empty: the only one of the cluster.")
	flags.StringVar(&o.store, "store", "",
		"Store as YAML or JSON, as spec.store has it, instead of that of a schedule: '{volume: {claimName: backups}}'.")
	flags.BoolVar(&o.verify, "verify", true, "Restore the backup in a scratch directory and compare it.")
	flags.BoolVar(&o.wait, "wait", false, "Wait until the backup is Complete or Failed, and fail if it is Failed.")
	flags.DurationVar(&o.timeout, "timeout", 0,
		"How long to wait; 0: a minute longer than the deadline of the backup, after which it is Failed.")
	c.AddCommand(p.backupListCommand())
	return c
}

// backUp creates an EtcdBackup, and waits for it if it is asked to.
func (s *session) backUp(ctx context.Context, out io.Writer, cluster string, o backupOptions) error {
	c, err := s.cluster(ctx, cluster)
	if err != nil {
		return err
	}
	spec, err := s.backupSpec(ctx, c.Name, o)
	if err != nil {
		return err
	}
	b := &v1alpha1.EtcdBackup{Spec: spec}
	b.Namespace, b.Name = s.namespace, o.name
	if b.Name == "" {
		b.Name = c.Name + "-manual-" + s.now().UTC().Format("20060102-150405")
	}
	if err := explain(s.Create(ctx, b), s.namespace); err != nil {
		return err
	}
	fmt.Fprintf(out, "EtcdBackup %s is created.\n", b.Name)
	if !o.wait {
		_, err = fmt.Fprintf(out, "`kubectl get etcdbackup %s -n %s` shows how far it is.\n", b.Name, b.Namespace)
		return err
	}
	return s.await(ctx, out, b, o.timeout)
}

// backupSpec takes the spec from a schedule, or the store from the command line.
func (s *session) backupSpec(ctx context.Context, cluster string, o backupOptions) (v1alpha1.EtcdBackupSpec, error) {
	spec := v1alpha1.EtcdBackupSpec{ClusterRef: v1alpha1.ClusterReference{Name: cluster}}
	var err error
	switch {
	case o.store != "" && o.schedule != "":
		err = errors.New("--store and --schedule both name a store: give one of them")
	case o.store != "":
		if err = yaml.UnmarshalStrict([]byte(o.store), &spec.Store); err != nil {
			err = fmt.Errorf("--store is no store as spec.store of an EtcdBackup has it: %w", err)
		}
	default:
		spec, err = s.specOfSchedule(ctx, cluster, o.schedule)
	}
	if o.hasVerify {
		spec.Verify = &o.verify
	}
	return spec, err
}

// specOfSchedule is the spec of the backups of this schedule, or of the only one of the cluster.
func (s *session) specOfSchedule(ctx context.Context, cluster, name string) (v1alpha1.EtcdBackupSpec, error) {
	var all v1alpha1.EtcdBackupScheduleList
	if err := s.list(ctx, s.namespace, &all); err != nil {
		return v1alpha1.EtcdBackupSpec{}, err
	}
	var names []string
	var found *v1alpha1.EtcdBackupSchedule
	for i := range all.Items {
		if one := &all.Items[i]; one.Spec.ClusterRef.Name == cluster && (name == "" || name == one.Name) {
			names, found = append(names, one.Name), one
		}
	}
	switch {
	case len(names) == 1:
		return found.Spec.BackupSpec(), nil
	case name != "":
		return v1alpha1.EtcdBackupSpec{}, fmt.Errorf("namespace %s has no EtcdBackupSchedule %s of cluster %s. "+
			"Name another one, or say with --store where the backup goes", s.namespace, name, cluster)
	case len(names) == 0:
		return v1alpha1.EtcdBackupSpec{}, fmt.Errorf("cluster %s has no EtcdBackupSchedule to take the store from. "+
			"Say with --store where the backup goes", cluster)
	}
	return v1alpha1.EtcdBackupSpec{}, fmt.Errorf("cluster %s has several EtcdBackupSchedules: %s. "+
		"Choose one with --schedule, or say with --store where the backup goes", cluster, strings.Join(names, ", "))
}

// await waits until a backup is Complete or Failed, and tells each of its stages.
func (s *session) await(ctx context.Context, out io.Writer, b *v1alpha1.EtcdBackup, timeout time.Duration) error {
	if timeout == 0 {
		timeout = b.Spec.DeadlineOrDefault() + lateness
	}
	stage := ""
	err := wait.PollUntilContextTimeout(ctx, lookAgain, timeout, true, func(ctx context.Context) (bool, error) {
		if err := s.get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return false, err
		}
		if b.Status.Stage != stage {
			stage = b.Status.Stage
			fmt.Fprintln(out, "Stage:", stage)
		}
		conditions := b.Status.Conditions
		return isTrue(conditions, v1alpha1.BackupComplete) || isTrue(conditions, v1alpha1.BackupFailed), nil
	})
	switch {
	case wait.Interrupted(err):
		return fmt.Errorf("EtcdBackup %s has not ended, its stage is %q. It goes on without this command: "+
			"`kubectl get etcdbackup %s -n %s` shows how far it is", b.Name, stage, b.Name, b.Namespace)
	case err != nil:
		return fmt.Errorf("waiting for EtcdBackup %s: %w", b.Name, err)
	}
	return tellEnd(out, b)
}

func tellEnd(out io.Writer, b *v1alpha1.EtcdBackup) error {
	conditions := b.Status.Conditions
	if isTrue(conditions, v1alpha1.BackupFailed) {
		failed := meta.FindStatusCondition(conditions, v1alpha1.BackupFailed)
		return fmt.Errorf("EtcdBackup %s is Failed (%s): %s", b.Name, failed.Reason, failed.Message)
	}
	_, err := fmt.Fprintf(out, "EtcdBackup %s is Complete %s: %d keys at revision %d, %s.\n", b.Name,
		verified(isTrue(conditions, v1alpha1.BackupVerified)), b.Status.TotalKeys, b.Status.Revision, b.Status.Key)
	return err
}

func (p program) restartCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restart CLUSTER", Short: "Restart each member of a cluster once, one at a time", Args: oneCluster,
		Example: "  kubectl etcd-steward restart demo",
		Long: "Writes the annotation " + v1alpha1.AnnotationRestartedAt + " on the EtcdCluster. The operator then " +
			"restarts each member once, one at a time, the leader last, each only while all others are healthy.",
		RunE: p.telling((*session).restart),
	}
}

func (p program) defragmentCommand() *cobra.Command {
	return &cobra.Command{
		Use: "defragment CLUSTER", Args: oneCluster,
		Example: "  kubectl etcd-steward defragment demo",
		Short:   "Reclaim the space that each member does not use, one at a time",
		Long: "Writes the annotation " + v1alpha1.AnnotationDefragment + " on the EtcdCluster. The operator then has " +
			"each member defragmented once, one at a time, the leader last, each only while all others serve. It " +
			"leaves out those of which less than a tenth can be reclaimed.",
		RunE: p.telling((*session).defragment),
	}
}

func (p program) maintainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "maintain CLUSTER", Short: "Open a window of maintenance now", Args: oneCluster,
		Example: "  kubectl etcd-steward maintain demo",
		Long: "Writes the annotation " + v1alpha1.AnnotationMaintenance + " on the EtcdCluster. A window is open " +
			"from now on, for as long as spec.maintenance.window.duration says. What waits for a window begins.",
		RunE: p.telling((*session).maintain),
	}
}

// telling carries out what a person asks for, and prints what comes of it.
func (p program) telling(
	do func(*session, context.Context, string) (string, error),
) func(*cobra.Command, []string) error {
	return p.onCluster(func(c *cobra.Command, s *session, name string) error {
		said, err := do(s, c.Context(), name)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.out, said)
		return err
	})
}

// defragment asks for it, and says how to follow it.
func (s *session) defragment(ctx context.Context, name string) (string, error) {
	asked, err := s.askByTime(ctx, name, v1alpha1.AnnotationDefragment)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("A defragmentation of EtcdCluster %[1]s is asked for. Members of which little can be reclaimed "+
		"are left out. `kubectl describe etcd %[1]s -n %[3]s` shows how far it is. To wait for all members: `kubectl "+
		"wait etcd %[1]s -n %[3]s --for=jsonpath='{.status.defragmentedFor}'=%[2]s --timeout=1h`.", name,
		asked.Annotations[v1alpha1.AnnotationDefragment], asked.Namespace), nil
}

// maintain asks the operator to open a window, and returns what comes of it.
func (s *session) maintain(ctx context.Context, name string) (string, error) {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return "", err
	}
	if !hasWindow(c) {
		return "EtcdCluster " + name + " has no spec.maintenance.window, so nothing waits for one. Nothing was " +
			"written.", nil
	}
	c, err = s.askByTime(ctx, name, v1alpha1.AnnotationMaintenance)
	if err != nil {
		return "", err
	}
	until := c.MaintenanceAsked().Add(c.Spec.Maintenance.Window.Duration.Duration)
	return fmt.Sprintf("A window of maintenance of EtcdCluster %[1]s is open until %[2]s. To close it: `kubectl "+
		"annotate etcd %[3]s %[4]s-`.", name, until.Format(time.RFC3339), named(c), v1alpha1.AnnotationMaintenance), nil
}

func hasWindow(c *v1alpha1.EtcdCluster) bool {
	return c.Spec.Maintenance != nil && c.Spec.Maintenance.Window != nil
}

// fieldOwner does not begin with "kubectl": what does, Flux takes back
// (fluxcd/kustomize-controller:internal/controller/kustomization_controller.go).
const fieldOwner = client.FieldOwner("etcd-steward-plugin")

// restart asks the operator to restart each member, and returns what comes of it.
func (s *session) restart(ctx context.Context, name string) (string, error) {
	c, err := s.askByTime(ctx, name, v1alpha1.AnnotationRestartedAt)
	if err != nil {
		return "", err
	}
	return "A restart of EtcdCluster " + name + " is asked for. " + restartOf(c), nil
}

// restartOf says what the operator does about it, and when.
func restartOf(c *v1alpha1.EtcdCluster) string {
	switch {
	case heldBack(c) != "":
		return heldBack(c) + "restarts members."
	case hasWindow(c) && (c.Status.Maintenance == nil || c.Status.Maintenance.OpenUntil == nil):
		return "It waits for the next window of spec.maintenance.window. `kubectl etcd-steward maintain " + named(c) +
			"` opens one now."
	case c.Spec.Storage != nil && c.Spec.Storage.Ephemeral != nil:
		return "The data is ephemeral: the operator replaces each member by a new one, one at a time. " +
			"`kubectl etcd-steward status " + named(c) + "` shows how far it is."
	}
	return "The operator restarts each member once, one at a time, while all others are healthy. " +
		"`kubectl etcd-steward status " + named(c) + "` shows how far it is."
}

// heldBack says what holds back all that is asked for, up to what the operator does once that ends, or "".
func heldBack(c *v1alpha1.EtcdCluster) string {
	switch {
	case c.Spec.Paused:
		return "spec.paused is true: once you set it to false, the operator "
	case c.Spec.Mode == v1alpha1.ModeDryRun:
		return "spec.mode is DryRun: the operator shows each step in `status`, and once you set it to Enforce it "
	case c.Spec.Size == 0:
		return "spec.size is 0, and no member runs: once you wake the cluster, the operator "
	}
	return ""
}

// askByTime writes the time into an annotation by which the operator does something once.
func (s *session) askByTime(ctx context.Context, name, annotation string) (*v1alpha1.EtcdCluster, error) {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return nil, err
	}
	return c, s.annotate(ctx, c, annotation, s.now().UTC().Format(time.RFC3339))
}

// annotate writes an annotation by which a person asks the operator for something, or takes an empty one away.
func (s *session) annotate(ctx context.Context, c *v1alpha1.EtcdCluster, annotation, value string) error {
	before := c.DeepCopy()
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[annotation] = value
	if value == "" {
		delete(c.Annotations, annotation)
	}
	return explain(s.Patch(ctx, c, client.MergeFrom(before), fieldOwner), s.namespace)
}
