package report

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Values are the values of one cluster's metrics after a pass.
type Values struct {
	Namespace, Name string

	Version string // the lowest that runs; empty when none does
	TLS     string // Managed or Disabled
	Storage string // Volume or Ephemeral

	Desired int      // voters asked for
	Members *Members // nil while the member list is not known
	Margin  *int     // further voters that may fail before writes stop; nil while the member list is not known
	Ready   bool
	Served  bool // be it before a restore in place; false while the cluster is first created
	Paused  bool

	Conditions map[string]string // type to True, False or Unknown
	Alarms     []string          // that members raise now: NOSPACE, CORRUPT
	Kept       map[string]int    // volumes of replaced members that are kept, by reason

	Rule  string    // the rule that has something to do or waits; empty when settled
	Since time.Time // since when

	CertificateExpiry time.Time // of the member's certificate that ends first; zero when not known

	Change, Result string // kind of the change that was tried in this pass, and what came of it; empty when none was
	Replaced       string // why a member was given up in this pass, DataLost or MemberDead; empty when none was
}

// Members counts members by state. Unhealthy and unstarted members are voters or learners as well; unstarted ones have
// never served, and are not counted as unhealthy.
type Members struct{ Voters, Learners, Unhealthy, Unstarted int }

// Metrics are the values of the cluster's metrics after this pass.
func Metrics(in Input) Values {
	o, status := in.Observation, Status(in)
	v := Values{
		Namespace: in.Cluster.Namespace, Name: in.Cluster.Name,
		Version: status.Version, TLS: string(v1alpha1.TLSManaged), Storage: "Volume",
		Desired: o.Desired.Size, Members: count(o), Served: hasServed(o), Paused: o.Desired.Paused,
		Ready:      meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady),
		Conditions: map[string]string{}, Alarms: alarms(o), CertificateExpiry: firstExpiry(status.Members),
		Kept: keptByReason(status.KeptVolumes),
	}
	if !o.Desired.TLS {
		v.TLS = string(v1alpha1.TLSDisabled)
	}
	if o.Desired.Ephemeral {
		v.Storage = "Ephemeral"
	}
	if status.Quorum != nil {
		margin := int(status.Quorum.Margin)
		v.Margin = &margin
	}
	for _, c := range status.Conditions {
		v.Conditions[c.Type] = string(c.Status)
	}
	if status.NextStep.Verdict != string(plan.Settled) {
		v.Rule, v.Since = status.NextStep.Rule, status.NextStep.Since.Time
	}
	if in.Outcome.Change != nil {
		v.Change, v.Result = changes.KindOf(in.Outcome.Change), in.Outcome.Result()
		v.Replaced = replaced(in)
	}
	return v
}

// replaced says why a member was just given up. One that the spec asks to remove, or that was succeeded before, is not.
func replaced(in Input) string {
	_, isRemoval := in.Outcome.Change.(changes.RemoveMember)
	reason := in.Decision.Reason
	if isRemoval && in.Outcome.Applied && (reason == facts.ReasonRepair || reason == facts.ReasonReplaceDead) {
		return reason
	}
	return ""
}

func count(o facts.Observation) *Members {
	if !o.Current.Membership.Known {
		return nil
	}
	var m Members
	for _, r := range o.Current.Members {
		switch {
		case r.IsVoter():
			m.Voters++
		case r.IsLearner():
			m.Learners++
		default:
			continue
		}
		switch {
		case r.IsHealthy(o.Current.Membership):
		case r.Member.Started():
			m.Unhealthy++
		default:
			m.Unstarted++
		}
	}
	return &m
}

func alarms(o facts.Observation) []string {
	var raised []string
	for _, r := range o.Current.Members {
		if r.Answer != nil {
			for _, a := range r.Answer.Alarms {
				raised = append(raised, a.Name)
			}
		}
	}
	slices.Sort(raised)
	return slices.Compact(raised)
}

func firstExpiry(members []v1alpha1.MemberStatus) time.Time {
	var first time.Time
	for _, m := range members {
		if m.CertificateExpiry != nil && (first.IsZero() || m.CertificateExpiry.Time.Before(first)) {
			first = m.CertificateExpiry.Time
		}
	}
	return first
}
