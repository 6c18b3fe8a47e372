package backup

import (
	"context"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// populated is a member with users, roles and leases, which are the same to every program here: keys and values.
func populated(t testing.TB) *liar {
	t.Helper()
	return newLiarOf(t, func(l *library) {
		tx := l.backend.BatchTx()
		tx.Lock()
		defer tx.Unlock()
		for _, granted := range []struct {
			bucket backend.Bucket
			keys   []string
		}{
			{schema.AuthUsers, []string{"root", "reader"}}, {schema.AuthRoles, []string{"root", "readers", "writers"}},
			{schema.Lease, []string{"00000001"}}, {schema.Auth, []string{"authRevision"}},
		} {
			tx.UnsafeCreateBucket(granted.bucket)
			for _, key := range granted.keys {
				tx.UnsafePut(granted.bucket, []byte(key), []byte("as granted"))
			}
		}
	})
}

// changeDatabase is what an etcdutl with a fault would leave.
func changeDatabase(t testing.TB, path string, change func(tx *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	must(t, db.Update(change))
	must(t, db.Close())
}

func TestACopyWithOtherUsersRolesOrLeasesIsNotCalledEqual(t *testing.T) {
	without := func(bucket, key string) func(tx *bolt.Tx) error {
		return func(tx *bolt.Tx) error { return tx.Bucket([]byte(bucket)).Delete([]byte(key)) }
	}
	with := func(bucket, key, value string) func(tx *bolt.Tx) error {
		return func(tx *bolt.Tx) error { return tx.Bucket([]byte(bucket)).Put([]byte(key), []byte(value)) }
	}
	for name, tc := range map[string]struct {
		change func(tx *bolt.Tx) error
		want   Reason
	}{
		"as it was":          {func(*bolt.Tx) error { return nil }, ""},
		"a user is missing":  {without("authUsers", "reader"), ReasonRestoreDiffers},
		"another password":   {with("authUsers", "reader", "another"), ReasonRestoreDiffers},
		"a role is missing":  {without("authRoles", "writers"), ReasonRestoreDiffers},
		"a lease is missing": {without("lease", "00000001"), ReasonRestoreDiffers},
		"a lease more":       {with("lease", "00000002", "granted"), ReasonRestoreDiffers},
		"another revision":   {with("auth", "authRevision", "another"), ReasonRestoreDiffers},
		"no leases at all":   {func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("lease")) }, ReasonRestoreDiffers},
		"a role is a user": {func(tx *bolt.Tx) error {
			_ = without("authRoles", "writers")(tx)
			return with("authUsers", "writers", "as granted")(tx)
		}, ReasonRestoreDiffers},
		"an empty bucket that etcd makes at its start": {func(tx *bolt.Tx) error {
			_, err := tx.CreateBucketIfNotExists([]byte("members_removed"))
			return err
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := populated(t)
			bucket, _ := volumeBucket(t)
			o, m := takeUnproven(t, bucket, l)
			restoreRestored(t, o.Scratch, l)
			changeDatabase(t, filepath.Join(o.Scratch, scratchRestored, databaseFile), tc.change)
			_, err := Compare(context.Background(), compareOptions(o))
			if tc.want == "" {
				must(t, err)
			} else {
				wantReason(t, err, tc.want)
			}
			if _, err := ReadManifest(context.Background(), bucket, m.Key); (err == nil) != (tc.want == "") {
				t.Errorf("its manifest in the store: %v", err)
			}
		})
	}
}

// oldManifest is as releases wrote it that looked at the keys alone and signed nothing.
const oldManifest = `{"formatVersion":1,"key":"team/demo/11111111-2222-3333-4444-555555555555/20260301T120000Z-0a1b2c3d/snapshot.db` +
	`","clusterNamespace":"team","clusterName":"demo","clusterUID":"11111111-2222-3333-4444-555555555555","clusterI` +
	`D":"cdf8","incarnation":2,"backupUID":"b1","schedule":"nightly","member":"m0","etcdVersion":"3.6.16","storageV` +
	`ersion":"3.6.0","revision":120,"compactRevision":30,"totalKeys":17,"sizeBytes":20512,"sha256":"abababababababa` +
	`babababababababababababababababababababababababab","keysHash":{"hash":7,"revision":120,"compactRevision":30,"m` +
	`ember":"m1"},"authEnabled":true,"startedAt":"2026-03-01T12:00:00Z","completedAt":"2026-03-01T12:00:09Z","diges` +
	`t":"87847ad72e76256528ee5fb2a1556c2147c8c344d5c32f1966e30c1014e69781"}`

func TestAManifestOfTheReleaseBeforeIsReadAndIsStillItself(t *testing.T) {
	m, err := parseUnplaced([]byte(oldManifest))
	must(t, err)
	_, err = ParseManifest([]byte(oldManifest), ManifestKey(m.Key))
	must(t, err)
	text := m.Encode()
	if string(text) != oldManifest || m.BesideKeys != nil {
		t.Errorf("it became %s", text)
	}
}

func TestABackupWhoseManifestSaysNothingBesideItsKeysIsProvenByThem(t *testing.T) {
	l := populated(t)
	bucket, _ := volumeBucket(t)
	o, m := takeUnproven(t, bucket, l)
	m.BesideKeys = nil
	m = m.sealed()
	must(t, writeScratchManifest(o.Scratch, m))
	restoreRestored(t, o.Scratch, l)
	_, err := Compare(context.Background(), compareOptions(o))
	must(t, err)
}
