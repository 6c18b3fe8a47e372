package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// specimen is a sound backup on a volume, to be damaged.
type specimen struct {
	bucket   *store.Bucket
	root     string
	scratch  string
	manifest Manifest
	text     []byte // of the manifest
	archive  []byte
}

func takeSpecimen(t testing.TB) specimen {
	t.Helper()
	l := newLiar(t)
	s := specimen{}
	s.bucket, s.root = volumeBucket(t)
	o := liarOptions(t, s.bucket, l.serve(t, "m0"))
	var err error
	s.manifest, err = Take(context.Background(), o)
	must(t, err)
	s.scratch = o.Scratch
	s.text, err = os.ReadFile(s.path(ManifestKey(s.manifest.Key)))
	must(t, err)
	s.archive, err = os.ReadFile(s.path(s.manifest.Key))
	must(t, err)
	return s
}

func (s specimen) path(key string) string { return filepath.Join(s.root, filepath.FromSlash(key)) }

func (s specimen) fetch() error {
	_, err := Fetch(context.Background(), FetchOptions{Transfer: Transfer{Bucket: s.bucket}, Scratch: s.scratch})
	return err
}

func flip(content []byte, bit int) []byte {
	flipped := append([]byte(nil), content...)
	flipped[bit/8] ^= 1 << (bit % 8)
	return flipped
}

// There are ten thousand and more together; those of archives are fewer, since each is read from a store, and the gate tries
// one of four.
const manifestMutations, archiveMutations = 7_500, 3_000

func TestNoMutationOfAManifestIsTaken(t *testing.T) {
	s := takeSpecimen(t)
	key := ManifestKey(s.manifest.Key)
	tried := 0
	refuse := func(what string, text []byte) {
		t.Helper()
		tried++
		if bytes.Equal(text, s.text) {
			t.Fatalf("%s is no mutation", what)
		}
		if _, err := ParseManifest(text, key); err == nil {
			t.Fatalf("%s was taken: %s", what, text)
		}
	}
	if _, err := ParseManifest(s.text, key); err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(s.text) {
		refuse(fmt.Sprintf("bit %d flipped", bit), flip(s.text, bit))
	}
	for n := range s.text {
		refuse(fmt.Sprintf("cut after %d", n), s.text[:n])
		refuse(fmt.Sprintf("a space at %d", n), []byte(string(s.text[:n])+" "+string(s.text[n:])))
		refuse(fmt.Sprintf("a digit at %d", n), []byte(string(s.text[:n])+"1"+string(s.text[n:])))
		refuse(fmt.Sprintf("byte %d lost", n), []byte(string(s.text[:n])+string(s.text[n+1:])))
	}
	for _, tail := range []string{"\n", " ", "{}", string(s.text), "\x00"} {
		refuse(fmt.Sprintf("%q behind it", tail), []byte(string(s.text)+tail))
	}
	for field, value := range fieldsOf(t, s.text) {
		refuse(field+" twice", []byte(strings.Replace(string(s.text), "{", fmt.Sprintf("{%q:%s,", field, value), 1)))
		refuse(field+" in capitals", []byte(strings.Replace(string(s.text), `"`+field+`"`, `"`+strings.ToUpper(field)+`"`, 1)))
		refuse(field+" null", []byte(strings.Replace(string(s.text), fmt.Sprintf("%q:%s", field, value), fmt.Sprintf("%q:null", field), 1)))
	}
	refuse("an unknown field", []byte(strings.Replace(string(s.text), "{", `{"extra":1,`, 1)))
	refuse("a flood", bytes.Repeat([]byte("["), maxManifest+1))
	if tried < manifestMutations {
		t.Errorf("only %d mutations were tried", tried)
	}
	t.Logf("%d mutations refused", tried)
}

func TestAManifestOfALaterReleaseIsRefusedAsOne(t *testing.T) {
	s := takeSpecimen(t)
	later := s.manifest
	later.FormatVersion++
	s.put(t, later.Key, later)
	_, err := ReadManifest(context.Background(), s.bucket, later.Key)
	wantReason(t, err, ReasonManifestInvalid)
	if !strings.Contains(err.Error(), "it has format 2, and this release reads 1") {
		t.Errorf("it says %q", err)
	}
}

func fieldsOf(t testing.TB, text []byte) map[string]json.RawMessage {
	t.Helper()
	var fields map[string]json.RawMessage
	must(t, json.Unmarshal(text, &fields))
	return fields
}

func TestNoMutationOfAnArchiveIsTaken(t *testing.T) {
	s := takeSpecimen(t)
	r := rand.New(rand.NewPCG(11, 4))
	path := s.path(s.manifest.Key)
	o := FetchOptions{Transfer: Transfer{Bucket: s.bucket}, Scratch: s.scratch}
	tried := 0
	refuse := func(what string, content []byte) {
		t.Helper()
		tried++
		must(t, os.WriteFile(path, content, 0o600))
		if err := Download(context.Background(), s.manifest, scratchFetched, o); ReasonOf(err) != ReasonObjectDamaged {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for range 2000 / needs.Stride(4) {
		bit := r.IntN(8 * len(s.archive))
		refuse(fmt.Sprintf("bit %d flipped", bit), flip(s.archive, bit))
	}
	for range 400 / needs.Stride(4) {
		n := r.IntN(len(s.archive))
		refuse(fmt.Sprintf("cut after %d", n), s.archive[:n])
		refuse(fmt.Sprintf("%d bytes behind it", n+1), append(append([]byte(nil), s.archive...), s.archive[:n+1]...))
		from, to, moved := move(r, s.archive)
		refuse(fmt.Sprintf("64 bytes of %d at %d", from, to), moved)
	}
	refuse("another sound archive", sealed(withAnotherValue(t, s.archive)))
	if tried < archiveMutations/needs.Stride(4) {
		t.Errorf("only %d mutations were tried", tried)
	}
	must(t, os.WriteFile(path, s.archive, 0o600))
	must(t, Download(context.Background(), s.manifest, scratchFetched, o))
	t.Logf("%d mutations refused", tried)
}

// move puts a piece of an archive where another was. Much of a database is empty pages, among which nothing would change.
func move(r *rand.Rand, archive []byte) (from, to int, moved []byte) {
	for {
		from, to = r.IntN(len(archive)-64), r.IntN(len(archive)-64)
		moved = append([]byte(nil), archive...)
		copy(moved[to:to+64], archive[from:from+64])
		if !bytes.Equal(moved, archive) {
			return from, to, moved
		}
	}
}

// etcd's own trailer alone finds every damage in transit.
func TestNoDamageGetsPastTheTrailer(t *testing.T) {
	content := newLiar(t).content
	r := rand.New(rand.NewPCG(12, 4))
	for i := range 1000 {
		damaged := flip(content, r.IntN(8*len(content)))
		if i%3 == 0 {
			damaged = content[:r.IntN(len(content))]
		}
		sum := newSeal()
		for len(damaged) > 0 {
			n := 1 + r.IntN(min(len(damaged), 1<<r.IntN(13)))
			_, _ = sum.Write(damaged[:n])
			damaged = damaged[n:]
		}
		if _, err := sum.verify(); err == nil {
			t.Fatal("damage was not seen")
		}
	}
}

// Whoever can write to the store can make a manifest with a digest of its own. What it says must still be so.
func TestASoundManifestThatLiesIsRefused(t *testing.T) {
	s := takeSpecimen(t)
	for name, lie := range map[string]func(m *Manifest){
		"the size":               func(m *Manifest) { m.SizeBytes += sectorSize },
		"the hash of the object": func(m *Manifest) { m.SHA256 = strings.Repeat("0", 64) },
		"the hash of the keys":   func(m *Manifest) { m.KeysHash.Hash++ },
		"the number of keys":     func(m *Manifest) { m.TotalKeys++ },
		"the revision":           func(m *Manifest) { m.Revision++; m.KeysHash.Revision++ },
		"the compaction":         func(m *Manifest) { m.CompactRevision-- },
		"the hash's compaction":  func(m *Manifest) { m.KeysHash.CompactRevision++ },
		"authentication":         func(m *Manifest) { m.AuthEnabled = !m.AuthEnabled },
		"the alarms":             func(m *Manifest) { m.Alarms = []string{"NOSPACE 1"} },
	} {
		t.Run(name, func(t *testing.T) {
			m := s.manifest
			lie(&m)
			m = m.sealed()
			text := m.Encode()
			scratch := t.TempDir()
			must(t, os.WriteFile(filepath.Join(scratch, scratchManifest), text, 0o600))
			o := FetchOptions{Transfer: Transfer{Bucket: s.bucket}, Scratch: scratch}
			if err := Download(context.Background(), m, scratchFetched, o); err != nil {
				wantReason(t, err, ReasonObjectDamaged)
				return
			}
			// The restored copy of a one-member cluster differs from the snapshot in what compare does not look at.
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(scratch, scratchRestored, databaseFile)), 0o700))
			must(t, os.Rename(filepath.Join(scratch, scratchFetched), filepath.Join(scratch, scratchRestored, databaseFile)))
			_, err := Compare(context.Background(), CompareOptions{Transfer: Transfer{Bucket: s.bucket}, Scratch: scratch})
			wantReason(t, err, ReasonRestoreDiffers)
		})
	}
}

func TestAManifestOfAnotherBackupIsRefused(t *testing.T) {
	s := takeSpecimen(t)
	another := strings.Replace(s.manifest.Key, "Z-", "Z-0", 1)
	must(t, os.MkdirAll(filepath.Dir(s.path(another)), 0o700))
	must(t, os.WriteFile(s.path(another), s.archive, 0o600))
	must(t, os.WriteFile(s.path(ManifestKey(another)), s.text, 0o600))
	_, err := ReadManifest(context.Background(), s.bucket, another)
	wantReason(t, err, ReasonManifestForeign)
	_, err = ReadManifest(context.Background(), s.bucket, s.manifest.Key)
	must(t, err)
}

func TestAnObjectSwappedBetweenWritingAndReadingBackIsRefused(t *testing.T) {
	first, second := takeSpecimen(t), takeSpecimen(t)
	must(t, first.fetch())
	must(t, os.WriteFile(first.path(first.manifest.Key), flip(second.archive, 8*4096), 0o600))
	wantReason(t, first.fetch(), ReasonObjectDamaged)
	must(t, os.Remove(first.path(first.manifest.Key)))
	wantReason(t, first.fetch(), ReasonStoreNotFound)
}
