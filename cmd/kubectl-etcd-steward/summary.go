package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// How a cluster is, in one word.
const (
	stateHealthy      = "Healthy"
	stateChanging     = "Changing"
	stateBlocked      = "Blocked"
	stateNotReady     = "NotReady"
	stateDegraded     = "Degraded"
	stateStalled      = "Stalled"
	stateNotAvailable = "NotAvailable"
	stateAsleep       = "Asleep"
	stateUnknown      = "Unknown"
	stateDeleting     = "Deleting"
)

// Whether a quorum of the members answers.
const (
	quorumHolds   = "Holds"
	quorumLost    = "Lost"
	quorumUnknown = "Unknown"
	quorumNone    = "None"
)

// summary is all that `status` prints. With -o it is printed as it is.
type summary struct {
	Name         string                  `json:"name"`
	Namespace    string                  `json:"namespace"`
	Available    bool                    `json:"available"`
	Health       verdict                 `json:"health"`
	Data         string                  `json:"data,omitempty"`
	Quorum       quorum                  `json:"quorum"`
	Size         sizes                   `json:"size"`
	NextStep     *v1alpha1.NextStep      `json:"nextStep,omitempty"`
	Operator     operatorView            `json:"operator"`
	Version      versions                `json:"version"`
	Roll         roll                    `json:"roll"`
	Certificates *expiry                 `json:"firstCertificateExpiry,omitempty"`
	Backup       backups                 `json:"backup"`
	Restores     restores                `json:"restores"`
	Database     *database               `json:"database,omitempty"`
	Leader       string                  `json:"leader,omitempty"`
	Members      []v1alpha1.MemberStatus `json:"members"`
	Kept         []v1alpha1.KeptVolume   `json:"keptVolumes,omitempty"`
	Conditions   []metav1.Condition      `json:"unusualConditions"`
}

// verdict is a word, and a sentence.
type verdict struct {
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
}

type quorum struct {
	State string `json:"state"`
	// Margin is how many more voting members may fail before writes stop.
	Margin  *int32 `json:"margin,omitempty"`
	Message string `json:"message"`
}

// sizes is how many voting members the spec asks for, how many exist, and how many are ready.
type sizes struct {
	Wanted int32 `json:"wanted"`
	Voters int32 `json:"voters"`
	Ready  int32 `json:"ready"`
}

type versions struct {
	Current string   `json:"current,omitempty"`
	Target  string   `json:"target,omitempty"`
	Path    []string `json:"path,omitempty"`
}

// roll is how many members run with the settings of the spec.
type roll struct {
	Updated  int32                    `json:"updated"`
	Members  int                      `json:"members"`
	Sidecars *v1alpha1.SidecarsStatus `json:"sidecars,omitempty"`
}

type expiry struct {
	Member string      `json:"member"`
	Time   metav1.Time `json:"time"`
}

// backups are the newest Complete EtcdBackup, and the newest proven backup that the operator knows of.
type backups struct {
	Last   *lastBackup            `json:"last,omitempty"`
	Proven *v1alpha1.RestorePoint `json:"lastProven,omitempty"`
	// Waiting are those that do not get on, the oldest first.
	Waiting []waitingBackup `json:"waiting,omitempty"`
	// Message says why EtcdBackups could not be read.
	Message string `json:"message,omitempty"`
}

type waitingBackup struct {
	Name    string      `json:"name"`
	Since   metav1.Time `json:"since"`
	Message string      `json:"message"`
}

type lastBackup struct {
	Name      string      `json:"name"`
	StartedAt metav1.Time `json:"startedAt"`
	Revision  int64       `json:"revision"`
	Verified  bool        `json:"verified"`
	// Largest are the prefixes of keys that take most of its database.
	Largest []v1alpha1.KeyPrefix `json:"largest,omitempty"`
}

type seen struct {
	cluster   *v1alpha1.EtcdCluster
	operator  operatorView
	backups   []v1alpha1.EtcdBackup
	backupErr error
	restores  []v1alpha1.EtcdRestore

	restoreErr error
}

func summarize(in seen) summary {
	c := in.cluster
	status := c.Status
	target := cmp.Or(status.TargetVersion, c.Spec.Version)
	return summary{
		Name: c.Name, Namespace: c.Namespace, NextStep: status.NextStep, Operator: in.operator,
		Available: isAvailable(in), Health: healthOf(in), Quorum: quorumOf(status), Data: dataOf(in),
		Size:         sizes{Wanted: c.Spec.Size, Voters: status.Size, Ready: status.ReadyMembers},
		Version:      versions{Current: status.Version, Target: target, Path: status.UpgradePath},
		Roll:         roll{Updated: status.UpdatedMembers, Members: len(status.Members), Sidecars: status.Sidecars},
		Certificates: firstExpiry(status.Members), Backup: backupsOf(in), Restores: restoresOf(in),
		Database: databaseOf(c),
		Leader:   status.Leader, Members: append([]v1alpha1.MemberStatus{}, status.Members...),
		Kept:       status.KeptVolumes,
		Conditions: unusual(status.Conditions),
	}
}

// isAvailable reports a cluster that is known to serve now. What an operator saw that is gone is no news.
func isAvailable(in seen) bool {
	return isTrue(in.cluster.Status.Conditions, v1alpha1.ConditionAvailable) && in.operator.State != operatorGone
}

// healthOf is the worst that is known.
func healthOf(in seen) verdict {
	conditions := in.cluster.Status.Conditions
	message := func(kind string) string {
		if c := meta.FindStatusCondition(conditions, kind); c != nil {
			return c.Message
		}
		return ""
	}
	available := meta.FindStatusCondition(conditions, v1alpha1.ConditionAvailable)
	switch {
	case in.operator.State == operatorGone:
		return verdict{stateUnknown, "The operator does not run. This page shows what it saw last."}
	case in.cluster.DeletionTimestamp != nil:
		return verdict{stateDeleting, "The EtcdCluster is being deleted."}
	case available == nil:
		return verdict{stateUnknown, "The operator has not looked at this cluster yet."}
	case available.Status == metav1.ConditionUnknown:
		return verdict{stateUnknown, available.Message}
	case available.Reason == reasonAsleep:
		return verdict{stateAsleep, available.Message}
	case available.Status != metav1.ConditionTrue:
		return verdict{stateNotAvailable, available.Message}
	case isTrue(conditions, v1alpha1.ConditionStalled):
		return verdict{stateStalled, "The cluster serves. The operator cannot continue without you: see the next step."}
	case isTrue(conditions, v1alpha1.ConditionDegraded):
		return verdict{stateDegraded, message(v1alpha1.ConditionDegraded)}
	case isTrue(conditions, v1alpha1.ConditionReady):
		return verdict{stateHealthy, message(v1alpha1.ConditionReady)}
	case isTrue(conditions, v1alpha1.ConditionReconciling) && isBlocked(in.cluster.Status.NextStep):
		return verdict{stateBlocked, "The cluster serves. The next step cannot be taken yet: see there for what helps."}
	case isTrue(conditions, v1alpha1.ConditionReconciling):
		return verdict{stateChanging, "The cluster serves, and the operator changes it."}
	}
	return verdict{stateNotReady, message(v1alpha1.ConditionReady)}
}

// reasonAsleep is the reason of conditions of a cluster that sleeps.
const reasonAsleep = "Asleep"

func isAsleep(status v1alpha1.EtcdClusterStatus) bool {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAvailable)
	return c != nil && c.Reason == reasonAsleep
}

// quorumOf says how many more voting members may fail before writes stop. The operator leaves the margin out while no
// quorum answers.
func quorumOf(status v1alpha1.EtcdClusterStatus) quorum {
	switch {
	case status.Quorum == nil && status.Evidence != nil && status.Evidence.Quorum == quorumLost:
		return quorum{State: quorumLost, Message: "Members that hold the data are lost, and the rest is no quorum. " +
			"An EtcdRestore rebuilds the cluster: " +
			pages.Docs + "docs/disaster-recovery.md."}
	case status.Quorum == nil && isAsleep(status):
		return quorum{State: quorumNone, Message: "No member runs."}
	case status.Quorum == nil:
		return quorum{State: quorumUnknown, Message: "The operator has no answer from a quorum of the members."}
	}
	margin := status.Quorum.Margin
	q := quorum{State: quorumHolds, Margin: &margin, Message: status.Quorum.Says()}
	switch {
	case margin < 0:
		q.State = quorumLost
	case status.Size == 1:
		q.Message = facts.OnlyMember
	}
	return q
}

func firstExpiry(members []v1alpha1.MemberStatus) *expiry {
	var first *expiry
	for _, m := range members {
		if at := m.CertificateExpiry; at != nil && (first == nil || at.Before(&first.Time)) {
			first = &expiry{Member: m.Name, Time: *at}
		}
	}
	return first
}

// backupsOf finds the newest backup of this cluster. One of an earlier cluster of the same name is no backup of it,
// unless the cluster goes on with that one's data.
func backupsOf(in seen) backups {
	b := backups{Proven: in.cluster.Status.LastProvenBackup}
	if in.backupErr != nil {
		b.Message = in.backupErr.Error()
		return b
	}
	for _, one := range in.backups {
		if !isOf(in.cluster, one) {
			continue
		}
		if _, why := backupplan.Waits(&one); why != "" {
			b.Waiting = append(b.Waiting, waitingBackup{one.Name, one.CreationTimestamp, why})
		}
		started := one.Status.StartedAt
		if started == nil || !isTrue(one.Status.Conditions, v1alpha1.BackupComplete) {
			continue
		}
		if b.Last == nil || b.Last.StartedAt.Before(started) {
			b.Last = &lastBackup{Name: one.Name, StartedAt: *started, Revision: one.Status.Revision,
				Verified: isTrue(one.Status.Conditions, v1alpha1.BackupVerified), Largest: one.Status.Largest}
		}
	}
	slices.SortFunc(b.Waiting, func(x, y waitingBackup) int {
		return cmp.Or(x.Since.Compare(y.Since.Time), cmp.Compare(x.Name, y.Name))
	})
	return b
}

func isOf(c *v1alpha1.EtcdCluster, b v1alpha1.EtcdBackup) bool {
	if b.Namespace != c.Namespace || b.Spec.ClusterRef.Name != c.Name {
		return false
	}
	return !b.CreationTimestamp.Before(&c.CreationTimestamp) ||
		c.Status.ClusterID != "" && b.Status.ClusterID == c.Status.ClusterID
}

// usual is what each condition is while nothing is wrong. Fenced, Reconciling and Stalled are absent then.
var usual = map[string]metav1.ConditionStatus{
	v1alpha1.ConditionReady: metav1.ConditionTrue, v1alpha1.ConditionAvailable: metav1.ConditionTrue,
	v1alpha1.ConditionDegraded: metav1.ConditionFalse, v1alpha1.ConditionUpToDate: metav1.ConditionTrue,
	v1alpha1.ConditionBackedUp: metav1.ConditionTrue, v1alpha1.ConditionFenced: metav1.ConditionFalse,
	v1alpha1.ConditionReconciling: metav1.ConditionFalse, v1alpha1.ConditionStalled: metav1.ConditionFalse,
}

// warned ends the reason of a condition that is as it should be and has a warning.
const warned = "Warning"

func unusual(conditions []metav1.Condition) []metav1.Condition {
	found := []metav1.Condition{}
	for _, c := range conditions {
		if usual[c.Type] != c.Status || strings.HasSuffix(c.Reason, warned) {
			found = append(found, c)
		}
	}
	return found
}

// unseen reports a change of the spec that the status does not describe yet.
func unseen(c *v1alpha1.EtcdCluster) bool { return c.Status.ObservedGeneration < c.Generation }

// ago is an age as kubectl prints it.
func ago(then, now time.Time) string { return age(then, now) + " ago" }

func isTrue(conditions []metav1.Condition, kind string) bool {
	return meta.IsStatusConditionTrue(conditions, kind)
}
