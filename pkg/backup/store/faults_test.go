package store

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"google.golang.org/api/googleapi"

	"github.com/etcdsteward/etcd-steward/test/gcsserver"
	"github.com/etcdsteward/etcd-steward/test/needs"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// answering is a store whose server answers everything in one way.
func answering(t *testing.T, answer http.HandlerFunc) *Bucket {
	t.Helper()
	f := startFakeS3(t)
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		answer(w, r)
		return true
	}
	return open(t, f.config(), Options{CredentialsDir: credentials(t)})
}

func TestRefusalsOfTheStoreAreToldApart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		code   string
		want   error
	}{
		"an unknown key":      {http.StatusForbidden, "InvalidAccessKeyId", ErrDenied},
		"a wrong secret":      {http.StatusForbidden, "SignatureDoesNotMatch", ErrDenied},
		"no rights":           {http.StatusForbidden, "AccessDenied", ErrDenied},
		"no bucket":           {http.StatusNotFound, "NoSuchBucket", ErrNotFound},
		"throttling":          {http.StatusServiceUnavailable, "SlowDown", ErrThrottled},
		"a server in trouble": {http.StatusInternalServerError, "InternalError", ErrStore},
		"no S3 at all":        {http.StatusTeapot, "", ErrStore},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := answering(t, func(w http.ResponseWriter, _ *http.Request) { refuse(w, tc.status, tc.code) })
			_, err := bucket.ReadSmall(context.Background(), bucket.Key("x"), 100)
			wantIs(t, err, tc.want)
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
}

func TestAStoreThatCannotBeReachedIsSaidToBe(t *testing.T) {
	t.Parallel()
	config := Config{S3: &S3{Bucket: fakeBucket, Endpoint: "http://" + s3server.FreeAddress(t), ForcePathStyle: true}}
	bucket := open(t, config, Options{CredentialsDir: credentials(t)})
	_, err := bucket.Stat(context.Background(), "x")
	wantIs(t, err, ErrUnreachable)
	if !strings.HasSuffix(err.Error(), ". Correct the endpoint in the store of the spec, or let Pods reach it") {
		t.Error(err)
	}
}

// What is missing is taken for removed on purpose: a key of the first of March is not, because its store is away.
func TestAnErrorOfAKeyOfAnyNameIsWhatItIs(t *testing.T) {
	t.Parallel()
	ctx, failing := context.Background(), answering(t, func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusTeapot, "InternalError") })
	key := failing.Key("20260301T130100Z", "snapshot.db")
	_, err := failing.Stat(ctx, key)
	wantIs(t, err, ErrStore)
	_, err = failing.ReadSmall(ctx, key, 10)
	wantIs(t, err, ErrStore)
	wantIs(t, failing.Delete(ctx, key), ErrStore)
	away := open(t, Config{S3: &S3{Bucket: fakeBucket, Endpoint: "http://" + s3server.FreeAddress(t), ForcePathStyle: true}}, Options{CredentialsDir: credentials(t)})
	wantIs(t, away.Delete(ctx, away.Key("20260301T130100Z", "snapshot.db")), ErrUnreachable)
}

// The answer of a store is told in words, with its code. What its SDK says is for the log.
func TestWhatAStoreAnsweredIsToldInWordsAndItsIDsAreForTheLog(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s3 := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amz-Request-Id", "6ZLR98")
		refuse(w, http.StatusForbidden, "AccessDenied")
	})
	_, headErr := s3.Stat(ctx, s3.Key("x"))
	_, getErr := s3.ReadSmall(ctx, s3.Key("x"), 10)
	for err, want := range map[error]string{
		headErr: s3.named + " refuses the credentials: S3 answers HeadObject with 403 (Forbidden)",
		getErr:  s3.named + " refuses the credentials: S3 answers GetObject with 403 (AccessDenied: no)",
	} {
		if !strings.HasPrefix(err.Error(), want+", ") {
			t.Errorf("%v", err)
		}
		if whole := Whole(err); !strings.Contains(whole, "RequestID: 6ZLR98") {
			t.Errorf("the log has %q", whole)
		}
	}
	if whole := Whole(fmt.Errorf("wrapped: %w", ErrTooLarge)); whole != "" {
		t.Errorf("of an error of ours the log has %q", whole)
	}
}

func TestWhatOtherStoresAnsweredIsToldInWords(t *testing.T) {
	const body = `<?xml version="1.0"?><Error><Code>AuthenticationFailed</Code><Message>Server failed to authenticate the request.` +
		"\nRequestId:9e\nTime:2026-11-30T08:00:00Z</Message></Error>"
	asked := httptest.NewRequest(http.MethodPut, "https://shop.blob.core.windows.net/backups/x", nil)
	response := &http.Response{StatusCode: http.StatusForbidden, Request: asked, Body: io.NopCloser(strings.NewReader(body))}
	calling := func(service, operation string, err error) error {
		return &smithy.OperationError{ServiceID: service, OperationName: operation, Err: err}
	}
	denied := &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusForbidden}},
		Err: &smithy.GenericAPIError{Code: "AccessDenied", Message: "Not authorized to assume role."}}
	for want, err := range map[string]error{
		"the store refuses the credentials: Azure answers PUT with 403 (AuthenticationFailed: Server failed to authenticate the request)": &azcore.ResponseError{
			StatusCode: http.StatusForbidden, ErrorCode: "AuthenticationFailed", RawResponse: response},
		"the store refuses the credentials: STS answers AssumeRoleWithWebIdentity with 403 (AccessDenied: Not authorized to assume role)": calling("S3",
			"HeadObject", fmt.Errorf("get credentials: %w", calling("STS", "AssumeRoleWithWebIdentity", denied))),
		"the store refuses the credentials: Google answers with 403 (forbidden: no access)": &googleapi.Error{Code: http.StatusForbidden,
			Message: "no access", Errors: []googleapi.ErrorItem{{Reason: "forbidden"}}},
		"the store cannot be reached: the request to minio.storage.svc:9000 failed: dial tcp: no such host": calling("S3", "HeadObject",
			&smithyhttp.RequestSendError{Err: &url.Error{Op: "Head", URL: "https://minio.storage.svc:9000/b/prod/x",
				Err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no such host")}}}),
	} {
		if got := classify(err, ErrStore); got.Error() != want {
			t.Errorf("%v", got)
		}
	}
}

// Who is on call has to know which bucket, which key and which Secret: none of them is in the answer.
func TestARefusalNamesTheBucketTheKeyAndTheSecretAndSaysWhatToDo(t *testing.T) {
	ctx := context.Background()
	for name, tc := range map[string]struct {
		secret, dir, refuses, helps string
	}{
		"credentials of a Secret": {"s3-credentials", credentials(t), "the credentials in Secret s3-credentials", "Correct the Secret, or let its account "},
		"credentials of a file":   {"", credentials(t), "the credentials", "Correct them, or let their account "},
	} {
		t.Run(name, func(t *testing.T) {
			f := startFakeS3(t)
			f.before = func(w http.ResponseWriter, _ *http.Request) bool {
				refuse(w, http.StatusForbidden, "AccessDenied")
				return true
			}
			bucket := open(t, f.config(), Options{CredentialsDir: tc.dir, CredentialsSecret: tc.secret})
			key := bucket.Key("x")
			_, statErr := bucket.Stat(ctx, key)
			_, readErr := bucket.ReadSmall(ctx, key, 10)
			for _, err := range []error{statErr, readErr, bucket.WriteSmall(ctx, key, []byte("x")), bucket.Delete(ctx, key), bucket.List(ctx, key, nil)} {
				wantIs(t, err, ErrDenied)
				says := err.Error()
				if !strings.Contains(says, bucket.named+" refuses "+tc.refuses+": S3 answers ") || !strings.Contains(says, key) ||
					!strings.HasSuffix(says, ". "+tc.helps+"list the bucket, and read and write there") {
					t.Error(err)
				}
			}
		})
	}
}

func TestTheIdentityOfThePodIsWhatIsRefusedWhereTheSecretHasNoCredentials(t *testing.T) {
	f, dir := startFakeS3(t), t.TempDir()
	f.before = func(w http.ResponseWriter, _ *http.Request) bool {
		refuse(w, http.StatusForbidden, "AccessDenied")
		return true
	}
	must(t, os.WriteFile(filepath.Join(dir, fileManifestKey), []byte(strings.Repeat("k", 32)), 0o600))
	t.Setenv("AWS_ACCESS_KEY_ID", "of-the-pod")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	for _, options := range []Options{{}, {CredentialsDir: dir, CredentialsSecret: "only-signs"}} {
		bucket := open(t, f.config(), options)
		_, err := bucket.Stat(context.Background(), bucket.Key("x"))
		wantIs(t, err, ErrDenied)
		if !strings.HasPrefix(err.Error(), bucket.named+" refuses the identity that the environment gives: ") {
			t.Error(err)
		}
	}
}

// The answer to HEAD has no body: S3 cannot say there which of the two is missing.
func TestWhatIsMissingIsSaidAsFarAsTheStoreSaysIt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	missing := func(code string) (bucket *Bucket, key, ofHead, ofGet string) {
		bucket = answering(t, func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, code) })
		key = bucket.Key("x")
		_, headErr := bucket.Stat(ctx, key)
		_, getErr := bucket.ReadSmall(ctx, key, 10)
		for _, err := range []error{headErr, getErr} {
			wantIs(t, err, ErrNotFound)
			if strings.Count(err.Error(), key) != 1 {
				t.Errorf("names the key otherwise than once: %v", err)
			}
		}
		if isBucket := errors.Is(getErr, ErrNoBucket); isBucket != (code == "NoSuchBucket") || errors.Is(headErr, ErrNoBucket) {
			t.Errorf("%s is taken for %v and %v", code, headErr, getErr)
		}
		return bucket, key, headErr.Error(), getErr.Error()
	}
	bucket, key, ofHead, ofGet := missing("NoSuchBucket")
	if !strings.HasPrefix(bucket.named, "bucket "+fakeBucket+" at http") {
		t.Errorf("the bucket is called %s", bucket.named)
	}
	if !strings.HasPrefix(ofGet, "there is no "+bucket.named+": S3 answers GetObject with 404 (NoSuchBucket") ||
		!strings.HasSuffix(ofGet, ", object "+key+". Make the bucket, or correct its name in the store of the spec") {
		t.Errorf("of a bucket: %s", ofGet)
	}
	if !strings.HasPrefix(ofHead, bucket.named+" is not there, or has no such object: S3 answers HeadObject with 404 (") ||
		!strings.HasSuffix(ofHead, ", object "+key+". See whether there is such a bucket, and then whether it has this key") {
		t.Errorf("of either: %s", ofHead)
	}
	if bucket, key, _, ofGet = missing("NoSuchKey"); !strings.HasPrefix(ofGet, bucket.named+" has no such object: S3 answers GetObject with 404 (NoSuchKey") ||
		!strings.HasSuffix(ofGet, ", object "+key) {
		t.Errorf("of an object: %s", ofGet)
	}
}

func TestAnErrorNamesItsKeyOnce(t *testing.T) {
	t.Parallel()
	ctx, failing := context.Background(), answering(t, func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusForbidden, "AccessDenied") })
	key := failing.Key("20260301T130100Z", "snapshot.db")
	_, statErr := failing.Stat(ctx, key)
	_, readErr := failing.ReadSmall(ctx, key, 10)
	for _, err := range []error{statErr, readErr, failing.Delete(ctx, key), failing.WriteSmall(ctx, key, []byte("content"))} {
		wantIs(t, err, ErrDenied)
		if n := strings.Count(err.Error(), key); n != 1 || strings.Contains(err.Error(), "(code=") {
			t.Errorf("names the key %d times: %v", n, err)
		}
	}
	whole := open(t, Config{S3: &S3{Bucket: fakeBucket, Endpoint: "http://" + s3server.FreeAddress(t), ForcePathStyle: true}}, Options{CredentialsDir: credentials(t)})
	if err := whole.List(ctx, "", nil); err == nil || !strings.HasPrefix(err.Error(), "list everything in the store: ") {
		t.Errorf("of all that is there: %v", err)
	}
}

func TestNothingIsSentToAnotherHost(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		var reached atomic.Int32
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
		defer other.Close()
		bucket := answering(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, code)
		})
		_, _, err := bucket.Open(context.Background(), bucket.Key("x"))
		wantIs(t, err, ErrRedirected)
		wantIs(t, bucket.WriteSmall(context.Background(), bucket.Key("x"), []byte("content")), ErrRedirected)
		f := startFakeS3(t)
		f.before = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPut {
				return false
			}
			_, _ = io.Copy(io.Discard, r.Body)
			http.Redirect(w, r, other.URL+r.URL.Path, code)
			return true
		}
		bucket = open(t, f.config(), Options{CredentialsDir: credentials(t)})
		wantIs(t, write(t, bucket, bucket.Key("small"), random(100)), ErrRedirected)
		wantIs(t, write(t, bucket, bucket.Key("large"), random(2*partSize)), ErrRedirected)
		if reached.Load() > 0 {
			t.Errorf("with %d the other host was reached", code)
		}
	}
}

func TestAnUploadCarriesNoChecksumHeaders(t *testing.T) {
	t.Parallel()
	start := func(s *httptest.Server) { s.StartTLS() }
	f := startFakeS3(t, start)
	bucket := open(t, f.config(), Options{CredentialsDir: credentials(t), CAFile: caOf(t, f.Server)})
	must(t, write(t, bucket, bucket.Key("small"), random(100)))
	must(t, write(t, bucket, bucket.Key("large"), random(2*partSize+1)))
	if len(f.headers) < 4 {
		t.Fatalf("%d requests carried data", len(f.headers))
	}
	for _, headers := range f.headers {
		for name := range headers {
			if lower := strings.ToLower(name); strings.Contains(lower, "checksum") || strings.Contains(lower, "trailer") {
				t.Errorf("%s: %v", name, headers[name])
			}
		}
		if encoding := headers.Get("Content-Encoding"); encoding != "" {
			t.Errorf("the content is encoded as %s", encoding)
		}
	}
}

func TestABucketThatLocksItsObjectsByDefaultTakesUploads(t *testing.T) {
	t.Parallel()
	f := startFakeS3(t)
	f.locked = true
	bucket := open(t, f.config(), Options{CredentialsDir: credentials(t)})
	must(t, write(t, bucket, bucket.Key("small"), random(100)))
	must(t, write(t, bucket, bucket.Key("large"), random(2*partSize+1)))
}

func caOf(t testing.TB, server *httptest.Server) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.crt")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	must(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	return path
}

func TestOnlyTheGivenCAIsTrusted(t *testing.T) {
	t.Parallel()
	quiet := func(s *httptest.Server) {
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		s.StartTLS()
	}
	f := startFakeS3(t, quiet)
	must(t, open(t, f.config(), Options{CredentialsDir: credentials(t), CAFile: caOf(t, f.Server)}).
		WriteSmall(context.Background(), "some/prefix/x", []byte("content")))
	_, err := open(t, f.config(), Options{CredentialsDir: credentials(t)}).Stat(context.Background(), "some/prefix/x")
	wantIs(t, err, ErrUnreachable)
	_, err = Open(context.Background(), f.config(), Options{CredentialsDir: credentials(t), CAFile: filepath.Join(t.TempDir(), "absent")})
	wantIs(t, err, ErrConfig)
}

func TestCredentialsAreReadWhenTheyAreUsed(t *testing.T) {
	t.Parallel()
	f := startFakeS3(t)
	dir := t.TempDir()
	bucket := open(t, f.config(), Options{CredentialsDir: dir})
	_, err := bucket.Stat(context.Background(), bucket.Key("x"))
	wantIs(t, err, ErrConfig)
	for name, value := range map[string]string{fileAccessKeyID: "id", fileSecretAccessKey: secret} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600))
	}
	_, err = bucket.Stat(context.Background(), bucket.Key("x"))
	wantIs(t, err, ErrNotFound)
}

func TestASecretWithNothingButTheKeyOfManifestsLeavesTheStoreToThePodsIdentity(t *testing.T) {
	f, dir := startFakeS3(t), t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "..2026_03_01_12_00_00.1"), 0o700)) // as the kubelet lays a Secret out
	must(t, os.Symlink("..2026_03_01_12_00_00.1", filepath.Join(dir, "..data")))
	must(t, os.WriteFile(filepath.Join(dir, "..data", fileManifestKey), []byte(strings.Repeat("k", 32)), 0o600))
	must(t, os.Symlink("..data/"+fileManifestKey, filepath.Join(dir, fileManifestKey)))
	t.Setenv("AWS_ACCESS_KEY_ID", "of-the-pod")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	bucket := open(t, f.config(), Options{CredentialsDir: dir})
	_, err := bucket.Stat(context.Background(), bucket.Key("x"))
	wantIs(t, err, ErrNotFound)
	if len(bucket.ManifestKey()) != 32 {
		t.Error("the key was not read")
	}
	must(t, os.WriteFile(filepath.Join(dir, fileAccessKeyID), []byte("id"), 0o600))
	bucket = open(t, f.config(), Options{CredentialsDir: dir})
	_, err = bucket.Stat(context.Background(), bucket.Key("x"))
	wantIs(t, err, ErrConfig) // half of a credential is none
}

func TestAnUploadThatIsGivenUpRemovesItsParts(t *testing.T) {
	t.Parallel()
	f := startFakeS3(t)
	bucket := open(t, f.config(), Options{CredentialsDir: credentials(t)})
	ctx, cancel := context.WithCancel(context.Background())
	w, err := bucket.Create(ctx, bucket.Key("x"))
	must(t, err)
	_, err = w.Write(random(4 * partSize))
	must(t, err)
	cancel()
	w.Abort()
	if objects, uploads := f.left(); objects != 0 || uploads != 0 {
		t.Errorf("the server holds %d objects and %d uploads", objects, uploads)
	}
}

func TestAServerThatHangsIsLeftWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f := startFakeS3(t)
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-release
		return true
	}
	bucket := open(t, f.config(), Options{CredentialsDir: credentials(t)})
	w, err := bucket.Create(ctx, bucket.Key("x"))
	must(t, err)
	defer w.Abort()
	for err == nil {
		_, err = w.Write(make([]byte, partSize))
	}
	wantIs(t, err, context.Canceled)
}

// heap is what is in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A database of any size goes through a few parts.
func TestMemoryStaysBoundedAtAnySize(t *testing.T) {
	needs.Alone(t, storeMuch)
}

func storeMuch(t *testing.T) {
	const size = 400 << 20
	f := startFakeS3(t)
	f.discard = true
	bucket := open(t, f.config(), Options{CredentialsDir: credentials(t)})
	w, err := bucket.Create(context.Background(), bucket.Key("large"))
	must(t, err)
	defer w.Abort()
	piece, before, most := make([]byte, 1<<20), heap(), uint64(0)
	for i := range size / len(piece) {
		_, err := w.Write(piece)
		must(t, err)
		if i%20 == 0 {
			now := heap()
			most = max(most, now-min(before, now))
		}
	}
	must(t, w.Commit())
	// The server of the test reads whole parts too, and lets them go when the collector comes.
	if limit := uint64(4 * (uploadConcurrency + 1) * partSize); most > limit {
		t.Errorf("%d MiB were in use, more than %d", most>>20, limit>>20)
	}
	t.Logf("%d MiB at most", most>>20)
}

func TestAListThatBreaksOffIsNotTakenForShort(t *testing.T) {
	t.Parallel()
	s := s3server.Start(t, s3server.Versitygw, s3server.Options{})
	for name, fault := range map[string]s3server.Fault{"before it begins": s3server.Outage(), "in the middle": s3server.CutAnswer(200)} {
		p := s.Proxy(t)
		fault := p.Inject(fault.On(s3server.ListObjects))
		bucket := open(t, Config{S3: &S3{Bucket: p.Bucket, Endpoint: p.Endpoint, Region: p.Region, ForcePathStyle: true}},
			Options{CredentialsDir: credentialsOf(t, p.Access)})
		must(t, write(t, bucket, bucket.Key("a", strings.ReplaceAll(name, " ", "-")), random(10)))
		err := bucket.List(context.Background(), "a", func(Object) error { return nil })
		if err == nil || fault.Count() == 0 {
			t.Errorf("%s: %v after %d", name, err, fault.Count())
		}
	}
}

// What is missing is taken for removed on purpose, and a deletion of it for done.
func TestWhatGCSForbidsIsNotTakenForMissing(t *testing.T) {
	t.Parallel()
	s := gcsserver.Absent(t)
	ctx := context.Background()
	through := func(t *testing.T, fault s3server.Fault) *Bucket {
		p := s.Proxy(t)
		p.Inject(fault)
		return open(t, Config{GCS: &GCS{Bucket: s.Bucket, Prefix: "a", Endpoint: p.Endpoint}}, Options{CredentialsDir: s.Credentials, Stall: 20 * time.Second})
	}
	for name, tc := range map[string]struct {
		status int
		want   error
	}{
		"forbidden": {http.StatusForbidden, ErrDenied}, "not known": {http.StatusUnauthorized, ErrDenied}, "too many": {http.StatusTooManyRequests, ErrThrottled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := through(t, s3server.Refuse(tc.status, "Refused"))
			_, err := bucket.Stat(ctx, "a/b")
			wantIs(t, err, tc.want)
			_, err = bucket.ReadSmall(ctx, "a/b", 10)
			wantIs(t, err, tc.want)
			wantIs(t, bucket.Delete(ctx, "a/b"), tc.want)
			wantIs(t, bucket.List(ctx, "a", func(Object) error { return nil }), tc.want)
		})
	}
}

// allocated is all that was ever asked for, whoever has given it back.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestNoAnswerIsUnpackedAndNoneIsReadWithoutEnd(t *testing.T) {
	needs.Alone(t, readWhatIsTooMuch)
}

func readWhatIsTooMuch(t *testing.T) {
	through := map[string]func(t *testing.T, fault s3server.Fault) *Bucket{"GCS": func(t *testing.T, fault s3server.Fault) *Bucket {
		s := gcsserver.Absent(t)
		p := s.Proxy(t)
		p.Inject(fault)
		return open(t, Config{GCS: &GCS{Bucket: s.Bucket, Prefix: "a", Endpoint: p.Endpoint}}, Options{CredentialsDir: s.Credentials})
	}}
	for _, kind := range s3server.Kinds {
		through[string(kind)] = func(t *testing.T, fault s3server.Fault) *Bucket {
			p := s3server.Start(t, kind, s3server.Options{}).Proxy(t)
			p.Inject(fault)
			return open(t, Config{S3: &S3{Bucket: p.Bucket, Prefix: "a", Endpoint: p.Endpoint, Region: p.Region, ForcePathStyle: true}},
				Options{CredentialsDir: credentialsOf(t, p.Access)})
		}
	}
	for server, start := range through {
		for name, fault := range map[string]s3server.Fault{"a bomb": s3server.Bomb(), "no end": s3server.Endless()} {
			t.Run(server+", "+name, func(t *testing.T) {
				bucket := start(t, fault)
				_, err := bucket.ReadSmall(context.Background(), "a/b", 1000) // the first makes the bomb as well
				wantIs(t, err, ErrTooLarge)
				before := allocated()
				wantIs(t, bucket.List(context.Background(), "a", func(Object) error { return nil }), ErrStore)
				if took := allocated() - before; took > 8*maxDescription {
					t.Errorf("%d MiB were asked for", took>>20)
				}
			})
		}
	}
}

func TestAListThatIsNotAnsweredIsNotTakenForEmpty(t *testing.T) {
	t.Parallel()
	bucket := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = connection.Close()
		}
	})
	wantIs(t, bucket.List(context.Background(), bucket.Key("a"), func(Object) error { return nil }), ErrUnreachable)
}

func TestAConnectionThatEndsWhileAnObjectIsReadIsNotItsEnd(t *testing.T) {
	ended := &url.Error{Op: "Get", URL: "http://store", Err: io.EOF} // as the client of GCS has it
	_, err := classified{io.NopCloser(iotest.ErrReader(ended))}.Read(make([]byte, 1))
	wantIs(t, err, ErrUnreachable)
	if _, err := (classified{io.NopCloser(strings.NewReader(""))}).Read(make([]byte, 1)); err != io.EOF { //nolint:errorlint // an end has no words around it
		t.Errorf("the end of an object is %v", err)
	}
}

func TestEveryAnswerOfGooglesAndOfAzureIsWhatItSays(t *testing.T) {
	for code, want := range map[int]error{
		http.StatusUnauthorized: ErrDenied, http.StatusForbidden: ErrDenied, http.StatusNotFound: ErrNotFound, http.StatusPreconditionFailed: ErrExists,
		http.StatusTooManyRequests: ErrThrottled, http.StatusServiceUnavailable: ErrThrottled, http.StatusTeapot: ErrStore,
	} {
		wantIs(t, classify(fmt.Errorf("wrapped: %w", &googleapi.Error{Code: code}), ErrStore), want)
		wantIs(t, classify(fmt.Errorf("wrapped: %w", &azcore.ResponseError{StatusCode: code}), ErrStore), want)
	}
}

func TestACallWhoseTimeIsOverIsAStoreThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := callContext(context.Background())
		defer cancel()
		<-ctx.Done()
		err := answered(ctx, fmt.Errorf("reading: %w", ctx.Err()))
		wantIs(t, err, ErrStalled)
		if !strings.Contains(err.Error(), "1m0s") {
			t.Errorf("got %v", err)
		}
		if err := answered(ctx, nil); err != nil {
			t.Errorf("what was answered in the end is %v", err)
		}
	})
	above, cancel := context.WithCancel(context.Background())
	ctx, done := callContext(above)
	defer done()
	cancel()
	if err := answered(ctx, fmt.Errorf("reading: %w", ctx.Err())); errors.Is(err, ErrStalled) || !errors.Is(err, context.Canceled) {
		t.Errorf("who was told to stop says %v", err)
	}
}

// The answer to HEAD has no body: a server that expects another region cannot say so.
func TestABadRequestOfS3AsksForTheRegion(t *testing.T) {
	answer := &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusBadRequest}},
		Err: &smithy.GenericAPIError{Code: "BadRequest"}}
	bad := classify(&smithy.OperationError{ServiceID: "S3", OperationName: "HeadObject", Err: answer}, ErrStore)
	if !errors.Is(bad, ErrStore) || !strings.Contains(bad.Error(), "region") {
		t.Error(bad)
	}
	told := classify(&smithy.OperationError{ServiceID: "S3", OperationName: "PutObject", Err: &smithyhttp.ResponseError{
		Response: answer.Response, Err: &smithy.GenericAPIError{Code: "AuthorizationHeaderMalformed"}}}, ErrStore)
	if !errors.Is(told, ErrConfig) || strings.Contains(told.Error(), regionHint) {
		t.Error(told)
	}
	answer.Response.StatusCode = http.StatusInternalServerError
	if other := classify(answer, ErrStore); strings.Contains(other.Error(), "region") {
		t.Error(other)
	}
}
