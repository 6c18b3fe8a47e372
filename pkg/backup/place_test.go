package backup

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func (s specimen) restore(p Place, origin Origin) error {
	_, err := Restore(context.Background(), RestoreOptions{Transfer: Transfer{Bucket: s.bucket}, Place: p, Origin: origin})
	return err
}

func aPlace(t testing.TB) Place {
	t.Helper()
	return Place{Volume: t.TempDir(), Incarnation: "1a2b3c4d", Member: "demo-0"}
}

func TestASnapshotThatIsNotTheOneOfTheBootstrapRecordIsNotIsRestored(t *testing.T) {
	s := takeSpecimen(t)
	origin := originOf(s.manifest)
	for name, content := range map[string][]byte{
		"flipped":  flip(s.archive, 99),
		"cut":      s.archive[:len(s.archive)-sectorSize],
		"extended": append(append([]byte(nil), s.archive...), 0),
		"another":  sealed(withAnotherValue(t, s.archive)),
	} {
		t.Run(name, func(t *testing.T) {
			must(t, os.WriteFile(s.path(s.manifest.Key), content, 0o600))
			p := aPlace(t)
			wantReason(t, s.restore(p, origin), ReasonObjectDamaged)
			if left := stored(t, p.Volume); len(left) != 0 {
				t.Errorf("left on the volume: %v", left)
			}
		})
	}
	must(t, os.Remove(s.path(s.manifest.Key)))
	wantReason(t, s.restore(aPlace(t), origin), ReasonStoreNotFound)
	must(t, os.WriteFile(s.path(s.manifest.Key), s.archive, 0o600))
	must(t, s.restore(aPlace(t), origin))
}

func TestAVolumeWithoutRoomForTwiceTheSnapshotIsRefusedBeforeTheFirstByte(t *testing.T) {
	s, p := takeSpecimen(t), aPlace(t)
	origin := originOf(s.manifest)
	origin.SizeBytes = 1<<52 + trailerSize
	err := s.restore(p, origin)
	wantReason(t, err, ReasonVolumeFull)
	for _, want := range []string{"demo-0", "bytes free", "takes"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if left := stored(t, p.Volume); len(left) != 0 {
		t.Errorf("left on the volume: %v", left)
	}
}

func TestDataOfAnotherOwnerIsNeverTouched(t *testing.T) {
	s := takeSpecimen(t)
	origin := originOf(s.manifest)
	for name, prepare := range map[string]func(t testing.TB, p Place){
		"a member's data": func(t testing.TB, p Place) {
			must(t, os.MkdirAll(p.onDisk(p.target()+"/member/wal"), 0o700))
			must(t, os.WriteFile(p.onDisk(p.target()+"/member/wal/0.wal"), []byte("precious"), 0o600))
		},
		"an empty directory": func(t testing.TB, p Place) { must(t, os.MkdirAll(p.onDisk(p.target()), 0o700)) },
		"a file": func(t testing.TB, p Place) {
			must(t, os.MkdirAll(p.onDisk(p.Incarnation), 0o700))
			must(t, os.WriteFile(p.onDisk(p.target()), []byte("precious"), 0o600))
		},
		"a link": func(t testing.TB, p Place) {
			must(t, os.MkdirAll(p.onDisk(p.Incarnation), 0o700))
			must(t, os.Symlink(t.TempDir(), p.onDisk(p.target())))
		},
		"data put in the place of the restored": func(t testing.TB, p Place) {
			// The record names a directory that is no longer the one that is there.
			must(t, os.MkdirAll(p.onDisk(p.target()), 0o700))
			must(t, os.MkdirAll(p.onDisk(p.staging()), 0o700))
			text := p.recordOf(origin, 1)
			must(t, os.WriteFile(p.onDisk(p.staged(stagedRecord)), text, 0o600))
		},
		"what another backup was restored to": func(t testing.TB, p Place) {
			must(t, os.MkdirAll(p.onDisk(p.target()), 0o700))
			must(t, os.MkdirAll(p.onDisk(p.staging()), 0o700))
			info, err := os.Lstat(p.onDisk(p.target()))
			must(t, err)
			other := origin
			other.SHA256 = strings.Repeat("0", 64)
			text := p.recordOf(other, inode(info))
			must(t, os.WriteFile(p.onDisk(p.staged(stagedRecord)), text, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := aPlace(t)
			prepare(t, p)
			before := stored(t, p.Volume)
			wantReason(t, s.restore(p, origin), ReasonDataExists)
			_, err := Activate(p, origin)
			wantReason(t, err, ReasonDataExists)
			if after := stored(t, p.Volume); strings.Join(before, " ") != strings.Join(after, " ") {
				t.Errorf("before %v, after %v", before, after)
			}
		})
	}
}

func TestDataThatEtcdutlDidNotFinishIsNotActivated(t *testing.T) {
	s := takeSpecimen(t)
	origin := originOf(s.manifest)
	for name, prepare := range map[string]func(t testing.TB, p Place){
		"no data":     func(testing.TB, Place) {},
		"no log":      func(t testing.TB, p Place) { s.database(t, p) },
		"no database": func(t testing.TB, p Place) { aLog(t, p) },
		"half a database": func(t testing.TB, p Place) {
			aLog(t, p)
			must(t, os.Truncate(s.database(t, p), 8192))
		},
		"a past that is not compacted": func(t testing.TB, p Place) {
			aLog(t, p)
			aDatabase(t, p, origin.Revision+bump, origin.Revision)
		},
		"a revision that was not raised": func(t testing.TB, p Place) {
			aLog(t, p)
			aDatabase(t, p, origin.Revision, origin.Revision)
		},
		"a revision of another snapshot": func(t testing.TB, p Place) {
			aLog(t, p)
			aDatabase(t, p, origin.Revision+bump+1, origin.Revision+bump+1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := aPlace(t)
			must(t, s.restore(p, origin))
			prepare(t, p)
			_, err := Activate(p, origin)
			wantReason(t, err, ReasonRestoreIncomplete)
			if _, err := os.Lstat(p.onDisk(p.target())); !os.IsNotExist(err) {
				t.Errorf("the data is in place: %v", err)
			}
		})
	}
}

func TestDataThatEtcdutlFinishedIsActivated(t *testing.T) {
	s := takeSpecimen(t)
	origin := originOf(s.manifest)
	for _, revision := range []int64{origin.Revision + bump, bump} { // compaction may have removed the newest entries
		p := aPlace(t)
		must(t, s.restore(p, origin))
		aLog(t, p)
		aDatabase(t, p, revision, revision)
		done, err := Activate(p, origin)
		must(t, err)
		if done.Revision != revision || done.AlreadyRestored {
			t.Errorf("got %+v", done)
		}
		if _, err := os.Lstat(p.onDisk(p.target() + "/member/snap/db")); err != nil {
			t.Error(err)
		}
	}
}

// aDatabase leaves a database as etcdutl raises it: one entry of that revision, and a compaction that is yet to be
// done.
func aDatabase(t testing.TB, p Place, revision, compacted int64) {
	t.Helper()
	name := p.onDisk(p.staged(filepath.Join(stagedData, "member", "snap", "db")))
	must(t, os.MkdirAll(filepath.Dir(name), 0o700))
	db, err := bolt.Open(name, 0o600, nil)
	must(t, err)
	key := func(main int64) []byte {
		return append(append(binary.BigEndian.AppendUint64(nil, uint64(main)), '_'), make([]byte, 8)...)
	}
	must(t, db.Update(func(tx *bolt.Tx) error {
		keys, err := tx.CreateBucket(bucketKey)
		must(t, err)
		meta, err := tx.CreateBucket(bucketMeta)
		must(t, err)
		must(t, keys.Put(key(revision), nil))
		return meta.Put(keyScheduledCompact, key(compacted))
	}))
	must(t, db.Close())
}

// database puts the specimen's own database where etcdutl leaves the restored one.
func (s specimen) database(t testing.TB, p Place) string {
	t.Helper()
	name := p.onDisk(p.staged(filepath.Join(stagedData, "member", "snap", "db")))
	must(t, os.MkdirAll(filepath.Dir(name), 0o700))
	must(t, os.WriteFile(name, s.archive[:len(s.archive)-trailerSize], 0o600))
	return name
}

func aLog(t testing.TB, p Place) {
	t.Helper()
	dir := p.onDisk(p.staged(filepath.Join(stagedData, "member", "wal")))
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "0000000000000000-0000000000000000.wal"), nil, 0o600))
}

func TestALinkOnTheVolumeLeadsNowhere(t *testing.T) {
	s := takeSpecimen(t)
	for _, name := range []string{"1a2b3c4d.restore", "1a2b3c4d"} {
		p, outside := aPlace(t), t.TempDir()
		must(t, os.WriteFile(filepath.Join(outside, "precious"), nil, 0o600))
		must(t, os.Symlink(outside, filepath.Join(p.Volume, name)))
		wantReason(t, s.restore(p, originOf(s.manifest)), ReasonVolumeFailed)
		if left := stored(t, outside); len(left) != 1 {
			t.Errorf("%s: outside there is now %v", name, left)
		}
	}
}

func TestNoNameBecomesAPathUnchecked(t *testing.T) {
	s := takeSpecimen(t)
	good, origin := aPlace(t), originOf(s.manifest)
	for name, change := range map[string]func(p *Place, o *Origin){
		"a member above":       func(p *Place, _ *Origin) { p.Member = ".." },
		"a member below":       func(p *Place, _ *Origin) { p.Member = "demo-0/x" },
		"no member":            func(p *Place, _ *Origin) { p.Member = "" },
		"an incarnation above": func(p *Place, _ *Origin) { p.Incarnation = ".." },
		"another's staging":    func(p *Place, _ *Origin) { p.Incarnation = "1a.restore" },
		"no volume":            func(p *Place, _ *Origin) { p.Volume = "" },
		"no key":               func(_ *Place, o *Origin) { o.Key = "" },
		"no hash":              func(_ *Place, o *Origin) { o.SHA256 = "" },
		"a hash in capitals":   func(_ *Place, o *Origin) { o.SHA256 = strings.ToUpper(o.SHA256) },
		"no size":              func(_ *Place, o *Origin) { o.SizeBytes = 0 },
		"a size of no archive": func(_ *Place, o *Origin) { o.SizeBytes++ },
		"no revision":          func(_ *Place, o *Origin) { o.Revision = 0 },
		"a bump backwards":     func(_ *Place, o *Origin) { o.BumpRevision = -1 },
		"a bump too far":       func(_ *Place, o *Origin) { o.BumpRevision = math.MaxInt64 },
	} {
		t.Run(name, func(t *testing.T) {
			p, o := good, origin
			change(&p, &o)
			if err := s.restore(p, o); err == nil {
				t.Error("it was restored")
			}
			if _, err := Activate(p, o); err == nil {
				t.Error("it was activated")
			}
			if left := stored(t, good.Volume); len(left) != 0 {
				t.Errorf("left on the volume: %v", left)
			}
		})
	}
	must(t, s.restore(good, origin))
}

func TestWhatAnEarlierRunHasLeftIsRemovedFirst(t *testing.T) {
	s, p := takeSpecimen(t), aPlace(t)
	s.database(t, p)
	aLog(t, p)
	must(t, os.WriteFile(p.onDisk(p.staged(stagedSnapshot)), []byte("half"), 0o600))
	must(t, os.WriteFile(p.onDisk(p.staged(stagedRecord)), []byte("{}"), 0o600))
	must(t, s.restore(p, originOf(s.manifest)))
	left := stored(t, p.Volume)
	if len(left) != 1 || filepath.Base(left[0]) != stagedSnapshot {
		t.Errorf("on the volume: %v", left)
	}
}

func FuzzAPlaceIsTwoDirectoriesBelowItsVolume(f *testing.F) {
	for _, names := range [][2]string{{"1a2b3c4d", "demo-0"}, {"..", "demo-0"}, {"1a2b3c4d", "a/../b"},
		{"1a.restore", "x"}, {"", ""}, {"1a", "-x"}, {"1a\n", "x"}} {
		f.Add(names[0], names[1])
	}
	f.Fuzz(func(t *testing.T, incarnation, member string) {
		p := Place{Volume: "/volume", Incarnation: incarnation, Member: member}
		if p.Check() != nil {
			return
		}
		for _, name := range []string{p.target(), p.staging()} {
			if !filepath.IsLocal(name) || filepath.Clean(name) != name || strings.Count(name, "/") != 1 ||
				strings.HasPrefix(member, "-") {
				t.Errorf("%q and %q give %q", incarnation, member, name)
			}
		}
		if p.target() == p.staging() {
			t.Errorf("%q is prepared where it belongs", p.target())
		}
	})
}
