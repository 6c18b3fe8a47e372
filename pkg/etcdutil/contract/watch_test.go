package contract

import (
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// etcd asks for the right to a range only when a watch of it begins. So docs/access.md says how to end one.
func TestAWatchOutlivesItsUserUntilItsConnectionEnds(t *testing.T) {
	withAuthenticationOn(t, func(t *testing.T, p *play, w *realWorld) {
		root, program := w.clientOf(client.RootUser, "a"), w.clientOf("shop", "a")
		p.addRole(root, "shop")
		watched := program.Watch(t.Context(), "shop/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
		if begun := next(t, watched); begun.Err() != nil || !begun.Created {
			t.Fatalf("the watch begins with %+v, %v", begun, begun.Err())
		}
		must(t, second(root.UserDelete(t.Context(), "shop")))
		p.isDenied(second(program.Get(t.Context(), "shop/1")))
		must(t, second(root.Put(t.Context(), "shop/1", "value")))
		if seen := next(t, watched); seen.Err() != nil || len(seen.Events) != 1 {
			t.Errorf("the watch of the user who is gone sees %+v, %v", seen, seen.Err())
		}
		p.stop("a")
		p.start(sealed("a"))
		p.serving("a")
		ended := next(t, watched)
		p.isDenied(ended.Err())
	})
}

func (p *play) isDenied(err error) {
	p.Helper()
	if err == nil || !strings.Contains(err.Error(), "permission denied") {
		p.Errorf("a user who is gone is answered %v", err)
	}
}

// next is what a watch says next.
func next(t *testing.T, watched clientv3.WatchChan) clientv3.WatchResponse {
	t.Helper()
	select {
	case seen := <-watched:
		return seen
	case <-time.After(patience):
		t.Fatal("the watch says nothing")
		return clientv3.WatchResponse{}
	}
}
