package cluster

import (
	"cmp"
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// How long until the next pass, where neither the decision nor kit says.
const (
	afterLater = time.Second      // etcd or Kubernetes said "not now"
	afterAny   = 10 * time.Second // nothing was to be done, as far as one can see
)

// attempt is what came of a decision.
type attempt struct {
	report.Outcome
	stale   bool          // the world is not what was decided on: nothing is told of this pass
	recheck time.Duration // when to look again even if nothing is heard
}

// attemptOf says what apply's answer means. What is to be expected is a reason to wait; what is left is an error.
func attemptOf(change changes.Change, err error) attempt {
	a := attempt{Outcome: report.Outcome{Change: change}}
	var (
		later    apply.Later
		rejected apply.Rejected
		taken    apply.NameTaken
	)
	switch {
	case err == nil:
		a.Applied, a.recheck = true, kit.AfterChange
	case errors.Is(err, apply.ErrStale):
		a.stale, a.recheck = true, kit.AfterStale
	case errors.As(err, &later):
		a.Reason, a.Message, a.recheck = later.Reason, later.Message, afterLater
	case errors.As(err, &rejected):
		a.Rejected, a.Reason, a.Message, a.recheck = true, rejected.Reason, rejected.Message, kit.AfterRejected
	case errors.As(err, &taken):
		a.Rejected, a.NeedsHuman, a.Reason, a.recheck = true, true, facts.ReasonNameTaken, kit.AfterRejected
		a.Message = taken.Error() + ". Delete or rename it, or choose another name for the cluster."
	default:
		a.Err = err
	}
	return a
}

// logPass writes the one line of a pass, for engineers. A settled cluster is worth a line only to those who ask for it,
// and so is what each rule said.
func logPass(ctx context.Context, decision plan.Decision, a attempt) {
	logger := log.FromContext(ctx).WithValues("rule", decision.Rule, "verdict", decision.Verdict, "reason",
		decision.Reason)
	if decision.Verdict == plan.Settled {
		logger = logger.V(1)
	}
	if decision.Change != nil {
		logger = logger.WithValues("change", changes.KindOf(decision.Change), "result", a.Result(), "stale", a.stale)
	}
	if a.Reason != "" {
		logger = logger.WithValues("deferred", a.Reason, "because", a.Message)
	}
	logger.Info("pass", "message", decision.Message)
	log.FromContext(ctx).V(1).Info("rules", "said", decision.Trace)
}

// tracePass tells of a pass what its status tells: of the changes that were tried the one that counts.
func tracePass(ctx context.Context, decision plan.Decision, a attempt) {
	pass := kit.Pass{Verdict: string(decision.Verdict), Rule: cmp.Or(a.Rule, decision.Rule),
		Reason: cmp.Or(a.Reason, decision.Reason), Result: a.Result()}
	if change := cmp.Or(a.Change, decision.Change); change != nil {
		pass.Change = changes.KindOf(change)
	}
	pass.Trace(ctx)
}
