package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// takeUnproven is a backup that was stored and is yet to be proven.
func takeUnproven(t testing.TB, bucket *store.Bucket, l *liar) (TakeOptions, Manifest) {
	t.Helper()
	o := liarOptions(t, bucket, l.serve(t, "m0")).ofAnotherCluster()
	o.Verify = true
	m, err := Take(context.Background(), o)
	must(t, err)
	return o, m
}

// restoreRestored puts the snapshot where etcdutl would put what it makes of it.
func restoreRestored(t testing.TB, scratch string, l *liar) {
	t.Helper()
	path := filepath.Join(scratch, scratchRestored, databaseFile)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, l.content[:len(l.content)-trailerSize], 0o600))
}

func (m Manifest) whose() Whose {
	return Whose{Namespace: m.ClusterNamespace, Name: m.ClusterName, UID: m.ClusterUID}
}

func TestWhatIsToBeProvenIsNoBackupUntilItIs(t *testing.T) {
	ctx, l := context.Background(), newLiar(t)
	bucket, _ := volumeBucket(t)
	o, m := takeUnproven(t, bucket, l)
	_, err := Latest(ctx, bucket, m.whose())
	wantReason(t, err, ReasonNoBackup)
	_, err = Fetch(ctx, FetchOptions{Transfer: Transfer{Bucket: bucket}, Scratch: o.Scratch})
	must(t, err)
	_, err = Latest(ctx, bucket, m.whose())
	wantReason(t, err, ReasonNoBackup)
	restoreRestored(t, o.Scratch, l)
	for range 2 { // the kubelet may run the step again
		_, err = Compare(ctx, compareOptions(o))
		must(t, err)
	}
	newest, err := Latest(ctx, bucket, m.whose())
	if err != nil || newest.Key != m.Key || newest.SHA256 != m.SHA256 || !newest.Proven {
		t.Errorf("the newest is %+v, %v", newest, err)
	}
}

func TestAManifestSaysWhetherItsBackupWasProvenAndThatOfAnEarlierReleaseDoesNot(t *testing.T) {
	s := takeSpecimen(t) // is not to be proven
	if s.manifest.Proven || strings.Contains(string(s.text), "proven") {
		t.Errorf("%s", s.text)
	}
	earlier, err := ParseManifest(s.text, ManifestKey(s.manifest.Key))
	must(t, err)
	if keptOf(earlier).Proven {
		t.Errorf("%+v", earlier)
	}
	m := s.manifest
	m.Proven = true
	m = m.sealed()
	text := m.Encode()
	proven, err := ParseManifest(text, ManifestKey(m.Key))
	if err != nil || !keptOf(proven).Proven {
		t.Errorf("%s: %v", text, err)
	}
	_, err = ParseManifest([]byte(strings.Replace(string(s.text), `"digest"`, `"proven":true,"digest"`, 1)), ManifestKey(m.Key))
	wantReason(t, err, ReasonManifestInvalid) // whose digest is another
}

func TestAnObjectThatCameBackDamagedIsNeverTheNewestBackup(t *testing.T) {
	ctx, l := context.Background(), newLiar(t)
	bucket, root := volumeBucket(t)
	o, m := takeUnproven(t, bucket, l)
	path := filepath.Join(root, filepath.FromSlash(m.Key))
	content, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, flip(content, 8*5000), 0o600))
	_, err = Fetch(ctx, FetchOptions{Transfer: Transfer{Bucket: bucket}, Scratch: o.Scratch})
	wantReason(t, err, ReasonObjectDamaged)
	_, err = Latest(ctx, bucket, m.whose())
	wantReason(t, err, ReasonNoBackup)
}

func TestNoManifestIsWrittenForASnapshotThatIsGone(t *testing.T) {
	ctx, l := context.Background(), newLiar(t)
	bucket, root := volumeBucket(t)
	o, m := takeUnproven(t, bucket, l)
	restoreRestored(t, o.Scratch, l)
	must(t, os.Remove(filepath.Join(root, filepath.FromSlash(m.Key))))
	_, err := Compare(ctx, compareOptions(o))
	wantReason(t, err, ReasonObjectDamaged)
	if left := stored(t, root); len(left) > 0 {
		t.Errorf("the store has %v", left)
	}
}

func TestAManifestOfAnotherWriterIsNotTakenForOurs(t *testing.T) {
	ctx, l := context.Background(), newLiar(t)
	bucket, _ := volumeBucket(t)
	o, m := takeUnproven(t, bucket, l)
	restoreRestored(t, o.Scratch, l)
	other := m
	other.TotalKeys++
	other = other.sealed()
	text := other.Encode()
	must(t, bucket.WriteSmall(ctx, ManifestKey(m.Key), text))
	_, err := Compare(ctx, compareOptions(o))
	wantReason(t, err, ReasonManifestForeign)
}

func TestAManifestWhoseAnswerIsLostOrDelayedIsWrittenOnce(t *testing.T) {
	s, l := s3server.Start(t, s3server.Versitygw, s3server.Options{}), newLiar(t)
	for name, fault := range map[string]s3server.Fault{
		"the answer is lost": s3server.LoseAnswer().On(s3server.PutObject).Times(1),
		"it throttles":       s3server.Throttle().Times(2),
		"it fails":           s3server.Refuse(500, "InternalError").Times(2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := s.Proxy(t)
			o, m := takeUnproven(t, openS3(t, p.Access), l)
			restoreRestored(t, o.Scratch, l)
			injected := p.Inject(fault)
			_, err := Compare(context.Background(), compareOptions(o))
			must(t, err)
			if injected.Count() == 0 {
				t.Error("the fault was not met")
			}
			if got, want := objects(t, o.Bucket, o.Identity), []string{ManifestKey(m.Key), m.Key}; !slices.Equal(got, want) {
				t.Errorf("the store has %v, want %v", got, want)
			}
		})
	}
}

func TestAStoreThatLosesTheManifestIsFoundOut(t *testing.T) {
	s, l := s3server.Start(t, s3server.Versitygw, s3server.Options{}), newLiar(t)
	for name, tc := range map[string]struct {
		fault s3server.Fault
		want  Reason
	}{
		"it says that it stored it": {s3server.Swallow().On(s3server.PutObject), ReasonObjectDamaged},
		"it refuses":                {s3server.Refuse(403, "AccessDenied").On(s3server.PutObject), ReasonStoreDenied},
		"it gives back another":     {s3server.FlipBit(100).On(s3server.GetObject), ReasonManifestInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := s.Proxy(t)
			o, m := takeUnproven(t, openS3(t, p.Access), l)
			restoreRestored(t, o.Scratch, l)
			p.Inject(tc.fault)
			_, err := Compare(context.Background(), compareOptions(o))
			wantReason(t, err, tc.want)
			if _, err := o.Bucket.Stat(context.Background(), m.Key); err != nil && !errors.Is(err, store.ErrDenied) {
				t.Errorf("the snapshot, which somebody may want to look at, is gone: %v", err)
			}
		})
	}
}
