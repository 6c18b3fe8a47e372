package observe_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// pinged is a settled cluster between two looks, and how often the pinger asked for another one.
type pinged struct {
	*world
	pinger *observe.Pinger
	asked  atomic.Int64
}

// ping runs a story while the pinger runs, on a clock of its own.
func ping(t *testing.T, story func(*pinged)) {
	synctest.Test(t, func(t *testing.T) {
		p := &pinged{world: newBootstrappedWorld(t)}
		p.pinger = observe.NewPinger(func(_ context.Context, cluster types.NamespacedName) {
			if cluster != (types.NamespacedName{Namespace: "shop", Name: "demo"}) {
				t.Errorf("%s is to be looked at", cluster)
			}
			p.asked.Add(1)
		})
		p.world.pinger = p.pinger
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		p.look()
		go func() { _ = p.pinger.Start(ctx) }()
		synctest.Wait() // its first pings are answered
		story(p)
	})
}

// within lets time go by, and expects that so many looks were asked for meanwhile.
func (p *pinged) within(d time.Duration, looks int, when string) {
	p.t.Helper()
	before := p.asked.Load()
	time.Sleep(d)
	synctest.Wait()
	if asked := p.asked.Load() - before; asked != int64(looks) {
		p.t.Errorf("%s: %d looks were asked for in %s, want %d", when, asked, d, looks)
	}
}

func TestAMemberThatStopsAnsweringBetweenTwoLooksIsLookedAtWithinSeconds(t *testing.T) {
	ping(t, func(p *pinged) {
		p.within(time.Minute, 0, "all members answer")
		p.processes["demo-1"].Cut(true)
		p.within(2*time.Second, 1, "one stopped answering")
		p.look()
		p.within(time.Minute, 0, "a look saw it")
	})
}

func TestAMemberThatAnswersAgainIsLookedAtWithinSeconds(t *testing.T) {
	ping(t, func(p *pinged) {
		p.processes["demo-1"].Cut(true)
		p.look()
		p.within(time.Minute, 0, "it does not answer, and a look saw that")
		p.processes["demo-1"].Cut(false)
		p.within(2*time.Second, 1, "it answers again")
	})
}

func TestOneLookIsAskedForHoweverLongItTakesToCome(t *testing.T) {
	ping(t, func(p *pinged) {
		p.processes["demo-1"].Cut(true)
		p.within(time.Minute, 1, "no look came yet")
	})
}

func TestAMemberThatALookContradictsIsLookedAtAgain(t *testing.T) {
	ping(t, func(p *pinged) {
		p.processes["demo-1"].Cut(true)
		p.within(2*time.Second, 1, "it stopped answering")
		p.processes["demo-1"].Cut(false)
		p.look()
		p.processes["demo-1"].Cut(true)
		p.within(2*time.Second, 1, "it answered the look, and stopped again")
	})
}

func TestNoMemberOfAClusterThatIsGoneIsPinged(t *testing.T) {
	ping(t, func(p *pinged) {
		p.pinger.Forget(types.NamespacedName{Namespace: "shop", Name: "demo"})
		before := len(p.network.Calls())
		p.within(time.Minute, 0, "it was deleted")
		if after := len(p.network.Calls()); after != before {
			p.t.Errorf("%d calls were made", after-before)
		}
	})
}

func TestAnAlarmThatIsRaisedOrTakenBackBetweenTwoLooksIsLookedAtWithinSeconds(t *testing.T) {
	ping(t, func(p *pinged) {
		for _, member := range []etcdutil.ID{11, 12, 13, 14} { // who speaks of several does so in any order
			p.network.Raise(p.processes["demo-0"].ClusterID(), member, etcdutil.AlarmNoSpace)
		}
		p.within(2*time.Second, 3, "each of three members speaks of alarms")
		p.look()
		p.within(time.Minute, 0, "a look saw them")
		c, err := p.network.Dialer().Dial(etcd.Endpoint{Address: "ip-of-demo-0:2379"})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.DisarmAlarm(t.Context(), 12, etcdutil.AlarmNoSpace); err != nil {
			t.Fatal(err)
		}
		p.within(2*time.Second, 3, "one was taken back")
	})
}
