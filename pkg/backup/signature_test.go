package backup

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

const (
	aKey       = "0123456789abcdef0123456789abcdef"
	anotherKey = "fedcba9876543210fedcba9876543210"
)

// keyed is the same store as with another key, or with none, opened with this one.
func keyed(t testing.TB, root, key string) *store.Bucket {
	t.Helper()
	options := store.Options{VolumeRoot: root, CredentialsDir: t.TempDir()}
	must(t, os.WriteFile(filepath.Join(options.CredentialsDir, "manifest-key"), []byte(key+"\n"), 0o600))
	bucket, err := store.Open(context.Background(), store.Config{Volume: &store.Volume{Path: "a/prefix"}}, options)
	must(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return bucket
}

func TestAManifestIsSignedWithTheKeyOfItsStore(t *testing.T) {
	for _, verify := range []bool{true, false} {
		ctx, l := context.Background(), newLiar(t)
		plain, root := volumeBucket(t)
		o := liarOptions(t, keyed(t, root, aKey), l.serve(t, "m0")).ofAnotherCluster()
		o.Verify = verify
		m, err := Take(ctx, o)
		must(t, err)
		if verify {
			restoreRestored(t, o.Scratch, l)
			for range 2 { // the kubelet may run the step again
				_, err = Compare(ctx, compareOptions(o))
				must(t, err)
			}
		}
		for name, bucket := range map[string]*store.Bucket{"with its key": o.Bucket, "without a key": plain} {
			found, err := Latest(ctx, bucket, m.whose())
			if err != nil || len(found.HMAC) != 64 || found.Key != m.Key {
				t.Errorf("proven %v, %s: %v, %+v", verify, name, err, found)
			}
		}
		_, err = ReadManifest(ctx, keyed(t, root, anotherKey), m.Key)
		wantReason(t, err, ReasonManifestUnsigned)
	}
}

// forged puts what an account that may write to the store can put there beside a signed backup.
func (s specimen) forged(t testing.TB) map[string]string {
	t.Helper()
	signed := s.manifest.signed([]byte(aKey))
	s.put(t, signed.Key, signed)
	byAnother := func(m *Manifest) {
		at(3, 3*time.Hour)(m)
		m.Key = s.bucket.Key(m.ClusterNamespace, m.ClusterName, m.ClusterUID, "20990301T120003Z-00000003", snapshotObject)
		*m = m.signed([]byte(anotherKey))
	}
	return map[string]string{
		"it has no HMAC":                s.add(t, "20990301T120001Z-00000001", at(1, time.Hour)).Key,
		"its HMAC is of another backup": s.add(t, "20990301T120002Z-00000002", func(m *Manifest) { at(2, 2*time.Hour)(m); m.HMAC = signed.HMAC }).Key,
		"its HMAC is of another key":    s.add(t, "20990301T120003Z-00000003", byAnother).Key,
	}
}

func TestAManifestThatTheKeyDoesNotVouchForIsNoBackup(t *testing.T) {
	ctx, s := context.Background(), takeSpecimen(t)
	forged := s.forged(t)
	bucket := keyed(t, s.root, aKey)
	newest, err := Latest(ctx, bucket, demo)
	if err != nil || newest.Key != s.manifest.Key {
		t.Errorf("the newest is %+v, %v", newest, err)
	}
	for name, key := range forged {
		_, err := Preflight(ctx, PreflightOptions{Transfer: Transfer{Bucket: bucket}, Key: key})
		if ReasonOf(err) != ReasonManifestUnsigned || !strings.Contains(err.Error(), ManifestKey(key)) ||
			!strings.Contains(err.Error(), "manifest-key") {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := s.bucket.Key("legacy", "demo.db")
	must(t, s.bucket.WriteSmall(ctx, other, []byte("whole, as far as anything says")))
	_, err = Preflight(ctx, PreflightOptions{Transfer: Transfer{Bucket: bucket}, Key: other})
	if ReasonOf(err) != ReasonManifestUnsigned || !strings.Contains(err.Error(), other+" has no manifest") {
		t.Errorf("a snapshot that no manifest speaks of: %v", err)
	}
	must(t, s.bucket.Delete(ctx, other))
	before := left(t, s.bucket)
	pruned, err := Prune(ctx, PruneOptions{Transfer: Transfer{Bucket: bucket}, Whose: s.manifest.whose(),
		Policy: Policy{KeepLast: 1}, Now: time.Now().Add(leftoverAge + 90*day)})
	must(t, err)
	if pruned.Kept != 1 || pruned.Removed+pruned.Leftovers != 0 || len(pruned.NotRead) != len(forged) ||
		pruned.Newest.Key != s.manifest.Key || !slices.Equal(before, left(t, s.bucket)) {
		t.Errorf("%+v", pruned)
	}
	for name, key := range forged {
		if !slices.ContainsFunc(pruned.NotRead, func(line string) bool { return strings.HasPrefix(line, ManifestKey(key)+": ") }) {
			t.Errorf("%s is not named in %q", name, pruned.NotRead)
		}
	}
	// Without the key none can be told from the others, as before.
	if all, err := Latest(ctx, s.bucket, demo); err != nil || all.Revision != s.manifest.Revision+3 {
		t.Errorf("without the key the newest is %+v, %v", all, err)
	}
}

func TestWhoPrunesAStoreThatLostItsKeyIsToldOfTheManifestsThatNothingChecks(t *testing.T) {
	s := takeSpecimen(t)
	signed := s.manifest.signed([]byte(aKey))
	s.put(t, signed.Key, signed)
	s.add(t, "20990301T120001Z-00000001", at(1, time.Hour)) // made since, and not signed
	for name, row := range map[string]struct {
		bucket *store.Bucket
		want   int
	}{"without the key": {s.bucket, 1}, "with it": {keyed(t, s.root, aKey), 0}} {
		pruned, err := Prune(context.Background(), PruneOptions{Transfer: Transfer{Bucket: row.bucket}, Whose: s.manifest.whose(),
			Policy: Policy{KeepLast: 5}, Now: time.Now()})
		if err != nil || pruned.Unchecked != row.want || pruned.Kept == 0 {
			t.Errorf("%s: %+v, %v", name, pruned, err)
		}
	}
}

func TestThePreflightSaysHowManyNewerBackupsTheKeyDoesNotVouchFor(t *testing.T) {
	s := takeSpecimen(t)
	s.forged(t)
	s.add(t, "20200101T120000Z-00000001", at(1, -time.Hour)) // from before there was a key
	another := s.manifest
	another.ClusterUID = "u-another"
	another.Key = s.bucket.Key(another.ClusterNamespace, another.ClusterName, another.ClusterUID,
		"20990101T120000Z-00000001", snapshotObject)
	s.put(t, another.Key, another)
	o := PreflightOptions{Transfer: Transfer{Bucket: keyed(t, s.root, aKey)}, LatestOf: demo, Version: etcd36}
	if found, err := Preflight(context.Background(), o); err != nil || found.Key != s.manifest.Key || found.PassedOver != 3 {
		t.Errorf("%+v, %v", found, err)
	}
	o.Bucket = s.bucket // which has no key
	o.LatestOf = s.manifest.whose()
	if found, err := Preflight(context.Background(), o); err != nil || found.PassedOver != 0 {
		t.Errorf("without a key: %+v, %v", found, err)
	}
	o.LatestOf, o.Key = Whose{}, s.manifest.Key
	if found, err := Preflight(context.Background(), o); err != nil || found.PassedOver != 0 {
		t.Errorf("by its key: %+v, %v", found, err)
	}
}

func TestWhereNothingIsSignedThereIsNoBackupAndWhoAsksIsToldWhy(t *testing.T) {
	s := takeSpecimen(t)
	_, err := Latest(context.Background(), keyed(t, s.root, aKey), demo)
	wantReason(t, err, ReasonNoBackup)
	for _, want := range []string{"there are 1", "manifest-key", ManifestKey(s.manifest.Key)} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
}

func TestNoFieldOfASignedManifestCanBeChanged(t *testing.T) {
	s := takeSpecimen(t)
	signed := s.manifest.signed([]byte(aKey))
	must(t, signed.checkSignature([]byte(aKey)))
	text := signed.Encode()
	for field := range fieldsOf(t, text) {
		var fields map[string]any
		must(t, json.Unmarshal(text, &fields))
		switch value := fields[field].(type) {
		case string:
			fields[field] = value[1:] + "0"
			if _, err := time.Parse(time.RFC3339, value); err == nil {
				fields[field] = "2001-01-01T00:00:00Z"
			}
		case float64:
			fields[field] = value + 1
		case bool:
			fields[field] = !value
		default:
			fields[field] = nil
		}
		if field == "digest" { // which is made anew by who changes any other
			continue
		}
		changed, err := json.Marshal(fields)
		must(t, err)
		var m Manifest
		must(t, json.Unmarshal(changed, &m))
		if err := m.checkSignature([]byte(aKey)); ReasonOf(err) != ReasonManifestUnsigned {
			t.Errorf("with another %s it is taken: %v", field, err)
		}
	}
}
