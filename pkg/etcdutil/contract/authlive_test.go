package contract

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// A write is refused at once where its user is not there, or where the member that took it had not applied the last
// change of users yet: then it is put in with an older revision of them than it is judged by. So all members are asked
// before authentication is turned on. Turning it off fails nothing.
func TestAWriterWhoseUserIsThereSeesNothingOfAuthenticationBeingTurnedOnAndOff(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			members := []string{"a", "b", "c"}
			p, w := withUsers(t, version, members...)
			p.startAll(members...)
			p.grantRoot(members[0], client.RootUser)
			p.grantRoot(members[0], "demo-client")
			writers := w.writersAs("demo-client", members...)
			watched := w.clientOf("demo-client", members[1]).Watch(t.Context(), "last")
			for range 3 {
				writers.goOn(p, 20)
				for _, name := range members {
					p.accepted(func() error { return second(p.dial(name).Authentication(t.Context())) })
				}
				p.accepted(func() error { return p.dial(members[0]).EnableAuthentication(t.Context()) })
				writers.goOn(p, 20)
				p.accepted(func() error { return p.dial(members[1]).DisableAuthentication(t.Context()) })
			}
			writers.goOn(p, 20)
			if failed := writers.stop(); failed != nil {
				t.Errorf("a write failed: %v", failed)
			}
			must(t, second(w.clientOf("demo-client", members...).Put(t.Context(), "last", "value")))
			select {
			case seen := <-watched:
				must(t, seen.Err())
			case <-time.After(patience):
				t.Error("a watch from before sees nothing any more")
			}
		})
	}
}

// grantRoot makes a user who may do everything.
func (p *play) grantRoot(asked, user string) {
	p.Helper()
	c := p.dial(asked)
	p.accepted(func() error { return c.AddUser(p.Context(), user) })
	p.accepted(func() error { return c.GrantRole(p.Context(), user, client.RootRole) })
}

// writers write through each member at once, as fast as they are answered, and never try one again.
type writers struct {
	cancel context.CancelFunc
	group  sync.WaitGroup
	done   []*atomic.Int64
	failed atomic.Pointer[error]
}

func (w *realWorld) writersAs(user string, members ...string) *writers {
	ctx, cancel := context.WithCancel(context.Background())
	all := &writers{cancel: cancel}
	for _, name := range members {
		kv := pb.NewKVClient(w.clientOf(user, name).ActiveConnection())
		done := &atomic.Int64{}
		all.done = append(all.done, done)
		all.group.Go(func() {
			for ctx.Err() == nil {
				_, err := kv.Put(ctx, &pb.PutRequest{Key: []byte(name), Value: []byte("value")})
				if err = rpctypes.Error(err); err != nil && ctx.Err() == nil {
					all.failed.CompareAndSwap(nil, &err)
					return
				}
				done.Add(1)
			}
		})
	}
	w.t.Cleanup(cancel)
	return all
}

// goOn waits until each wrote so many times more, or one failed.
func (w *writers) goOn(p *play, times int64) {
	p.Helper()
	for _, done := range w.done {
		from := done.Load()
		p.until("each writer goes on", func() bool { return done.Load() >= from+times || w.failed.Load() != nil })
	}
}

func (w *writers) stop() error {
	w.cancel()
	w.group.Wait()
	if failed := w.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}
