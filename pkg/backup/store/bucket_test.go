package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantIs(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %q", err, want)
	}
}

// secret is looked for in everything that is shown.
const secret = "canary-secret-4f9a"

// credentials is a mounted Secret with the files of every kind of store.
func credentials(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{fileAccessKeyID: "an-access-key", fileSecretAccessKey: secret} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(value+"\n"), 0o600))
	}
	return dir
}

func open(t testing.TB, config Config, options Options) *Bucket {
	t.Helper()
	bucket, err := Open(context.Background(), config, options)
	must(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return bucket
}

// kinds are the stores that every promise is kept by.
func kinds(t *testing.T, promise func(t *testing.T, bucket *Bucket)) {
	t.Run("volume", func(t *testing.T) {
		t.Parallel()
		promise(t, open(t, Config{Volume: &Volume{Path: "some/prefix"}}, Options{VolumeRoot: t.TempDir()}))
	})
	t.Run("S3", func(t *testing.T) {
		t.Parallel()
		promise(t, open(t, startFakeS3(t).config(), Options{CredentialsDir: credentials(t)}))
	})
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			config, options := start(t)
			promise(t, open(t, config, options))
		})
	}
}

func write(t testing.TB, bucket *Bucket, key string, content []byte) error {
	t.Helper()
	w, err := bucket.Create(context.Background(), key)
	if err != nil {
		return err
	}
	defer w.Abort()
	for piece := range slices.Chunk(content, 32<<10) {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return w.Commit()
}

func read(t testing.TB, bucket *Bucket, key string) []byte {
	t.Helper()
	reader, size, err := bucket.Open(context.Background(), key)
	must(t, err)
	defer reader.Close()
	content, err := io.ReadAll(reader)
	must(t, err)
	if int64(len(content)) != size {
		t.Errorf("%s has %d bytes, and the store says %d", key, len(content), size)
	}
	return content
}

func readAt(t testing.TB, bucket *Bucket, key string, offset int64) (content []byte, size int64) {
	t.Helper()
	reader, size, err := bucket.OpenAt(context.Background(), key, offset)
	must(t, err)
	defer reader.Close()
	content, err = io.ReadAll(reader)
	must(t, err)
	return content, size
}

func random(n int) []byte {
	source := rand.NewChaCha8([32]byte{1})
	content := make([]byte, n)
	_, _ = source.Read(content)
	return content
}

func list(t testing.TB, bucket *Bucket, below string) []string {
	t.Helper()
	var keys []string
	must(t, bucket.List(context.Background(), below, func(o Object) error {
		keys = append(keys, o.Key)
		return nil
	}))
	slices.Sort(keys)
	return keys
}

func TestWhatIsWrittenComesBack(t *testing.T) {
	kinds(t, func(t *testing.T, bucket *Bucket) {
		for name, size := range map[string]int{"none": 0, "some": 1000, "one-part": partSize, "many-parts": 6*partSize + 12345} {
			key, content := bucket.Key("cluster", name), random(size)
			must(t, write(t, bucket, key, content))
			if !bytes.Equal(read(t, bucket, key), content) {
				t.Errorf("%s came back as something else", key)
			}
			if at := size / 3; at > 0 {
				if rest, whole := readAt(t, bucket, key, int64(at)); !bytes.Equal(rest, content[at:]) || whole != int64(size) {
					t.Errorf("%s from byte %d on is something else, of %d bytes", key, at, whole)
				}
			}
			object, err := bucket.Stat(context.Background(), key)
			if err != nil || object.Size != int64(size) {
				t.Errorf("%s: %+v, %v", key, object, err)
			}
		}
		want := []string{bucket.Key("cluster", "many-parts"), bucket.Key("cluster", "none"), bucket.Key("cluster", "one-part"), bucket.Key("cluster", "some")}
		if got := list(t, bucket, bucket.Key("cluster")); !slices.Equal(got, want) {
			t.Errorf("listed %v, want %v", got, want)
		}
		for _, key := range want {
			must(t, bucket.Delete(context.Background(), key))
			must(t, bucket.Delete(context.Background(), key))
		}
		if got := list(t, bucket, bucket.Key("cluster")); len(got) > 0 {
			t.Errorf("after deleting: %v", got)
		}
	})
}

func TestNothingIsOverwritten(t *testing.T) {
	kinds(t, func(t *testing.T, bucket *Bucket) {
		for name, size := range map[string]int{"small": 100, "large": 2*partSize + 1} {
			key := bucket.Key(name)
			// Two begin when there is none; the second to end must not win.
			first, err := bucket.Create(context.Background(), key)
			must(t, err)
			defer first.Abort()
			must(t, write(t, bucket, key, random(size)))
			_, err = first.Write(make([]byte, size))
			if err == nil {
				err = first.Commit()
			}
			wantIs(t, err, ErrExists)
			if !bytes.Equal(read(t, bucket, key), random(size)) {
				t.Errorf("%s was overwritten", key)
			}
			wantIs(t, write(t, bucket, key, []byte("another")), ErrExists)
		}
	})
}

func TestAnUploadGivenUpLeavesNothing(t *testing.T) {
	kinds(t, func(t *testing.T, bucket *Bucket) {
		for name, size := range map[string]int{"nothing": 0, "little": 100, "much": 3*partSize + 1} {
			ctx, cancel := context.WithCancel(context.Background())
			w, err := bucket.Create(ctx, bucket.Key(name))
			must(t, err)
			_, err = w.Write(random(size))
			must(t, err)
			if name == "much" {
				cancel()
				if err := w.Commit(); err == nil {
					t.Error("a cancelled upload was committed")
				}
			}
			w.Abort()
			cancel()
			_, err = bucket.Stat(context.Background(), bucket.Key(name))
			wantIs(t, err, ErrNotFound)
		}
		if got := list(t, bucket, bucket.Key("")); len(got) > 0 {
			t.Errorf("the store has %v", got)
		}
	})
}

func TestNoKeyLeavesThePrefix(t *testing.T) {
	kinds(t, func(t *testing.T, bucket *Bucket) {
		for _, key := range []string{
			"", "some", "some/prefix", "some/prefix/", "some/prefixed/x", "other/x", "/some/prefix/x", "some/prefix/../x",
			"some/prefix/a/../../x", "some/prefix//x", "some/prefix/./x", "some/prefix/x\x00", "some/prefix/a b", "some/prefix/%2e%2e/x",
			"some/prefix/" + strings.Repeat("x", 1024), `some/prefix/..\x`,
		} {
			_, err := bucket.Create(context.Background(), key)
			wantIs(t, err, ErrOutside)
			_, _, err = bucket.Open(context.Background(), key)
			wantIs(t, err, ErrOutside)
			_, err = bucket.Stat(context.Background(), key)
			wantIs(t, err, ErrOutside)
			wantIs(t, bucket.Delete(context.Background(), key), ErrOutside)
		}
	})
}

func TestWhatIsNotThereIsSaidToBeMissing(t *testing.T) {
	kinds(t, func(t *testing.T, bucket *Bucket) {
		_, _, err := bucket.Open(context.Background(), bucket.Key("absent"))
		wantIs(t, err, ErrNotFound)
		_, err = bucket.ReadSmall(context.Background(), bucket.Key("absent"), 10)
		wantIs(t, err, ErrNotFound)
		must(t, bucket.WriteSmall(context.Background(), bucket.Key("present"), []byte("0123456789")))
		if content, err := bucket.ReadSmall(context.Background(), bucket.Key("present"), 10); err != nil || string(content) != "0123456789" {
			t.Errorf("%q, %v", content, err)
		}
		_, err = bucket.ReadSmall(context.Background(), bucket.Key("present"), 9)
		wantIs(t, err, ErrTooLarge)
	})
}

func TestAVolumeHasThePlainFilesAndNothingElse(t *testing.T) {
	root := t.TempDir()
	bucket := open(t, Config{Volume: &Volume{Path: "/some/prefix/"}}, Options{VolumeRoot: root})
	must(t, write(t, bucket, bucket.Key("a", "snapshot.db"), random(1000)))
	w, err := bucket.Create(context.Background(), bucket.Key("a", "other.db"))
	must(t, err)
	_, err = w.Write(random(1000))
	must(t, err)
	w.Abort()
	entries, err := os.ReadDir(filepath.Join(root, "some", "prefix", "a"))
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != "snapshot.db" {
		t.Errorf("the volume has %v", entries)
	}
}

func TestAPrefixWhosePartsEndInDotsIsAsGoodAsAnyOther(t *testing.T) {
	bucket := open(t, Config{Volume: &Volume{Path: "some../prefix"}}, Options{VolumeRoot: t.TempDir()})
	must(t, write(t, bucket, bucket.Key("a", "snapshot.db"), random(1000)))
	content, err := bucket.ReadSmall(context.Background(), bucket.Key("a", "snapshot.db"), 1000)
	if err != nil || len(content) != 1000 {
		t.Errorf("%d bytes came back: %v", len(content), err)
	}
}

func TestAFileThatAnotherToolNamedIsReadWithThatName(t *testing.T) {
	kinds(t, func(t *testing.T, bucket *Bucket) {
		for _, name := range []string{
			"legacy/etcd-snapshot-2026-01-01_12:00:00_CET.db", "2026-01-01T12:00:00+01:00/node=a,b@c~1.db",
			strings.Repeat("long/", 150) + "demo.db",
		} {
			key := bucket.Key(name)
			must(t, write(t, bucket, key, []byte(name)))
			if got := read(t, bucket, key); string(got) != name {
				t.Errorf("%s: got %q", key, got)
			}
		}
	})
}
