package observe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

const (
	// never is longer than anything waits.
	never = time.Hour
	// spread is more than lies between the pings of three members.
	spread = 20 * time.Millisecond
)

// lagging is a member that takes its time to answer.
type lagging struct {
	etcd.Client
	takes atomic.Int64
	last  atomic.Int64 // when it answered, in ns since 1970
}

func (l *lagging) Status(ctx context.Context) (etcd.Status, error) {
	select {
	case <-time.After(time.Duration(l.takes.Load())):
		l.last.Store(time.Now().UnixNano())
		return etcd.Status{Leader: 1}, nil
	case <-ctx.Done():
		return etcd.Status{}, ctx.Err() //nolint:wrapcheck // as gRPC would
	}
}

func (l *lagging) take(d time.Duration) { l.takes.Store(int64(d)) }

// silence is a cluster of members that may take their time, which pings and looks ask.
type silence struct {
	t        *testing.T
	pinger   *Pinger
	observer *Observer
	cluster  *v1alpha1.EtcdCluster
	members  []*lagging
	pods     []corev1.Pod
	late     atomic.Int64 // by how much this process is held up until it reads the clock again
	behind   atomic.Int64 // by how much it was held up so far

	mu    sync.Mutex
	asked []time.Time // when a look was asked for
}

// Dial makes it the dialler of its observer.
func (s *silence) Dial(context.Context, *v1alpha1.EtcdCluster, []corev1.Pod) (map[string]etcd.Client, error) {
	clients := map[string]etcd.Client{}
	for i, m := range s.members {
		clients[s.pods[i].Name] = m
	}
	return clients, nil
}

func (s *silence) Distrust(*v1alpha1.EtcdCluster) {}

// inSilence runs a story over three members that answer, on a clock of its own.
func inSilence(t *testing.T, story func(*silence)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &silence{t: t, cluster: &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "demo"}}}
		s.pinger = NewPinger(func(context.Context, types.NamespacedName) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asked = append(s.asked, time.Now())
		})
		s.pinger.now = func() time.Time { return time.Now().Add(time.Duration(s.behind.Add(s.late.Load()))) }
		s.observer = &Observer{Dial: s, Now: time.Now, Pinger: s.pinger}
		for i := range 3 {
			s.members = append(s.members, &lagging{})
			s.pods = append(s.pods, servingPod(fmt.Sprintf("demo-%d", i)))
		}
		s.look()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = s.pinger.Start(ctx) }()
		synctest.Wait()
		story(s)
	})
}

func servingPod(name string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-never))},
		Status: corev1.PodStatus{
			PodIP: "ip", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: resources.Container,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		},
	}
}

// look asks the members as a look does, and says how long that took.
func (s *silence) look() time.Duration {
	began := time.Now()
	s.observer.ask(s.t.Context(), s.cluster, s.pods)
	return time.Since(began)
}

// wait lets time go by, and returns how many looks were asked for meanwhile.
func (s *silence) wait(d time.Duration) int {
	before := len(s.looks())
	time.Sleep(d)
	synctest.Wait()
	return len(s.looks()) - before
}

// looks are when looks were asked for.
func (s *silence) looks() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// lastAfter is how long after a member's last answer the last look was asked for.
func (s *silence) lastAfter(m *lagging) time.Duration {
	looks := s.looks()
	return looks[len(looks)-1].Sub(time.Unix(0, m.last.Load()))
}

func TestASilentMemberIsLookedAtASecondAfterItsLastAnswer(t *testing.T) {
	inSilence(t, func(s *silence) {
		if n := s.wait(time.Minute + 170*time.Millisecond); n != 0 {
			t.Fatalf("all answer, and %d looks were asked for", n)
		}
		s.members[1].take(never)
		if n := s.wait(time.Minute); n != 1 {
			t.Fatalf("%d looks were asked for, want 1", n)
		}
		if took := s.lastAfter(s.members[1]); took > time.Second+spread {
			t.Errorf("it is looked at %s after its last answer", took)
		}
	})
}

func TestAMemberThatIsSlowIsLookedAtOnceAndThenWaitedForLonger(t *testing.T) {
	inSilence(t, func(s *silence) {
		s.members[1].take(600 * time.Millisecond)
		if n := s.wait(2 * time.Second); n != 2 {
			t.Errorf("%d looks were asked for, want one when it is late and one when it answers", n)
		}
		if n := s.wait(time.Minute); n != 0 {
			t.Errorf("it is as slow as ever, and %d looks were asked for", n)
		}
		s.members[1].take(time.Millisecond)
		s.wait(time.Minute)
		s.members[1].take(never)
		s.wait(time.Minute)
		if took := s.lastAfter(s.members[1]); took > time.Second+spread {
			t.Errorf("it was quick for a minute, and is looked at %s after its last answer", took)
		}
	})
}

func TestAMemberIsNotDoubtedWhileTheOperatorItselfIsHeldUp(t *testing.T) {
	inSilence(t, func(s *silence) {
		s.wait(170 * time.Millisecond)
		s.members[1].take(800 * time.Millisecond)
		s.late.Store(int64(time.Second))
		if n := s.wait(900 * time.Millisecond); n != 0 {
			t.Errorf("%d looks were asked for, although this process may not have read the answer", n)
		}
	})
}

func TestALookWaitsShortForASilentMemberWhileMostOthersServe(t *testing.T) {
	inSilence(t, func(s *silence) {
		s.members[1].take(never)
		s.wait(2 * time.Second)
		if took := s.look(); took != glance {
			t.Errorf("it took %s", took)
		}
		s.members[2].take(never)
		s.wait(2 * time.Second)
		if took := s.look(); took != shortPatience {
			t.Errorf("without a quorum it took %s", took)
		}
	})
}

func TestALookThatBeganBeforeAMemberWasDoubtedEndsSoonAfter(t *testing.T) {
	inSilence(t, func(s *silence) {
		s.wait(170 * time.Millisecond) // just after a ping was answered
		s.members[1].take(never)
		if took := s.look(); took > pingEvery+pingPatience+glance+spread {
			t.Errorf("it took %s", took)
		}
		if n := len(s.looks()); n != 1 {
			t.Errorf("%d looks were asked for", n)
		}
	})
}

// hindered is a member whose first answer comes when the call is over, since this process was held up.
type hindered struct {
	etcd.Client
	asked int
}

func (h *hindered) Status(ctx context.Context) (etcd.Status, error) {
	if h.asked++; h.asked > 1 {
		return etcd.Status{Leader: 1}, nil
	}
	<-ctx.Done()
	time.Sleep(2 * heldUp)
	return etcd.Status{}, ctx.Err() //nolint:wrapcheck // as gRPC would
}

func TestAnOperatorThatWasHeldUpAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		member := &hindered{}
		if _, err := askOne(t.Context(), member, glance); err != nil || member.asked != 2 {
			t.Errorf("asked %d times: %v", member.asked, err)
		}
	})
}
