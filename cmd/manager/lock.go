package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
)

// How a leader is elected: see docs/decisions/0024. The Lease says leaseLasts to the other replicas, and the leader
// renews it each retryPeriod. One that cannot goes on trying for holdOn, and changes no etcd meanwhile. A replica that
// could not read the Lease for outage, or not write it, waits for leaseLasts anew.
const (
	leaseLasts     = 6 * time.Second
	retryPeriod    = time.Second
	requestTimeout = 2 * time.Second
	outage         = 5 * time.Second // longer than it takes from one read of a replica to the next
	holdOn         = 75 * time.Second
)

// leaderLock is what the replicas elect their leader by. It is client-go's, with three differences:
//   - the Lease lasts for leaseLasts, and not for as long as a leader tries to renew it;
//   - after an outage each replica waits anew, so that the leader comes first;
//   - a leader that finds another one's name in the Lease begins anew, as a replica that stands by.
type leaderLock struct {
	*resourcelock.LeaseLock
	now  func() time.Time
	lost func(why error) // ends all that this process does

	isMine bool // this process held the Lease when the election read or wrote it last

	mu      sync.Mutex
	outages int
	read    time.Time // the last time
	heard   renewal
	lags    []time.Duration // from renewals by the leader's clock until they were seen, of late
}

type renewal struct {
	by    string
	at    time.Time // by the leader's clock
	since time.Time // by this machine's: when it was made, or later
}

// manyLags are some that were seen as soon as they were made: a replica reads the Lease at any moment of the second
// between two renewals.
const manyLags = 32

// newLock makes the lock, or nil where no leader is elected. The manager would make its own one and keep to itself what
// this process is called in it; changes of etcd have to know that.
func newLock(config *rest.Config, isElected bool, lost func(error)) (*leaderLock, error) {
	// a copy: the lock writes into it how its own requests introduce themselves
	lock, err := leaderelection.NewResourceLock(rest.CopyConfig(config), noRecorder{}, leaderelection.Options{
		LeaderElection:          isElected,
		LeaderElectionID:        observe.LeaseName,
		LeaderElectionNamespace: os.Getenv("POD_NAMESPACE"), // empty in a Pod: its own
		RenewDeadline:           2 * requestTimeout,         // of which a request gets half
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the election of a leader: %w", err)
	}
	if lock == nil {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	byLease, ok := lock.(*resourcelock.LeaseLock)
	if !ok {
		return nil, fmt.Errorf("the leader is elected by a %T, which is no Lease", lock)
	}
	return &leaderLock{LeaseLock: byLease, lost: lost, now: time.Now}, nil
}

// Get reads the Lease. What it returns beside the record differs after each outage, so that the record counts as new.
func (l *leaderLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.LeaseLock.Get(ctx)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the election asks what kind it is
	}
	now, isMine := l.now(), record.HolderIdentity == l.Identity()
	if l.isMine && !isMine {
		l.lost(fmt.Errorf("the Lease %s is not this process's any more, which could not renew it in time: it is held "+
			"by %q", l.Describe(), record.HolderIdentity))
	}
	l.isMine = isMine
	_, outages := l.hear(record, now)
	return record, fmt.Appendf(raw, " after %d outages", outages), nil
}

// Create makes the Lease.
func (l *leaderLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.written(l.LeaseLock.Create(ctx, short(record)), record)
}

// Update takes, renews or gives back the Lease. Only its own holder may give it back: client-go asks what it read
// before the last read.
func (l *leaderLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" && !l.isMine {
		return errors.New("the Lease is another process's")
	}
	return l.written(l.LeaseLock.Update(ctx, short(record)), record)
}

func (l *leaderLock) written(err error, record resourcelock.LeaderElectionRecord) error {
	switch {
	case err == nil:
		l.isMine = record.HolderIdentity == l.Identity()
	case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !l.isMine:
		l.mu.Lock()
		l.outages++ // the leader may be unable to write, too
		l.mu.Unlock()
	}
	return err
}

// short is what the Lease says of a leader, however long that goes on trying.
func short(record resourcelock.LeaderElectionRecord) resourcelock.LeaderElectionRecord {
	if record.HolderIdentity != "" {
		record.LeaseDurationSeconds = int(leaseLasts / time.Second)
	}
	return record
}

// hear notes the renewal that was just read, unless it is known, and counts outages. After one a known renewal counts
// as new.
func (l *leaderLock) hear(record *resourcelock.LeaderElectionRecord, now time.Time) (heard renewal, outages int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	by, at := record.HolderIdentity, record.RenewTime.Time
	wasAway := !l.read.IsZero() && now.Sub(l.read) > outage
	if wasAway {
		l.outages++
	}
	isNew := wasAway || by != l.heard.by
	if isNew {
		l.lags = nil
	}
	if isNew || !at.Equal(l.heard.at) {
		l.heard = renewal{by, at, l.dated(at, now)}
	}
	l.read = now
	return l.heard, l.outages
}

// dated is when a renewal was made that is read now for the first time. The two clocks may differ: by how much at most
// shows the renewal that was seen soonest. It was made after the read before this one, which did not find it.
func (l *leaderLock) dated(at, now time.Time) time.Time {
	lag := now.Sub(at)
	l.lags = append(l.lags[max(0, len(l.lags)-manyLags+1):], lag)
	since := now.Add(slices.Min(l.lags) - lag)
	if since.Before(l.read) {
		return l.read
	}
	return since
}

// isSilent reports whether no renewal of the Lease was made for so long, and waits until that can be said. It is false
// where the Lease cannot be read. How long that is is told by this machine's clock alone.
func (l *leaderLock) isSilent(ctx context.Context, long time.Duration) bool {
	for waited := false; ; waited = true {
		silent := l.silence(ctx)
		if silent >= long || waited {
			return silent >= long
		}
		select {
		case <-time.After(long - silent):
		case <-ctx.Done():
			return false
		}
	}
}

// silence reads the Lease, and says for how long it was not renewed; zero where it cannot be read.
func (l *leaderLock) silence(ctx context.Context) time.Duration {
	lease, err := l.Client.Leases(l.LeaseMeta.Namespace).Get(ctx, l.LeaseMeta.Name, metav1.GetOptions{})
	if err != nil {
		return 0
	}
	now := l.now()
	heard, _ := l.hear(resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec), now)
	return now.Sub(heard.since)
}

// lease says where the Lease is, and what this process calls itself there; nil where no leader is elected.
func (l *leaderLock) lease() *kit.Lease {
	if l == nil {
		return nil
	}
	return &kit.Lease{
		NamespacedName: types.NamespacedName{Namespace: l.LeaseMeta.Namespace, Name: l.LeaseMeta.Name},
		Identity:       l.Identity(), Now: time.Now, IsSilent: l.isSilent,
	}
}

// tellThrough lets the lock say by an event who leads. The manager exists only after the lock.
func (l *leaderLock) tellThrough(mgr manager.Manager) {
	if l != nil {
		//nolint:staticcheck // client-go's election takes no other kind yet
		l.LockConfig.EventRecorder = mgr.GetEventRecorderFor(l.Identity())
	}
}

// noRecorder tells nothing, until the manager can.
type noRecorder struct{}

func (noRecorder) GetEventRecorderFor(string) record.EventRecorder { return nil }
func (noRecorder) GetEventRecorder(string) recorder.EventRecorder  { return nil }

// noMetrics is the address under which controller-runtime serves no metrics.
const noMetrics = "0"

// keeper has the leader look after one thing that others rely on, for as long as it leads.
type keeper struct {
	keep  func(context.Context) error // puts the thing right, and does nothing where it is right
	fails string                      // what it means that this fails
}

// addKeepers has the leader look after the CAs by which others know what this operator serves.
func addKeepers(mgr manager.Manager, config *rest.Config, o options, forMetrics, forWebhook *servingCertificate) error {
	var keepers []keeper
	if forMetrics != nil && o.metricsSecure && o.metricsAddress != noMetrics {
		keepers = append(keepers, keeper{keep: forMetrics.keep,
			fails: "The operator could not look after the CA of its metrics. Without it they cannot be read."})
	}
	if o.webhook != "" {
		trust, err := newWebhookTrust(config, forWebhook, o.webhook)
		if err != nil {
			return err
		}
		keepers = append(keepers, keeper{keep: trust.keep,
			fails: "The API server cannot ask this operator about objects, and stores them unseen."})
	}
	for _, k := range keepers {
		if err := mgr.Add(k); err != nil {
			return fmt.Errorf("adding what the leader looks after: %w", err)
		}
	}
	return nil
}

// Start looks at once, and then again and again.
func (k keeper) Start(ctx context.Context) error {
	for {
		again := caAgain
		if err := k.keep(ctx); err != nil && ctx.Err() == nil {
			again = caRetry
			ctrl.Log.Error(err, k.fails+" The operator tries again.", "after", again.String())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(again):
		}
	}
}

// NeedLeaderElection says that one replica does this.
func (keeper) NeedLeaderElection() bool { return true }
