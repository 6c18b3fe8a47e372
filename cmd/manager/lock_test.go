package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/etcdsteward/etcd-steward/controllers/observe"
)

func TestTheLeaseIsKnownByTheNameThatTheElectionUses(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "ops")
	lock, err := newLock(&rest.Config{Host: "localhost"}, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	lease := lock.lease()
	if lease.Namespace != "ops" || lease.Name != observe.LeaseName || lease.Identity == "" || lease.Now == nil {
		t.Errorf("%+v", lease)
	}
	elected := managerOptions(options{leaderElect: true}, lock).LeaderElectionResourceLockInterface
	if elected.Identity() != lease.Identity || elected.Describe() != lease.String() {
		t.Errorf("the manager elects by %s as %s", elected.Describe(), elected.Identity())
	}
	second, err := newLock(&rest.Config{Host: "localhost"}, true, nil)
	if err != nil || second.lease().Identity == lease.Identity {
		t.Errorf("two processes are both called %s: %v", lease.Identity, err)
	}
}

func TestTheElectionIntroducesItselfWithoutChangingHowTheOperatorDoes(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "here")
	config := &rest.Config{Host: "https://127.0.0.1:1", UserAgent: "etcd-steward/v1"}
	if _, err := newLock(config, true, nil); err != nil {
		t.Fatal(err)
	}
	if config.UserAgent != "etcd-steward/v1" {
		t.Errorf("every request of the operator would say %q", config.UserAgent)
	}
}

func TestWithoutAnElectionThereIsNoLease(t *testing.T) {
	lock, err := newLock(&rest.Config{Host: "localhost"}, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if lock.lease() != nil || managerOptions(options{}, lock).LeaderElectionResourceLockInterface != nil {
		t.Error("there is one")
	}
}

// leases is an API server with one Lease, which may be away.
type leases struct {
	coordination.LeaseInterface
	mu     sync.Mutex
	held   *coordinationv1.Lease
	writes int
	err    error
}

func (l *leases) Leases(string) coordination.LeaseInterface { return l }

func (l *leases) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && l.held == nil {
		return nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), observe.LeaseName)
	}
	return l.held.DeepCopy(), l.err
}

func (l *leases) Create(ctx context.Context, lease *coordinationv1.Lease,
	_ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return l.Update(ctx, lease, metav1.UpdateOptions{})
}

func (l *leases) Update(_ context.Context, lease *coordinationv1.Lease,
	_ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	if rests := lease.ResourceVersion; l.held != nil && rests != "" && rests != l.held.ResourceVersion {
		return nil, apierrors.NewConflict(coordinationv1.Resource("leases"), observe.LeaseName, errors.New("renewed"))
	}
	l.writes++
	l.held = lease.DeepCopy()
	l.held.ResourceVersion = strconv.Itoa(l.writes)
	return l.held.DeepCopy(), nil
}

// answer lets the server fail each request with this, or none.
func (l *leases) answer(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

// lockOn is the lock of a process of that name.
func (l *leases) lockOn(name string, lost func(error)) *leaderLock {
	return &leaderLock{lost: lost, now: time.Now, LeaseLock: &resourcelock.LeaseLock{Client: l,
		LeaseMeta:  metav1.ObjectMeta{Namespace: "ops", Name: observe.LeaseName},
		LockConfig: resourcelock.ResourceLockConfig{Identity: name}}}
}

// heldBy is what the election has a process write.
func heldBy(name string) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: name, RenewTime: metav1.Now(),
		LeaseDurationSeconds: int((holdOn + leaseLasts) / time.Second)}
}

func TestTheLeaseIsTakenOverSoonHoweverLongALeaderHoldsOn(t *testing.T) {
	server := &leases{}
	lock := server.lockOn("me", nil)
	for _, write := range []func(context.Context, resourcelock.LeaderElectionRecord) error{lock.Create, lock.Update} {
		if err := write(t.Context(), heldBy("me")); err != nil || *server.held.Spec.LeaseDurationSeconds != 6 {
			t.Errorf("%v, %+v", err, server.held.Spec)
		}
	}
	given := resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1}
	if err := lock.Update(t.Context(), given); err != nil || *server.held.Spec.LeaseDurationSeconds != 1 {
		t.Errorf("given back: %v, %+v", err, server.held.Spec)
	}
}

func TestAReplicaThatCouldNotReadOrWriteTheLeaseWaitsAnew(t *testing.T) {
	server, now := &leases{}, time.Now()
	if err := server.lockOn("you", nil).Create(t.Context(), heldBy("you")); err != nil {
		t.Fatal(err)
	}
	lock := server.lockOn("me", nil)
	lock.now = func() time.Time { return now }
	last := ""
	isNew := func(after time.Duration) bool {
		now = now.Add(after)
		_, raw, err := lock.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { last = string(raw) }()
		return string(raw) != last
	}
	isNew(0)
	if isNew(2 * time.Second) {
		t.Error("a Lease that was not renewed counts as renewed")
	}
	if !isNew(6 * time.Second) {
		t.Error("after an outage the leader does not come first")
	}
	server.err = errors.New("no space")
	if err := lock.Update(t.Context(), heldBy("me")); err == nil {
		t.Fatal("it was written")
	}
	server.err = nil
	if !isNew(time.Second) {
		t.Error("a replica that cannot write does not wait for one that cannot either")
	}
	server.err = apierrors.NewConflict(coordinationv1.Resource("leases"), observe.LeaseName, errors.New("renewed"))
	if err := lock.Update(t.Context(), heldBy("me")); err == nil {
		t.Fatal("it was written")
	}
	server.err = nil
	if isNew(time.Second) {
		t.Error("a Lease that was renewed meanwhile counts as an outage")
	}
}

func TestALeaderThatFindsAnotherOnesNameInTheLeaseBeginsAnewAndDoesNotGiveItBack(t *testing.T) {
	var why error
	server := &leases{}
	other := server.lockOn("you", func(err error) { t.Errorf("who never led is ended: %v", err) })
	if err := other.Create(t.Context(), heldBy("them")); err != nil {
		t.Fatal(err)
	}
	lock := server.lockOn("me", func(err error) { why = err })
	read := func(l *leaderLock) {
		t.Helper()
		if _, _, err := l.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	read(other)
	read(lock)
	if err := lock.Update(t.Context(), heldBy("me")); err != nil {
		t.Fatal(err)
	}
	if read(lock); why != nil {
		t.Errorf("it holds the Lease, and ends: %v", why)
	}
	server.held.Spec.HolderIdentity = new("you")
	if read(lock); why == nil || !strings.Contains(why.Error(), "ops/"+observe.LeaseName) {
		t.Errorf("%v", why)
	}
	given := resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1}
	if err := lock.Update(t.Context(), given); err == nil || *server.held.Spec.HolderIdentity != "you" {
		t.Errorf("it gave back the Lease of %s: %v", *server.held.Spec.HolderIdentity, err)
	}
}

// heard is a leader that renews the Lease each second by a clock of its own, and a replica that reads it.
type heard struct {
	t       *testing.T
	server  *leases
	leader  *leaderLock
	replica *leaderLock
	now     time.Time     // by the replica's clock
	ahead   time.Duration // is the leader's clock
	renewed time.Time     // by the replica's clock
}

func newHeard(t *testing.T) *heard {
	t.Helper()
	h := &heard{t: t, server: &leases{}, now: time.Now(), ahead: -time.Hour}
	h.leader, h.replica = h.server.lockOn("you", nil), h.server.lockOn("me", nil)
	h.replica.now = func() time.Time { return h.now }
	h.renew()
	return h
}

func (h *heard) renew() {
	h.t.Helper()
	record := heldBy("you")
	record.RenewTime, h.renewed = metav1.NewTime(h.now.Add(h.ahead)), h.now
	if err := h.leader.Create(h.t.Context(), record); err != nil {
		h.t.Fatal(err)
	}
}

// goOn lets a minute go by, in which the election reads the Lease each 1.7 s.
func (h *heard) goOn() {
	h.t.Helper()
	for tick := range 600 {
		if tick%10 == 0 {
			h.renew()
		}
		if tick%17 == 0 {
			if _, _, err := h.replica.Get(h.t.Context()); err != nil {
				h.t.Fatal(err)
			}
		}
		h.now = h.now.Add(100 * time.Millisecond)
	}
}

func TestALeaderIsSilentForAsLongAsItDidNotRenewTheLease(t *testing.T) {
	h := newHeard(t)
	for range 5 {
		if silent := h.replica.silence(t.Context()); silent > h.now.Sub(h.renewed) {
			t.Fatalf("it renewed the Lease %s ago, and is silent for %s", h.now.Sub(h.renewed), silent)
		}
		h.goOn()
	}
	h.renew() // and is lost
	h.now = h.now.Add(1300 * time.Millisecond)
	if silent := h.replica.silence(t.Context()); silent < 1200*time.Millisecond || silent > 1300*time.Millisecond {
		t.Errorf("a leader that is lost since 1.3 s is silent for %s", silent)
	}
	h.now = h.now.Add(time.Minute)
	if silent := h.replica.silence(t.Context()); silent != 0 {
		t.Errorf("after an outage the leader does not come first: it is silent for %s", silent)
	}
	h.server.err = errors.New("away")
	if silent := h.replica.silence(t.Context()); silent != 0 {
		t.Errorf("a replica that cannot read the Lease calls its leader silent for %s", silent)
	}
}

func TestAnotherReplicaIsNoLongerSilentThanSinceItTookTheLease(t *testing.T) {
	h := newHeard(t)
	h.goOn()
	h.leader, h.ahead = h.server.lockOn("them", nil), h.ahead-time.Minute
	record := heldBy("them")
	record.RenewTime = metav1.NewTime(h.now.Add(h.ahead))
	if err := h.leader.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if silent := h.replica.silence(t.Context()); silent != 0 {
		t.Errorf("it is silent for %s", silent)
	}
}

func TestALeaderWhoseClockIsPutRightIsNoLongerSilentThanSinceTheReadBefore(t *testing.T) {
	for _, step := range []time.Duration{-time.Minute, time.Minute} {
		h := newHeard(t)
		h.goOn()
		if _, _, err := h.replica.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.now, h.ahead = h.now.Add(700*time.Millisecond), h.ahead+step
		h.renew()
		if silent := h.replica.silence(t.Context()); silent > 700*time.Millisecond {
			t.Errorf("by %s: it has just renewed the Lease, and is silent for %s", step, silent)
		}
	}
}

func TestALeaderThatRenewsTheLeaseIsHeardHoweverOftenAReplicaAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &leases{}
		leader, replica := server.lockOn("you", nil), server.lockOn("me", nil)
		lost := make(chan struct{})
		go func() {
			for {
				if err := leader.Create(t.Context(), heldBy("you")); err != nil {
					t.Error(err)
				}
				select {
				case <-lost:
					return
				case <-time.After(retryPeriod):
				}
			}
		}()
		synctest.Wait()
		for range 20 {
			if replica.isSilent(t.Context(), 1400*time.Millisecond) {
				t.Fatal("it is called silent")
			}
			time.Sleep(330 * time.Millisecond)
		}
		close(lost)
		began := time.Now()
		if !replica.isSilent(t.Context(), 1400*time.Millisecond) || time.Since(began) > 1400*time.Millisecond {
			t.Errorf("it is lost, and not called silent within %s", time.Since(began))
		}
	})
}

// elect lets a replica of that name elect as the manager does. What is returned takes its machine away, which gives
// nothing back, and says whether it leads.
func (l *leases) elect(t *testing.T, name string) (die func(), leads func() bool) {
	t.Helper()
	options := managerOptions(options{leaderElect: true}, nil)
	lock := l.lockOn(name, func(err error) { t.Errorf("%s begins anew: %v", name, err) })
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: *options.LeaseDuration, RenewDeadline: *options.RenewDeadline,
		RetryPeriod: *options.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}, OnNewLeader: func(string) {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go elector.Run(ctx)
	return cancel, elector.IsLeader
}

func TestAnotherReplicaLeadsWithinElevenSecondsOfTheLeadersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &leases{}
		dieFirst, leadsFirst := server.elect(t, "first")
		time.Sleep(time.Minute)
		dieSecond, leadsSecond := server.elect(t, "second")
		defer dieSecond()
		time.Sleep(time.Minute)
		if !leadsFirst() || leadsSecond() {
			t.Fatalf("the first leads: %v, the second: %v", leadsFirst(), leadsSecond())
		}
		dieFirst()
		time.Sleep(11 * time.Second)
		if !leadsSecond() {
			t.Error("the second does not lead")
		}
	})
}

func TestAMinuteWithoutAnAPIServerCostsNoLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &leases{}
		dieFirst, leadsFirst := server.elect(t, "first")
		defer dieFirst()
		time.Sleep(time.Minute)
		dieSecond, leadsSecond := server.elect(t, "second")
		defer dieSecond()
		for round := range 20 {
			server.answer(errors.New("away"))
			time.Sleep(time.Minute + time.Duration(round)*50*time.Millisecond) // at each moment of a retry
			server.answer(nil)
			time.Sleep(10 * time.Second)
			if !leadsFirst() || leadsSecond() {
				t.Fatalf("the first leads: %v, the second: %v", leadsFirst(), leadsSecond())
			}
		}
	})
}
