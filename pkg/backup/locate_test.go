package backup

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

var demo = Whose{Namespace: "team", Name: "demo"}

// add puts a further backup of the specimen's cluster into its store, in a directory of that name.
func (s specimen) add(t testing.TB, directory string, change func(m *Manifest)) Manifest {
	t.Helper()
	m := s.manifest
	change(&m)
	m.Key = s.bucket.Key(m.ClusterNamespace, m.ClusterName, m.ClusterUID, directory, snapshotObject)
	s.put(t, m.Key, m)
	must(t, os.WriteFile(s.path(m.Key), s.archive, 0o600))
	return m
}

// put writes a manifest beside a key, which need not be its own.
func (s specimen) put(t testing.TB, key string, m Manifest) {
	t.Helper()
	m = m.sealed()
	text := m.Encode()
	must(t, os.MkdirAll(filepath.Dir(s.path(key)), 0o700))
	must(t, os.WriteFile(s.path(ManifestKey(key)), text, 0o600))
}

// at raises the revision that a manifest names, and says when it was complete.
func at(revision int64, after time.Duration) func(m *Manifest) {
	return func(m *Manifest) {
		m.Revision += revision
		m.KeysHash.Revision += revision
		m.CompletedAt = m.CompletedAt.Add(after)
	}
}

func TestTheNewestBackupIsFoundByWhatItsManifestSays(t *testing.T) {
	s := takeSpecimen(t)
	latest := func(whose Whose) string {
		t.Helper()
		m, err := Latest(context.Background(), s.bucket, whose)
		must(t, err)
		return path.Base(path.Dir(m.Key))
	}
	s.add(t, "a-late-name-sorts-first", at(100, time.Hour))
	s.add(t, "zz-sorts-last-and-is-old", at(5, -time.Hour))
	s.add(t, "20991231T235959Z-00000000", at(99, 2*time.Hour))
	if got := latest(demo); got != "a-late-name-sorts-first" {
		t.Errorf("got %s, want the one of the highest revision", got)
	}
	s.add(t, "a-same-revision-later", at(100, 2*time.Hour))
	if got := latest(demo); got != "a-same-revision-later" {
		t.Errorf("got %s, want the later one of two of one revision", got)
	}
	s.add(t, "a-same-revision-proven", func(m *Manifest) {
		at(100, time.Hour)(m)
		m.Proven = true
	})
	if got := latest(demo); got != "a-same-revision-proven" {
		t.Errorf("got %s, want of two with the same data the one that was proven", got)
	}
	s.add(t, "a-newer-unproven", at(101, -time.Hour))
	if got := latest(demo); got != "a-newer-unproven" {
		t.Errorf("got %s: newer data is never left out", got)
	}
	s.add(t, "a-next-life", func(m *Manifest) { m.Incarnation++ })
	if got := latest(demo); got != "a-next-life" {
		t.Errorf("got %s, want the one of the next incarnation, whose revisions began anew", got)
	}

	// What is not a complete backup of this cluster does not count.
	incomplete := s.add(t, "incomplete", at(1000, 9*time.Hour))
	must(t, os.Remove(s.path(ManifestKey(incomplete.Key))))
	s.add(t, "of-another", func(m *Manifest) { m.ClusterName, m.Incarnation = "demo-2", 9 })
	must(t, os.WriteFile(filepath.Join(s.root, "a/prefix/team/demo/manifest.json"), []byte("{}"), 0o600))
	if got := latest(demo); got != "a-next-life" {
		t.Errorf("got %s", got)
	}
	if got := latest(Whose{Namespace: "team", Name: "demo-2"}); got != "of-another" {
		t.Errorf("got %s", got)
	}
}

func TestTheNewestBackupIsNotGuessed(t *testing.T) {
	ctx := context.Background()
	t.Run("where there is none", func(t *testing.T) {
		s := takeSpecimen(t)
		_, err := Latest(ctx, s.bucket, Whose{Namespace: "team", Name: "dem"})
		wantReason(t, err, ReasonNoBackup)
		_, err = Latest(ctx, s.bucket, Whose{Namespace: "team", Name: "demo", UID: "u"})
		wantReason(t, err, ReasonNoBackup)
	})
	t.Run("where two clusters had the name", func(t *testing.T) {
		s := takeSpecimen(t)
		other := s.add(t, "other", func(m *Manifest) { m.ClusterUID = "u-2" })
		_, err := Latest(ctx, s.bucket, demo)
		wantReason(t, err, ReasonAmbiguous)
		if !strings.Contains(err.Error(), other.Key) || !strings.Contains(err.Error(), s.manifest.Key) {
			t.Errorf("the keys to choose from are not in %q", err)
		}
		m, err := Latest(ctx, s.bucket, Whose{Namespace: "team", Name: "demo", UID: "u-2"})
		must(t, err)
		if m.Key != other.Key {
			t.Errorf("got %s", m.Key)
		}
	})
	for name, damage := range map[string]func(t testing.TB, s specimen, key string){
		"a truncated manifest": func(t testing.TB, s specimen, key string) {
			must(t, os.WriteFile(s.path(ManifestKey(key)), s.text[:len(s.text)/2], 0o600))
		},
		"a replayed manifest": func(t testing.TB, s specimen, key string) {
			must(t, os.WriteFile(s.path(ManifestKey(key)), s.text, 0o600))
		},
		"a manifest of another cluster": func(t testing.TB, s specimen, key string) {
			m := s.manifest
			m.Key, m.ClusterName, m.Revision, m.KeysHash.Revision = key, "other", m.Revision+500, m.Revision+500
			s.put(t, key, m)
		},
	} {
		t.Run("beside "+name, func(t *testing.T) {
			s := takeSpecimen(t)
			bad := s.add(t, "bad", at(7, time.Hour))
			damage(t, s, bad.Key)
			_, err := Latest(ctx, s.bucket, demo)
			if reason := ReasonOf(err); reason != ReasonManifestInvalid || !strings.Contains(err.Error(), s.manifest.Key) {
				t.Errorf("got %q (%v), want it refused with the key of the sound one", reason, err)
			}
		})
	}
}

func TestAPreflightRefusesWhatCannotBeRestored(t *testing.T) {
	minor := etcdutil.Version{Major: 3, Minor: 6, Patch: 4}
	for name, tc := range map[string]struct {
		prepare func(t testing.TB, s specimen, o *PreflightOptions)
		want    Reason
		says    string
	}{
		"with a lower minor": {func(_ testing.TB, _ specimen, o *PreflightOptions) { o.Version.Minor = 5 },
			ReasonVersionDiffers, "Set spec.version to 3.6.x"},
		"onto volumes without room": {func(_ testing.TB, s specimen, o *PreflightOptions) {
			o.VolumeBytes = roomToRestore(s.manifest.SizeBytes) - 1
		}, ReasonVolumeTooSmall, "make it 129Mi or more"},
		"whose snapshot is gone": {func(t testing.TB, s specimen, _ *PreflightOptions) {
			must(t, os.Remove(s.path(s.manifest.Key)))
		}, ReasonStoreNotFound, ""},
		"whose snapshot is cut": {func(t testing.TB, s specimen, _ *PreflightOptions) {
			must(t, os.WriteFile(s.path(s.manifest.Key), s.archive[:len(s.archive)-sectorSize], 0o600))
		}, ReasonObjectDamaged, ""},
		"whose manifest is cut": {func(t testing.TB, s specimen, _ *PreflightOptions) {
			must(t, os.WriteFile(s.path(ManifestKey(s.manifest.Key)), s.text[:len(s.text)-1], 0o600))
		}, ReasonManifestInvalid, ""},
		"whose manifest is another's": {func(t testing.TB, s specimen, o *PreflightOptions) {
			o.Key = strings.Replace(s.manifest.Key, "/20", "/19", 1)
			must(t, os.MkdirAll(filepath.Dir(s.path(o.Key)), 0o700))
			must(t, os.WriteFile(s.path(ManifestKey(o.Key)), s.text, 0o600))
		}, ReasonManifestForeign, ""},
		"of another cluster than its place says": {func(t testing.TB, s specimen, _ *PreflightOptions) {
			m := s.manifest
			m.ClusterUID = "u-9"
			s.put(t, m.Key, m)
		}, ReasonManifestForeign, "u-9"},
		"outside the prefix": {func(_ testing.TB, _ specimen, o *PreflightOptions) { o.Key = "b/team/demo/u-1/x/snapshot.db" }, ReasonManifestForeign, ""},
		"by a path": {func(_ testing.TB, s specimen, o *PreflightOptions) {
			o.Key = "a/prefix/team/../team/demo/u-1/" + path.Base(path.Dir(s.manifest.Key)) + "/snapshot.db"
		}, ReasonManifestForeign, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := takeSpecimen(t)
			o := PreflightOptions{Transfer: Transfer{Bucket: s.bucket}, Key: s.manifest.Key, Version: minor, VolumeBytes: roomToRestore(s.manifest.SizeBytes)}
			m, err := Preflight(context.Background(), o)
			must(t, err)
			o.Version.Minor++ // what an older minor wrote is begun with that one
			_, err = Preflight(context.Background(), o)
			must(t, err)
			o.Version = minor
			if m.Key != s.manifest.Key || m.SHA256 != s.manifest.SHA256 || m.EtcdVersion != "3.6.16" || m.Foreign ||
				m.InUseBytes == 0 || m.InUseBytes != s.manifest.InUseBytes {
				t.Errorf("got %+v", m)
			}
			tc.prepare(t, s, &o)
			_, err = Preflight(context.Background(), o)
			wantReason(t, err, tc.want)
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %q, want %q in it", err, tc.says)
			}
		})
	}
}

// A list that leaves an object out says nothing of it.
func TestTheNewestBackupIsFoundAlsoWhereAListLeavesItsManifestOut(t *testing.T) {
	s3server.Each(t, s3server.Options{}, func(t *testing.T, s *s3server.Server) {
		direct, p := openS3(t, s.Access), s.Proxy(t)
		restored(t, direct, pruned, 2*day, 1)
		newest := restored(t, direct, pruned, day, 2)
		fault := p.Inject(s3server.OmitFromLists("-00000002/" + manifestObject))
		got, err := Latest(context.Background(), openS3(t, p.Access), pruned)
		must(t, err)
		if got.Key != newest.Key || fault.Count() == 0 {
			t.Errorf("the newest is %s, want %s; %d lists", got.Key, newest.Key, fault.Count())
		}
	})
}

func TestTheSnapshotOfAnEtcdBackupIsTheOneThatItNames(t *testing.T) {
	s := takeSpecimen(t)
	look := func(sum string) error {
		_, err := Preflight(context.Background(), PreflightOptions{Transfer: Transfer{Bucket: s.bucket},
			Key: s.manifest.Key, SHA256: sum, Scratch: t.TempDir(), Version: etcdutil.Version{Major: 3, Minor: 7}})
		return err
	}
	must(t, look(s.manifest.SHA256))
	must(t, look(""))
	wantReason(t, look(strings.Repeat("0", 64)), ReasonObjectDamaged)
}
