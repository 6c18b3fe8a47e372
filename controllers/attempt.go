package controllers

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/admission"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// How long until the next pass, where the decision does not say.
const (
	afterChange   = 5 * time.Millisecond   // the cache has to hear of what was just written
	afterStale    = 100 * time.Millisecond // the world moved under the decision
	afterLater    = time.Second            // etcd or Kubernetes said "not now"
	afterRejected = 10 * time.Second       // the platform, or an object of somebody else, is in the way
	afterAny      = 10 * time.Second       // nothing was to be done, as far as one can see
)

// attempt is what came of a decision.
type attempt struct {
	report.Outcome
	stale   bool          // the world is not what was decided on: nothing is told of this pass
	recheck time.Duration // when to look again even if nothing is heard
}

// attemptOf says what apply's answer means. What is to be expected is a reason to wait; what is left is an error.
func attemptOf(change plan.Change, err error) attempt {
	a := attempt{Outcome: report.Outcome{Change: change}}
	var (
		later    apply.Later
		rejected apply.Rejected
		taken    apply.NameTaken
	)
	switch {
	case err == nil:
		a.Applied, a.recheck = true, afterChange
	case errors.Is(err, apply.ErrStale):
		a.stale, a.recheck = true, afterStale
	case errors.As(err, &later):
		a.Reason, a.Message, a.recheck = later.Reason, later.Message, afterLater
	case errors.As(err, &rejected):
		a.Rejected, a.Reason, a.Message, a.recheck = true, rejected.Reason, rejected.Message, afterRejected
	case errors.As(err, &taken):
		a.Rejected, a.NeedsHuman, a.Reason, a.recheck = true, true, plan.ReasonNameTaken, afterRejected
		a.Message = taken.Error() + ". Delete or rename it, or choose another name for the cluster."
	default:
		a.Err = err
	}
	return a
}

// logPass writes the one line of a pass, for engineers. A settled cluster is worth a line only to those who ask for it.
func logPass(ctx context.Context, decision plan.Decision, a attempt) {
	logger := log.FromContext(ctx).WithValues("rule", decision.Rule, "verdict", decision.Verdict, "reason", decision.Reason)
	if decision.Verdict == plan.Settled {
		logger = logger.V(1)
	}
	if decision.Change != nil {
		logger = logger.WithValues("change", decision.Change.Kind(), "result", a.Result(), "stale", a.stale)
	}
	if a.Reason != "" {
		logger = logger.WithValues("deferred", a.Reason, "because", a.Message)
	}
	logger.Info("pass", "message", decision.Message)
}

// faultOf says why the spec is refused; empty when it is not.
func faultOf(cluster *v1alpha1.EtcdCluster) string {
	return admission.Message(admission.Validate(cluster))
}

// sooner is the earlier of two times to look again; zero means that nothing asks for it.
func sooner(a, b time.Duration) time.Duration {
	switch {
	case a == 0 && b == 0:
		return afterAny
	case a == 0:
		return b
	case b == 0:
		return a
	}
	return min(a, b)
}
