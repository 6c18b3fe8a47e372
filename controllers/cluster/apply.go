package cluster

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// act carries out the change of a decision, unless the user only wants to see it.
func (r *Reconciler) act(ctx context.Context, cluster *v1alpha1.EtcdCluster, seen apply.View,
	decision plan.Decision) attempt {
	if decision.Verdict != plan.Act || cluster.Spec.IsDryRun() {
		return attempt{recheck: decision.Recheck}
	}
	key := client.ObjectKeyFromObject(cluster)
	if rest, isCluster := r.brake.rest(key, decision.Change, r.Now()); rest > 0 {
		resting := attempt{recheck: rest}
		resting.say(isCluster)
		return resting
	}
	if changes.TraitsOf(decision.Change).Secrets { // which may be remembered as they were before
		r.Secrets.ForgetCluster(key)
	}
	look := r.look(cluster, seen.Refused)
	made := attemptOf(decision.Change, r.Applier.Apply(ctx, cluster, seen, decision.Change, look))
	if made.Reason == apply.LaterMissing { // a Secret, as a live read has just shown
		r.Secrets.ForgetCluster(key)
	}
	if made.Applied {
		wait, isCluster := r.brake.applied(key, decision, seen.Observation, r.Now())
		made.recheck = max(made.recheck, wait)
		made.say(isCluster)
	}
	return made
}

// say tells that every change of the cluster is slowed down.
func (a *attempt) say(isSlow bool) {
	if !isSlow {
		return
	}
	a.Rule, a.Reason = report.RuleBrake, report.ReasonTooManyChanges
	a.Message = fmt.Sprintf("The operator changed this cluster again and again, and it did not come to rest. It "+
		"waits up to %s between two changes. "+
		"Look in the events for what is repeated, and for webhooks or controllers that undo it.", lastBrake)
}
