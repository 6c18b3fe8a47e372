package contract

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// tenants are programs that each have a prefix. Some are alike: one begins as another does, or ends where it begins.
var tenants = []string{"shop/", "shop", "shopping/", "shop0", "ä/", "billing/"}

// many is how many requests are made; fewer in the gate.
func many() int {
	if needs.IsFull() {
		return 100_000
	}
	return 4_000
}

// A right to a prefix is a range of keys to etcd. Whatever a program asks for, of keys, ranges and transactions, it gets
// exactly what lies in its own.
func TestNoRequestOfATenantReadsOrWritesOutsideItsPrefix(t *testing.T) {
	withAuthenticationOn(t, func(t *testing.T, p *play, w *realWorld) {
		root := w.operatorAs(client.RootUser, "a")
		for i, prefix := range tenants {
			name := tenantName(i)
			must(t, root.AddRole(t.Context(), name))
			must(t, root.GrantPermission(t.Context(), name, below(prefix, true)))
			must(t, root.NewUser(t.Context(), name))
			must(t, root.GrantRole(t.Context(), name, name))
		}
		var group sync.WaitGroup
		for i, prefix := range tenants {
			etcd := w.clientOf(tenantName(i), "a")
			group.Go(func() { besiege(t, etcd, prefix, rand.New(rand.NewPCG(uint64(i), 47)), many()/len(tenants)) })
		}
		group.Wait()
	})
}

func tenantName(i int) string { return fmt.Sprintf("tenant-%d", i) }

// besiege makes requests of all kinds, and holds each answer against what the prefix says.
func besiege(t *testing.T, etcd *clientv3.Client, prefix string, r *rand.Rand, requests int) {
	ctx, let := t.Context(), 0
	for range requests {
		from, to := someKey(r), ""
		if r.IntN(2) == 0 {
			to = someEnd(r, from)
		}
		isInside := isWithin(prefix, from, to)
		err := someRequest(ctx, etcd, r, from, to)
		switch {
		case err == nil && !isInside:
			t.Errorf("%q reads or writes [%q, %q)", prefix, from, to)
			return
		case isInside && errors.Is(err, rpctypes.ErrPermissionDenied):
			t.Errorf("%q is refused [%q, %q), which is its own", prefix, from, to)
			return
		case err != nil && !errors.Is(err, rpctypes.ErrPermissionDenied):
			t.Errorf("%q asked for [%q, %q): %v", prefix, from, to, err)
			return
		case err == nil:
			let++
		}
	}
	if let == 0 {
		t.Errorf("%q was never let in: nothing was tried", prefix)
	}
}

// isWithin reports that a key, or all of a range, begins with a prefix. A range that is empty holds no key at all, and etcd
// asks for its ends.
func isWithin(prefix, from, to string) bool {
	if to == "" {
		return strings.HasPrefix(from, prefix)
	}
	return from >= prefix && to != "\x00" && to <= clientv3.GetPrefixRangeEnd(prefix)
}

func someKey(r *rand.Rand) string {
	prefix := tenants[r.IntN(len(tenants))]
	return []string{prefix, prefix + "1", prefix + "\x00", prefix[:len(prefix)-1] + "z", strings.ToUpper(prefix), "\x00",
		prefix + tenants[r.IntN(len(tenants))], clientv3.GetPrefixRangeEnd(prefix)}[r.IntN(8)]
}

// someEnd is behind the first key: an empty range says nothing of rights.
func someEnd(r *rand.Rand, from string) string {
	ends := []string{from + "\x00", clientv3.GetPrefixRangeEnd(from), "\x00", "\xff"}
	if other := someKey(r); other > from {
		ends = append(ends, other)
	}
	return ends[r.IntN(len(ends))]
}

func someRequest(ctx context.Context, etcd *clientv3.Client, r *rand.Rand, from, to string) error {
	var ranged []clientv3.OpOption
	if to != "" {
		ranged = append(ranged, clientv3.WithRange(to))
	}
	ops := []clientv3.Op{clientv3.OpGet(from, append(ranged, clientv3.WithLimit(1))...), clientv3.OpDelete(from, ranged...)}
	if to == "" {
		ops = append(ops, clientv3.OpPut(from, "value"))
	}
	op := ops[r.IntN(len(ops))]
	if r.IntN(3) == 0 {
		op = clientv3.OpTxn(nil, []clientv3.Op{op}, nil)
	}
	_, err := etcd.Do(ctx, op)
	return err
}
