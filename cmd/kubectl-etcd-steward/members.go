package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// etcdContainer is the container of members' Pods that runs etcd: resources.Container.
const etcdContainer = "etcd"

// memberRow is a member as the status has it, and what its Pod and its claims say.
type memberRow struct {
	v1alpha1.MemberStatus

	Leads bool `json:"leads"`
	// RunsSince is when its etcd was started last, and Restarts how often it was in this Pod.
	RunsSince *metav1.Time   `json:"runsSince,omitempty"`
	Restarts  *int32         `json:"restarts,omitempty"`
	Volumes   []memberVolume `json:"volumes,omitempty"`
}

// memberVolume is a claim of a member.
type memberVolume struct {
	Claim        string             `json:"claim"`
	Phase        string             `json:"phase,omitempty"`
	Capacity     *resource.Quantity `json:"capacity,omitempty"`
	StorageClass string             `json:"storageClass,omitempty"`
}

// memberTable is all that `members` prints.
type memberTable struct {
	Name      string       `json:"name"`
	Namespace string       `json:"namespace"`
	Operator  operatorView `json:"operator"`
	// Alarm says which alarm keeps etcd from taking writes, and what ends it.
	Alarm   string      `json:"alarm,omitempty"`
	Members []memberRow `json:"members"`
	NotRead []string    `json:"notRead,omitempty"`
}

func (p program) membersCommand() *cobra.Command {
	return p.showing(&cobra.Command{
		Use: "members CLUSTER", Short: "Show the members of a cluster, with their volumes", Args: oneCluster,
		Example: "  kubectl etcd-steward members demo\n" +
			"  kubectl etcd-steward members demo -o json",
		Long: "Shows the members as the operator saw them last, since when etcd runs in each of them, and their " +
			"volumes. The exit code is 1 for an error.",
	}, func(ctx context.Context, s *session, args []string, show show) error {
		t, err := s.members(ctx, args[0])
		if err != nil {
			return err
		}
		return show(sight{data: t, text: func(out io.Writer) error { return t.print(out, s.now()) }})
	})
}

// members reads the members of a cluster. Only the EtcdCluster is needed: what else may not be read is said.
func (s *session) members(ctx context.Context, name string) (memberTable, error) {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return memberTable{}, err
	}
	t := memberTable{Name: c.Name, Namespace: c.Namespace, Operator: s.operator(ctx, c), Alarm: alarmOf(c),
		Members: make([]memberRow, len(c.Status.Members))}
	own := client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}
	var pods corev1.PodList
	if err := s.list(ctx, s.namespace, &pods, own, client.MatchingLabels{v1alpha1.LabelInstance: name}); err != nil {
		t.NotRead = append(t.NotRead, err.Error())
	}
	var claims corev1.PersistentVolumeClaimList
	if err := s.list(ctx, s.namespace, &claims, own); err != nil {
		t.NotRead = append(t.NotRead, err.Error())
	}
	for i, m := range c.Status.Members {
		quota := quotaOf(c, m)
		t.Members[i] = memberRow{MemberStatus: m, Leads: m.Name == c.Status.Leader}
		t.Members[i].QuotaBackendBytes = &quota
		t.Members[i].addPod(pods.Items)
		t.Members[i].addVolumes(name, claims.Items)
	}
	return t, nil
}

// alarmOf says which alarm keeps etcd from taking writes, or "".
func alarmOf(c *v1alpha1.EtcdCluster) string {
	available := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionAvailable)
	if available == nil || available.Reason != "NOSPACE" && available.Reason != "CORRUPT" {
		return ""
	}
	return sentence(available.Reason, available.Message)
}

// addPod adds since when etcd runs.
func (m *memberRow) addPod(pods []corev1.Pod) {
	for _, pod := range pods {
		for _, c := range pod.Status.ContainerStatuses {
			if pod.Name != m.Name || c.Name != etcdContainer {
				continue
			}
			m.Restarts = &c.RestartCount
			if c.State.Running != nil {
				m.RunsSince = &c.State.Running.StartedAt
			}
		}
	}
}

// addVolumes adds the claims of a member, without those that are kept of one that was replaced.
func (m *memberRow) addVolumes(cluster string, claims []corev1.PersistentVolumeClaim) {
	for _, claim := range claims {
		labels := claim.Labels
		if v1alpha1.ClusterOf(labels) != cluster || labels[v1alpha1.LabelMember] != m.Name ||
			labels[v1alpha1.LabelKept] != "" {
			continue
		}
		v := memberVolume{Claim: claim.Name, Phase: string(claim.Status.Phase)}
		if size, isKnown := claim.Status.Capacity[corev1.ResourceStorage]; isKnown {
			v.Capacity = &size
		}
		if claim.Spec.StorageClassName != nil {
			v.StorageClass = *claim.Spec.StorageClassName
		}
		m.Volumes = append(m.Volumes, v)
	}
}

// memberColumns are all columns that a table of members may have.
func memberColumns(now time.Time) []column[memberRow] {
	return []column[memberRow]{
		{"NAME", func(m memberRow) string { return m.Name }},
		{"ID", func(m memberRow) string { return m.ID }},
		{"POD", func(m memberRow) string { return m.PodName }},
		{"NODE", func(m memberRow) string { return m.NodeName }},
		{"VERSION", func(m memberRow) string { return m.Version }},
		{"ROLE", memberRow.role},
		{"HEALTH", memberRow.health},
		{"RUNS FOR", func(m memberRow) string {
			if m.RunsSince == nil {
				return ""
			}
			return age(m.RunsSince.Time, now)
		}},
		{"RESTARTS", func(m memberRow) string {
			if m.Restarts == nil {
				return ""
			}
			return fmt.Sprint(*m.Restarts)
		}},
		{"DB SIZE", func(m memberRow) string { return size(m.DBSize) }},
		{"IN USE", func(m memberRow) string { return size(m.DBSizeInUse) }},
		{"QUOTA", func(m memberRow) string { return size(m.QuotaBackendBytes) }},
		{"VOLUMES", memberRow.volumes},
		{"CERTIFICATE", func(m memberRow) string { return untilExpiry(m.CertificateExpiry, now) }},
	}
}

func (m memberRow) role() string {
	if m.Leads {
		return "leader"
	}
	return m.Role
}

func (m memberRow) health() string {
	if m.Healthy {
		return strings.TrimSuffix("healthy, "+m.Reason, ", ")
	}
	return cmp.Or(m.Reason, "unhealthy")
}

// volumes are the claims, with what is known of each.
func (m memberRow) volumes() string {
	told := make([]string, len(m.Volumes))
	for i, v := range m.Volumes {
		words := append([]string{v.Claim}, size(v.Capacity), v.StorageClass)
		if v.Phase != string(corev1.ClaimBound) {
			words = append(words, v.Phase)
		}
		told[i] = strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	}
	return strings.Join(told, ", ")
}

// untilExpiry is how long a certificate may still be used.
func untilExpiry(at *metav1.Time, now time.Time) string {
	switch {
	case at == nil:
		return ""
	case !at.After(now):
		return "expired"
	default:
		return age(now, at.Time)
	}
}

func size(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return q.String()
}

func (t memberTable) print(out io.Writer, now time.Time) error {
	err := printTable(out, "", t.Members, pick(memberColumns(now), "NAME", "ID", "ROLE", "HEALTH", "VERSION", "NODE",
		"RUNS FOR", "RESTARTS", "DB SIZE", "IN USE", "QUOTA", "VOLUMES", "CERTIFICATE"))
	if err != nil {
		return err
	}
	notes := t.NotRead
	if t.Operator.State == operatorGone {
		notes = append([]string{t.Operator.Message + " This is what it saw last."}, notes...)
	}
	if t.Alarm != "" {
		notes = append([]string{"Alarm: " + t.Alarm}, notes...)
	}
	return printNotes(out, notes)
}

// printNotes prints what stands below a table.
func printNotes(out io.Writer, notes []string) error {
	for i, note := range notes {
		if i == 0 {
			note = "\n" + note
		}
		if _, err := fmt.Fprintln(out, note); err != nil {
			return err
		}
	}
	return nil
}
