package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// beginBootstrap creates the peer Service with the bootstrap record and this install's claim. Of two that try, one wins
// and the other reads what it wrote. Only a Service of ours that has lost its record is given one. A cluster that
// lives, and whose data does not name this install, is taken over by it: another one may be within a change.
func (s step) beginBootstrap(ctx context.Context, c changes.BeginBootstrap) error {
	bootstrap := record.Bootstrap(c)
	made := resources.BuildPeerService(s.cluster, bootstrap, s.Operator)
	if s.takesOver() {
		annotate(made, v1alpha1.AnnotationTakenOver, s.takenOverAt())
	}
	there, err := s.create(ctx, resources.KindService, made)
	if err != nil || there.GetAnnotations()[v1alpha1.AnnotationBootstrap] != "" {
		return err
	}
	return s.update(ctx, resources.KindService, there, func() {
		annotate(there, v1alpha1.AnnotationBootstrap, bootstrap.Encode())
		if there.GetAnnotations()[v1alpha1.AnnotationOperator] != "" {
			return
		}
		annotate(there, v1alpha1.AnnotationOperator, s.Operator)
		if s.takesOver() {
			annotate(there, v1alpha1.AnnotationTakenOver, s.takenOverAt())
		}
	})
}

// takesOver reports that to claim the cluster is to take it over.
func (s step) takesOver() bool {
	return s.view.Current.IsAlive() && s.view.DataClaim != s.Operator
}

func (s step) takenOverAt() string { return s.Now().UTC().Format(time.RFC3339) }

// bootstrapEdit is what a change does that edits the bootstrap record alone; nil for every other change. Each edit
// names what was looked at: a slow operator may find another incarnation in the record.
func (s step) bootstrapEdit(change changes.Change) func(*record.Bootstrap) bool {
	switch c := change.(type) {
	case changes.VoidBootstrap: // once and for all: from here on its Pods and volumes may go
		return func(b *record.Bootstrap) bool { return b.GiveUp(c.Incarnation) }
	case changes.NextBootstrap:
		return func(b *record.Bootstrap) bool { return b.BeginAgain(c.Voided, record.Bootstrap(c.BeginBootstrap)) }
	case changes.RecordBootstrap:
		return func(b *record.Bootstrap) bool { return b.Identify(s.view.Current.Bootstrap.Incarnation, c.ClusterID) }
	case changes.FallAsleep: // before the first of its Pods goes
		return func(b *record.Bootstrap) bool { return b.FallAsleep(s.view.Current.Bootstrap.Incarnation) }
	case changes.WakeUp:
		return func(b *record.Bootstrap) bool { return b.WakeUp(s.view.Current.Bootstrap.Incarnation) }
	case changes.OwnAuth:
		return func(b *record.Bootstrap) bool { return b.OwnAuth(s.view.Current.Bootstrap.Incarnation, c.Own) }
	// Before anything of it is made: that uses up its ordinals and its counter, also when it is called off.
	case changes.BeginNext:
		return func(b *record.Bootstrap) bool { return b.BeginNext(c.From, c.Next, c.NextOrdinal) }
	case changes.DropNext: // what it used up stays used up
		return func(b *record.Bootstrap) bool { return b.DropNext(c.Incarnation) }
	case changes.SwitchOver: // in one write: from here on the old members belong to a former incarnation
		return func(b *record.Bootstrap) bool { return b.SwitchOver(c.From, c.To, c.Volumes, c.Voters) }
	case changes.GoBack: // in one write as well
		return func(b *record.Bootstrap) bool { return b.GoBack(c.From, c.Restore, record.Bootstrap(c.BeginBootstrap)) }
	default:
		return nil
	}
}

// editBootstrap changes the bootstrap record as it is now, and writes only when something changed and no other client
// wrote meanwhile. An edit that answers false finds another record than the caller saw. A record that an older release
// wrote is not written for its form alone.
func (s step) editBootstrap(ctx context.Context, edit func(*record.Bootstrap) bool) error {
	service, err := s.peerService(ctx)
	switch {
	case err != nil:
		return err
	case service == nil:
		return ErrStale
	}
	bootstrap, err := record.DecodeBootstrap(service.GetAnnotations()[v1alpha1.AnnotationBootstrap])
	if err != nil {
		return Rejected{Reason: RejectedUnreadable, Message: fmt.Sprintf("Service %s: %v", service.GetName(), err)}
	}
	before := bootstrap.Encode()
	if !edit(&bootstrap) {
		return ErrStale
	}
	after := bootstrap.Encode()
	if after == before {
		return nil
	}
	return s.update(ctx, resources.KindService, service, func() {
		annotate(service, v1alpha1.AnnotationBootstrap, after)
	})
}

// takeOver moves the claim, unless it moved meanwhile. Each install reads it live before it changes what it could hurt.
func (s step) takeOver(ctx context.Context, c changes.TakeOver) error {
	service, err := s.peerService(ctx)
	switch {
	case err != nil:
		return err
	case service == nil || service.GetAnnotations()[v1alpha1.AnnotationOperator] != c.From:
		return ErrStale
	}
	return s.update(ctx, resources.KindService, service, func() {
		annotate(service, v1alpha1.AnnotationOperator, s.Operator)
		annotate(service, v1alpha1.AnnotationTakenOver, s.takenOverAt())
	})
}

// stillClaimed fails once another install took the cluster over. Kubernetes refuses a write that rests on an older
// state. etcd knows of no claim, so that this is asked right before each call that changes it.
func (s step) stillClaimed(ctx context.Context) error {
	service, err := s.peerService(ctx)
	if service == nil || err != nil {
		return err
	}
	if claim := service.GetAnnotations()[v1alpha1.AnnotationOperator]; claim != "" && claim != s.Operator {
		return ErrStale
	}
	return nil
}

// peerService reads the Service with the bootstrap record and the claim; nil when there is none.
func (s step) peerService(ctx context.Context) (ctrlclient.Object, error) {
	return s.find(ctx, resources.KindService,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: resources.PeerService(s.cluster.Name)}})
}

func annotate(object ctrlclient.Object, annotation, value string) {
	object.SetAnnotations(merged(object.GetAnnotations(), map[string]string{annotation: value}))
}

// parallelWrites bounds how many writes of one step are under way at a time. A bootstrap is bounded below by the start
// of its Pods, so nothing before them may wait in line.
const parallelWrites = 8

// bootstrap makes what is missing of a bootstrap. Pods come last, only when every volume is there, and only once the
// bootstrap record says which volumes these are: one that is missing or another from then on is a lost one.
func (s step) bootstrap(ctx context.Context, c changes.Bootstrap) error {
	var made map[string]*corev1.PersistentVolumeClaim
	objects := changes.ApplyObjects{Objects: c.Objects, Secrets: c.Secrets}
	err := together(
		func() error { return s.applyObjects(ctx, objects) },
		func() (err error) { made, err = s.createVolumes(ctx, c.Volumes); return err },
	)
	if err != nil {
		return err
	}
	s.made = made
	if err := s.begin(ctx); err != nil {
		return err
	}
	if err := s.startRestores(ctx, c.Restores); err != nil {
		return err
	}
	return each(ctx, c.Pods, s.startPod)
}

// createVolumes makes the volumes of first members, and returns them by name.
func (s step) createVolumes(ctx context.Context, missing []changes.NewVolume) (map[string]*corev1.PersistentVolumeClaim,
	error) {
	var (
		mu   sync.Mutex
		made = map[string]*corev1.PersistentVolumeClaim{}
	)
	err := each(ctx, missing, func(ctx context.Context, v changes.NewVolume) error {
		there, err := s.createVolume(ctx, v)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		made[v.Name] = there.(*corev1.PersistentVolumeClaim)
		return nil
	})
	return made, err
}

// begin writes into the bootstrap record that Pods may be made, and on which volumes: those that were just made, and
// those that were there.
func (s step) begin(ctx context.Context) error {
	if s.view.Current.Bootstrap.Begun {
		return nil
	}
	volumes := map[string]string{}
	for _, name := range s.view.Current.Bootstrap.Names {
		if s.emptyDirOf(name) != nil {
			continue
		}
		if claim := s.made[name]; claim != nil {
			volumes[name] = string(claim.UID)
			continue
		}
		claim, err := s.find(ctx, resources.KindVolume, claimNamed(name))
		if err != nil {
			return err
		}
		if claim == nil || claim.GetDeletionTimestamp() != nil {
			return ErrStale
		}
		volumes[name] = string(claim.GetUID())
	}
	return s.editBootstrap(ctx, func(b *record.Bootstrap) bool {
		return b.Begin(s.view.Current.Bootstrap.Incarnation, volumes)
	})
}

// each does the same for all, a few at a time. One that fails keeps none of the others from being tried; the first
// error is returned.
func each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	var group errgroup.Group
	group.SetLimit(parallelWrites)
	for _, item := range items {
		group.Go(func() error { return do(ctx, item) })
	}
	return group.Wait()
}

// together does what need not wait for each other. One that fails keeps none of the others from being tried; each error
// is returned.
func together(steps ...func() error) error {
	failed := make([]error, len(steps))
	var group sync.WaitGroup
	for i, do := range steps {
		group.Go(func() { failed[i] = do() })
	}
	group.Wait()
	return errors.Join(failed...)
}

// adoptData writes this cluster's UID on what an earlier cluster of its name left, and this install's claim on what of
// it holds data. It does so one object after the other: an operator that dies in between leaves a set of which some is
// ours, which the next one goes on with. Of two installs that try, one has the first object, and the other one stops.
func (s step) adoptData(ctx context.Context, c changes.AdoptData) error {
	for _, item := range c.Items {
		if err := s.adopt(ctx, item); err != nil {
			return err
		}
	}
	return nil
}

func (s step) adopt(ctx context.Context, item facts.Retained) error {
	live, err := s.dataOf(ctx, item.Kind, item.Name, item.UID)
	switch {
	case err != nil:
		return err
	case live == nil || live.GetDeletionTimestamp() != nil:
		return ErrStale
	}
	switch live.GetLabels()[v1alpha1.LabelClusterUID] {
	case string(s.cluster.UID):
		if claim := live.GetAnnotations()[v1alpha1.AnnotationOperator]; claim != "" && claim != s.Operator {
			return ErrStale
		}
		return nil
	case item.Owner:
		if err := s.adoptHalf(ctx, live); err != nil {
			return err
		}
		return s.takeAsOurs(ctx, item.Kind, live)
	}
	return ErrStale
}

func (s step) takeAsOurs(ctx context.Context, kind string, live ctrlclient.Object) error {
	return s.update(ctx, kind, live, func() {
		live.GetLabels()[v1alpha1.LabelClusterUID] = string(s.cluster.UID)
		if kind == resources.KindVolume {
			annotate(live, v1alpha1.AnnotationOperator, s.Operator)
		}
	})
}
