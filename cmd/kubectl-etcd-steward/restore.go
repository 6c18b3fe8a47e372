package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/pages"
)

type restoreOptions struct {
	from, survivor, name string
	previous, empty      bool
}

func (p program) restoreCommand() *cobra.Command {
	var o restoreOptions
	c := &cobra.Command{
		Use: "restore CLUSTER", Short: "Show what a restore would lose, and begin one", Args: oneCluster,
		Long: "Shows the evidence that an approval is of: which members answer, what they hold, and how far each " +
			"backup is behind. With --from, --survivor, --previous or --empty it creates an EtcdRestore. Nothing is " +
			"done for that before `restore approve`.",
		Example: "  kubectl etcd-steward restore demo\n" +
			"  kubectl etcd-steward restore demo --from demo-nightly-20260504-1000\n" +
			"  kubectl etcd-steward restore demo --survivor demo-0",
	}
	p.showing(c, func(ctx context.Context, s *session, args []string, show show) error {
		if source := o.source(); source != nil {
			return s.beginRestore(ctx, p, args[0], o.name, *source)
		}
		return s.showEvidence(ctx, args[0], show)
	})
	flags := c.Flags()
	flags.StringVar(&o.from, "from", "", "Begin a restore of this EtcdBackup.")
	flags.StringVar(&o.survivor, "survivor", "", "Begin a restore of what this member still holds: quorum is lost.")
	flags.BoolVar(&o.previous, "previous", false, "Go back to the members before the last restore: it never served.")
	flags.BoolVar(&o.empty, "empty", false, "Begin without data: quorum is lost, and no member and no backup is left.")
	flags.StringVar(&o.name, "name", "",
		"Name of the EtcdRestore that is created; empty: the cluster's name, \"back\" and the time.")
	c.MarkFlagsMutuallyExclusive("from", "survivor", "previous", "empty", "output")
	c.AddCommand(p.approveCommand(), p.cancelCommand())
	return c
}

// source is what is restored, or nil.
func (o restoreOptions) source() *v1alpha1.EtcdRestoreSource {
	switch {
	case o.from != "":
		return &v1alpha1.EtcdRestoreSource{BackupRef: &v1alpha1.BackupReference{Name: o.from}}
	case o.survivor != "":
		return &v1alpha1.EtcdRestoreSource{Survivor: &v1alpha1.SurvivorSource{Member: o.survivor}}
	case o.previous:
		return &v1alpha1.EtcdRestoreSource{Previous: &v1alpha1.PreviousSource{}}
	case o.empty:
		return &v1alpha1.EtcdRestoreSource{Empty: &v1alpha1.EmptySource{}}
	}
	return nil
}

// beginRestore creates an EtcdRestore that is not approved, and says what follows.
func (s *session) beginRestore(ctx context.Context, p program, cluster, name string,
	source v1alpha1.EtcdRestoreSource) error {
	c, err := s.cluster(ctx, cluster)
	if err != nil {
		return err
	}
	if err := s.mayBegin(ctx, c, source); err != nil {
		return fmt.Errorf("%w. Nothing was written", err)
	}
	others, err := s.openRestores(ctx, c.Name)
	if err != nil {
		return err
	}
	r := &v1alpha1.EtcdRestore{}
	r.Namespace, r.Name = s.namespace, name
	if name == "" {
		r.Name = c.Name + "-back-" + s.now().UTC().Format("20060102-150405")
	}
	r.Spec.ClusterRef.Name, r.Spec.Source = c.Name, source
	if err := explain(s.Create(ctx, r), s.namespace); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "EtcdRestore %[1]s is created. Nothing is done before you approve it. To see what would be "+
		"lost, and to approve: `kubectl etcd-steward restore approve %[1]s -n %[2]s`.\n", r.Name, r.Namespace)
	for _, other := range others {
		fmt.Fprintf(p.out, "EtcdRestore %[1]s of this cluster has not ended. Of two that are approved the older one "+
			"is carried out. To take that back: `kubectl etcd-steward restore cancel %[1]s -n %[2]s`.\n", other.Name,
			other.Namespace)
	}
	return nil
}

// mayBegin refuses what can never be restored, before it is written.
func (s *session) mayBegin(ctx context.Context, c *v1alpha1.EtcdCluster, source v1alpha1.EtcdRestoreSource) error {
	switch {
	case c.Spec.IsEphemeral():
		return fmt.Errorf("EtcdCluster %s has its data in Pods, and cannot be restored in place", c.Name)
	case source.Survivor != nil:
		names := memberNames(c)
		if !slices.Contains(names, source.Survivor.Member) {
			return fmt.Errorf("EtcdCluster %s has no member %s. It has: %s", c.Name, source.Survivor.Member,
				strings.Join(names, ", "))
		}
	case source.BackupRef != nil:
		return s.mayRestore(ctx, c.Name, source.BackupRef.Name)
	}
	return nil
}

// memberNames are those that the status shows, and those of the evidence: a member that lost its Pod and its volume is
// in that alone.
func memberNames(c *v1alpha1.EtcdCluster) []string {
	var names []string
	for _, m := range c.Status.Members {
		names = append(names, m.Name)
	}
	if c.Status.Evidence != nil {
		for _, m := range c.Status.Evidence.Members {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mayRestore refuses an EtcdBackup that is not there or not complete, and names those that are.
func (s *session) mayRestore(ctx context.Context, cluster, backup string) error {
	var all v1alpha1.EtcdBackupList
	if err := s.list(ctx, s.namespace, &all); err != nil {
		return err
	}
	i := slices.IndexFunc(all.Items, func(b v1alpha1.EtcdBackup) bool { return b.Name == backup })
	if i >= 0 && isTrue(all.Items[i].Status.Conditions, v1alpha1.BackupComplete) {
		return nil
	}
	says := "there is no EtcdBackup " + backup + " in namespace " + s.namespace
	if i >= 0 {
		says = "EtcdBackup " + backup + " is not Complete"
	}
	var names []string
	for _, b := range completeBackups(cluster, all.Items) {
		names = append(names, b.Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s, and no EtcdBackup of cluster %s is Complete. An EtcdRestore with store and key names "+
			"a backup without one: "+pages.Docs+"docs/restore.md", says, cluster)
	}
	return fmt.Errorf("%s. Complete ones of cluster %s, the newest first: %s", says, cluster, strings.Join(names, ", "))
}

// openRestores are the EtcdRestores of a cluster that have not ended, the oldest first.
func (s *session) openRestores(ctx context.Context, cluster string) ([]v1alpha1.EtcdRestore, error) {
	var all v1alpha1.EtcdRestoreList
	if err := s.list(ctx, s.namespace, &all); err != nil {
		return nil, err
	}
	return openRestoresOf(s.namespace, cluster, all.Items), nil
}

// openRestoresOf are those of all, the oldest first.
func openRestoresOf(namespace, cluster string, all []v1alpha1.EtcdRestore) []v1alpha1.EtcdRestore {
	open := slices.DeleteFunc(slices.Clone(all), func(r v1alpha1.EtcdRestore) bool {
		return r.Namespace != namespace || r.Spec.ClusterRef.Name != cluster || hasEnded(&r)
	})
	slices.SortStableFunc(open, func(a, b v1alpha1.EtcdRestore) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return open
}

// Stages of an EtcdRestore: in which nothing was made for it, and from which no way leads back.
const (
	stageWaiting  = "Waiting"
	stageChecking = "Checking"
	stageStopping = "Stopping"
	stageStarting = "Starting"
	stageComplete = "Complete"
	stageFailed   = "Failed" // for good: another one took its place
)

func hasEnded(r *v1alpha1.EtcdRestore) bool {
	return slices.Contains([]string{stageComplete, stageFailed}, r.Status.Stage) ||
		isTrue(r.Status.Conditions, v1alpha1.RestoreComplete)
}

// hasSwitched reports a restore whose switch-over is done.
func hasSwitched(r *v1alpha1.EtcdRestore) bool {
	return slices.Contains([]string{stageStopping, stageStarting}, r.Status.Stage)
}

// oneRestore is what each command takes that is about an EtcdRestore.
func oneRestore(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes the name of one EtcdRestore, and got %d names. `kubectl get etcdrestore` lists "+
			"those of the namespace", c.CommandPath(), len(args))
	}
	return nil
}

// restore reads an EtcdRestore, and names those that there are where it is not there.
func (s *session) restore(ctx context.Context, name string) (*v1alpha1.EtcdRestore, error) {
	r := &v1alpha1.EtcdRestore{}
	err := s.get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, r)
	if !apierrors.IsNotFound(err) {
		return r, err
	}
	says := fmt.Sprintf("there is no EtcdRestore %s in namespace %s", name, s.namespace)
	var all v1alpha1.EtcdRestoreList
	if err := s.list(ctx, s.namespace, &all); err != nil {
		return nil, fmt.Errorf("%s; %w", says, err)
	}
	if len(all.Items) == 0 {
		return nil, errors.New(says + ", and no other one in this namespace. To begin one: `kubectl etcd-steward " +
			"restore CLUSTER -n " + s.namespace + " --from BACKUP`")
	}
	return nil, errors.New(says + ". The namespace has: " + strings.Join(restoreNames(all.Items), ", "))
}
