package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

const (
	// valueSize is that of the values that fill a database. They do not compress.
	valueSize = 64 << 10
	// fillers are how many put at a time.
	fillers = 16
	// dataPrefix is where the values are.
	dataPrefix = "/data/"
	// quotaMost is the largest database that etcd supports.
	quotaMost = 8 << 30
)

// sizeName is a size as people say it: 100 MiB, 1 GiB.
func sizeName(bytes int64) string {
	const mebi, gibi = 1 << 20, 1 << 30
	if bytes%gibi == 0 {
		return fmt.Sprintf("%d GiB", bytes/gibi)
	}
	return fmt.Sprintf("%d MiB", bytes/mebi)
}

// parseSize reads a size as Kubernetes writes it, such as 1Gi.
func parseSize(text string) (int64, error) {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("the size %q: %w", text, err)
	}
	bytes := quantity.Value()
	if bytes < 16<<20 || bytes > quotaMost*3/4 {
		return 0, fmt.Errorf("the size %q is not from 16Mi to 6Gi", text)
	}
	return bytes, nil
}

// quotaFor leaves room in a database of this size for what clients write meanwhile; zero where the default does.
func quotaFor(database int64) int64 {
	if database <= 1<<30 {
		return 0
	}
	return min(2*database, quotaMost)
}

// maximum is the quota that the spec asks for; zero where it asks for none.
func (s shape) maximum() int64 { return cmp.Or(s.quota, quotaFor(s.database)) }

// keysOf is how many values fill a database of this size.
func keysOf(database int64) int { return int(database / valueSize) }

// fill writes values until the database has its size.
func (t *trial) fill(ctx context.Context, size int64) error {
	etcd, err := t.dialAll(ctx)
	if err != nil {
		return err
	}
	defer etcd.Close()
	if t.keys > 0 {
		return t.fillSmall(ctx, etcd)
	}
	began := time.Now()
	if err := putAll(ctx, etcd, keysOf(size)); err != nil {
		return fmt.Errorf("filling the database in %s: %w", t.namespace, err)
	}
	status, err := t.status(ctx)
	if err != nil {
		return err
	}
	if status.DBSize < size*95/100 {
		return fmt.Errorf("the database in %s has %d bytes, not %d", t.namespace, status.DBSize, size)
	}
	t.say("a database of %s, %s, in %.0f s", sizeName(size), sizeName(status.DBSize>>20<<20), time.Since(began).Seconds())
	return nil
}

// dialAll connects a client that knows every member.
func (t *trial) dialAll(ctx context.Context) (*clientv3.Client, error) {
	config, err := t.clientTLS(ctx)
	if err != nil {
		return nil, err
	}
	return client.Dial(client.Options{Endpoints: t.endpoints(), TLS: config, Connect: t.connect})
}

// putAll puts so many keys, several at a time.
func putAll(ctx context.Context, etcd *clientv3.Client, keys int) error {
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for filler := range fillers {
		group.Go(func() error {
			value := make([]byte, valueSize)
			random := rand.NewChaCha8([32]byte{byte(filler)})
			for i := next.Add(1); i <= int64(keys); i = next.Add(1) {
				_, _ = random.Read(value) // which never fails
				if err := put(ctx, etcd, fmt.Sprintf("%s%08d", dataPrefix, i), string(value)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// fillSmall puts many keys that are small, compacts, and puts all of them again: what a backup has to tell apart.
func (t *trial) fillSmall(ctx context.Context, etcd *clientv3.Client) error {
	began := time.Now()
	if err := putSmall(ctx, etcd, t.keys); err != nil {
		return fmt.Errorf("putting small keys in %s: %w", t.namespace, err)
	}
	if err := t.compact(ctx, etcd); err != nil {
		return err
	}
	if err := putSmall(ctx, etcd, t.keys); err != nil {
		return fmt.Errorf("putting small keys in %s again: %w", t.namespace, err)
	}
	t.say("a database of %s in %.0f s", keysName(t.keys), time.Since(began).Seconds())
	return nil
}

// compact takes all history away.
func (t *trial) compact(ctx context.Context, etcd *clientv3.Client) error {
	now, err := etcd.Get(ctx, dataPrefix, clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("asking for the revision in %s: %w", t.namespace, err)
	}
	if _, err := etcd.Compact(ctx, now.Header.GetRevision(), clientv3.WithCompactPhysical()); err != nil {
		return fmt.Errorf("compacting in %s: %w", t.namespace, err)
	}
	return nil
}

// smallAtOnce is how many keys are put in one transaction; etcd takes 128.
const smallAtOnce = 100

func putSmall(ctx context.Context, etcd *clientv3.Client, keys int) error {
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range fillers {
		group.Go(func() error {
			for last := next.Add(smallAtOnce); last <= int64(keys); last = next.Add(smallAtOnce) {
				puts := make([]clientv3.Op, smallAtOnce)
				for i := range puts {
					puts[i] = clientv3.OpPut(fmt.Sprintf("%s%08d", dataPrefix, last-int64(i)), "small")
				}
				if _, err := etcd.Txn(ctx).Then(puts...).Commit(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// keysName is a number of keys as people say it.
func keysName(keys int) string { return fmt.Sprintf("%g million small keys", float64(keys)/1e6) }

// putAttempts are enough for a leader that changes under the load.
const putAttempts = 5

func put(ctx context.Context, etcd *clientv3.Client, key, value string) error {
	var err error
	for range putAttempts {
		attempt, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err = etcd.Put(attempt, key, value)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("putting %s: %w", key, err)
}
