package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// act carries out the change of a decision, unless the user only wants to see it.
func (r *Reconciler) act(ctx context.Context, cluster *v1alpha1.EtcdCluster, seen apply.Seen,
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

// A change that was made and is wanted again, pass after pass, leaves the world as it was: something undoes it, or the
// API server keeps something else than what was written.
const (
	repetitions = 3 // at full speed; a cache that lags can explain a few
	firstBrake  = time.Second
	lastBrake   = 30 * time.Second
)

// A cluster that is changed again and again, be it each time by another change, does not come to rest. Creating a
// cluster, restarting each member and restoring it in place take 18 effects and 5 for each member; to grow by a member
// and to shrink by one takes 13. The bound is far above that.
const (
	effectsOfCluster = 50
	effectsOfMember  = 30
)

// brake slows changes down that lead nowhere. It decides nothing but how soon, and a process that forgot it repeats
// some effects.
type brake struct{ kit.Kept[effects] }

// effects are what was done to a cluster since it was settled.
type effects struct {
	rule   string
	change changes.Change    // that was made last; nil once a pass wanted none
	saw    facts.Observation // what that was decided on, as far as a change moves it
	times  int               // that it was made, one after the other
	until  time.Time         // it is not made again before

	count     float64   // of effects; one of them is forgotten each lastBrake
	last      time.Time // when the last one was made
	slowUntil time.Time // none is made before
}

// rest is how long the change has to wait; zero when it may be made. With isCluster every other one has to wait as
// well.
func (b *brake) rest(key types.NamespacedName, change changes.Change, now time.Time) (rest time.Duration,
	isCluster bool) {
	e, _ := b.Get(key)
	if rest = e.slowUntil.Sub(now); rest > 0 {
		return rest, true
	}
	if reflect.DeepEqual(e.change, change) {
		return max(0, e.until.Sub(now)), false
	}
	return 0, false
}

// isVain reports a decision whose very change was made last, and moved nothing that was seen.
func (b *brake) isVain(key types.NamespacedName, decision plan.Decision, o facts.Observation) bool {
	e, isKept := b.Get(key)
	return isKept && decision.Change != nil && e.rule == decision.Rule &&
		reflect.DeepEqual(e.change, decision.Change) && reflect.DeepEqual(e.saw, moved(o))
}

// applied notes that the change was made, and returns how long it will have to wait, or with isCluster any other one.
func (b *brake) applied(key types.NamespacedName, decision plan.Decision, o facts.Observation,
	now time.Time) (wait time.Duration, isCluster bool) {
	e, _ := b.Get(key)
	if !reflect.DeepEqual(e.change, decision.Change) {
		e.times = 0
	}
	e.rule, e.change, e.saw = decision.Rule, decision.Change, moved(o)
	e.times++
	wait = backOff(e.times - repetitions)
	e.until = now.Add(wait)

	e.count = max(0, e.count-now.Sub(e.last).Seconds()/lastBrake.Seconds()) + 1
	e.last = now
	if slow := backOff(int(math.Ceil(e.count)) - boundOf(o) - 1); slow > 0 {
		wait, isCluster, e.slowUntil = max(wait, slow), true, now.Add(slow)
	}
	b.Set(key, e)
	return wait, isCluster
}

// paused notes a pass that wants no change, which ends the series; one that finds nothing left to do ends the count.
func (b *brake) paused(key types.NamespacedName, verdict plan.Verdict) {
	e, isKept := b.Get(key)
	switch {
	case !isKept:
	case verdict == plan.Settled:
		b.Forget(key)
	default:
		b.Set(key, effects{count: e.count, last: e.last, slowUntil: e.slowUntil})
	}
}

// backOff doubles from one step to the next; below the first one there is none.
func backOff(step int) time.Duration {
	if step < 0 {
		return 0
	}
	return min(firstBrake<<min(step, 5), lastBrake)
}

// boundOf is how many effects a cluster of that size may take before it is slowed down.
func boundOf(o facts.Observation) int {
	return effectsOfCluster + effectsOfMember*max(o.Desired.Size, len(o.Current.Voters()))
}

// moved is what a change moves in an observation: all but the clock, what members answer, and what was refused.
func moved(o facts.Observation) facts.Observation {
	o.Now, o.Ahead, o.Refused = time.Time{}, 0, nil
	o.Current, o.Next, o.Former = unheard(o.Current), unheard(o.Next), slices.Clone(o.Former)
	for i, former := range o.Former {
		o.Former[i] = unheard(former)
	}
	return o
}

// unheard is an incarnation without what its members answer.
func unheard(in facts.Incarnation) facts.Incarnation {
	in.Members = slices.Clone(in.Members)
	for i := range in.Members {
		in.Members[i].Answer, in.Members[i].Impostor = nil, nil
	}
	return in
}

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
		a.Rejected, a.Reason, a.recheck = true, rejected.Reason, kit.AfterRejected
		a.Message = fmt.Sprintf("Cannot %s: %s", changes.WordsOf(change).Name(), rejected.Message)
	case errors.As(err, &taken):
		a.Rejected, a.NeedsHuman, a.Reason, a.recheck = true, true, facts.ReasonNameTaken, kit.AfterRejected
		a.Message = taken.Error() + ". Delete it if nothing needs it, or choose another name for the cluster."
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
