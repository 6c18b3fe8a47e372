package observe

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// counted is a member that answers, and how often it was asked.
type counted struct {
	etcd.Client
	asked *atomic.Int64
}

func (c counted) Status(context.Context) (etcd.Status, error) {
	c.asked.Add(1)
	return etcd.Status{Leader: 1}, nil
}

func TestPingsCostTheSameFromAThousandMembersOn(t *testing.T) {
	for _, clusters := range []int{1, 50, 1000} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int64
			p := NewPinger(func(context.Context, types.NamespacedName) { t.Error("a look was asked for") })
			for i := range clusters {
				c := counted{asked: &asked}
				p.note(types.NamespacedName{Namespace: "many", Name: fmt.Sprint(i)}, survey{
					clients: map[string]etcd.Client{"0": c, "1": c, "2": c},
					answers: map[string]etcd.Status{"0": {Leader: 1}, "1": {Leader: 1}, "2": {Leader: 1}},
				})
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			if err := p.Start(ctx); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			want := int64(60 * min(3*clusters*int(time.Second/pingEvery), pingsPerSecond))
			if n := asked.Load(); n < want*9/10 || n > want+pingsPerSecond {
				t.Errorf("%d clusters: %d pings in a minute, want about %d", clusters, n, want)
			}
		})
	}
}
