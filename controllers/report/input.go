package report

import (
	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

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

// old is the status that the cluster had before this pass.
func (in Input) old() v1alpha1.EtcdClusterStatus { return in.Cluster.Status }
