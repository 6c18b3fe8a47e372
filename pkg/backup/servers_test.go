package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// What stands still on purpose is given up soon. All else on a busy machine may pause for seconds.
const (
	hasty   = 3 * time.Second
	patient = 30 * time.Second
)

// stallFor is how long bytes may stand still where a step is to fail for this reason: time runs out only for what
// waits.
func stallFor(want Reason) time.Duration {
	if slices.Contains([]Reason{ReasonStoreStalled, ReasonStoreThrottled, ReasonStreamStalled}, want) {
		return hasty
	}
	return patient
}

// openS3 is the store of whoever has this access, as the agent opens it: from files.
func openS3(t testing.TB, access s3server.Access) *store.Bucket {
	t.Helper()
	return openS3Until(t, access, patient)
}

func openS3Until(t testing.TB, access s3server.Access, stall time.Duration) *store.Bucket {
	t.Helper()
	options := store.Options{CredentialsDir: t.TempDir(), Stall: stall}
	must(t, os.WriteFile(filepath.Join(options.CredentialsDir, "access-key-id"), []byte(access.AccessKeyID), 0o600))
	must(t, os.WriteFile(filepath.Join(options.CredentialsDir, "secret-access-key"), []byte(access.SecretAccessKey), 0o600))
	if access.CA != nil {
		options.CAFile = filepath.Join(t.TempDir(), "ca.crt")
		must(t, os.WriteFile(options.CAFile, access.CA, 0o600))
	}
	bucket, err := store.Open(context.Background(), store.Config{S3: &store.S3{
		Bucket: access.Bucket, Prefix: "some/prefix", Endpoint: access.Endpoint, Region: access.Region, ForcePathStyle: true,
	}}, options)
	must(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return bucket
}

// newLargeLiar has a database of several parts.
func newLargeLiar(t testing.TB) *liar {
	t.Helper()
	return newLiarOf(t, func(l *library) {
		source := rand.NewChaCha8([32]byte{4})
		value := make([]byte, 64<<10)
		for n := range 200 {
			_, _ = source.Read(value)
			txn := l.store.Write(traceutil.TODO())
			txn.Put([]byte{'k', byte(n)}, value, lease.NoLease)
			txn.End()
		}
	})
}

func TestABackupToARealServerComesBack(t *testing.T) {
	everyServer(t, func(t *testing.T, s served) { comesBack(t, s.bucket) })
	s3server.Each(t, s3server.Options{TLS: true}, func(t *testing.T, s *s3server.Server) { comesBack(t, openS3(t, s.Access)) })
}

func comesBack(t *testing.T, bucket *store.Bucket) {
	for name, l := range map[string]*liar{"small": newLiar(t), "large": newLargeLiar(t)} {
		t.Run(name, func(t *testing.T) {
			o, m := takeUnproven(t, bucket, l)
			_, err := Fetch(context.Background(), FetchOptions{Transfer: Transfer{Bucket: bucket}, Scratch: o.Scratch})
			must(t, err)
			fetched, err := os.ReadFile(filepath.Join(o.Scratch, scratchFetched))
			must(t, err)
			if !bytes.Equal(fetched, l.content) || m.SizeBytes != int64(len(l.content)) {
				t.Error("what came back is not what was sent")
			}
			restoreRestored(t, o.Scratch, l)
			_, err = Compare(context.Background(), compareOptions(o))
			must(t, err)
			if got, want := objects(t, bucket, o.Identity), keysOfAll(m); !slices.Equal(got, want) {
				t.Errorf("the store has %v, want %v", got, want)
			}
		})
	}
}

func isManifest(key string) bool { return strings.HasSuffix(key, manifestObject) }

// Whatever fails while a backup is taken, there is no manifest.
func TestAStoreThatFailsIsNamedAndHoldsNoBackup(t *testing.T) {
	t.Parallel()
	s := s3server.Start(t, s3server.Versitygw, s3server.Options{})
	sizes := map[string]*liar{"small": newLiar(t), "large": newLargeLiar(t)}
	uploads := []s3server.Operation{s3server.PutObject, s3server.UploadPart}
	for name, tc := range map[string]struct {
		fault s3server.Fault
		want  Reason
	}{
		"refuses the rights":          {s3server.Refuse(http.StatusForbidden, "AccessDenied").On(uploads...), ReasonStoreDenied},
		"does not know the key":       {s3server.Refuse(http.StatusForbidden, "InvalidAccessKeyId"), ReasonStoreDenied},
		"has no such bucket":          {s3server.Refuse(http.StatusNotFound, "NoSuchBucket").On(append(uploads, s3server.CreateMultipartUpload)...), ReasonStoreNotFound},
		"hangs":                       {s3server.Hang().On(uploads...), ReasonStoreStalled},
		"hangs in the middle":         {s3server.StallUpload(1000).On(uploads...), ReasonStoreStalled},
		"never answers at all":        {s3server.Hang(), ReasonStoreStalled},
		"throttles for ever":          {s3server.Throttle(), ReasonStoreThrottled},
		"throttles the bytes":         {s3server.Throttle().On(uploads...), ReasonStoreThrottled},
		"says it stored, and did not": {s3server.Swallow().On(s3server.PutObject), ReasonObjectDamaged},
		"ends each connection":        {s3server.Outage().On(uploads...), ReasonStoreUnreachable},
	} {
		for size, l := range sizes {
			t.Run(name+", "+size, func(t *testing.T) {
				t.Parallel()
				p := s.Proxy(t)
				fault := p.Inject(tc.fault)
				stall := stallFor(tc.want)
				o := liarOptions(t, openS3Until(t, p.Access, stall), l.serve(t, "m0")).ofAnotherCluster()
				o.Stall = stall
				_, err := Take(context.Background(), o)
				wantReason(t, err, tc.want)
				if fault.Count() == 0 {
					t.Error("the fault was not met")
				}
				if left := objects(t, openS3(t, s.Access), o.Identity); slices.ContainsFunc(left, isManifest) {
					t.Errorf("the store has %v", left)
				}
			})
		}
	}
}

// clusters counts those that share a server, each with a directory of its own.
var clusters atomic.Uint32

func (o TakeOptions) ofAnotherCluster() TakeOptions {
	o.Identity.ClusterUID = fmt.Sprintf("u-%d", clusters.Add(1))
	return o
}

// objects are those of one cluster.
func objects(t testing.TB, bucket *store.Bucket, who Identity) []string {
	t.Helper()
	var keys []string
	below := bucket.Key(who.ClusterNamespace, who.ClusterName, who.ClusterUID)
	must(t, bucket.List(context.Background(), below, func(o store.Object) error {
		keys = append(keys, o.Key)
		return nil
	}))
	slices.Sort(keys)
	return keys
}

func TestAStoreThatIsOutOfOrderForAMomentCostsNothing(t *testing.T) {
	t.Parallel()
	s := s3server.Start(t, s3server.Versitygw, s3server.Options{})
	sizes := map[string]*liar{"small": newLiar(t), "large": newLargeLiar(t)}
	for name, fault := range map[string]s3server.Fault{
		"it throttles":              s3server.Throttle().Times(2),
		"it fails":                  s3server.Refuse(http.StatusInternalServerError, "InternalError").Times(2),
		"it ends a connection":      s3server.CutUpload(1000).Times(1),
		"an answer is lost":         s3server.LoseAnswer().On(s3server.PutObject, s3server.CompleteMultipartUpload).Times(1),
		"a part's answer is lost":   s3server.LoseAnswer().On(s3server.UploadPart, s3server.PutObject).Times(1),
		"an error comes with a 200": s3server.LateError().On(s3server.CompleteMultipartUpload).Times(1),
	} {
		for size, l := range sizes {
			t.Run(name+", "+size, func(t *testing.T) {
				t.Parallel()
				p := s.Proxy(t)
				injected := p.Inject(fault)
				bucket := openS3(t, p.Access)
				o := liarOptions(t, bucket, l.serve(t, "m0")).ofAnotherCluster()
				m, err := Take(context.Background(), o)
				must(t, err)
				if injected.Count() == 0 && (size == "large" || name != "an error comes with a 200") {
					t.Error("the fault was not met")
				}
				_, err = Fetch(context.Background(), FetchOptions{Transfer: Transfer{Bucket: bucket}, Scratch: o.Scratch})
				must(t, err)
				if got, want := objects(t, bucket, o.Identity), []string{ManifestKey(m.Key), m.Key}; !slices.Equal(got, want) {
					t.Errorf("the store has %v, want %v", got, want)
				}
			})
		}
	}
}

func TestAStoreThatSendsABackupElsewhereIsLeft(t *testing.T) {
	s, stranger := s3server.Start(t, s3server.Versitygw, s3server.Options{}), s3server.NewStranger(t)
	sizes := map[string]*liar{"small": newLiar(t), "large": newLargeLiar(t)}
	for _, operation := range []s3server.Operation{s3server.HeadObject, s3server.PutObject, s3server.UploadPart, s3server.CreateMultipartUpload} {
		for size, l := range sizes {
			if (size == "small") == (operation == s3server.UploadPart || operation == s3server.CreateMultipartUpload) {
				continue
			}
			p := s.Proxy(t)
			p.Inject(s3server.Redirect(stranger.Endpoint).On(operation))
			_, err := Take(context.Background(), liarOptions(t, openS3(t, p.Access), l.serve(t, "m0")))
			wantReason(t, err, ReasonStoreRedirected)
		}
	}
	if got := stranger.Requests(); len(got) > 0 {
		t.Errorf("the other host was sent %v", got)
	}
}

func TestAStoreThatGivesBackSomethingElseIsFoundOut(t *testing.T) {
	t.Parallel()
	s := s3server.Start(t, s3server.Versitygw, s3server.Options{})
	for name, tc := range map[string]struct {
		fault s3server.Fault
		want  Reason
	}{
		"another bit":      {s3server.FlipBit(8 * 5000), ReasonObjectDamaged},
		"nothing any more": {s3server.StallAnswer(5000), ReasonStoreStalled},
		"no such object":   {s3server.Refuse(http.StatusNotFound, "NoSuchKey"), ReasonStoreNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := s.Proxy(t)
			bucket := openS3(t, p.Access)
			o := liarOptions(t, bucket, newLiar(t).serve(t, "m0")).ofAnotherCluster()
			_, err := Take(context.Background(), o)
			must(t, err)
			fault := p.Inject(tc.fault.On(s3server.GetObject))
			_, err = Fetch(context.Background(),
				FetchOptions{Transfer: Transfer{Bucket: bucket, Stall: stallFor(tc.want)}, Scratch: o.Scratch})
			wantReason(t, err, tc.want)
			if fault.Count() == 0 {
				t.Error("the fault was not met")
			}
			if _, err := os.Stat(filepath.Join(o.Scratch, scratchFetched)); err == nil {
				t.Error("the damaged copy is still there")
			}
		})
	}
}

func TestWrongCredentialsAreSaidToBeWrong(t *testing.T) {
	s3server.Each(t, s3server.Options{}, func(t *testing.T, s *s3server.Server) {
		for name, spoil := range map[string]func(a *s3server.Access){
			"the key":    func(a *s3server.Access) { a.AccessKeyID = "somebody-else" },
			"the secret": func(a *s3server.Access) { a.SecretAccessKey = "something-else" },
		} {
			access := s.Access
			spoil(&access)
			_, err := Take(context.Background(), liarOptions(t, openS3(t, access), newLiar(t).serve(t, "m0")))
			if ReasonOf(err) != ReasonStoreDenied {
				t.Errorf("%s: %q, %v", name, ReasonOf(err), err)
			}
		}
		access := s.Access
		access.Bucket = "another"
		_, err := Take(context.Background(), liarOptions(t, openS3(t, access), newLiar(t).serve(t, "m0")))
		wantReason(t, err, ReasonStoreNotFound)
	})
}

// The name of the snapshot is that of a backup of ours: its manifest is looked for first, and S3 says there what is missing.
func TestABackupInABucketThatIsNotThereIsNotTakenForOneWithoutAManifest(t *testing.T) {
	t.Parallel()
	access := s3server.Start(t, s3server.Versitygw, s3server.Options{}).Access
	access.Bucket = "another"
	bucket := openS3(t, access)
	_, err := Preflight(context.Background(), PreflightOptions{Transfer: Transfer{Bucket: bucket}, Key: bucket.Key("legacy", snapshotObject), Version: etcd36})
	if wantReason(t, err, ReasonStoreNotFound); !errors.Is(err, store.ErrNoBucket) {
		t.Error(err)
	}
}

func TestAStoreThatLiesAboutChecksumsIsBelievedNothing(t *testing.T) {
	sizes := map[string]*liar{"small": newLiar(t), "large": newLargeLiar(t)}
	s3server.Each(t, s3server.Options{}, func(t *testing.T, s *s3server.Server) {
		for size, l := range sizes {
			p := s.Proxy(t)
			fault := p.Inject(s3server.WrongETag())
			bucket := openS3(t, p.Access)
			o := liarOptions(t, bucket, l.serve(t, "m0")).ofAnotherCluster()
			o.Verify = true
			m, err := Take(context.Background(), o)
			if err == nil { // what it calls the object is its own affair, as long as it gives it back
				_, err = Fetch(context.Background(), FetchOptions{Transfer: Transfer{Bucket: bucket}, Scratch: o.Scratch})
				must(t, err)
			} else if size == "small" || ReasonOf(err) != ReasonStoreFailed {
				t.Errorf("%s: %q, %v", size, ReasonOf(err), err)
			}
			if fault.Count() == 0 {
				t.Error("the fault was not met")
			}
			if left := objects(t, openS3(t, s.Access), o.Identity); slices.ContainsFunc(left, isManifest) {
				t.Errorf("%s, %s: the store has %v", size, m.Key, left)
			}
		}
	})
}
