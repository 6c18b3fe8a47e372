package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
)

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
