package backup

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/test/azureserver"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// openAzure is the store at a server, or at a proxy before it, as the agent opens it: from files.
func openAzure(t testing.TB, s *azureserver.Server, endpoint string, stall time.Duration) *store.Bucket {
	t.Helper()
	config := store.Config{Azure: &store.Azure{Container: s.Container, Prefix: "some/prefix", Endpoint: endpoint}}
	options := store.Options{CredentialsDir: s.Credentials, Stall: stall}
	bucket, err := store.Open(context.Background(), config, options)
	must(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return bucket
}

func TestAnAzureThatFailsIsNamedAndHoldsNoBackup(t *testing.T) {
	s, stranger := azureserver.Start(t), s3server.NewStranger(t)
	sizes := map[string]*liar{"small": newLiar(t), "large": newLargeLiar(t)}
	uploads := []s3server.Operation{s3server.PutObject, s3server.UploadPart}
	for name, tc := range map[string]struct {
		fault s3server.Fault
		want  Reason
	}{
		"refuses the rights":   {s3server.Refuse(http.StatusForbidden, "AuthorizationFailure").On(uploads...), ReasonStoreDenied},
		"does not know us":     {s3server.Refuse(http.StatusForbidden, "AuthenticationFailed"), ReasonStoreDenied},
		"has no such bucket":   {s3server.Refuse(http.StatusNotFound, "ContainerNotFound").On(uploads...), ReasonStoreNotFound},
		"hangs":                {s3server.Hang().On(uploads...), ReasonStoreStalled},
		"hangs in the middle":  {s3server.StallUpload(1000).On(uploads...), ReasonStoreStalled},
		"never answers at all": {s3server.Hang(), ReasonStoreStalled},
		"throttles for ever":   {s3server.Refuse(http.StatusServiceUnavailable, "ServerBusy"), ReasonStoreThrottled},
		"sends elsewhere":      {s3server.Redirect(stranger.Endpoint).On(uploads...), ReasonStoreRedirected},
	} {
		for size, l := range sizes {
			t.Run(name+", "+size, func(t *testing.T) {
				t.Parallel()
				p, endpoint := s.Proxy(t)
				fault := p.Inject(tc.fault)
				stall := stallFor(tc.want)
				o := liarOptions(t, openAzure(t, s, endpoint, stall), l.serve(t, "m0")).ofAnotherCluster()
				o.Stall = stall
				_, err := Take(context.Background(), o)
				wantReason(t, err, tc.want)
				if fault.Count() == 0 {
					t.Error("the fault was not met")
				}
				left := objects(t, openAzure(t, s, s.Endpoint, patient), o.Identity)
				if slices.ContainsFunc(left, isManifest) {
					t.Errorf("the store has %v", left)
				}
			})
		}
	}
	t.Cleanup(func() {
		if got := stranger.Requests(); len(got) > 0 {
			t.Errorf("the other host was sent %v", got)
		}
	})
}
