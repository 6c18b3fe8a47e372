// Package controllers runs the passes: it wires the reader, the planner, the writer and the report together, and says what
// makes a pass begin.
package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// fieldOwner is whom the API server calls the owner of what the operator writes.
const fieldOwner = client.FieldOwner("etcd-steward")

// Limits of passes. The back-off is for errors only; expected waits say themselves when to look again.
const (
	parallelPasses = 16
	passTimeout    = 30 * time.Second
	firstBackoff   = 200 * time.Millisecond
	longestBackoff = 30 * time.Second
)

// Add adds the controllers of clusters and of their restores to a manager. Operator is the namespace/name by which this install claims clusters,
// agentImage tells what restores run from.
func Add(mgr ctrl.Manager, operator string, agentImage func(context.Context) (string, error)) error {
	registered, err := NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	secrets := NewSecretCache(mgr.GetAPIReader(), time.Now)
	dialer := NewMemberDialer(etcd.EtcdDialer{}, secrets)
	unseen := newUnseenWrites(time.Now)
	progress := newProgressClient()
	writer := notingClient{Client: mgr.GetClient(), secrets: secrets, unseen: unseen}
	observer := func(reader client.Reader) *observe.Observer {
		return &observe.Observer{
			Reader: reader, Live: mgr.GetAPIReader(), Secrets: secrets, Dial: dialer, Now: time.Now, Operator: operator,
			Wish: beginnings{reader: reader}.wish, Requests: beginnings{reader: reader}.requests,
			Tasks: taskAsker{live: mgr.GetAPIReader(), progress: progress},
		}
	}
	r := &EtcdClusterReconciler{
		Client:   writer,
		Observer: observer(mgr.GetClient()),
		Live:     observer(mgr.GetAPIReader()),
		Applier:  &apply.Applier{Client: writer, Live: mgr.GetAPIReader(), Now: time.Now, Operator: operator, Source: beginnings{mgr.GetAPIReader(), agentImage}.source},
		Dialer:   dialer,
		Secrets:  secrets,
		Recorder: mgr.GetEventRecorder(v1alpha1.Group + "/controller"),
		Metrics:  registered,
		Now:      time.Now,
		unseen:   unseen,
	}
	if err := r.setup(mgr); err != nil {
		return err
	}
	return addRestores(mgr, operator)
}

func (r *EtcdClusterReconciler) setup(mgr ctrl.Manager) error {
	err := controllerOf(mgr, kind{
		name: "etcdcluster", object: &v1alpha1.EtcdCluster{}, word: "cluster", parallel: parallelPasses,
		isTold: func(o client.Object) bool {
			cluster, is := o.(*v1alpha1.EtcdCluster)
			return is && cluster.Status.NextStep != nil
		},
	}).
		Owns(&corev1.Pod{}).
		Owns(&corev1.Service{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Watches(&corev1.PersistentVolumeClaim{}, byLabel(v1alpha1.LabelInstance)). // a volume need not have an owner
		Watches(&v1alpha1.EtcdRestore{}, handler.EnqueueRequestsFromMapFunc(clusterOfRestore), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of clusters: %w", err)
	}
	return nil
}
