package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// evidenceWithin is how long the operator has to show the evidence of a new EtcdRestore.
const evidenceWithin = time.Minute

func (p program) approveCommand() *cobra.Command {
	var digest string
	c := &cobra.Command{
		Use: "approve RESTORE", Short: "Show what an EtcdRestore would lose, and approve that", Args: oneRestore,
		Long: "Shows the evidence of the cluster and what this EtcdRestore would lose, and asks. An answer of yes " +
			"approves the evidence that was shown. Where other members answer or are lost by then, nothing is " +
			"approved.",
		Example: "  kubectl etcd-steward restore approve demo-back\n" +
			"  kubectl etcd-steward restore approve demo-back --digest 0123456789abcdef",
		RunE: p.onCluster(func(c *cobra.Command, s *session, name string) error {
			return s.approve(c.Context(), p, c.InOrStdin(), name, digest)
		}),
	}
	c.Flags().StringVar(&digest, "digest", "",
		"Approve without a question, if the digest of the evidence is still this one, which you saw.")
	return c
}

func (p program) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cancel RESTORE", Short: "Take an approval back, before the switch-over", Args: oneRestore,
		Long: "Takes spec.approval of an EtcdRestore away. What was made for it is removed, and the members serve " +
			"on. After the switch-over there is no way back. To refuse one that is not approved, delete it.",
		Example: "  kubectl etcd-steward restore cancel demo-back",
		RunE:    p.telling((*session).cancel),
	}
}

// approve shows the evidence, asks unless its digest was given, and approves what was shown.
func (s *session) approve(ctx context.Context, p program, in io.Reader, name, digest string) error {
	r, err := s.restore(ctx, name)
	if err != nil {
		return err
	}
	if hasEnded(r) || hasSwitched(r) {
		return fmt.Errorf("EtcdRestore %s was carried out, its stage is %s. An approval counts once: begin another "+
			"one with `kubectl etcd-steward restore %s -n %s --from BACKUP`", name, r.Status.Stage,
			r.Spec.ClusterRef.Name,
			r.Namespace)
	}
	view, err := s.awaitEvidence(ctx, r)
	if err != nil {
		return err
	}
	if err := view.print(p.out); err != nil {
		return fmt.Errorf("printing the evidence: %w", err)
	}
	if isApproved(r) {
		_, err := fmt.Fprintf(p.out, "\nEtcdRestore %s is approved already. Nothing was written.\n", name)
		return err
	}
	if why := view.Restores[0].Cannot; why != "" {
		return fmt.Errorf("%s, so EtcdRestore %s can restore nothing. Nothing was approved. To remove it: `%s`", why,
			name, deletionOf(r))
	}
	switch shown := view.Evidence.Digest; {
	case digest == "":
		if err := ask(p.out, in, name); err != nil {
			return err
		}
	case digest != shown:
		return fmt.Errorf("the digest of the evidence is %s by now, and you saw %s. Nothing was approved. Read the "+
			"evidence above, and give --digest %s if you approve it", shown, digest, shown)
	}
	if err := s.writeApproval(ctx, r, view.Evidence.Digest); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "EtcdRestore %[1]s is approved. To wait for it: `kubectl wait etcdrestore %[1]s "+
		"-n %[2]s --for=condition=Complete --timeout=15m`.%[3]s To call it off before the cluster switches over: "+
		"`kubectl etcd-steward restore cancel %[1]s -n %[2]s`.\n", name, r.Namespace, view.Restores[0].follows)
	return err
}

// rollAfter says that members begin with the minor of their backup, and are then upgraded as the spec asks; "" where
// they are not, or where no EtcdBackup says of which version it is.
func rollAfter(r *v1alpha1.EtcdRestore, c *v1alpha1.EtcdCluster, backups []v1alpha1.EtcdBackup) string {
	if r.Spec.Source.BackupRef == nil {
		return ""
	}
	i := slices.IndexFunc(backups, func(b v1alpha1.EtcdBackup) bool { return b.Name == r.Spec.Source.BackupRef.Name })
	if i < 0 {
		return ""
	}
	from, unknown := etcdutil.ParseVersion(backups[i].Status.EtcdVersion)
	to, refused := etcdutil.ParseVersion(c.Spec.Version)
	if unknown != nil || refused != nil || from.SameMinor(to) {
		return ""
	}
	return fmt.Sprintf(" The backup is of etcd %s, and members begin with that. Once it is Complete, they are "+
		"upgraded to %s. To wait for that as well: `kubectl wait etcd %s -n %s --for=condition=Ready --timeout=15m`.",
		from.MinorString(), to, c.Name, c.Namespace)
}

// isApproved reports that the operator takes the approval as one of the evidence of now.
func isApproved(r *v1alpha1.EtcdRestore) bool {
	return r.Spec.Approval != "" && r.Status.ObservedGeneration == r.Generation &&
		isTrue(r.Status.Conditions, v1alpha1.RestoreApproved)
}

// ask reads one line, and takes nothing but yes for consent.
func ask(out io.Writer, in io.Reader, name string) error {
	fmt.Fprintf(out, "\nApprove EtcdRestore %s, and lose what it says above? Only `yes` approves it: ", name)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		return errors.New("nothing was approved")
	}
	return nil
}

// errOther says why nothing was approved at the last moment.
var errOther = errors.New("the evidence or the EtcdRestore is another one than was shown. Nothing was approved. Run " +
	"the command again, and read what it shows")

// writeApproval approves the evidence that was shown of the EtcdRestore that was shown. An object of the same name may
// be another one by now, with another source, and the members may answer otherwise.
func (s *session) writeApproval(ctx context.Context, shown *v1alpha1.EtcdRestore, digest string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		now, err := s.restore(ctx, shown.Name)
		if err != nil {
			return err
		}
		c, err := s.cluster(ctx, now.Spec.ClusterRef.Name)
		if err != nil {
			return err
		}
		if e := c.Status.Evidence; now.UID != shown.UID || e == nil || e.Digest != digest {
			return errOther
		}
		return s.patchApproval(ctx, now, digest)
	})
}

// patchApproval writes an approval, or takes it away, unless the object was changed since it was read.
func (s *session) patchApproval(ctx context.Context, r *v1alpha1.EtcdRestore, digest string) error {
	before := client.MergeFromWithOptions(r.DeepCopy(), client.MergeFromWithOptimisticLock{})
	r.Spec.Approval = digest
	return explain(s.Patch(ctx, r, before, fieldOwner), s.namespace)
}

// awaitEvidence waits until the operator shows the evidence of a cluster, which it does once an EtcdRestore names it.
func (s *session) awaitEvidence(ctx context.Context, r *v1alpha1.EtcdRestore) (evidenceView, error) {
	var c *v1alpha1.EtcdCluster
	err := wait.PollUntilContextTimeout(ctx, lookAgain, evidenceWithin, true, func(ctx context.Context) (bool, error) {
		var err error
		c, err = s.cluster(ctx, r.Spec.ClusterRef.Name)
		return err == nil && c.Status.Evidence != nil && c.Status.Evidence.Digest != "", err
	})
	switch {
	case err == nil:
		return s.viewEvidence(ctx, c, []v1alpha1.EtcdRestore{*r})
	case !wait.Interrupted(err) || c == nil:
		return evidenceView{}, err
	}
	says := fmt.Sprintf("EtcdCluster %s shows no evidence, so there is nothing to approve yet", c.Name)
	if approved := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.RestoreApproved); approved != nil {
		says += fmt.Sprintf(". EtcdRestore %s says (%s): %s", r.Name, approved.Reason, approved.Message)
	}
	return evidenceView{}, fmt.Errorf("%s. %s", strings.TrimSuffix(says, "."), s.operator(ctx, c).Message)
}

// cancel takes an approval back, as long as that has an effect.
func (s *session) cancel(ctx context.Context, name string) (string, error) {
	r, err := s.restore(ctx, name)
	switch {
	case err != nil:
		return "", err
	case hasEnded(r) || hasSwitched(r):
		return "", fmt.Errorf("EtcdRestore %s cannot be called off after the switch-over: its stage is %s. "+
			"Nothing was written", name, r.Status.Stage)
	case r.Spec.Approval == "":
		return fmt.Sprintf("EtcdRestore %s is not approved. Nothing was written. To refuse it: `%s`.", name,
			deletionOf(r)), nil
	}
	if err := s.patchApproval(ctx, r, ""); err != nil {
		return "", err
	}
	return fmt.Sprintf("The approval of EtcdRestore %[1]s is taken back. Before the switch-over the operator then "+
		"removes what it made for it, and the members serve on. To remove the EtcdRestore: `%[2]s`.", name,
		deletionOf(r)), nil
}
