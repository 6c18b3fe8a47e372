package backup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// compareOptions are for the last step of a backup that was taken with these.
func compareOptions(o TakeOptions) CompareOptions {
	return CompareOptions{Transfer: Transfer{Bucket: o.Bucket}, Scratch: o.Scratch}
}

func TestABackupOfEveryReleaseComesBackEqual(t *testing.T) {
	for _, version := range needs.AllReleases {
		for _, secure := range []bool{false, true} {
			if !secure && !slices.Contains(needs.Releases(), version) {
				continue
			}
			t.Run(fmt.Sprintf("%s, TLS %t", version, secure), func(t *testing.T) {
				t.Parallel()
				c := startCluster(t, version, 1, secure)
				c.fill()
				ctx := context.Background()
				c.readers(ctx)
				_, err := c.client.Grant(ctx, 3600)
				must(t, err)
				bucket, _ := volumeBucket(t)
				o := c.options(bucket)
				o.Verify = true
				m, err := Take(ctx, o)
				must(t, err)
				if m.TotalKeys != c.keys() || m.CompactRevision == 0 || m.EtcdVersion != version || m.Member != "m0" {
					t.Errorf("the manifest is %+v, and the cluster has %d keys", m, c.keys())
				}
				if b := m.BesideKeys; b == nil || b.Users != 1 || b.Roles != 1 || b.Leases != 1 {
					t.Errorf("the manifest says that there are %s", b)
				}
				fetched, err := Fetch(ctx, FetchOptions{Transfer: Transfer{Bucket: bucket}, Scratch: o.Scratch})
				must(t, err)
				if fetched.SHA256 != m.SHA256 {
					t.Errorf("fetched %+v of %+v", fetched, m)
				}
				c.restore(o.Scratch)
				if _, err := ReadManifest(ctx, bucket, m.Key); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("before it is proven it is a backup: %v", err)
				}
				compared, err := Compare(ctx, compareOptions(o))
				must(t, err)
				if stored, err := ReadManifest(ctx, bucket, m.Key); err != nil || stored.SHA256 != m.SHA256 || !stored.Proven {
					t.Errorf("the stored manifest: %v, %+v", err, stored)
				}
				if compared.KeysHash != m.KeysHash.Hash || compared.TotalKeys != m.TotalKeys || compared.Revision != m.Revision {
					t.Errorf("compared %+v of %+v", compared, m)
				}
			})
		}
	}
}

func TestACopyWithOneByteOfOneValueChangedIsNotCalledEqual(t *testing.T) {
	c := startCluster(t, needs.Release, 1, false)
	c.fill()
	bucket, _ := volumeBucket(t)
	o := c.options(bucket)
	o.Verify = true
	m, err := Take(context.Background(), o)
	must(t, err)
	_, err = Fetch(context.Background(), FetchOptions{Transfer: Transfer{Bucket: bucket}, Scratch: o.Scratch})
	must(t, err)
	c.restore(o.Scratch)
	changeLastValue(t, filepath.Join(o.Scratch, scratchRestored, databaseFile))
	_, err = Compare(context.Background(), compareOptions(o))
	wantReason(t, err, ReasonRestoreDiffers)
	if _, err := ReadManifest(context.Background(), bucket, m.Key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it is a backup all the same: %v", err)
	}
	if _, err := Latest(context.Background(), bucket, Whose{Namespace: m.ClusterNamespace, Name: m.ClusterName}); ReasonOf(err) != ReasonNoBackup {
		t.Errorf("as the newest backup it is %v", err)
	}
}

// changeLastValue flips one bit of the newest value.
func changeLastValue(t testing.TB, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		keys := tx.Bucket(bucketKey)
		k, v := keys.Cursor().Last()
		changed := append([]byte(nil), v...)
		changed[len(changed)-1] ^= 1
		return keys.Put(append([]byte(nil), k...), changed)
	}))
	must(t, db.Close())
}

// An idle cluster is compacted at its last revision, and remembers a hash of it that no snapshot can have.
func TestABackupOfAClusterCompactedAtItsLastRevisionIsProven(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, version, 1, false)
			c.fill()
			ctx := context.Background()
			last, err := c.client.Put(ctx, "last", "value")
			must(t, err)
			_, err = c.client.Compact(ctx, last.Header.Revision, clientv3.WithCompactPhysical())
			must(t, err)
			bucket, _ := volumeBucket(t)
			m, err := Take(ctx, c.options(bucket))
			must(t, err)
			if m.Revision != last.Header.Revision || m.CompactRevision != m.Revision || m.TotalKeys != c.keys() {
				t.Errorf("%+v; the cluster is at %d with %d keys", m, last.Header.Revision, c.keys())
			}
		})
	}
}
