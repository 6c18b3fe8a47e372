package main

import (
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/etcdsteward/etcd-steward/controllers/kit"
)

// leaderLock is what the replicas elect their leader by. The manager would make the same one and keep to itself what
// this process is called in it; changes of etcd have to know that. It is empty where no leader is elected.
type leaderLock struct{ *resourcelock.LeaseLock }

func newLock(config *rest.Config, isElected bool) (leaderLock, error) {
	// a copy: the lock writes into it how its own requests introduce themselves
	lock, err := leaderelection.NewResourceLock(rest.CopyConfig(config), noRecorder{}, leaderelection.Options{
		LeaderElection:          isElected,
		LeaderElectionID:        leaseName,
		LeaderElectionNamespace: os.Getenv("POD_NAMESPACE"), // empty in a Pod: its own
		RenewDeadline:           renewDeadline,
	})
	if err != nil {
		return leaderLock{}, fmt.Errorf("preparing the election of a leader: %w", err)
	}
	if lock == nil {
		return leaderLock{}, nil
	}
	byLease, ok := lock.(*resourcelock.LeaseLock)
	if !ok {
		return leaderLock{}, fmt.Errorf("the leader is elected by a %T, which is no Lease", lock)
	}
	return leaderLock{byLease}, nil
}

// lease says where the Lease is, and what this process calls itself there; nil where no leader is elected.
func (l leaderLock) lease() *kit.Lease {
	if l.LeaseLock == nil {
		return nil
	}
	return &kit.Lease{
		NamespacedName: types.NamespacedName{Namespace: l.LeaseMeta.Namespace, Name: l.LeaseMeta.Name},
		Identity:       l.Identity(), Now: time.Now,
	}
}

// tellThrough lets the lock say by an event who leads. The manager exists only after the lock.
func (l leaderLock) tellThrough(mgr manager.Manager) {
	if l.LeaseLock != nil {
		//nolint:staticcheck // client-go's election takes no other kind yet
		l.LockConfig.EventRecorder = mgr.GetEventRecorderFor(l.Identity())
	}
}

// noRecorder tells nothing, until the manager can.
type noRecorder struct{}

func (noRecorder) GetEventRecorderFor(string) record.EventRecorder { return nil }
func (noRecorder) GetEventRecorder(string) recorder.EventRecorder  { return nil }
