package s3server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func TestAProxyWithoutFaultsChangesNothing(t *testing.T) {
	for name, o := range map[string]Options{"plain": {}, "TLS": {TLS: true}} {
		t.Run(name, func(t *testing.T) {
			Each(t, o, func(t *testing.T, s *Server) {
				p := s.Proxy(t)
				put(t, p.Access, "a/b", "hello")
				if got := mustGet(t, p.Access, "a/b"); got != "hello" {
					t.Errorf("got %q", got)
				}
				if _, err := p.Client().CompleteMultipartUpload(t.Context(), begin(t, p.Access, "parts", []string{"only"})); err != nil {
					t.Fatal(err)
				}
				want := []Request{
					{Operation: PutObject, Key: "a/b", Signed: true}, {Operation: GetObject, Key: "a/b", Signed: true},
					{Operation: CreateMultipartUpload, Key: "parts", Signed: true},
					{Operation: UploadPart, Key: "parts", Signed: true},
					{Operation: CompleteMultipartUpload, Key: "parts", Signed: true},
				}
				got := p.Requests()
				for i := range got {
					got[i].Summed = false // that is up to the client's library
				}
				if !slices.Equal(got, want) {
					t.Errorf("it saw %v", got)
				}
			})
		})
	}
}

func TestAFaultAnswersInTheServersPlace(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		put(t, s.Access, "a", "hello")
		p := s.Proxy(t)
		for _, row := range []struct {
			fault  Fault
			status int
			code   string
		}{
			{Throttle(), http.StatusServiceUnavailable, "SlowDown"},
			{Refuse(http.StatusForbidden, "AccessDenied"), http.StatusForbidden, "AccessDenied"},
			{Refuse(http.StatusNotFound, "NoSuchBucket"), http.StatusNotFound, "NoSuchBucket"},
		} {
			f := p.Inject(row.fault)
			if _, err := get(t, p.Access, "a"); statusOf(err) != row.status || codeOf(err) != row.code {
				t.Errorf("%s: get: %v", f, err)
			}
			if _, err := tryPut(t, p.Access, "a", strings.Repeat("x", 4<<20)); statusOf(err) != row.status || codeOf(err) != row.code {
				t.Errorf("%s: put: %v", f, err)
			}
			if f.Count() != 2 {
				t.Errorf("%s: met %d requests", f, f.Count())
			}
			p.Heal()
		}
		if got := mustGet(t, p.Access, "a"); got != "hello" {
			t.Errorf("after healing: %d bytes", len(got))
		}
	})
}

func TestAFaultMeetsOnlyTheRequestsItIsMeantFor(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		p := s.Proxy(t)
		f := p.Inject(Throttle().On(PutObject).After(1).Times(2))
		var outcomes []int
		for range 5 {
			_, err := tryPut(t, p.Access, "a", "hello")
			outcomes = append(outcomes, statusOf(err))
			if got := mustGet(t, p.Access, "a"); got != "hello" {
				t.Errorf("got %q", got)
			}
		}
		if want := []int{0, 503, 503, 0, 0}; !slices.Equal(outcomes, want) || f.Count() != 2 {
			t.Errorf("%v, %s", outcomes, f)
		}
	})
}

func TestABucketWithALockRefusesWhatIsUploadedWithoutASum(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		p := s.Proxy(t)
		f := p.Inject(WantSum())
		for header, refused := range map[string]int{"": 1, "Content-MD5": 0, "X-Amz-Checksum-Sha256": 0} {
			before := f.Count()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, p.Endpoint+"/"+p.Bucket+"/a", nil)
			if err != nil {
				t.Fatal(err)
			}
			if header != "" {
				request.Header.Set(header, "1B2M2Y8AsgTpgAmY7PhCfg==")
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if got := f.Count() - before; got != refused {
				t.Errorf("with %q: %d refused, and the answer %s", header, got, answer.Status)
			}
		}
	})
}

func TestARequestHangsUntilItsClientGivesUp(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		put(t, s.Access, "a", "hello")
		p := s.Proxy(t)
		for _, fault := range []Fault{Hang(), StallAnswer(2).On(GetObject)} {
			f := p.Inject(fault)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-f.Reached()
				cancel()
			}()
			err := read(ctx, p.Access, "a")
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", f, err)
			}
			p.Heal()
		}
	})
}

func TestWhatStalledGoesOnOnceReleased(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		p, data := s.Proxy(t), strings.Repeat("x", 4<<20)
		up, down := p.Inject(StallUpload(1<<20).On(PutObject)), p.Inject(StallAnswer(1<<20).On(GetObject))
		go func() {
			<-up.Reached()
			if _, err := get(t, s.Access, "a"); codeOf(err) != "NoSuchKey" {
				t.Errorf("half an upload: %v", err)
			}
			up.Release()
			<-down.Reached()
			down.Release()
		}()
		put(t, p.Access, "a", data)
		if got := mustGet(t, p.Access, "a"); got != data {
			t.Errorf("got %d bytes", len(got))
		}
	})
}

func TestAnUploadThatStallsOrIsCutLeavesNoObject(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		p := s.Proxy(t)
		for _, fault := range []Fault{CutUpload(1 << 20), StallUpload(1 << 20), Outage()} {
			f := p.Inject(fault)
			ctx, cancel := context.WithCancel(t.Context())
			if fault.name == "stall upload" {
				go func() {
					<-f.Reached()
					cancel()
				}()
			}
			_, err := p.Client().PutObject(ctx, &s3.PutObjectInput{
				Bucket: &p.Bucket, Key: new("a"), Body: strings.NewReader(strings.Repeat("x", 4<<20)),
			})
			cancel()
			if err == nil || statusOf(err) != 0 || f.Count() != 1 {
				t.Errorf("%s: %v", f, err)
			}
			if _, err := get(t, s.Access, "a"); codeOf(err) != "NoSuchKey" {
				t.Errorf("%s: the object: %v", f, err)
			}
			p.Heal()
		}
	})
}

func TestAnAnswerMayLieInManyWays(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		put(t, s.Access, "a", "hello")
		p := s.Proxy(t)

		p.Inject(CutAnswer(2))
		if got, err := get(t, p.Access, "a"); !errors.Is(err, io.ErrUnexpectedEOF) || got != "he" {
			t.Errorf("cut: %q, %v", got, err)
		}
		p.Heal()

		p.Inject(FlipBit(4))
		if got, err := get(t, p.Access, "a"); err != nil || got != "helln" {
			t.Errorf("flipped: %q, %v", got, err)
		}
		p.Heal()

		p.Inject(OmitFromLists("a"))
		left, err := p.Client().ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &p.Bucket})
		if err != nil || len(left.Contents) != 0 || mustGet(t, p.Access, "a") != "hello" {
			t.Errorf("omitted: %v, %v", left, err)
		}
		p.Heal()

		p.Inject(WrongETag())
		out, err := tryPut(t, p.Access, "b", "hello")
		if err != nil || *out.ETag != wrongETag {
			t.Errorf("ETag: %v, %v", out, err)
		}
		listed, err := p.Client().ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &p.Bucket})
		if err != nil || len(listed.Contents) != 2 || *listed.Contents[0].ETag != wrongETag {
			t.Errorf("listed: %+v, %v", listed, err)
		}
		p.Heal()

		p.Inject(WrongChecksum())
		if err := checked(t, p.Access, "a"); err == nil || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("checksum: %v", err)
		}
		p.Heal()
		if err := checked(t, p.Access, "a"); err != nil {
			t.Errorf("healed: %v", err)
		}
	})
}

func TestAServerMayStoreNothingAndSayItDid(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		p := s.Proxy(t)
		p.Inject(Swallow().On(PutObject))
		put(t, p.Access, "a", "hello")
		if _, err := get(t, s.Access, "a"); codeOf(err) != "NoSuchKey" {
			t.Errorf("the object: %v", err)
		}
		p.Inject(LateError().On(CompleteMultipartUpload))
		if _, err := p.Client().CompleteMultipartUpload(t.Context(), begin(t, p.Access, "b", []string{"only"})); codeOf(err) != "InternalError" {
			t.Errorf("completing: %v", err)
		}
	})
}

func TestAServerMayStoreAnObjectAndNotSaySo(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		p := s.Proxy(t)
		p.Inject(LoseAnswer().On(PutObject, CompleteMultipartUpload))
		if _, err := tryPut(t, p.Access, "a", "hello"); err == nil || statusOf(err) != 0 {
			t.Errorf("put: %v", err)
		}
		if _, err := p.Client().CompleteMultipartUpload(t.Context(), begin(t, p.Access, "b", []string{"only"})); err == nil || statusOf(err) != 0 {
			t.Errorf("completing: %v", err)
		}
		if a, b := mustGet(t, s.Access, "a"), mustGet(t, s.Access, "b"); a != "hello" || b != "only" {
			t.Errorf("got %q, %q", a, b)
		}
	})
}

func TestARedirectLeadsAwayOnlyThoseWhoFollow(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		put(t, s.Access, "a", "hello")
		p, stranger := s.Proxy(t), NewStranger(t)
		p.Inject(Redirect(stranger.Endpoint))
		if _, err := get(t, p.Access, "a"); statusOf(err) != http.StatusTemporaryRedirect {
			t.Errorf("err %v", err)
		}
		if got := stranger.Requests(); len(got) != 0 {
			t.Errorf("the stranger was asked %v", got)
		}
		// The same by a client that follows, or nobody would know that there was somewhere to go.
		response, err := http.Get(p.Endpoint + "/" + p.Bucket + "/a")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if got := stranger.Requests(); !slices.Equal(got, []Request{{Operation: GetObject, Key: "a"}}) {
			t.Errorf("the stranger was asked %v", got)
		}
	})
}

func read(ctx context.Context, a Access, key string) error {
	out, err := a.Client().GetObject(ctx, &s3.GetObjectInput{Bucket: &a.Bucket, Key: &key})
	if err != nil {
		return err
	}
	defer out.Body.Close()
	_, err = io.ReadAll(out.Body)
	return err
}

// checked reads as a client does that wants checksums.
func checked(t *testing.T, a Access, key string) error {
	out, err := a.Client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: &a.Bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return err
	}
	defer out.Body.Close()
	_, err = io.ReadAll(out.Body)
	return err
}
