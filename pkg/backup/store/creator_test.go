package store

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// knowingNoConditions is a server that answers If-None-Match as Alibaba's OSS does; meanwhile may happen before it answers.
func knowingNoConditions(t *testing.T, meanwhile func(f *fakeS3, key string)) (*fakeS3, *Bucket) {
	t.Helper()
	f := startFakeS3(t)
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("If-None-Match") == "" {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if meanwhile != nil {
			meanwhile(f, strings.TrimPrefix(r.URL.Path, "/"+fakeBucket+"/"))
		}
		refuse(w, http.StatusNotImplemented, "NotImplemented")
		return true
	}
	return f, open(t, f.config(), Options{CredentialsDir: credentials(t)})
}

func TestAStoreThatKnowsNoConditionsIsWrittenToAfterALookAndThatIsTold(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"in one request": 100, "in parts": 2*partSize + 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused := 0
			f, bucket := knowingNoConditions(t, func(*fakeS3, string) { refused++ })
			content := random(size)
			must(t, write(t, bucket, bucket.Key("x"), content))
			if got := read(t, bucket, bucket.Key("x")); !bytes.Equal(got, content) {
				t.Errorf("it has other %d bytes than the %d that were written", len(got), size)
			}
			if refused != 1 || !bucket.IsUnconditional() {
				t.Errorf("%d requests had a condition, and it is told: %t", refused, bucket.IsUnconditional())
			}
			sent := size/partSize + 1 // and no part of it twice
			if parts := len(f.headers); size > partSize && parts != sent+1 {
				t.Errorf("%d requests carried data, and %d parts were to be sent and ended", parts, sent)
			}
			wantIs(t, write(t, bucket, bucket.Key("x"), []byte("another")), ErrExists)
		})
	}
}

func TestWhatAnotherWroteMeanwhileIsNotOverwrittenInAStoreThatKnowsNoConditions(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"in one request": 100, "in parts": 2*partSize + 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, bucket := knowingNoConditions(t, func(f *fakeS3, key string) {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.objects[key] = []byte("another's")
			})
			wantIs(t, write(t, bucket, bucket.Key("x"), random(size)), ErrExists)
			if got := read(t, bucket, bucket.Key("x")); string(got) != "another's" || bucket.IsUnconditional() {
				t.Errorf("there are %d bytes, and it is told that none was looked at: %t", len(got), bucket.IsUnconditional())
			}
			if _, uploads := f.left(); uploads != 0 {
				t.Errorf("%d uploads are left", uploads)
			}
		})
	}
}

func TestAStoreThatKnowsConditionsIsToldFromOneThatCannotWrite(t *testing.T) {
	t.Parallel()
	bucket := open(t, startFakeS3(t).config(), Options{CredentialsDir: credentials(t)})
	must(t, write(t, bucket, bucket.Key("x"), random(100)))
	f := startFakeS3(t)
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			refuse(w, http.StatusNotImplemented, "NotImplemented")
		}
		return r.Method == http.MethodPut
	}
	unable := open(t, f.config(), Options{CredentialsDir: credentials(t)})
	err := unable.WriteSmall(context.Background(), unable.Key("x"), []byte("content"))
	wantIs(t, err, ErrStore)
	if bucket.IsUnconditional() || unable.IsUnconditional() || !strings.Contains(err.Error(), "NotImplemented") {
		t.Errorf("%t, %t, %v", bucket.IsUnconditional(), unable.IsUnconditional(), err)
	}
}
