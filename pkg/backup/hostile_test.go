package backup

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// fetchedAndRestored is a backup whose next step is to be compared, as etcdutl leaves it.
func fetchedAndRestored(t testing.TB) (TakeOptions, Manifest) {
	t.Helper()
	l := newLiar(t)
	bucket, _ := volumeBucket(t)
	o, m := takeUnproven(t, bucket, l)
	_, err := Fetch(context.Background(), FetchOptions{Transfer: Transfer{Bucket: bucket}, Scratch: o.Scratch})
	must(t, err)
	restoreRestored(t, o.Scratch, l)
	return o, m
}

func TestWhatIsComparedIsAPlainFileOfTheRestoredDirectoryAndNoOther(t *testing.T) {
	elsewhere := func(t testing.TB, o TakeOptions) string {
		t.Helper()
		copied := filepath.Join(t.(interface{ TempDir() string }).TempDir(), "db")
		must(t, os.Rename(filepath.Join(o.Scratch, scratchRestored, databaseFile), copied))
		return copied
	}
	for name, tamper := range map[string]func(t testing.TB, o TakeOptions){
		"a link out of it": func(t testing.TB, o TakeOptions) {
			must(t, os.Symlink(elsewhere(t, o), filepath.Join(o.Scratch, scratchRestored, databaseFile)))
		},
		"a link to the snapshot that was fetched": func(t testing.TB, o TakeOptions) {
			elsewhere(t, o)
			must(t, os.Symlink("../../../"+scratchFetched, filepath.Join(o.Scratch, scratchRestored, databaseFile)))
		},
		"a link within it": func(t testing.TB, o TakeOptions) {
			database := filepath.Join(o.Scratch, scratchRestored, databaseFile)
			must(t, os.Rename(database, database+".real"))
			must(t, os.Symlink("db.real", database))
		},
		"a directory that is a link out of it": func(t testing.TB, o TakeOptions) {
			outside := filepath.Dir(elsewhere(t, o))
			snap := filepath.Dir(filepath.Join(o.Scratch, scratchRestored, databaseFile))
			must(t, os.Remove(snap))
			must(t, os.Symlink(outside, snap))
		},
		"a pipe": func(t testing.TB, o TakeOptions) {
			elsewhere(t, o)
			must(t, syscall.Mkfifo(filepath.Join(o.Scratch, scratchRestored, databaseFile), 0o600))
		},
		"a directory": func(t testing.TB, o TakeOptions) {
			elsewhere(t, o)
			must(t, os.Mkdir(filepath.Join(o.Scratch, scratchRestored, databaseFile), 0o700))
		},
		"nothing": func(t testing.TB, o TakeOptions) { elsewhere(t, o) },
	} {
		t.Run(name, func(t *testing.T) {
			o, m := fetchedAndRestored(t)
			tamper(t, o)
			_, err := Compare(context.Background(), compareOptions(o))
			wantReason(t, err, ReasonRestoreDiffers)
			_, err = Latest(context.Background(), o.Bucket, m.whose())
			wantReason(t, err, ReasonNoBackup)
		})
	}
}

// The members' image runs between the steps of the agent, on the volume that they restore.
func TestWhatLiesOnAVolumeInsteadOfAPlainFileIsNeitherFollowedNorWaitedFor(t *testing.T) {
	s := takeSpecimen(t)
	origin := originOf(s.manifest)
	staged := func(t testing.TB, p Place) string {
		t.Helper()
		must(t, s.restore(p, origin))
		aLog(t, p)
		aDatabase(t, p, origin.Revision+bump, origin.Revision+bump)
		return p.onDisk(p.staged(filepath.Join(stagedData, databaseFile)))
	}
	for name, tc := range map[string]struct {
		prepare func(t testing.TB, p Place)
		want    Reason
	}{
		"a pipe as the database": {func(t testing.TB, p Place) {
			database := staged(t, p)
			must(t, os.Remove(database))
			must(t, syscall.Mkfifo(database, 0o600))
		}, ReasonRestoreIncomplete},
		"a link as the database": {func(t testing.TB, p Place) {
			database, outside := staged(t, p), filepath.Join(t.(interface{ TempDir() string }).TempDir(), "db")
			must(t, os.Rename(database, outside))
			must(t, os.Symlink(outside, database))
		}, ReasonRestoreIncomplete},
		"a link as the record": {func(t testing.TB, p Place) {
			must(t, os.MkdirAll(p.onDisk(p.target()), 0o700))
			must(t, os.MkdirAll(p.onDisk(p.staging()), 0o700))
			info, err := os.Lstat(p.onDisk(p.target()))
			must(t, err)
			text := p.recordOf(origin, inode(info))
			must(t, os.WriteFile(p.onDisk("record"), text, 0o600))
			must(t, os.Symlink("../../record", p.onDisk(p.staged(stagedRecord))))
		}, ReasonVolumeFailed},
		"a pipe as the record": {func(t testing.TB, p Place) {
			must(t, os.MkdirAll(p.onDisk(p.target()), 0o700))
			must(t, os.MkdirAll(p.onDisk(p.staging()), 0o700))
			must(t, syscall.Mkfifo(p.onDisk(p.staged(stagedRecord)), 0o600))
		}, ReasonVolumeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			p := aPlace(t)
			tc.prepare(t, p)
			_, err := Activate(p, origin)
			wantReason(t, err, tc.want)
		})
	}
	p := aPlace(t)
	must(t, os.MkdirAll(p.onDisk(p.staging()), 0o700))
	must(t, syscall.Mkfifo(p.onDisk(p.staged(stagedSurvivor)), 0o600))
	_, err := ActivateSurvivor(p, "demo-1")
	wantReason(t, err, ReasonVolumeFailed)
}
