package backup

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/azureserver"
	"github.com/etcdsteward/etcd-steward/test/gcsserver"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// served is a real server: its bucket, and a way to it through a proxy of one's own.
type served struct {
	bucket  *store.Bucket
	proxied proxied

	isGCS, isAzure bool
}

// proxied opens the bucket through a proxy, where a request may stand still for so long.
type proxied func(stall time.Duration) (*store.Bucket, *s3server.Proxy)

// everyServer runs a test on each program that there is.
func everyServer(t *testing.T, test func(t *testing.T, s served)) {
	for _, kind := range s3server.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := s3server.Start(t, kind, s3server.Options{})
			test(t, served{bucket: openS3(t, s.Access),
				proxied: func(stall time.Duration) (*store.Bucket, *s3server.Proxy) {
					p := s.Proxy(t)
					return openS3Until(t, p.Access, stall), p
				}})
		})
	}
	t.Run("azurite-blob", func(t *testing.T) {
		t.Parallel()
		s := azureserver.Start(t)
		test(t, served{isAzure: true, bucket: openAzure(t, s, s.Endpoint, patient),
			proxied: func(stall time.Duration) (*store.Bucket, *s3server.Proxy) {
				p, endpoint := s.Proxy(t)
				return openAzure(t, s, endpoint, stall), p
			}})
	})
	t.Run("fake-gcs-server", func(t *testing.T) {
		t.Parallel()
		s := gcsserver.Start(t)
		test(t, served{isGCS: true, bucket: openGCS(t, s, s.Endpoint, patient),
			proxied: func(stall time.Duration) (*store.Bucket, *s3server.Proxy) {
				p := s.Proxy(t)
				return openGCS(t, s, p.Endpoint, stall), p
			}})
	})
}

// taken is a backup that is complete.
func taken(t testing.TB, bucket *store.Bucket, l *liar) Manifest {
	t.Helper()
	m, err := Take(context.Background(), liarOptions(t, bucket, l.serve(t, "m0")))
	must(t, err)
	return m
}

var etcd36 = etcdutil.Version{Major: 3, Minor: 6, Patch: 16}

// looks are the ways in which a restore reads a store. None of them may leave anything on the volume where it fails.
var looks = map[string]func(from Transfer, m Manifest, p Place) error{
	"preflight": func(from Transfer, m Manifest, _ Place) error {
		_, err := Preflight(context.Background(), PreflightOptions{Transfer: Transfer{Bucket: from.Bucket}, Key: m.Key, Version: etcd36})
		return err
	},
	"newest": func(from Transfer, m Manifest, _ Place) error {
		_, err := Preflight(context.Background(),
			PreflightOptions{Transfer: Transfer{Bucket: from.Bucket}, LatestOf: m.whose(), Version: etcd36})
		return err
	},
	"lay": func(from Transfer, m Manifest, p Place) error {
		_, err := Restore(context.Background(), RestoreOptions{Transfer: from, Place: p, Origin: originOf(m)})
		return err
	},
}

func TestAStoreThatFailsIsNamedByARestoreAndNothingIsRestored(t *testing.T) {
	t.Parallel()
	everyServer(t, func(t *testing.T, s served) {
		m, stranger := taken(t, s.bucket, newLiar(t)), s3server.NewStranger(t)
		var waiting sync.WaitGroup // for clocks: it costs no more to try all at once
		for name, tc := range map[string]struct {
			fault s3server.Fault
			want  Reason
		}{
			"refuses the rights":   {s3server.Refuse(http.StatusForbidden, "AccessDenied"), ReasonStoreDenied},
			"has no such bucket":   {s3server.Refuse(http.StatusNotFound, "NoSuchBucket"), ReasonStoreNotFound},
			"throttles for ever":   {s3server.Throttle(), ReasonStoreThrottled},
			"never answers":        {s3server.Hang(), ReasonStoreStalled},
			"sends elsewhere":      {s3server.Redirect(stranger.Endpoint), ReasonStoreRedirected},
			"ends each connection": {s3server.Outage(), ReasonStoreUnreachable},
		} {
			for look, ask := range looks {
				stall := stallFor(tc.want)
				bucket, proxy := s.proxied(stall)
				fault, place := proxy.Inject(tc.fault), aPlace(t)
				waiting.Go(func() {
					err := ask(Transfer{Bucket: bucket, Stall: stall}, m, place)
					if ReasonOf(err) != tc.want || fault.Count() == 0 {
						t.Errorf("%s, %s: %q, want %q: %v (%s)", name, look, ReasonOf(err), tc.want, err, fault)
					}
					if left := stored(t, place.Volume); len(left) > 0 {
						t.Errorf("%s, %s: on the volume there is %v", name, look, left)
					}
				})
			}
		}
		waiting.Wait()
		if got := stranger.Requests(); len(got) > 0 {
			t.Errorf("the other host was sent %v", got)
		}
		for look, ask := range looks {
			if err := ask(Transfer{Bucket: s.bucket}, m, aPlace(t)); err != nil {
				t.Errorf("%s, when all is well: %v", look, err)
			}
		}
	})
}

func TestWhatAStoreGivesBackIsRestoredOnlyIfItIsWhatWasWritten(t *testing.T) {
	everyServer(t, func(t *testing.T, s served) {
		m := taken(t, s.bucket, newLiar(t))
		believed, undated := Reason(""), ReasonObjectDamaged
		if s.isGCS { // whose client compares what the server calls the checksum
			believed = ReasonObjectDamaged
		}
		if s.isAzure { // whose client does without nothing that an answer should have
			undated = ReasonStoreFailed
		}
		for name, tc := range map[string]struct {
			fault s3server.Fault
			want  Reason
		}{
			"another bit":           {s3server.FlipBit(8 * 5000), ReasonObjectDamaged},
			"nothing any more":      {s3server.StallAnswer(5000), ReasonStoreStalled},
			"a part at a time":      {s3server.CutAnswer(5000), ""},
			"no byte":               {s3server.CutAnswer(0), ReasonStoreUnreachable},
			"no such object":        {s3server.Refuse(http.StatusNotFound, "NoSuchKey"), ReasonStoreNotFound},
			"bytes without end":     {s3server.Endless(), undated},
			"bytes to unpack":       {s3server.Bomb(), undated},
			"another checksum":      {s3server.WrongChecksum(), believed},
			"another name of bytes": {s3server.WrongETag(), ""},
		} {
			stall := stallFor(tc.want)
			bucket, proxy := s.proxied(stall)
			fault, place := proxy.Inject(tc.fault.On(s3server.GetObject)), aPlace(t)
			err := looks["lay"](Transfer{Bucket: bucket, Stall: stall}, m, place)
			if got := reasonOrNone(err); got != tc.want || fault.Count() == 0 {
				t.Errorf("%s: %q, want %q: %v (%s)", name, got, tc.want, err, fault)
			}
			if left := stored(t, place.Volume); (len(left) > 0) != (err == nil) {
				t.Errorf("%s: on the volume there is %v", name, left)
			}
		}
	})
}

func reasonOrNone(err error) Reason {
	if err == nil {
		return ""
	}
	return ReasonOf(err)
}

// replace puts other bytes where an object is.
func replace(t testing.TB, bucket *store.Bucket, key string, content []byte) {
	t.Helper()
	must(t, bucket.Delete(context.Background(), key))
	must(t, bucket.WriteSmall(context.Background(), key, content))
}

// damages are what may become of an archive, or of a manifest: another one of its kind is put in its place.
func damages(r *rand.Rand, content, foreign, replayed []byte) map[string][]byte {
	_, _, swapped := move(r, content)
	all := map[string][]byte{
		"truncated": content[:r.IntN(len(content))], "extended": append(slices.Clone(content), content[:sectorSize]...),
		"swapped": swapped, "foreign": foreign, "replayed": replayed,
	}
	for n := range 30 {
		all[fmt.Sprintf("flipped %d", n)] = flip(content, r.IntN(8*len(content)))
	}
	return all
}

func TestNothingThatIsDamagedOnARealServerIsRestored(t *testing.T) {
	everyServer(t, func(t *testing.T, s served) {
		r := rand.New(rand.NewPCG(13, 4))
		older := taken(t, s.bucket, newLiarOf(t, func(l *library) { l.change(rand.New(rand.NewPCG(8, 8)), 80) }))
		l := newLiar(t)
		m := taken(t, s.bucket, l)
		old, err := s.bucket.ReadSmall(context.Background(), older.Key, 1<<30)
		must(t, err)
		tried := 0
		for name, content := range damages(r, l.content, sealed(withAnotherValue(t, l.content)), old) {
			tried++
			replace(t, s.bucket, m.Key, content)
			place := aPlace(t)
			if err := looks["lay"](Transfer{Bucket: s.bucket}, m, place); ReasonOf(err) != ReasonObjectDamaged ||
				len(stored(t, place.Volume)) > 0 {
				t.Errorf("an archive that is %s: %v", name, err)
			}
		}
		replace(t, s.bucket, m.Key, l.content)
		text := m.Encode()
		for name, content := range damages(r, text, textOf(t, m, func(m *Manifest) {
			m.ClusterName = "other"
		}), textOf(t, older, func(*Manifest) {})) {
			tried++
			replace(t, s.bucket, ManifestKey(m.Key), content)
			for _, look := range []string{"preflight", "newest"} {
				reason := ReasonOf(looks[look](Transfer{Bucket: s.bucket}, m, Place{}))
				if reason != ReasonManifestInvalid && reason != ReasonManifestForeign {
					t.Errorf("%s of a manifest that is %s: %q", look, name, reason)
				}
			}
		}
		replace(t, s.bucket, ManifestKey(m.Key), text)
		for look, ask := range looks {
			if err := ask(Transfer{Bucket: s.bucket}, m, aPlace(t)); err != nil {
				t.Errorf("%s, put back: %v", look, err)
			}
		}
		t.Logf("%d mutations refused", tried)
	})
}

// textOf is a sound manifest that says something else.
func textOf(t testing.TB, m Manifest, change func(m *Manifest)) []byte {
	t.Helper()
	change(&m)
	m = m.sealed()
	text := m.Encode()
	return text
}

func TestTwoClustersOfOneNameShareABucketAndAreNotTakenForEachOther(t *testing.T) {
	everyStore(t, func(t *testing.T, bucket *store.Bucket) {
		l, manifests := newLiar(t), map[string]Manifest{}
		for _, uid := range []string{"u-1", "u-2"} {
			o := liarOptions(t, bucket, l.serve(t, "m0"))
			o.Identity.ClusterUID = uid
			m, err := Take(context.Background(), o)
			must(t, err)
			manifests[uid] = m
		}
		_, err := Latest(context.Background(), bucket, demo)
		wantReason(t, err, ReasonAmbiguous)
		for uid, m := range manifests {
			if !strings.Contains(err.Error(), m.Key) || !strings.Contains(m.Key, "/"+uid+"/") {
				t.Errorf("%s is not among what can be chosen: %v", m.Key, err)
			}
			whose := demo
			whose.UID = uid
			found, err := Latest(context.Background(), bucket, whose)
			if err != nil || found.Key != m.Key {
				t.Errorf("the newest of %s is %s: %v", uid, found.Key, err)
			}
			must(t, looks["lay"](Transfer{Bucket: bucket}, m, aPlace(t)))
		}
		before := left(t, bucket)
		if got, err := prune(bucket, Policy{KeepLast: 1}, noon); err != nil || got.Removed > 0 ||
			!slices.Equal(left(t, bucket), before) {
			t.Errorf("%+v, %v: of %v there is %v", got, err, before, left(t, bucket))
		}
	})
}

func TestWrongCredentialsOfARestoreAreSaidToBeWrong(t *testing.T) {
	s3server.Each(t, s3server.Options{}, func(t *testing.T, s *s3server.Server) {
		m := taken(t, openS3(t, s.Access), newLiar(t))
		for name, tc := range map[string]struct {
			spoil func(a *s3server.Access)
			want  Reason
		}{
			"the key":    {func(a *s3server.Access) { a.AccessKeyID = "somebody-else" }, ReasonStoreDenied},
			"the secret": {func(a *s3server.Access) { a.SecretAccessKey = "something-else" }, ReasonStoreDenied},
			"the bucket": {func(a *s3server.Access) { a.Bucket = "another" }, ReasonStoreNotFound},
		} {
			access, place := s.Access, aPlace(t)
			tc.spoil(&access)
			for look, ask := range looks {
				if err := ask(Transfer{Bucket: openS3(t, access)}, m, place); ReasonOf(err) != tc.want ||
					strings.Contains(err.Error(), access.SecretAccessKey) {
					t.Errorf("%s, %s: %v", name, look, err)
				}
			}
			if left := stored(t, place.Volume); len(left) > 0 {
				t.Errorf("on the volume there is %v", left)
			}
		}
	})
}

// A server has a disk as well. What it says when that is full is its own affair, as long as no one calls what is left a
// backup. rclone answers 500 and closes the connection before it has read the part. The client is still writing: it
// reads that answer, or its write fails first, "connection reset by peer". Then it has no answer, and can only say that
// it does not reach the store.
func TestAServerWhoseDiskIsFullHoldsNoBackup(t *testing.T) {
	for _, kind := range s3server.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := s3server.Start(t, kind, s3server.Options{Dir: tinyDisk(t, "6m")})
			o := liarOptions(t, openS3(t, s.Access), newLargeLiar(t).serve(t, "m0"))
			_, err := Take(context.Background(), o)
			if !slices.Contains([]Reason{ReasonStoreFull, ReasonStoreFailed, ReasonStoreUnreachable}, ReasonOf(err)) {
				t.Errorf("%q: %v", ReasonOf(err), err)
			}
			if left := objects(t, openS3(t, s.Access), o.Identity); len(left) > 0 {
				t.Errorf("the store has %v", left)
			}
			m := taken(t, openS3(t, s.Access), newLiar(t)) // what fits is taken as before
			must(t, looks["preflight"](Transfer{Bucket: openS3(t, s.Access)}, m, Place{}))
		})
	}
}

// fillUp leaves not a block of a disk, and returns how to give them back.
func fillUp(t testing.TB, disk string) (free func()) {
	t.Helper()
	filler := path.Join(disk, "filler")
	file, err := os.Create(filler)
	must(t, err)
	defer file.Close()
	for _, block := range [][]byte{make([]byte, 1<<20), make([]byte, 4<<10)} {
		for err = nil; err == nil; {
			_, err = file.Write(block)
		}
	}
	return func() { must(t, os.Remove(filler)) }
}

func TestAVolumeThatFillsUpWhileABackupIsFetchedIsSaidToBeFullAndIsRestoredWhenThereIsRoom(t *testing.T) {
	s := s3server.Start(t, s3server.Versitygw, s3server.Options{})
	p := s.Proxy(t)
	l := newLargeLiar(t)
	m := taken(t, openS3(t, p.Access), l)
	place := aPlace(t)
	place.Volume = tinyDisk(t, fmt.Sprint(roomToRestore(m.SizeBytes)+1<<20))
	stalled, ended := p.Inject(s3server.StallAnswer(1<<20).On(s3server.GetObject)), make(chan error, 1)
	restore := func() error {
		_, err := Restore(context.Background(),
			RestoreOptions{Transfer: Transfer{Bucket: openS3(t, p.Access)}, Place: place, Origin: originOf(m)})
		return err
	}
	go func() { ended <- restore() }()
	<-stalled.Reached() // there was room when it began
	free := fillUp(t, place.Volume)
	stalled.Release()
	wantReason(t, <-ended, ReasonVolumeFull)
	err := restore()
	wantReason(t, err, ReasonVolumeFull)
	if !strings.Contains(err.Error(), "make room for") {
		t.Errorf("it does not say what to do: %v", err)
	}
	free()
	if left := stored(t, place.Volume); len(left) > 0 {
		t.Errorf("on the volume there is %v", left)
	}
	must(t, restore())
	if got, err := os.ReadFile(place.onDisk(place.staged(stagedSnapshot))); err != nil || !bytes.Equal(got, l.content) {
		t.Errorf("what was restored is not the snapshot: %v", err)
	}
}
