package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// choice is how one pass comes to its change: which rules gave way to later ones.
type choice struct {
	*Reconciler
	cluster *v1alpha1.EtcdCluster
	seen    *apply.Seen // is told what was refused

	refused attempt     // the change that is told of those that Kubernetes or etcd refused; zero when none was
	vain    *vainChange // nil when there is none
}

// vainChange is one that was made in the pass before and is wanted again, though nothing moved since.
type vainChange struct {
	decision plan.Decision
	seen     apply.Seen // as it was wanted again
}

// decide takes the first change that is not refused: a rule whose change Kubernetes or etcd refuses gives way to later
// ones, if it may. So does one whose change moved nothing, which is made again only where no later rule acts.
func (r *Reconciler) decide(ctx context.Context, cluster *v1alpha1.EtcdCluster,
	seen *apply.Seen) (plan.Decision, attempt) {
	c := choice{Reconciler: r, cluster: cluster, seen: seen}
	for {
		decision := plan.Decide(c.seen.Observation)
		if c.isVain(decision) {
			c.vain = &vainChange{decision: decision, seen: *c.seen}
			c.giveWay(decision, c.vain.says())
			continue
		}
		if decision.Change == nil {
			return c.end(ctx, decision)
		}
		tried := c.try(ctx, *c.seen, decision)
		if tried.Change == nil && c.refused.Change != nil {
			return decision, c.refused
		}
		if !tried.Rejected || !decision.GivesWay {
			return decision, tried
		}
		if c.refused.Change == nil || tried.NeedsHuman && !c.refused.NeedsHuman {
			c.refused = tried
			c.refused.Rule = decision.Rule
		}
		c.giveWay(decision, tried.Outcome)
	}
}

func (c *choice) try(ctx context.Context, seen apply.Seen, decision plan.Decision) attempt {
	tried := c.act(ctx, c.cluster, seen, decision)
	logPass(ctx, decision, tried)
	return tried
}

func (c *choice) isVain(decision plan.Decision) bool {
	return c.vain == nil && decision.GivesWay && !c.cluster.Spec.IsDryRun() &&
		c.brake.isVain(client.ObjectKeyFromObject(c.cluster), decision, c.seen.Observation)
}

// giveWay lets later rules speak, and the planner know why.
func (c *choice) giveWay(decision plan.Decision, told report.Outcome) {
	c.seen.Refused = append(slices.Clone(c.seen.Refused), facts.Note{
		Rule: decision.Rule, Reason: told.Reason, Message: told.Message, NeedsHuman: told.NeedsHuman,
	})
}

// end is a pass in which no rule, or no other one, wants a change.
func (c *choice) end(ctx context.Context, decision plan.Decision) (plan.Decision, attempt) {
	if c.vain != nil {
		return c.repeat(ctx, decision)
	}
	idle := c.try(ctx, *c.seen, decision)
	if c.refused.Change != nil {
		return decision, c.refused
	}
	c.brake.paused(client.ObjectKeyFromObject(c.cluster), decision.Verdict)
	return decision, idle
}

// repeat makes a vain change once more, as far as the brake lets it. What was refused beside it is told first.
func (c *choice) repeat(ctx context.Context, last plan.Decision) (plan.Decision, attempt) {
	made := c.try(ctx, c.vain.seen, c.vain.decision)
	if made.Reason != "" || made.Err != nil || made.stale {
		return c.vain.decision, made
	}
	told := c.vain.says()
	if c.refused.Change != nil {
		told = c.refused.Outcome
	}
	told.Applied = made.Applied
	made.Outcome = told
	return last, made
}

// says is how people are told of it.
func (v vainChange) says() report.Outcome {
	return report.Outcome{
		Change: v.decision.Change, Rule: v.decision.Rule, Rejected: true, Reason: facts.ReasonNoEffect,
		Message: fmt.Sprintf("%s This was done before, and nothing changed. The operator tries again, at "+
			"least every %s. "+
			"Look for webhooks or controllers that write to the same objects.", v.decision.Message, lastBrake),
	}
}

// leave ends a pass over a cluster that another install looks after. Its status is that one's to write, for as long as
// that one may run. Where it certainly does not, this one tells how the cluster is. What this one was asked for and
// cannot do, it tells by an event, which no other install overwrites.
func (r *Reconciler) leave(ctx context.Context, in report.Input, recheck time.Duration) (ctrl.Result, error) {
	key, o := client.ObjectKeyFromObject(in.Cluster), in.Observation
	r.Metrics.Keep(key, o.Keeper(), o.IsKeeperUp())
	if o.IsKeeperGone() {
		_, err := r.publish(ctx, in, report.Status(in))
		return ctrl.Result{RequeueAfter: recheck}, errors.Join(in.Outcome.Err, err)
	}
	r.Metrics.Forget(key)
	r.Tell(in.Cluster, report.NotTakenOver(in))
	return ctrl.Result{RequeueAfter: recheck}, in.Outcome.Err
}

// A replica that does not lead looks as well, and asks members between its looks. It acts only where the leader is not
// heard: see docs/decisions/0024.
const (
	standByEvery = time.Minute            // when nothing is heard
	afterHeard   = 500 * time.Millisecond // when the leader is heard, and could have acted
	// leaderSilent is how old the last renewal of the Lease is, which a leader renews each second. The live look that
	// comes before a change begins a little earlier.
	leaderSilent     = 1400 * time.Millisecond
	lookBeforeSilent = 300 * time.Millisecond
)

// Leadership is whether this replica leads, and how the one that does is seen. Nil where no leader is elected.
type Leadership struct {
	Elected <-chan struct{} // closed once this replica leads
	// IsSilent reports whether the leader is not heard for so long, and waits until that can be said.
	IsSilent func(ctx context.Context, long time.Duration) bool

	mu     sync.Mutex
	passed map[types.NamespacedName]bool // clusters of passes before that
}

// leads reports whether this replica leads. A cluster that it passes over before is looked at again once it does.
func (s *Leadership) leads(key types.NamespacedName) bool {
	if s == nil || s.isElected() {
		return true
	}
	s.mu.Lock()
	if s.passed == nil {
		s.passed = map[types.NamespacedName]bool{}
	}
	s.passed[key] = true
	s.mu.Unlock()
	return s.isElected()
}

func (s *Leadership) isElected() bool {
	select {
	case <-s.Elected:
		return true
	default:
		return false
	}
}

// mayAct reports whether this replica may make a change now: it leads, or the leader is not heard.
func (s *Leadership) mayAct(ctx context.Context) bool {
	return s == nil || s.isElected() || s.IsSilent(ctx, leaderSilent)
}

// clusters are those that passes saw before this replica led.
func (s *Leadership) clusters() []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.passed))
}

// standBy is a pass of a replica that does not lead. Clients do not wait for another leader: it leads them away from a
// member that serves nothing while the others do. It writes no status, and asks nothing that only a status shows.
func (r *Reconciler) standBy(ctx context.Context, key types.NamespacedName) (ctrl.Result, error) {
	cluster, err := find(ctx, r.Bystander, key)
	if err != nil {
		return ctrl.Result{}, err
	}
	if cluster == nil {
		return ctrl.Result{}, r.forget(key)
	}
	leadsClients, err := r.Bystander.LeadsClients(ctx, key)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !leadsClients {
		return ctrl.Result{RequeueAfter: standByEvery}, nil
	}
	view, err := observeWith(ctx, r.Bystander, cluster)
	if err != nil { // which the leader says in the status
		return ctrl.Result{RequeueAfter: standByEvery}, nil //nolint:nilerr // see above
	}
	decision := plan.StandBy(view.Observation)
	if decision.Change == nil || cluster.Spec.IsDryRun() {
		r.brake.paused(key, plan.Wait)
		return ctrl.Result{RequeueAfter: standByEvery}, nil
	}
	if !r.Leadership.IsSilent(ctx, leaderSilent-lookBeforeSilent) {
		return ctrl.Result{RequeueAfter: afterHeard}, nil
	}
	tried := r.act(ctx, cluster, view, decision)
	logPass(ctx, decision, tried)
	tracePass(ctx, decision, tried)
	if tried.Err != nil {
		return ctrl.Result{}, tried.Err
	}
	return ctrl.Result{RequeueAfter: cmp.Or(tried.recheck, afterLater)}, nil
}

// lookAtAll begins a pass over every cluster that passes saw before, once this replica leads. What it read of Secrets
// while another one led may be of the past.
func (r *Reconciler) lookAtAll(look func(context.Context, types.NamespacedName)) manager.RunnableFunc {
	return func(ctx context.Context) error {
		select {
		case <-r.Leadership.Elected: // it is told after what waits for that is started
		case <-ctx.Done():
			return nil
		}
		for _, key := range r.Leadership.clusters() {
			r.Secrets.ForgetCluster(key)
			look(ctx, key)
		}
		return nil
	}
}
