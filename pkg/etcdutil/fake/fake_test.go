package fake

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// cluster is a network with a clock and members a, b, c … that serve.
type cluster struct {
	*Network
	t       *testing.T
	now     time.Time
	members map[string]*Process
}

func bootstrap(t *testing.T, names ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, now: time.Unix(1_700_000_000, 0), members: map[string]*Process{}}
	c.Network = New(func() time.Time { return c.now })
	var list []etcdutil.NamedURL
	for _, name := range names {
		list = append(list, etcdutil.NamedURL{Name: name, URL: "http://" + name + ":2380"})
	}
	for _, name := range names {
		c.members[name] = c.Start(name, c.flags(name, etcdutil.StateNew, etcdutil.InitialCluster(list)))
	}
	return c
}

func (c *cluster) flags(name, state, list string) Flags {
	return Flags{
		Name: name, PeerURL: "http://" + name + ":2380", ClientURL: "http://" + name + ":2379", Address: name + ":2379",
		InitialCluster: list, InitialClusterState: state, InitialClusterToken: "token",
	}
}

func (c *cluster) dial(name string) client.Client {
	c.t.Helper()
	conn, err := c.Dialer().Dial(client.Endpoint{Address: name + ":2379"})
	if err != nil {
		c.t.Fatal(err)
	}
	return conn
}

func TestAFaultBeforeACallLeavesTheWorldAsItWas(t *testing.T) {
	c := bootstrap(t, "a")
	c.Inject(Fault{Method: "AddLearner", Nth: 1})
	if _, err := c.dial("a").AddLearner(t.Context(), "http://b:2380"); !client.IsRetryLater(err) {
		t.Errorf("the call answered %v", err)
	}
	if list, _ := c.dial("a").MemberList(t.Context()); len(list.Members) != 1 {
		t.Errorf("the list has %d members, want 1", len(list.Members))
	}
}

func TestAFaultAfterACallLosesOnlyTheAnswer(t *testing.T) {
	c := bootstrap(t, "a")
	lost := errors.New("lost")
	c.Inject(Fault{Nth: 2, After: true, Err: lost})
	if _, err := c.dial("a").Status(t.Context()); err != nil {
		t.Errorf("the first call answered %v", err)
	}
	if _, err := c.dial("a").AddLearner(t.Context(), "http://b:2380"); !errors.Is(err, lost) {
		t.Errorf("the second call answered %v", err)
	}
	if list, _ := c.dial("a").MemberList(t.Context()); len(list.Members) != 2 {
		t.Errorf("the list has %d members, want 2", len(list.Members))
	}
	if calls := c.Calls(); len(calls) != 3 || calls[1] != (Call{"AddLearner", "a:2379"}) {
		t.Errorf("the calls were %v", calls)
	}
}

func TestALearnerThatLagsIsNotPromoted(t *testing.T) {
	c := bootstrap(t, "a")
	for range 100 {
		if err := c.members["a"].Put(); err != nil {
			t.Fatal(err)
		}
	}
	added, err := c.dial("a").AddLearner(t.Context(), "http://b:2380")
	if err != nil {
		t.Fatal(err)
	}
	c.members["b"] = c.Start("b", c.flags("b", etcdutil.StateExisting, "a=http://a:2380,b=http://b:2380"))
	c.members["b"].Lag(true)
	for range 100 {
		_ = c.members["a"].Put()
	}
	if err := c.dial("a").Promote(t.Context(), added.ID); !errors.Is(err, client.ErrLearnerNotReady) {
		t.Errorf("behind by half: %v", err)
	}
	c.members["b"].Lag(false)
	if err := c.dial("a").Promote(t.Context(), added.ID); err != nil {
		t.Errorf("caught up: %v", err)
	}
}

func TestACutMemberIsNotReachedAndComesBack(t *testing.T) {
	c := bootstrap(t, "a", "b", "c")
	leader := c.Leader(c.members["a"].ClusterID())
	leader.Cut(true)
	if _, err := c.dial(leader.flags.Name).Status(t.Context()); !client.IsUnreachable(err) {
		t.Errorf("the cut member answered %v", err)
	}
	if next := c.Leader(leader.ClusterID()); next == nil || next == leader {
		t.Error("no other member leads")
	}
	for name, p := range c.members {
		if p != leader {
			if err := p.Put(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	leader.Cut(false)
	if s, err := c.dial(leader.flags.Name).Status(t.Context()); err != nil || s.Revision != 3 {
		t.Errorf("back again it says %+v, %v; want the two writes", s, err)
	}
}

func TestTLSIsCheckedLikeAHandshake(t *testing.T) {
	c := bootstrap(t)
	flags := c.flags("a", etcdutil.StateNew, "a=http://a:2380")
	flags.TLS, flags.ServerName = true, "a.demo-peers.ns.svc"
	c.Start("a", flags)
	for _, row := range []struct {
		endpoint client.Endpoint
		ok       bool
	}{
		{client.Endpoint{Address: "a:2379", TLS: &tls.Config{}, ServerName: "a.demo-peers.ns.svc"}, true},
		{client.Endpoint{Address: "a:2379", TLS: &tls.Config{}, ServerName: "b.demo-peers.ns.svc"}, false},
		{client.Endpoint{Address: "a:2379"}, false},
	} {
		conn, _ := c.Dialer().Dial(row.endpoint)
		if _, err := conn.Status(t.Context()); (err == nil) != row.ok || client.IsTLS(err) == row.ok {
			t.Errorf("%+v answered %v", row.endpoint, err)
		}
	}
}

func TestACorruptDirectoryHashesOtherwiseAndDoesNotStartAgain(t *testing.T) {
	c := bootstrap(t, "a", "b", "c")
	c.CorruptDir("b")
	good, _ := c.dial("a").HashKV(t.Context(), 0)
	bad, err := c.dial("b").HashKV(t.Context(), 0)
	if err != nil || good.Hash == bad.Hash || good.Revision != bad.Revision {
		t.Errorf("a hashes %+v, b %+v, %v", good, bad, err)
	}
	c.members["b"].Stop()
	again := c.Start("b", c.flags("b", etcdutil.StateExisting, "b=http://b:2380"))
	if e := again.Exited(); e == nil || etcdutil.Classify(e.Code, e.Message) != etcdutil.ExitDataCorrupt {
		t.Errorf("it ends with %+v", e)
	}
}

func TestAnAddressHoldsOneProcess(t *testing.T) {
	c := bootstrap(t, "a")
	second := c.Start("elsewhere", c.flags("a", etcdutil.StateNew, "a=http://a:2380"))
	if e := second.Exited(); e == nil || etcdutil.Classify(e.Code, e.Message) != etcdutil.ExitAddress {
		t.Errorf("the second ends with %+v", e)
	}
}

func TestClosedClientsAndEndedContextsAnswerNothing(t *testing.T) {
	c := bootstrap(t, "a")
	conn := c.dial("a")
	_ = conn.Close()
	if _, err := conn.Status(t.Context()); err == nil {
		t.Error("a closed client answers")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.dial("a").Status(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

func TestConnectionsCountAfterFiveSecondsAndNotBefore(t *testing.T) {
	c := bootstrap(t, "a", "b", "c")
	leader := c.dial(c.Leader(c.members["a"].ClusterID()).flags.Name)
	for _, row := range []struct {
		after time.Duration
		want  error
	}{{0, client.ErrUnhealthy}, {4900 * time.Millisecond, client.ErrUnhealthy}, {200 * time.Millisecond, nil}} {
		c.now = c.now.Add(row.after)
		if _, err := leader.AddLearner(t.Context(), "http://d:2380"); !errors.Is(err, row.want) {
			t.Errorf("after another %s the call answered %v, want %v", row.after, err, row.want)
		}
	}
}

// A process of the same name and peer URL elsewhere, such as a Pod that is still going, is nobody to ask.
func TestASealedMemberAsksNoMemberOfItsOwnName(t *testing.T) {
	c := bootstrap(t, "a")
	flags := c.flags("a", etcdutil.StateExisting, "a=http://a:2380")
	flags.Address = "elsewhere:2379"
	second := c.Start("empty", flags)
	if e := second.Exited(); e == nil || etcdutil.Classify(e.Code, e.Message) != etcdutil.ExitDataEmpty {
		t.Errorf("it ends with %+v", e)
	}
}

// The patches before 3.5.30 and 3.6.11 asked for every voter. They are in no contract, because no such binary is built.
func TestOlderPatchesAskForEveryVoterBeforeAnAdd(t *testing.T) {
	for text, taken := range map[string]bool{"3.5.29": false, "3.5.30": true, "3.6.10": false, "3.6.11": true, "3.7.0": true} {
		c := bootstrap(t, "a", "b", "c", "d", "e")
		version, _ := etcdutil.ParseVersion(text)
		for _, p := range c.members {
			p.flags.Version = version
		}
		for name, p := range c.members {
			if p != c.Leader(p.ClusterID()) {
				c.members[name].Stop()
				break
			}
		}
		c.now = c.now.Add(6 * time.Second)
		leader := c.Leader(c.members["a"].ClusterID()).flags.Name
		_, err := c.dial(leader).AddLearner(t.Context(), "http://f:2380")
		if (err == nil) != taken {
			t.Errorf("%s of five with one down answered %v", text, err)
		}
	}
}
