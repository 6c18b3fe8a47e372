package backup

import (
	"bytes"
	"compress/gzip"
	"compress/lzw"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/azureserver"
	"github.com/etcdsteward/etcd-steward/test/gcsserver"
	"github.com/etcdsteward/etcd-steward/test/needs"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

var newestEtcd = etcdutil.Version{Major: 3, Minor: 7, Patch: 3}

// elsewhere is a store in which a file lies that the operator did not put there.
type elsewhere struct {
	bucket *store.Bucket
	root   string
	key    string
}

func putElsewhere(t testing.TB, name string, content []byte) elsewhere {
	t.Helper()
	e := elsewhere{}
	e.bucket, e.root = volumeBucket(t)
	e.key = e.bucket.Key(name)
	e.put(t, e.key, content)
	return e
}

func (e elsewhere) put(t testing.TB, key string, content []byte) {
	t.Helper()
	name := filepath.Join(e.root, filepath.FromSlash(key))
	must(t, os.MkdirAll(filepath.Dir(name), 0o700))
	must(t, os.WriteFile(name, content, 0o600))
}

func (e elsewhere) look(t testing.TB, wanted etcdutil.Version) (Found, error) {
	t.Helper()
	return Preflight(context.Background(), PreflightOptions{Transfer: Transfer{Bucket: e.bucket}, Key: e.key,
		Version: wanted, Scratch: t.TempDir()})
}

// saved is what etcdctl wrote of a cluster.
func saved(t testing.TB, c *cluster) []byte {
	t.Helper()
	to := filepath.Join(t.TempDir(), "snapshot.db")
	command := exec.Command(filepath.Join(c.programs, "etcdctl"), "--endpoints="+c.endpoints[0].URL, "snapshot", "save", to)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("etcdctl: %v: %s", err, output)
	}
	content, err := os.ReadFile(to)
	must(t, err)
	return content
}

// snapshotOf is a snapshot of a small etcd of that version; of none where it is empty.
func snapshotOf(t testing.TB, clusterVersion, storageVersion string) []byte {
	t.Helper()
	l := openLibrary(t, filepath.Join(t.TempDir(), "db"))
	l.change(rand.New(rand.NewPCG(3, 3)), 5)
	name := l.copy()
	l.close()
	db, err := bolt.Open(name, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		for _, said := range []struct{ bucket, key, value string }{
			{"cluster", "clusterVersion", clusterVersion}, {"meta", "storageVersion", storageVersion},
		} {
			bucket, err := tx.CreateBucketIfNotExists([]byte(said.bucket))
			if err == nil && said.value != "" {
				err = bucket.Put([]byte(said.key), []byte(said.value))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, db.Close())
	content, err := os.ReadFile(name)
	must(t, err)
	return sealed(content)
}

func TestASnapshotThatEtcdctlSavedIsFoundWithoutAManifestAndRestored(t *testing.T) {
	for _, version := range needs.AllReleases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			source := startCluster(t, version, 1, false)
			source.fill()
			content := saved(t, source)
			before, err := contents(context.Background(), source.client)
			must(t, err)
			e := putElsewhere(t, "legacy/etcd-2026-01-01_12:00:00+01:00.db", content)
			found, err := e.look(t, newestEtcd)
			must(t, err)
			sum, minor := sha256.Sum256(content), version[:strings.LastIndex(version, ".")]
			want := Found{Key: e.key, SHA256: hex.EncodeToString(sum[:]), SizeBytes: int64(len(content)),
				InUseBytes: found.InUseBytes, Revision: found.Revision, EtcdVersion: minor + ".0", Foreign: true}
			if !reflect.DeepEqual(found, want) || found.Revision < 250 || found.InUseBytes == 0 {
				t.Fatalf("found %+v, want %+v", found, want)
			}
			origin := Origin{Key: found.Key, SHA256: found.SHA256, SizeBytes: found.SizeBytes, Revision: found.Revision, BumpRevision: bump}
			members := newMembers(t, 1)
			if _, err := restoreMember(source.programs, e.bucket, members[0], members, origin); err != nil {
				t.Fatal(err)
			}
			members[0].start(t, source.programs)
			ctx, cancel := context.WithTimeout(context.Background(), busy)
			defer cancel()
			if after, err := contents(ctx, dialMembers(t, members...)); err != nil || !reflect.DeepEqual(after, before) {
				t.Errorf("%v: it holds %d keys, and %d were saved", err, len(after), len(before))
			}
		})
	}
}

func TestTheMinorOfAForeignSnapshotIsTheHighestThatItNames(t *testing.T) {
	for name, row := range map[string]struct{ cluster, storage, want string }{
		"of 3.5":                {"3.5.0", "", "3.5.0"},
		"of 3.7":                {"3.7.0", "3.7.0", "3.7.0"},
		"on its way up to 3.6":  {"3.6.0", "", "3.6.0"},
		"on its way down to it": {"3.6.0", "3.7.0", "3.7.0"},
		"without a cluster's":   {"", "3.6.0", "3.6.0"},
	} {
		found, err := putElsewhere(t, "a.db", snapshotOf(t, row.cluster, row.storage)).look(t, newestEtcd)
		if err != nil || found.EtcdVersion != row.want {
			t.Errorf("%s: %s (%v), want %s", name, found.EtcdVersion, err, row.want)
		}
	}
}

func TestAForeignFileThatCannotBeRestoredIsRefusedByWhatIsWrongWithIt(t *testing.T) {
	whole := snapshotOf(t, "3.6.0", "3.6.0")
	packed := &bytes.Buffer{}
	packer := gzip.NewWriter(packed)
	_, err := packer.Write(whole)
	must(t, err)
	must(t, packer.Close())
	nameless := &bytes.Buffer{} // a packing that begins with nothing that tells it
	unnamed := lzw.NewWriter(nameless, lzw.LSB, 8)
	_, err = unnamed.Write(whole)
	must(t, err)
	must(t, unnamed.Close())
	foreignDatabase := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(foreignDatabase, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("k3s")); return err }))
	must(t, db.Close())
	other, err := os.ReadFile(foreignDatabase)
	must(t, err)
	endless := tearable(t)
	endless.circle()
	for name, row := range map[string]struct {
		content []byte
		want    Reason
		says    string
	}{
		"an empty file":                  {nil, ReasonNoSnapshot, "it is empty"},
		"a copy of a member's database":  {whole[:len(whole)-trailerSize], ReasonNoSnapshot, "copy of a member's database"},
		"one that was cut":               {whole[:len(whole)-100], ReasonObjectDamaged, "was cut short"},
		"one that was cut at the sector": {whole[:len(whole)-trailerSize-sectorSize], ReasonNoSnapshot, "or it was cut short"},
		"one with a bit changed":         {flip(whole, 8*(len(whole)/2)), ReasonObjectDamaged, "SHA-256 at its end is not its own"},
		"one with its end changed":       {flip(whole, 8*len(whole)-1), ReasonObjectDamaged, "SHA-256 at its end is not its own"},
		"one that is compressed":         {packed.Bytes(), ReasonNoSnapshot, "compressed with gzip"},
		"one that is compressed as lzw":  {nameless.Bytes(), ReasonNoSnapshot, "unpack it first if it was compressed"},
		"a text":                         {bytes.Repeat([]byte("apiVersion: v1\n"), 300), ReasonNoSnapshot, "no database of etcd"},
		"a short text":                   {[]byte("{}"), ReasonNoSnapshot, "no database of etcd"},
		"a database of another program":  {sealed(other), ReasonNoSnapshot, "not etcd's"},
		"one whose pages make a circle":  {sealed(endless.content), ReasonNoSnapshot, "more than one place in the tree"},
		"one without a version":          {snapshotOf(t, "", ""), ReasonNoSnapshot, "which version of etcd wrote it"},
		"one of a newer minor":           {snapshotOf(t, "3.7.0", "3.7.0"), ReasonVersionDiffers, "Set spec.version to 3.7.x"},
		"one of a minor without a way":   {snapshotOf(t, "3.4.0", ""), ReasonVersionDiffers, "knows no way"},
	} {
		t.Run(name, func(t *testing.T) {
			e := putElsewhere(t, "legacy/demo.db", row.content)
			_, err := e.look(t, etcd36)
			wantReason(t, err, row.want)
			if !strings.Contains(err.Error(), row.says) || !strings.Contains(err.Error(), ". ") {
				t.Errorf("got %q, want %q in it, and what to do", err, row.says)
			}
		})
	}
	t.Run("one that is not there", func(t *testing.T) {
		e := putElsewhere(t, "legacy/demo.db", whole)
		e.key = e.bucket.Key("legacy/snapshot.db")
		_, err := e.look(t, etcd36)
		wantReason(t, err, ReasonStoreNotFound)
	})
	t.Run("one for which the volumes have no room", func(t *testing.T) {
		e := putElsewhere(t, "legacy/demo.db", whole)
		_, err := Preflight(context.Background(), PreflightOptions{Transfer: Transfer{Bucket: e.bucket}, Key: e.key,
			Version: etcd36, VolumeBytes: roomToRestore(int64(len(whole))) - 1, Scratch: "/nowhere"})
		wantReason(t, err, ReasonVolumeTooSmall)
	})
}

func TestWhichManifestsBesideASnapshotSpeakOfIt(t *testing.T) {
	const own = "team/demo/u-1/20260504T090000Z-0a1b2c3d/snapshot.db"
	whole := snapshotOf(t, "3.6.0", "3.6.0")
	for name, row := range map[string]struct {
		key, manifest string
		want          Reason // empty: it is restored as a snapshot without a manifest
	}{
		"none, where the operator has its own":         {own, "", ""},
		"one that is cut, where the operator has them": {own, `{"formatVersion":1,`, ReasonManifestInvalid},
		"someone's, where the operator has its own":    {own, `{"snapshot":"ok"}`, ReasonManifestInvalid},
		"one that names this very key":                 {"old/snapshot.db", `{"formatVersion":1,"key":"a/prefix/old/snapshot.db"}`, ReasonManifestInvalid},
		"one of another key":                           {"old/snapshot.db", `{"formatVersion":1,"key":"other/snapshot.db"}`, ""},
		"someone's":                                    {"old/snapshot.db", `kind: Snapshot`, ""},
		"someone's that is large":                      {"old/snapshot.db", strings.Repeat("x", maxManifest+1), ""},
		"one beside a file of another name":            {"old/demo.db", `{"formatVersion":1,"key":"a/prefix/old/demo.db"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := putElsewhere(t, row.key, whole)
			if row.manifest != "" {
				e.put(t, path.Join(path.Dir(e.key), manifestObject), []byte(row.manifest))
			}
			found, err := e.look(t, etcd36)
			if ReasonOf(err) != row.want && (err != nil || row.want != "") || err == nil && !found.Foreign {
				t.Errorf("found %+v, %v, want %q", found, err, row.want)
			}
		})
	}
}

func TestASnapshotThatChangedSinceItWasLookedAtIsNotRestored(t *testing.T) {
	whole := snapshotOf(t, "3.6.0", "3.6.0")
	e := putElsewhere(t, "legacy/demo.db", whole)
	found, err := e.look(t, etcd36)
	must(t, err)
	e.put(t, e.key, sealed(flip(whole[:len(whole)-trailerSize], 8*(len(whole)/2))))
	_, err = Restore(context.Background(), RestoreOptions{Transfer: Transfer{Bucket: e.bucket}, Place: aPlace(t),
		Origin: Origin{Key: found.Key, SHA256: found.SHA256, SizeBytes: found.SizeBytes, Revision: found.Revision}})
	wantReason(t, err, ReasonObjectDamaged)
}

func TestASnapshotThatEtcdctlSavedIsFoundInEachKindOfStore(t *testing.T) {
	content := snapshotOf(t, "3.6.0", "3.6.0")
	look := func(t *testing.T, bucket *store.Bucket) {
		t.Helper()
		key := bucket.Key("legacy", "demo.db")
		ctx := context.Background()
		object, err := bucket.Create(ctx, key)
		must(t, err)
		_, err = object.Write(content)
		must(t, err)
		must(t, object.Commit())
		found, err := Preflight(ctx, PreflightOptions{Transfer: Transfer{Bucket: bucket}, Key: key, Version: etcd36,
			Scratch: t.TempDir()})
		must(t, err)
		if !found.Foreign || found.SizeBytes != int64(len(content)) || found.EtcdVersion != "3.6.0" {
			t.Errorf("%+v", found)
		}
		place := aPlace(t)
		_, err = Restore(ctx, RestoreOptions{Transfer: Transfer{Bucket: bucket}, Place: place, Origin: Origin{Key: found.Key,
			SHA256: found.SHA256, SizeBytes: found.SizeBytes, Revision: found.Revision}})
		must(t, err)
	}
	t.Run("volume", func(t *testing.T) { bucket, _ := volumeBucket(t); look(t, bucket) })
	t.Run("s3", func(t *testing.T) {
		s3server.Each(t, s3server.Options{}, func(t *testing.T, s *s3server.Server) { look(t, openS3(t, s.Access)) })
	})
	t.Run("gcs", func(t *testing.T) { s := gcsserver.Start(t); look(t, openGCS(t, s, s.Endpoint, patient)) })
	t.Run("azure", func(t *testing.T) { s := azureserver.Start(t); look(t, openAzure(t, s, s.Endpoint, patient)) })
}
