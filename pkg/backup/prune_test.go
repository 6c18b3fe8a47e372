package backup

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sys/unix"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/test/azureserver"
	"github.com/etcdsteward/etcd-steward/test/gcsserver"
	"github.com/etcdsteward/etcd-steward/test/needs"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

var pruned = Whose{Namespace: "team", Name: "demo", UID: "u-1"}

// restored is a backup in a store, of nothing, and complete so long before noon.
func restored(t testing.TB, bucket *store.Bucket, whose Whose, age time.Duration, revision int64) Manifest {
	t.Helper()
	m := manifestOf(t, bucket, whose, age, revision)
	must(t, bucket.WriteSmall(context.Background(), m.Key, make([]byte, m.SizeBytes)))
	text := m.Encode()
	must(t, bucket.WriteSmall(context.Background(), ManifestKey(m.Key), text))
	return m
}

func manifestOf(t testing.TB, bucket *store.Bucket, whose Whose, age time.Duration, revision int64) Manifest {
	t.Helper()
	at := noon.Add(-age)
	directory := fmt.Sprintf("%s-%08x", at.Format("20060102T150405Z"), revision)
	m := Manifest{
		FormatVersion:    formatVersion,
		Key:              bucket.Key(whose.Namespace, whose.Name, whose.UID, directory, snapshotObject),
		ClusterNamespace: whose.Namespace, ClusterName: whose.Name, ClusterUID: whose.UID, EtcdVersion: "3.6.16",
		Schedule: whose.Schedule,
		Revision: revision, SizeBytes: sectorSize + trailerSize, KeysHash: KeysHash{Revision: revision}, StartedAt: at,
		CompletedAt: at,
	}.sealed()
	return m
}

func prune(bucket *store.Bucket, policy Policy, now time.Time) (Pruned, error) {
	return Prune(context.Background(), PruneOptions{Transfer: Transfer{Bucket: bucket, Stall: 5 * time.Second},
		Whose: pruned, Policy: policy, Now: now})
}

// left is every key in a store.
func left(t testing.TB, bucket *store.Bucket) []string {
	t.Helper()
	var keys []string
	must(t, bucket.List(context.Background(), bucket.Key("team"), func(o store.Object) error {
		keys = append(keys, o.Key)
		return nil
	}))
	slices.Sort(keys)
	return keys
}

func keysOfAll(manifests ...Manifest) []string {
	var keys []string
	for _, m := range manifests {
		keys = append(keys, m.Key, ManifestKey(m.Key))
	}
	slices.Sort(keys)
	return keys
}

// everyStore runs a test on a volume and on each server.
func everyStore(t *testing.T, test func(t *testing.T, bucket *store.Bucket)) {
	t.Run("volume", func(t *testing.T) {
		bucket, _ := volumeBucket(t)
		test(t, bucket)
	})
	s3server.Each(t, s3server.Options{}, func(t *testing.T, s *s3server.Server) { test(t, openS3(t, s.Access)) })
	t.Run("fake-gcs-server", func(t *testing.T) {
		s := gcsserver.Start(t)
		test(t, openGCS(t, s, s.Endpoint, patient))
	})
	t.Run("azurite-blob", func(t *testing.T) {
		s := azureserver.Start(t)
		test(t, openAzure(t, s, s.Endpoint, patient))
	})
}

const day = 24 * time.Hour

func TestWhatThePolicyDoesNotKeepIsRemovedFromTheStoreAndNothingElse(t *testing.T) {
	everyStore(t, func(t *testing.T, bucket *store.Bucket) {
		var backups []Manifest
		for n := range 6 {
			backups = append(backups, restored(t, bucket, pruned, time.Duration(5-n)*day, int64(10*n+9)))
		}
		namesakes := []Manifest{
			restored(t, bucket, Whose{Namespace: "team", Name: "demo", UID: "u-2"}, 900*day, 1),
			restored(t, bucket, Whose{Namespace: "team", Name: "demo", UID: "u-10"}, 900*day, 2),
			restored(t, bucket, Whose{Namespace: "team", Name: "demo2", UID: "u-1"}, 900*day, 3),
		}
		others := []string{
			bucket.Key("team", "demo", "u-1", "notes.txt"),
			bucket.Key("team", "demo", "u-1", "20200101T000000Z-00000000", "notes.txt"),
			bucket.Key("team", "demo", "u-1", "kept-by-hand", snapshotObject),
		}
		for _, key := range others {
			must(t, bucket.WriteSmall(context.Background(), key, []byte("somebody's")))
		}
		for range 2 { // the second finds nothing more to do
			got, err := prune(bucket, Policy{KeepLast: 2, KeepDaily: 3}, noon)
			must(t, err)
			if got.Kept != 3 || got.Newest.Key != backups[5].Key || got.Oldest.Key != backups[3].Key ||
				got.Oldest.Revision != 39 ||
				!got.Newest.CompletedAt.Equal(noon) || !got.Newest.StartedAt.Equal(noon) || got.Leftovers != 0 ||
				len(got.NotRead) != 0 {
				t.Errorf("%+v", got)
			}
			want := slices.Sorted(slices.Values(slices.Concat(keysOfAll(backups[3:]...), keysOfAll(namesakes...),
				others)))
			if got := left(t, bucket); !slices.Equal(got, want) {
				t.Fatalf("the store has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	})
}

func TestWithoutARuleNothingIsRemovedAndWhatIsHeldStays(t *testing.T) {
	bucket, _ := volumeBucket(t)
	first, second, third := restored(t, bucket, pruned, 9*day, 1), restored(t, bucket, pruned, 8*day, 2),
		restored(t, bucket, pruned, 7*day, 3)
	got, err := prune(bucket, Policy{}, noon)
	if err != nil || got.Removed != 0 || got.Kept != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = Prune(context.Background(), PruneOptions{Transfer: Transfer{Bucket: bucket}, Whose: pruned,
		Policy: Policy{KeepLast: 1}, Now: noon, Held: []string{first.Key}})
	must(t, err)
	if want := keysOfAll(first, third); got.Removed != 1 || !slices.Equal(left(t, bucket), want) {
		t.Errorf("%+v: %s and not %s should have gone", got, second.Key, left(t, bucket))
	}
}

func TestAnAgentThatIsToldToStopRemovesNothingMoreAlsoOnAVolume(t *testing.T) {
	bucket, _ := volumeBucket(t)
	first := restored(t, bucket, pruned, 9*day, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := &pruning{PruneOptions: PruneOptions{Transfer: Transfer{Bucket: bucket}}}
	if err := p.remove(ctx, ManifestKey(first.Key), first.Key); !errors.Is(err, context.Canceled) ||
		!slices.Equal(left(t, bucket), keysOfAll(first)) {
		t.Errorf("%v: %v is left", err, left(t, bucket))
	}
}

func TestTheRulesOfAScheduleAreAboutItsOwnBackups(t *testing.T) {
	bucket, _ := volumeBucket(t)
	nightly, hourly := pruned, pruned
	nightly.Schedule, hourly.Schedule = "nightly", "hourly"
	kept := []Manifest{restored(t, bucket, pruned, 9*day, 1), restored(t, bucket, hourly, 8*day, 2),
		restored(t, bucket, pruned, 0, 9), restored(t, bucket, hourly, 0, 8)}
	restored(t, bucket, nightly, 7*day, 3)
	kept = append(kept, restored(t, bucket, nightly, 6*day, 4))
	got, err := Prune(context.Background(),
		PruneOptions{Transfer: Transfer{Bucket: bucket}, Whose: nightly, Policy: Policy{KeepLast: 1}, Now: noon})
	must(t, err)
	if got.Kept != 1 || got.Removed != 1 || got.Newest.Revision != 4 || len(got.NotRead) > 0 ||
		!slices.Equal(left(t, bucket), keysOfAll(kept...)) {
		t.Errorf("%+v, %v", got, left(t, bucket))
	}
	newest, err := Latest(context.Background(), bucket, nightly)
	if err != nil || newest.Revision != 4 {
		t.Errorf("the schedule's newest is %+v, %v", newest, err)
	}
	nightly.Schedule = "weekly"
	_, err = Latest(context.Background(), bucket, nightly)
	wantReason(t, err, ReasonNoBackup)
}

func TestWhoAsksIsToldWhichBackupsAreGone(t *testing.T) {
	everyStore(t, func(t *testing.T, bucket *store.Bucket) {
		removed, kept := restored(t, bucket, pruned, 2*day, 1), restored(t, bucket, pruned, day, 2)
		never, unproven := manifestOf(t, bucket, pruned, 3*day, 7), manifestOf(t, bucket, pruned, 4*day, 8)
		must(t, bucket.WriteSmall(context.Background(), unproven.Key, []byte("a snapshot")))
		other := restored(t, bucket, Whose{Namespace: "team", Name: "demo", UID: "u-1", Schedule: "other"}, day, 3)
		elsewhere := strings.Replace(never.Key, "/u-1/", "/u-2/", 1)
		o := PruneOptions{
			Transfer: Transfer{Bucket: bucket}, Whose: pruned, Policy: Policy{KeepLast: 1}, Now: noon,
			Held: []string{other.Key},
			Ask: []string{kept.Key, removed.Key, never.Key, unproven.Key, other.Key, elsewhere, "",
				"../../x/snapshot.db"},
		}
		o.Whose.Schedule = ""
		o.Held = append(o.Held, kept.Key)
		for range 2 {
			got, err := Prune(context.Background(), o)
			must(t, err)
			var want []string
			for _, m := range []Manifest{removed, never, unproven} {
				want = append(want, path.Base(path.Dir(m.Key)))
			}
			if !slices.Equal(got.Gone, want) {
				t.Errorf("gone are %v, want %v", got.Gone, want)
			}
		}
		o.Whose.UID, o.Ask = "u-9", append(o.Ask, strings.Replace(never.Key, "/u-1/", "/u-9/", 1))
		if got, err := Prune(context.Background(), o); err != nil || len(got.Gone) > 0 {
			t.Errorf("of a store without a backup: %+v, %v", got, err)
		}
	})
}

func TestOnlyOldObjectsOfNoBackupAreLeftovers(t *testing.T) {
	everyStore(t, func(t *testing.T, bucket *store.Bucket) {
		whole := restored(t, bucket, pruned, 0, 7)
		broken := manifestOf(t, bucket, pruned, day, 6)
		strays := []string{
			broken.Key, broken.Key + ".18a5e1f2b3c4d5e6.tmp", ManifestKey(broken.Key) + ".18a5e1f2b3c4d5e6.tmp",
			ManifestKey(whole.Key) + ".18a5e1f2b3c4d5e6.tmp",
		}
		for _, key := range strays {
			must(t, bucket.WriteSmall(context.Background(), key, []byte("half")))
		}
		young, err := prune(bucket, Policy{KeepLast: 5}, time.Now().Add(leftoverAge-time.Hour))
		if err != nil || young.Leftovers != 0 || len(left(t, bucket)) != 6 {
			t.Errorf("young: %+v, %v, %v", young, err, left(t, bucket))
		}
		old, err := prune(bucket, Policy{KeepLast: 5}, time.Now().Add(leftoverAge+time.Hour))
		if err != nil || old.Leftovers != len(strays) || old.Removed != 0 ||
			!slices.Equal(left(t, bucket), keysOfAll(whole)) {
			t.Errorf("old: %+v, %v, %v", old, err, left(t, bucket))
		}
	})
}

// A backup that was begun an hour ago writes to a store whose clock is a month behind.
func TestAStoreWhoseClockIsBehindCostsNoBackupThatIsUnderWay(t *testing.T) {
	bucket, root := volumeBucket(t)
	underWay := manifestOf(t, bucket, pruned, time.Until(noon)+time.Hour, 6)
	must(t, bucket.WriteSmall(context.Background(), underWay.Key, []byte("half")))
	behind := time.Now().Add(-30 * day)
	must(t, os.Chtimes(filepath.Join(root, filepath.FromSlash(underWay.Key)), behind, behind))
	got, err := prune(bucket, Policy{KeepLast: 5}, time.Now())
	if err != nil || got.Leftovers != 0 || len(left(t, bucket)) != 1 {
		t.Errorf("%+v, %v, %v", got, err, left(t, bucket))
	}
	if got, err = prune(bucket, Policy{KeepLast: 5}, time.Now().Add(leftoverAge)); err != nil || got.Leftovers != 1 {
		t.Errorf("once both say that it is old: %+v, %v", got, err)
	}
}

// A list that leaves an object out says nothing of it.
func TestABackupWhoseManifestAListLeavesOutStaysABackup(t *testing.T) {
	s3server.Each(t, s3server.Options{}, func(t *testing.T, s *s3server.Server) {
		direct, p := openS3(t, s.Access), s.Proxy(t)
		old, newest := restored(t, direct, pruned, 2*day, 1), restored(t, direct, pruned, day, 2)
		fault := p.Inject(s3server.OmitFromLists("-00000002/" + manifestObject))
		got, err := prune(openS3(t, p.Access), Policy{KeepLast: 2}, time.Now().Add(2*leftoverAge))
		must(t, err)
		if got.Kept != 2 || got.Leftovers != 0 || got.Newest.Key != newest.Key {
			t.Errorf("%+v", got)
		}
		if left := left(t, direct); !slices.Equal(left, keysOfAll(old, newest)) {
			t.Errorf("the store has %v", left)
		}
		p.Inject(s3server.Refuse(http.StatusInternalServerError, "InternalError").On(s3server.HeadObject))
		got, err = prune(openS3(t, p.Access), Policy{KeepLast: 1}, time.Now().Add(2*leftoverAge))
		if err == nil || got.Removed != 0 || len(left(t, direct)) != 4 || fault.Count() == 0 {
			t.Errorf("the store does not say whether it is there: %+v, %v after %d", got, err, fault.Count())
		}
	})
}

func TestTheStoreIsAskedForAManifestByItsNameBeforeItsSnapshotIsALeftover(t *testing.T) {
	bucket, _ := volumeBucket(t)
	backup, broken := restored(t, bucket, pruned, day, 1), manifestOf(t, bucket, pruned, day, 2)
	must(t, bucket.WriteSmall(context.Background(), broken.Key, []byte("half")))
	o := PruneOptions{Transfer: Transfer{Bucket: bucket}, Whose: pruned, Now: time.Now().Add(2 * leftoverAge)}
	o.setDefaults()
	ctx, pulse := o.start(context.Background(), time.Minute)
	defer pulse.stop()
	p := &pruning{PruneOptions: o, pulse: pulse}
	directories, err := p.list(ctx)
	must(t, err)
	for directory, objects := range directories { // as some list has them
		directories[directory] = slices.DeleteFunc(objects, func(o store.Object) bool { return isManifest(o.Key) })
	}
	must(t, p.askForManifests(ctx, directories))
	if got := p.leftovers(directories); !slices.Equal(got, []string{broken.Key}) {
		t.Errorf("of %s and %s the leftovers are %v", backup.Key, broken.Key, got)
	}
}

func TestASnapshotWithoutAManifestStaysWhileItIsRestored(t *testing.T) {
	bucket, _ := volumeBucket(t)
	whole, unfinished := restored(t, bucket, pruned, 0, 7), manifestOf(t, bucket, pruned, day, 6)
	must(t, bucket.WriteSmall(context.Background(), unfinished.Key, []byte("whole")))
	for _, row := range []struct {
		held []string
		left []string
	}{{[]string{unfinished.Key}, append(keysOfAll(whole), unfinished.Key)}, {nil, keysOfAll(whole)}} {
		_, err := Prune(context.Background(), PruneOptions{Transfer: Transfer{Bucket: bucket}, Whose: pruned,
			Policy: Policy{KeepLast: 1}, Held: row.held, Now: time.Now().Add(leftoverAge + time.Hour)})
		must(t, err)
		slices.Sort(row.left)
		if got := left(t, bucket); !slices.Equal(got, row.left) {
			t.Errorf("held %v: %v is left, want %v", row.held, got, row.left)
		}
	}
}

func TestUploadsThatWereNeverEndedAreForgottenWhenTheyAreOld(t *testing.T) {
	s := s3server.Start(t, s3server.Versitygw, s3server.Options{})
	bucket, client := openS3(t, s.Access), s.Client()
	whole := restored(t, bucket, pruned, 0, 7)
	begin := func(key string) {
		t.Helper()
		upload, err := client.CreateMultipartUpload(context.Background(),
			&s3.CreateMultipartUploadInput{Bucket: &s.Bucket, Key: &key})
		must(t, err)
		_, err = client.UploadPart(context.Background(), &s3.UploadPartInput{
			Bucket: &s.Bucket, Key: &key, UploadId: upload.UploadId, PartNumber: new(int32(1)),
			Body: strings.NewReader("a part"),
		})
		must(t, err)
	}
	others := []string{
		bucket.Key("team", "demo", "u-1", "somebodys"),
		bucket.Key("team", "demo", "u-2", "20260101T000000Z-00000001", snapshotObject), "elsewhere",
	}
	for _, key := range append([]string{manifestOf(t, bucket, pruned, day, 6).Key}, others...) {
		begin(key)
	}
	underWay := func() int {
		t.Helper()
		list, err := client.ListMultipartUploads(context.Background(), &s3.ListMultipartUploadsInput{Bucket: &s.Bucket})
		must(t, err)
		return len(list.Uploads)
	}
	young, err := prune(bucket, Policy{KeepLast: 5}, time.Now().Add(leftoverAge-time.Hour))
	if err != nil || young.Leftovers != 0 || underWay() != 1+len(others) {
		t.Errorf("young: %+v, %v, %d", young, err, underWay())
	}
	old, err := prune(bucket, Policy{KeepLast: 5}, time.Now().Add(leftoverAge+time.Hour))
	if err != nil || old.Leftovers != 1 || underWay() != len(others) ||
		!slices.Equal(left(t, bucket), keysOfAll(whole)) {
		t.Errorf("old: %+v, %v, %d", old, err, underWay())
	}
	p := s.Proxy(t)
	cannot := p.Inject(s3server.Refuse(http.StatusNotImplemented, "NotImplemented").On(s3server.Other))
	begin(manifestOf(t, bucket, pruned, day, 5).Key)
	if refused, err := prune(openS3(t, p.Access), Policy{KeepLast: 5},
		time.Now().Add(leftoverAge+time.Hour)); err != nil || refused.Kept != 1 || cannot.Count() == 0 {
		t.Errorf("a server that cannot list them: %+v, %v", refused, err)
	}
}

func TestAManifestThatCannotBeTrustedIsNamedAndNeitherRemovedNorCounted(t *testing.T) {
	bucket, root := volumeBucket(t)
	var backups []Manifest
	for n := range 6 {
		backups = append(backups, restored(t, bucket, pruned, time.Duration(100-n)*day, int64(n+1)))
	}
	onDisk := func(key string) string { return filepath.Join(root, filepath.FromSlash(key)) }
	newest := backups[5]
	must(t, os.WriteFile(onDisk(ManifestKey(newest.Key)), []byte("{}"), 0o600))
	must(t, os.Remove(onDisk(backups[4].Key)))
	must(t, os.WriteFile(onDisk(backups[3].Key), nil, 0o600))
	copied, err := os.ReadFile(onDisk(ManifestKey(backups[1].Key)))
	must(t, err)
	must(t, os.WriteFile(onDisk(ManifestKey(backups[2].Key)), copied, 0o600))
	foreign := manifestOf(t, bucket, pruned, 0, 99)
	foreign.ClusterUID = "u-2"
	foreign = foreign.sealed()
	text := foreign.Encode()
	must(t, bucket.WriteSmall(context.Background(), foreign.Key, make([]byte, foreign.SizeBytes)))
	must(t, bucket.WriteSmall(context.Background(), ManifestKey(foreign.Key), text))

	before := left(t, bucket)
	got, err := prune(bucket, Policy{KeepLast: 1}, noon)
	must(t, err)
	if got.Kept != 1 || got.Removed != 1 || got.Leftovers != 0 || got.Newest.Key != backups[1].Key {
		t.Errorf("%+v", got)
	}
	if gone := len(before) - len(left(t, bucket)); gone != 2 {
		t.Errorf("%d objects are gone", gone)
	}
	for _, doubtful := range []string{newest.Key, backups[4].Key, backups[3].Key, backups[2].Key, foreign.Key} {
		if !slices.ContainsFunc(got.NotRead, func(line string) bool {
			return strings.HasPrefix(line, ManifestKey(doubtful)+": ")
		}) {
			t.Errorf("%s is not named in %q", doubtful, got.NotRead)
		}
	}
}

func TestNothingIsRemovedByWhoCannotSeeAll(t *testing.T) {
	t.Parallel()
	s := s3server.Start(t, s3server.Versitygw, s3server.Options{})
	direct := openS3(t, s.Access)
	var backups []Manifest
	for n := range 5 {
		backups = append(backups, restored(t, direct, pruned, time.Duration(10-n)*day, int64(n+1)))
	}
	const never = "a manifest never comes, until it is told to stop"
	for name, tc := range map[string]struct {
		fault s3server.Fault
		want  Reason
	}{
		"the list is refused": {s3server.Refuse(http.StatusForbidden, "AccessDenied").On(s3server.ListObjects),
			ReasonStoreDenied},
		"the list never comes": {s3server.Hang().On(s3server.ListObjects), ReasonStoreStalled},
		"the list breaks off":  {s3server.CutAnswer(200).On(s3server.ListObjects), ""},
		"a manifest is refused": {s3server.Refuse(http.StatusForbidden,
			"AccessDenied").On(s3server.GetObject).After(2).Times(1), ReasonStoreDenied},
		"a manifest breaks off":        {s3server.CutAnswer(100).On(s3server.GetObject).After(2), ""},
		never:                          {s3server.StallAnswer(10).On(s3server.GetObject).After(1).Times(1), ""},
		"the store is out of reach":    {s3server.Outage(), ReasonStoreUnreachable},
		"the store sends us away":      {s3server.Redirect("http://127.0.0.1:1"), ReasonStoreRedirected},
		"the store throttles for ever": {s3server.Throttle(), ReasonStoreThrottled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := s.Proxy(t)
			fault := p.Inject(tc.fault)
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			if name == never {
				go func() { <-fault.Reached(); stop() }()
			}
			got, err := Prune(ctx, PruneOptions{Transfer: Transfer{Bucket: openS3Until(t, p.Access, stallFor(tc.want))},
				Whose: pruned, Policy: Policy{KeepLast: 1}, Now: noon})
			if err == nil || got.Removed != 0 || tc.want != "" && ReasonOf(err) != tc.want {
				t.Errorf("%q: %+v, %v", ReasonOf(err), got, err)
			}
			if fault.Count() == 0 {
				t.Error("the fault was not met")
			}
			if left := left(t, direct); !slices.Equal(left, keysOfAll(backups...)) {
				t.Fatalf("the store has %v", left)
			}
		})
	}
}

func TestADeletionThatFailsLeavesNoManifestWithoutSnapshotAndTheNextRunGoesOn(t *testing.T) {
	s := s3server.Start(t, s3server.Versitygw, s3server.Options{})
	direct := openS3(t, s.Access)
	var backups []Manifest
	for n := range 4 {
		backups = append(backups, restored(t, direct, pruned, time.Duration(10-n)*day, int64(n+1)))
	}
	p := s.Proxy(t)
	p.Inject(s3server.Refuse(http.StatusForbidden, "AccessDenied").On(s3server.DeleteObject).After(3))
	_, err := prune(openS3(t, p.Access), Policy{KeepLast: 1}, noon)
	wantReason(t, err, ReasonStoreDenied)
	for _, key := range left(t, direct) {
		if !isManifest(key) {
			continue
		}
		if _, err := direct.Stat(context.Background(), path.Dir(key)+"/"+snapshotObject); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	got, err := prune(direct, Policy{KeepLast: 1}, time.Now().Add(2*leftoverAge))
	must(t, err)
	if got.Kept != 1 || got.Removed != 1 || got.Leftovers != 1 ||
		!slices.Equal(left(t, direct), keysOfAll(backups[3])) {
		t.Errorf("%+v, %v", got, left(t, direct))
	}
}

func TestADirectoryOfAVolumeThatCannotBeReadIsNotTakenForEmpty(t *testing.T) {
	needs.FilePermissions(t, pruneBesideAClosedDirectory)
}

func pruneBesideAClosedDirectory(t *testing.T) {
	bucket, root := volumeBucket(t)
	restored(t, bucket, pruned, 2*day, 1)
	newest := restored(t, bucket, pruned, day, 2)
	directory := filepath.Join(root, filepath.FromSlash(path.Dir(newest.Key)))
	must(t, os.Chmod(directory, 0))
	t.Cleanup(func() { _ = os.Chmod(directory, 0o700) })
	_, err := prune(bucket, Policy{KeepLast: 1}, noon)
	wantReason(t, err, ReasonStoreDenied)
	_, err = Latest(context.Background(), bucket, pruned)
	wantReason(t, err, ReasonStoreDenied)
}

func TestNoMoreIsSaidToBeGoneThanFits(t *testing.T) {
	bucket, _ := volumeBucket(t)
	restored(t, bucket, pruned, 0, 1)
	o := PruneOptions{Transfer: Transfer{Bucket: bucket}, Whose: pruned, Now: noon}
	for n := range 500 {
		o.Ask = append(o.Ask, manifestOf(t, bucket, pruned, time.Duration(n)*time.Hour, int64(n+2)).Key)
	}
	got, err := Prune(context.Background(), o)
	must(t, err)
	text, err := json.Marshal(got)
	must(t, err)
	if len(got.Gone) < 50 || len(text) > maxPruned {
		t.Errorf("%d of them in %d bytes", len(got.Gone), len(text))
	}
}

func TestWhatIsSaidOfPruningFitsIntoATerminationMessage(t *testing.T) {
	long := strings.Repeat("p", 500) + "/" + strings.Repeat("q", 400)
	m := Manifest{Key: long + "/snapshot.db", Revision: 1 << 60, StartedAt: noon, CompletedAt: noon}
	var doubts []unsound
	for n := range 50 {
		doubts = append(doubts, unsound{key: fmt.Sprintf("%s/%d/snapshot.db", long, n),
			why: errors.New(strings.Repeat("damaged \x01 ", 100))})
	}
	p := Pruned{}
	bucket, _ := volumeBucket(t)
	(&pruning{PruneOptions: PruneOptions{Transfer: Transfer{Bucket: bucket}}, known: map[string]Manifest{m.Key: m}}).leave(&p, []Kept{keptOf(m), keptOf(m)})
	p = p.name(doubts)
	text, err := json.Marshal(p)
	must(t, err)
	if len(text) > 4096 || len(p.NotRead) == 0 || len(p.NotRead)+p.NotReadMore != 50 {
		t.Errorf("%d bytes, %d named, %d not", len(text), len(p.NotRead), p.NotReadMore)
	}
	if p = (Pruned{}).name(doubts[:2]); len(p.NotRead) != 2 || p.NotReadMore != 0 {
		t.Errorf("%+v", p)
	}
}

func TestTheManifestIsRemovedBeforeTheSnapshotItSpeaksOf(t *testing.T) {
	bucket, root := volumeBucket(t)
	obsolete := restored(t, bucket, pruned, 2*day, 1)
	restored(t, bucket, pruned, day, 2)
	deleted := deletions(t, filepath.Join(root, filepath.FromSlash(path.Dir(obsolete.Key))))
	got, err := prune(bucket, Policy{KeepLast: 1}, noon)
	must(t, err)
	if order := deleted(); got.Removed != 1 || !slices.Equal(order, []string{manifestObject, snapshotObject}) {
		t.Errorf("%+v; removed in the order %v", got, order)
	}
}

// deletions tells in which order files of a directory were deleted since.
func deletions(t *testing.T, directory string) (names func() []string) {
	t.Helper()
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	must(t, err)
	t.Cleanup(func() { _ = unix.Close(watch) })
	_, err = unix.InotifyAddWatch(watch, directory, unix.IN_DELETE)
	must(t, err)
	return func() []string {
		t.Helper()
		buffer := make([]byte, 64<<10)
		n, err := unix.Read(watch, buffer)
		must(t, err)
		var deleted []string
		for event := buffer[:n]; len(event) > 0; {
			length := binary.NativeEndian.Uint32(event[unix.SizeofInotifyEvent-4:])
			name, rest := event[unix.SizeofInotifyEvent:][:length], event[unix.SizeofInotifyEvent+length:]
			if length > 0 {
				deleted = append(deleted, unix.ByteSliceToString(name))
			}
			event = rest
		}
		return deleted
	}
}
