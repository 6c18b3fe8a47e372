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
	layRestored(t, o.Scratch, l)
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
