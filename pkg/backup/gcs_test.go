package backup

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/test/gcsserver"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// openGCS is the store at a server, or at a proxy before it, as the agent opens it: from files.
func openGCS(t testing.TB, s *gcsserver.Server, endpoint string, stall time.Duration) *store.Bucket {
	t.Helper()
	bucket, err := store.Open(context.Background(), store.Config{GCS: &store.GCS{Bucket: s.Bucket, Prefix: "some/prefix", Endpoint: endpoint}},
		store.Options{CredentialsDir: s.Credentials, Stall: stall})
	must(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return bucket
}

func TestAGCSThatFailsIsNamedAndHoldsNoBackup(t *testing.T) {
	s := gcsserver.Start(t)
	sizes := map[string]*liar{"small": newLiar(t), "large": newLargeLiar(t)}
	begins := []s3server.Operation{s3server.PutObject, s3server.CreateMultipartUpload}
	uploads := append([]s3server.Operation{s3server.UploadPart}, begins...)
	for name, tc := range map[string]struct {
		fault s3server.Fault
		want  Reason
	}{
		"refuses the rights":   {s3server.Refuse(http.StatusForbidden, "AccessDenied").On(begins...), ReasonStoreDenied},
		"does not know us":     {s3server.Refuse(http.StatusUnauthorized, "Unauthorized"), ReasonStoreDenied},
		"has no such bucket":   {s3server.Refuse(http.StatusNotFound, "NoSuchBucket").On(begins...), ReasonStoreNotFound},
		"hangs":                {s3server.Hang().On(uploads...), ReasonStoreStalled},
		"hangs in the middle":  {s3server.StallUpload(1000).On(uploads...), ReasonStoreStalled},
		"never answers at all": {s3server.Hang(), ReasonStoreStalled},
		"throttles for ever":   {s3server.Throttle(), ReasonStoreThrottled},
		"throttles the bytes":  {s3server.Throttle().On(uploads...), ReasonStoreThrottled},
	} {
		for size, l := range sizes {
			if name == "throttles the bytes" && size == "small" {
				continue // its client sends that one request again for the two minutes that a commit may take
			}
			t.Run(name+", "+size, func(t *testing.T) {
				t.Parallel()
				p := s.Proxy(t)
				fault := p.Inject(tc.fault)
				stall := stallFor(tc.want)
				o := liarOptions(t, openGCS(t, s, p.Endpoint, stall), l.serve(t, "m0")).ofAnotherCluster()
				o.Stall = stall
				_, err := Take(context.Background(), o)
				wantReason(t, err, tc.want)
				if fault.Count() == 0 {
					t.Error("the fault was not met")
				}
				if left := objects(t, openGCS(t, s, s.Endpoint, patient), o.Identity); len(left) > 0 {
					t.Errorf("the store has %v", left)
				}
			})
		}
	}
}

func TestAGCSThatIsOutOfOrderForAMomentCostsNothing(t *testing.T) {
	s := gcsserver.Start(t)
	sizes := map[string]*liar{"small": newLiar(t), "large": newLargeLiar(t)}
	for name, fault := range map[string]s3server.Fault{
		"it throttles":            s3server.Throttle().Times(2),
		"it fails":                s3server.Refuse(http.StatusInternalServerError, "InternalError").Times(2),
		"it ends a connection":    s3server.CutUpload(1000).Times(1),
		"an answer is lost":       s3server.LoseAnswer().On(s3server.PutObject).Times(1),
		"a deleted one is missed": s3server.Refuse(http.StatusServiceUnavailable, "SlowDown").On(s3server.HeadObject).Times(1),
	} {
		for size, l := range sizes {
			t.Run(name+", "+size, func(t *testing.T) {
				t.Parallel()
				p := s.Proxy(t)
				p.Inject(fault)
				bucket := openGCS(t, s, p.Endpoint, patient)
				o := liarOptions(t, bucket, l.serve(t, "m0")).ofAnotherCluster()
				m, err := Take(context.Background(), o)
				must(t, err)
				if got, want := objects(t, bucket, o.Identity), keysOfAll(m); !slices.Equal(got, want) {
					t.Errorf("the store has %v, want %v", got, want)
				}
			})
		}
	}
}

func TestAGCSThatSendsABackupElsewhereIsLeft(t *testing.T) {
	s, stranger := gcsserver.Start(t), s3server.NewStranger(t)
	sizes := map[string]*liar{"small": newLiar(t), "large": newLargeLiar(t)}
	for _, operation := range []s3server.Operation{s3server.HeadObject, s3server.PutObject, s3server.CreateMultipartUpload} {
		for size, l := range sizes {
			if size == "small" && operation == s3server.CreateMultipartUpload || size == "large" && operation == s3server.PutObject {
				continue
			}
			p := s.Proxy(t)
			p.Inject(s3server.Redirect(stranger.Endpoint).On(operation))
			_, err := Take(context.Background(), liarOptions(t, openGCS(t, s, p.Endpoint, patient), l.serve(t, "m0")))
			wantReason(t, err, ReasonStoreRedirected)
		}
	}
	if got := stranger.Requests(); len(got) > 0 {
		t.Errorf("the other host was sent %v", got)
	}
}

func TestABucketOfGCSThatDoesNotExistIsSaidNotTo(t *testing.T) {
	s := gcsserver.Start(t)
	s.Bucket = "another"
	bucket := openGCS(t, s, s.Endpoint, patient)
	_, err := Take(context.Background(), liarOptions(t, bucket, newLiar(t).serve(t, "m0")))
	wantReason(t, err, ReasonStoreNotFound)
	_, err = Latest(context.Background(), bucket, demo)
	wantReason(t, err, ReasonStoreNotFound)
}

func TestAGCSThatGivesBackSomethingElseIsFoundOut(t *testing.T) {
	s, l := gcsserver.Start(t), newLiar(t)
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
			bucket := openGCS(t, s, p.Endpoint, patient)
			o, m := takeUnproven(t, bucket, l)
			fault := p.Inject(tc.fault.On(s3server.GetObject))
			_, err := Fetch(context.Background(),
				FetchOptions{Transfer: Transfer{Bucket: bucket, Stall: stallFor(tc.want)}, Scratch: o.Scratch})
			wantReason(t, err, tc.want)
			if fault.Count() == 0 {
				t.Error("the fault was not met")
			}
			_, err = Latest(context.Background(), openGCS(t, s, s.Endpoint, patient), m.whose())
			wantReason(t, err, ReasonNoBackup)
		})
	}
}
