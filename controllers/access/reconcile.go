// Package access makes the passes over EtcdClients.
package access

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client/dial"
)

// Reconciler makes passes over clients, as the other wings do: it looks, decides on one change, makes it and reports.
// It asks etcd as root, with the certificate that the passes of clusters use as well.
type Reconciler struct {
	kit.Frame
	Metrics *Metrics
	Dialer  *observe.PodDialer
	Secrets *observe.SecretCache
	Leads   func(context.Context) (time.Time, error) // nil: no leader is elected
	Watches []string                                 // the namespaces that this install looks after; empty for all

	ledger ledger               // how authentication stands, by cluster
	known  kit.Kept[seenInEtcd] // what etcd said of each client last

	rightStores kit.Kept[resources.Digest] // of each client: the stores that were found right, and their content
}

// What they are for: `patch` of etcdclients puts the finalizer on and takes it off, since there is no narrower verb;
// `update` of finalizers is asked for by OwnerReferencesPermissionEnforcement.
//
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdclients,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdclients/status,verbs=patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdclients/finalizers,verbs=update

// Reconcile is one pass over one client.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	c := &v1alpha1.EtcdClient{}
	if ready, result, err := r.Begin(ctx, request.NamespacedName, c, r.forget); !ready || err != nil {
		return result, err
	}
	seen, err := r.look(ctx, c)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("looking at the EtcdClient %s: %w", request, err)
	}
	decision := accessplan.Next(seen.Observation)
	if decision.Ignored {
		r.Metrics.Forget(request.NamespacedName)
		return ctrl.Result{RequeueAfter: decision.Recheck}, nil
	}
	if decision.Change != nil {
		log.FromContext(ctx).Info("client", "cluster", c.ClusterKey().String(), "change",
			fmt.Sprintf("%T", decision.Change), "message", decision.Message)
		refused, err := kit.Answered(ctx, decision.Change, r.apply(ctx, c, seen, decision.Change))
		if refused == nil || err != nil {
			return ctrl.Result{RequeueAfter: decision.Recheck}, err
		}
		decision = decision.Refused(refused.Reason, refused.Message, kit.AfterRejected)
	}
	later, err := r.publish(ctx, c, seen.Observation, decision)
	return ctrl.Result{RequeueAfter: words.Sooner(decision.Recheck, later)}, err
}

func (r *Reconciler) forget(key types.NamespacedName) {
	r.known.Forget(key)
	r.rightStores.Forget(key)
	r.Metrics.Forget(key)
}

// parallelPasses bounds the passes at once. etcd makes one change of users after the other, reads all users again for
// each, and serves nothing meanwhile: more passes would only hold up its clients.
const parallelPasses = 4

// Add adds the controller of clients to a manager. Install is what this operator is and which clock it reads.
func Add(mgr ctrl.Manager, install kit.Install) error {
	registered, err := NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	frame := kit.NewFrame(mgr, install)
	secrets := observe.NewSecretCache(frame.Live, frame.Now)
	r := &Reconciler{Frame: frame, Metrics: registered, Secrets: secrets, Watches: install.Watches,
		Dialer: observe.NewPodDialer(dial.EtcdDialer{}, secrets)}
	if install.Lease != nil {
		r.Leads = kit.LeadsBy(frame.Live, install.Lease)
	}
	indexer := mgr.GetFieldIndexer()
	for field, values := range indices {
		if err := indexer.IndexField(context.Background(), &v1alpha1.EtcdClient{}, field, values); err != nil {
			return fmt.Errorf("indexing EtcdClients by %s: %w", field, err)
		}
	}
	err = indexer.IndexField(context.Background(), &v1alpha1.EtcdBackup{}, byCluster, backupsByCluster)
	if err != nil {
		return fmt.Errorf("indexing EtcdBackups by %s: %w", byCluster, err)
	}
	return errors.Join(kit.ServeAdmission(mgr, install, r.admit), r.setup(mgr))
}

func (r *Reconciler) setup(mgr ctrl.Manager) error {
	err := kit.ControllerOf(mgr, kit.Kind{
		Name: "etcdclient", Object: &v1alpha1.EtcdClient{}, Word: "client", Parallel: parallelPasses,
		IsTold: func(o client.Object) bool {
			c, ok := o.(*v1alpha1.EtcdClient)
			return ok && len(c.Status.Conditions) > 0
		},
	}).
		Watches(&v1alpha1.EtcdCluster{}, handler.EnqueueRequestsFromMapFunc(r.lookAtClientsOf),
			builder.WithPredicates(whatClientsNotice)).
		Complete(r.Traced(&v1alpha1.EtcdClient{}, r))
	if err != nil {
		return fmt.Errorf("setting up the controller of clients: %w", err)
	}
	return nil
}

// whatClientsNotice lets through what changes a cluster for its clients: its spec, its CAs, and whether it serves.
// Steps of the operator show in conditions and in the next step.
var whatClientsNotice = predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{},
	predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, isCluster := e.ObjectOld.(*v1alpha1.EtcdCluster)
			now, isStill := e.ObjectNew.(*v1alpha1.EtcdCluster)
			return isCluster && isStill && stateOf(before) != stateOf(now)
		},
	})

// stateOf is how a cluster is, without sentences and times.
func stateOf(c *v1alpha1.EtcdCluster) string {
	var state string
	if next := c.Status.NextStep; next != nil {
		state = next.Rule + " " + next.Reason
	}
	for _, condition := range c.Status.Conditions {
		state += " " + condition.Type + " " + string(condition.Status) + " " + condition.Reason
	}
	return state
}

// seenInEtcd is what etcd said of a client's user and role, and at which revision of all users and roles of which
// history. While that is the same, so is what was said.
type seenInEtcd struct {
	history  string
	revision uint64
	etcd     accessplan.Etcd
}

// asked is how authentication stands, as a member said at a time, or why none did.
type asked struct {
	history string
	at      time.Time
	auth    etcd.Authentication
	why     string
}
