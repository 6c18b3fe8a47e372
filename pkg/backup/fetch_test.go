package backup

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// cutting ends the connection after so many bytes of an answer.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	if c.left < len(p) {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

// A cable that is pulled says nothing of the object at its other end.
func TestAConnectionThatEndsIsFollowedByAnotherAndIsNoDamage(t *testing.T) {
	t.Parallel()
	s := takeSpecimen(t)
	for name, row := range map[string]struct {
		cutAfter int  // bytes of each answer
		noRanges bool // all is sent again, wherever it was asked from
		damaged  bool
		want     Reason
	}{
		"again and again":               {cutAfter: len(s.archive) / 7},
		"before a byte came":            {cutAfter: 0, want: ReasonStoreUnreachable},
		"after each byte":               {cutAfter: 1, want: ReasonStoreUnreachable},
		"and the server has no ranges":  {cutAfter: len(s.archive) / 2, noRanges: true, want: ReasonStoreFailed},
		"and it is another object":      {cutAfter: len(s.archive) / 2, damaged: true, want: ReasonObjectDamaged},
		"never, and it is another size": {cutAfter: 1 << 30, damaged: true, want: ReasonObjectDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, requests := s.archive, atomic.Int32{}
			if row.damaged {
				content = flip(s.archive, 8*len(s.archive)-1)
			}
			if row.cutAfter > len(s.archive) {
				content = s.archive[sectorSize:]
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				if row.noRanges {
					r.Header.Del("Range")
				}
				http.ServeContent(&cutting{w, row.cutAfter}, r, path.Base(r.URL.Path), time.Time{},
					bytes.NewReader(content))
			}))
			t.Cleanup(server.Close)
			bucket := openS3(t, s3server.Access{Endpoint: server.URL, Bucket: "backups", Region: "us-east-1",
				AccessKeyID: "id", SecretAccessKey: "secret"})
			m, scratch := s.manifest, t.TempDir()
			m.Key = bucket.Key(strings.TrimPrefix(m.Key, s.bucket.Prefix()+"/"))
			o := FetchOptions{Transfer: Transfer{Bucket: bucket, Stall: patient}, Scratch: scratch}
			err := Download(context.Background(), m, scratchFetched, o)
			if got := reasonOrNone(err); got != row.want {
				t.Errorf("%q, want %q: %v", got, row.want, err)
			}
			if n := requests.Load(); n > maxCuts+1 {
				t.Errorf("it was asked %d times", n)
			}
			got, readErr := os.ReadFile(filepath.Join(scratch, scratchFetched))
			if err == nil && !bytes.Equal(got, s.archive) || err != nil && readErr == nil {
				t.Errorf("there are %d bytes, %v", len(got), readErr)
			}
		})
	}
}
