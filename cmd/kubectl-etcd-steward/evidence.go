package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// evidenceView is what a person has to know before data is given up. With -o it is printed as it is.
type evidenceView struct {
	Cluster   string                   `json:"cluster"`
	Namespace string                   `json:"namespace"`
	Operator  operatorView             `json:"operator"`
	Evidence  *v1alpha1.EvidenceStatus `json:"evidence,omitempty"`
	// UnavailableSince is since when the cluster does not serve.
	UnavailableSince *metav1.Time `json:"unavailableSince,omitempty"`
	// Since is when the Pod of each member became ready, or stopped to be.
	Since map[string]metav1.Time `json:"podsChangedAt,omitempty"`
	// Restores are those that have not ended, the oldest first.
	Restores []restoreView `json:"restores"`
	// Backups are the complete EtcdBackups of the cluster, the newest first.
	Backups []lastBackup `json:"backups"`

	now time.Time
}

// restoreView is one EtcdRestore.
type restoreView struct {
	Name   string `json:"name"`
	Stage  string `json:"stage,omitempty"`
	Source string `json:"source"`
	Loses  string `json:"loses"`
	// Approval is the reason of the condition Approved.
	Approval string `json:"approval,omitempty"`
	// Cannot says why it can restore nothing.
	Cannot string `json:"cannot,omitempty"`

	refusal string // the command that refuses it; "" once it is approved
	follows string // what goes on after it is Complete, and how to wait for that; "" for nothing
}

// showEvidence prints what a restore of this cluster would lose.
func (s *session) showEvidence(ctx context.Context, name string, show show) error {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	open, err := s.openRestores(ctx, c.Name)
	if err != nil {
		return err
	}
	view, err := s.viewEvidence(ctx, c, open)
	if err != nil {
		return err
	}
	return show(sight{text: view.print, data: view})
}

// viewEvidence reads what belongs to the evidence. EtcdBackups are needed: what they would lose is the point.
func (s *session) viewEvidence(ctx context.Context, c *v1alpha1.EtcdCluster, restores []v1alpha1.EtcdRestore) (
	evidenceView, error) {
	var all v1alpha1.EtcdBackupList
	if err := s.list(ctx, s.namespace, &all); err != nil {
		return evidenceView{}, err
	}
	v := evidenceView{Cluster: c.Name, Namespace: c.Namespace, Operator: s.operator(ctx, c),
		Evidence: c.Status.Evidence, Since: s.podChanges(ctx, c.Name), Restores: []restoreView{}, now: s.now()}
	available := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionAvailable)
	if available != nil && available.Status == metav1.ConditionFalse {
		v.UnavailableSince = &available.LastTransitionTime
	}
	v.Backups = completeBackups(c.Name, all.Items)
	for _, r := range restores {
		shown := restoreView{Name: r.Name, Stage: r.Status.Stage, Source: sourceOf(r.Spec.Source),
			Loses: lossOf(&r, all.Items, c.Status.Evidence, v.now), Cannot: whyNoRestore(&r, all.Items),
			follows: rollAfter(&r, c, all.Items)}
		if r.Spec.Approval == "" || shown.Cannot != "" {
			shown.refusal = deletionOf(&r)
		}
		if shown.Cannot != "" {
			shown.Loses = "Nothing. " + shown.Cannot + ", so nothing can be restored."
		}
		if approved := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.RestoreApproved); approved != nil {
			shown.Approval = approved.Reason
		}
		v.Restores = append(v.Restores, shown)
	}
	return v, nil
}

// podChanges is when the readiness of each member's Pod last changed. Where Pods may not be read it is not told.
func (s *session) podChanges(ctx context.Context, cluster string) map[string]metav1.Time {
	var pods corev1.PodList
	if err := s.list(ctx, s.namespace, &pods, client.MatchingLabels{v1alpha1.LabelInstance: cluster}); err != nil {
		return nil
	}
	changes := map[string]metav1.Time{}
	for _, pod := range pods.Items {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady {
				changes[pod.Name] = c.LastTransitionTime
			}
		}
	}
	return changes
}

// completeBackups are the complete EtcdBackups that name a cluster, the newest first.
func completeBackups(cluster string, all []v1alpha1.EtcdBackup) []lastBackup {
	found := []lastBackup{}
	for _, b := range all {
		started, isComplete := b.Status.StartedAt, isTrue(b.Status.Conditions, v1alpha1.BackupComplete)
		if b.Spec.ClusterRef.Name != cluster || started == nil || !isComplete {
			continue
		}
		found = append(found, lastBackup{Name: b.Name, StartedAt: *started, Revision: b.Status.Revision,
			Verified: isTrue(b.Status.Conditions, v1alpha1.BackupVerified)})
	}
	slices.SortFunc(found, func(a, b lastBackup) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt.Time), cmp.Compare(a.Name, b.Name))
	})
	return found
}

// print writes the page: first how the cluster is, and last what each EtcdRestore would lose.
func (v evidenceView) print(out io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "EtcdCluster %s in namespace %s\n\n", v.Cluster, v.Namespace)
	if v.Operator.State != operatorRuns {
		fmt.Fprintf(&text, "Operator:     %s\n              What follows is what it saw last.\n", v.Operator.Message)
	}
	if e := v.Evidence; e == nil {
		text.WriteString("Evidence:     None yet: the operator shows it once an EtcdRestore names the cluster. " +
			"To create one loses nothing, since nothing is done before you approve it.\n" +
			"Loses:        All that was written after the backup that is restored.\n")
	} else {
		fmt.Fprintf(&text, "Evidence:     %s, by which an approval names all that stands here\nQuorum:       %s\n",
			e.Digest, v.quorum())
		if e.Revision > 0 {
			fmt.Fprintf(&text, "Revision:     %d is the newest that a member has told. Its data may be newer.\n",
				e.Revision)
		}
		fmt.Fprintf(&text, "Message:      %s\n", cmp.Or(e.Message, none))
		v.printMembers(&text)
	}
	v.printBackups(&text)
	v.printRestores(&text)
	_, err := out.Write(text.Bytes())
	return err
}

func (v evidenceView) quorum() string {
	if v.UnavailableSince == nil {
		return v.Evidence.Quorum + "."
	}
	return fmt.Sprintf("%s. The cluster does not serve since %s (%s).", v.Evidence.Quorum,
		date(v.UnavailableSince.Time), ago(v.UnavailableSince.Time, v.now))
}

func (v evidenceView) printMembers(text *bytes.Buffer) {
	text.WriteString("\nMembers:\n")
	_ = printTable(text, "  ", v.Evidence.Members, []column[v1alpha1.MemberEvidence]{ // into memory
		{"NAME", func(m v1alpha1.MemberEvidence) string { return m.Name }},
		{"STATE", func(m v1alpha1.MemberEvidence) string { return m.State }},
		{"SINCE", func(m v1alpha1.MemberEvidence) string {
			at, isKnown := v.Since[m.Name]
			if !isKnown {
				return ""
			}
			return ago(at.Time, v.now)
		}},
		{"REVISION", func(m v1alpha1.MemberEvidence) string { return numberOf(m.Revision) }},
		{"APPLIED INDEX", func(m v1alpha1.MemberEvidence) string { return numberOf(m.AppliedIndex) }},
		{"WHY", func(m v1alpha1.MemberEvidence) string { return m.Why }},
	})
}

// mostBackups is how many backups stand on the page.
const mostBackups = 5

func (v evidenceView) printBackups(text *bytes.Buffer) {
	if len(v.Backups) == 0 {
		text.WriteString("\nNo EtcdBackup of this cluster is Complete.\n")
		return
	}
	text.WriteString("\nBackups, the newest first:\n")
	_ = printTable(text, "  ", v.Backups[:min(mostBackups, len(v.Backups))], []column[lastBackup]{ // into memory
		{"NAME", func(b lastBackup) string { return b.Name }},
		{"HAS ALL WRITES UNTIL", func(b lastBackup) string {
			return fmt.Sprintf("%s (%s)", date(b.StartedAt.Time), ago(b.StartedAt.Time, v.now))
		}},
		{"REVISION", func(b lastBackup) string { return numberOf(b.Revision) }},
		{"VERIFIED", func(b lastBackup) string { return yesOrNo(b.Verified) }},
	})
}

func (v evidenceView) printRestores(text *bytes.Buffer) {
	if len(v.Restores) == 0 {
		fmt.Fprintf(text, "\nNo EtcdRestore of this cluster is under way. To begin one: `kubectl etcd-steward restore "+
			"%s -n %s --from BACKUP`.\n", v.Cluster, v.Namespace)
	}
	for _, r := range v.Restores {
		fmt.Fprintf(text, "\nEtcdRestore %s (stage %s, %s):\n  Restores: %s\n  Loses:    %s\n", r.Name,
			cmp.Or(r.Stage, none), cmp.Or(r.Approval, "not looked at yet"), r.Source, r.Loses)
		if v.Evidence != nil && r.Cannot == "" {
			fmt.Fprintf(text, "  Approve:  kubectl etcd-steward restore approve %s -n %s\n", r.Name, v.Namespace)
		}
		if r.refusal != "" {
			fmt.Fprintf(text, "  Refuse:   %s\n", r.refusal)
		}
	}
}
