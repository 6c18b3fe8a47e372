package report

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Values are the values of one cluster's metrics after a pass.
type Values struct {
	Namespace, Name string

	Version string // the lowest that runs; empty when none does
	TLS     string // Managed, Permissive or Disabled
	Storage string // Volume or Ephemeral

	Desired int      // voters asked for; those that there are, while a cluster is yet to fall asleep
	Members *Members // nil while the member list is not known
	Margin  *int     // further voters that may fail before writes stop; nil while the member list is not known
	Ready   bool
	Served  bool // be it before a restore in place; false while the cluster is first created
	Busy    bool // a member is silent because it is defragmented, and may be for a while longer
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

// Metrics are the values of the cluster's metrics after this pass, which made that status.
func Metrics(in Input, status v1alpha1.EtcdClusterStatus) Values {
	o := in.Observation
	v := Values{
		Namespace: in.Cluster.Namespace, Name: in.Cluster.Name,
		Version: status.Version, TLS: string(in.Cluster.Spec.TLSModeOrDefault()), Storage: "Volume",
		Desired: votersWanted(o), Members: count(o), Served: hasServed(o), Paused: o.Desired.Paused,
		Busy:       slices.ContainsFunc(o.Current.Members, func(r facts.Replica) bool { return r.IsBusy(o.Now) }),
		Ready:      meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady),
		Conditions: map[string]string{}, Alarms: alarms(o), CertificateExpiry: firstExpiry(status.Members),
		Kept: keptByReason(status.KeptVolumes),
	}
	if isAsleep(o) {
		v.CertificateExpiry = time.Time{} // it is renewed before a member starts
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
	if status.NextStep.Verdict != v1alpha1.VerdictSettled {
		v.Rule, v.Since = status.NextStep.Rule, status.NextStep.Since.Time
	}
	if in.Outcome.Change != nil {
		v.Change, v.Result = changes.KindOf(in.Outcome.Change), in.Outcome.Result()
		if in.Outcome.Applied {
			v.Replaced = in.Decision.GivenUp
		}
	}
	return v
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

// Input is one pass: what was seen, what was decided, and what came of it.
type Input struct {
	Cluster     *v1alpha1.EtcdCluster // as it was read at the start of the pass; its status is the old one
	Observation facts.Observation
	Decision    plan.Decision
	Outcome     Outcome  // zero when nothing was to be done, or (DryRun) nothing was done
	Warnings    []string // sentences about a spec that is accepted all the same, such as a version with known defects

	Backups []Backup // complete backups of the cluster, for what is said of a restore; nil where nothing has to be

	// IsBlind: a record of the cluster is there and cannot be read, so nothing is known of how the cluster is.
	IsBlind bool

	fresh bool // numbers are shown as they are, instead of being held at what was written before
}

// Outcome is what came of applying the decision's change. The zero value means that nothing was tried.
type Outcome struct {
	Change changes.Change // what was tried; nil when nothing was
	// the rule that is told instead of the decision's: one whose change gave way, or RuleBrake; empty for none
	Rule    string
	Applied bool // the world is now as the change wants it
	// Kubernetes or etcd refuses, and time alone does not change it: a quota, Pod Security, a taken name
	Rejected   bool
	NeedsHuman bool   // and nothing but a person can end it: an object of another owner is in the way
	Reason     string // why it was not applied, for machines; empty when the world moved and is simply looked at again
	Message    string // the same as a sentence
	Err        error  // our call failed
}

// Results of a change, for the metric. The set is closed.
const (
	ResultApplied  = "applied"  // the world is now as the change wants it
	ResultDeferred = "deferred" // not now: the world moved, or something is not ready; the next pass decides anew
	ResultRejected = "rejected" // Kubernetes or etcd refuses it
	ResultFailed   = "failed"   // our call failed
)

// Result says what came of the change; empty when nothing was tried.
func (o Outcome) Result() string {
	switch {
	case o.Change == nil:
		return ""
	case o.Err != nil:
		return ResultFailed
	case o.Applied:
		return ResultApplied
	case o.Rejected:
		return ResultRejected
	}
	return ResultDeferred
}

// isDryRun reports whether the change was published instead of tried.
func (in Input) isDryRun() bool {
	return in.Decision.Verdict == plan.Act && in.Cluster.Spec.IsDryRun()
}

func (in Input) wouldDo() string {
	return "Would " + changes.WordsOf(in.Decision.Change).Name() + ": " + in.Decision.Because +
		" Nothing is done, because spec.mode is DryRun."
}

// old is the status that the cluster had before this pass.
func (in Input) old() v1alpha1.EtcdClusterStatus { return in.Cluster.Status }
