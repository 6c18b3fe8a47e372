package s3server

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Fault is what may happen to a request. Without On, After and Times it happens to each.
type Fault struct {
	name  string
	on    []Operation
	only  func(Request) bool // nil: any
	after int
	times int

	// One of these: an answer in the server's place, a change to what the server reads, or to what the client gets.
	instead func(p *play, w http.ResponseWriter, r *http.Request)
	upload  func(p *play, body io.ReadCloser) io.ReadCloser
	answer  func(p *play, r *http.Response) error
}

// play is a fault that happens to one request.
type play struct {
	fault    *Fault
	released <-chan struct{}
	ended    <-chan struct{} // the test is over
	gone     <-chan struct{} // the client gave up
}

type playKey struct{}

// On limits a fault to some operations.
func (f Fault) On(operations ...Operation) Fault {
	f.on = slices.Clone(operations)
	return f
}

// After lets so many matching requests pass first.
func (f Fault) After(requests int) Fault {
	f.after = requests
	return f
}

// Times is how often it happens; 0 means until Heal.
func (f Fault) Times(requests int) Fault {
	f.times = requests
	return f
}

// prepare makes the request carry its fault to the server and back.
func (p *play) prepare(r *http.Request) *http.Request {
	r = r.WithContext(context.WithValue(r.Context(), playKey{}, p))
	if p.fault.upload != nil && r.Body != nil {
		r.Body = p.fault.upload(p, r.Body)
	}
	return r
}

// hold keeps a request until it is released; it fails if before that its client gives up or the test ends.
func (p *play) hold() error {
	select {
	case <-p.released:
		return nil
	case <-p.ended:
	case <-p.gone:
	}
	return errCut
}

func cut() error { return errCut }

// Refuse answers with an error of S3's, such as (403, "AccessDenied"), (403, "InvalidAccessKeyId"), (404, "NoSuchBucket")
// or (500, "InternalError").
func Refuse(status int, code string) Fault {
	return Fault{name: "refuse " + code, instead: func(_ *play, w http.ResponseWriter, r *http.Request) {
		drain(r)
		writeError(w, status, code, r.Method)
	}}
}

// WantSum refuses what is uploaded without a sum of its bytes, as a bucket with Object Lock does: it takes Content-MD5, or
// a checksum of S3's (docs.aws.amazon.com/AmazonS3, Object Lock considerations).
func WantSum() Fault {
	f := Refuse(http.StatusBadRequest, "InvalidRequest").On(PutObject, UploadPart)
	f.name, f.only = "want a sum", func(r Request) bool { return !r.Summed }
	return f
}

// KnowNoConditions refuses If-None-Match, as Alibaba's OSS does by its API of S3 (tobi/walgit#67).
func KnowNoConditions() Fault {
	f := Refuse(http.StatusNotImplemented, "NotImplemented").On(PutObject, CompleteMultipartUpload)
	f.name, f.only = "know no conditions", func(r Request) bool { return r.Conditional }
	return f
}

// Throttle answers as S3 does when there are too many requests.
func Throttle() Fault {
	f := Refuse(http.StatusServiceUnavailable, "SlowDown")
	f.name = "throttle"
	return f
}

// Redirect sends the client to the same path of another endpoint.
func Redirect(endpoint string) Fault {
	return Fault{name: "redirect", instead: func(_ *play, w http.ResponseWriter, r *http.Request) {
		drain(r)
		w.Header().Set("Location", endpoint+r.URL.RequestURI())
		writeError(w, http.StatusTemporaryRedirect, "TemporaryRedirect", r.Method)
	}}
}

// LateError is the answer 200 with an error in its body, which S3 gives when it has to say "go on" before it knows the end.
func LateError() Fault {
	return Fault{name: "late error", instead: func(_ *play, w http.ResponseWriter, r *http.Request) {
		drain(r)
		writeError(w, http.StatusOK, "InternalError", r.Method)
	}}
}

// drain reads an upload. Before that a client may not see the answer but only that the connection was closed, and it is
// not noticed that the client gives up.
func drain(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }

func writeError(w http.ResponseWriter, status int, code, method string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	if method != http.MethodHead {
		_, _ = fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>as a test wants it</Message><RequestId>1</RequestId></Error>", code)
	}
}

// Swallow says that an upload was stored, and stores nothing.
func Swallow() Fault {
	return Fault{name: "swallow", instead: func(_ *play, w http.ResponseWriter, r *http.Request) {
		drain(r)
		w.Header().Set("ETag", wrongETag)
		w.WriteHeader(http.StatusOK)
	}}
}

// Endless answers with blanks, and with more of them for as long as somebody reads.
func Endless() Fault {
	return Fault{name: "endless", instead: func(_ *play, w http.ResponseWriter, r *http.Request) {
		drain(r)
		for blanks, err := bytes.Repeat([]byte(" "), 64<<10), error(nil); err == nil; {
			_, err = w.Write(blanks)
		}
	}}
}

// bombSize is what a Bomb becomes.
const bombSize = 256 << 20

var packed = sync.OnceValue(func() []byte {
	var small bytes.Buffer
	blanks := bytes.Repeat([]byte(" "), 1<<20)
	packer, _ := gzip.NewWriterLevel(&small, gzip.BestSpeed)
	for range bombSize / len(blanks) {
		_, _ = packer.Write(blanks)
	}
	_ = packer.Close()
	return small.Bytes()
})

// Bomb answers with little that unpacks to much, and says so as HTTP does.
func Bomb() Fault {
	bomb := packed() // now: whoever meets it waits for nothing
	return Fault{name: "bomb", instead: func(_ *play, w http.ResponseWriter, r *http.Request) {
		drain(r)
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Length", strconv.Itoa(len(bomb)))
		_, _ = w.Write(bomb)
	}}
}

// Hang takes a request and does not answer.
func Hang() Fault {
	return Fault{name: "hang", instead: func(p *play, _ http.ResponseWriter, r *http.Request) {
		drain(r)
		_ = p.hold()
		panic(http.ErrAbortHandler)
	}}
}

// Outage closes the connection unanswered.
func Outage() Fault {
	return Fault{name: "outage", instead: func(*play, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
}

// CutUpload closes the connection after so many bytes of an upload.
func CutUpload(n int64) Fault {
	return Fault{name: "cut upload", upload: func(p *play, body io.ReadCloser) io.ReadCloser {
		return &spoilt{ReadCloser: body, left: n, then: cut}
	}}
}

// StallUpload takes so many bytes of an upload, and the rest once it is released.
func StallUpload(n int64) Fault {
	return Fault{name: "stall upload", upload: func(p *play, body io.ReadCloser) io.ReadCloser {
		return &spoilt{ReadCloser: body, left: n, then: p.hold}
	}}
}

// LoseAnswer lets the server do what it was asked to, and closes the connection without saying so.
func LoseAnswer() Fault {
	return Fault{name: "lose answer", answer: func(*play, *http.Response) error { return errCut }}
}

// CutAnswer closes the connection after so many bytes of an object, whose length was promised before.
func CutAnswer(n int64) Fault {
	return Fault{name: "cut answer", answer: func(_ *play, r *http.Response) error {
		r.Body = &spoilt{ReadCloser: r.Body, left: n, then: cut}
		return nil
	}}
}

// StallAnswer gives so many bytes of an object, and the rest once it is released.
func StallAnswer(n int64) Fault {
	return Fault{name: "stall answer", answer: func(p *play, r *http.Response) error {
		r.Body = &spoilt{ReadCloser: r.Body, left: n, then: p.hold}
		return nil
	}}
}

// FlipBit changes one bit of an object that is read, at this offset; length and ETag stay.
func FlipBit(offset int64) Fault {
	return Fault{name: "flip bit", answer: func(_ *play, r *http.Response) error {
		r.Body = &flipped{ReadCloser: r.Body, left: offset}
		return nil
	}}
}

// wrongETag is nobody's.
const wrongETag = `"00000000000000000000000000000bad"`

var etagElement = regexp.MustCompile(`<ETag>[^<]*</ETag>`)

// WrongETag puts another ETag into every header, listing and answer.
func WrongETag() Fault {
	return Fault{name: "wrong ETag", answer: func(_ *play, r *http.Response) error {
		if r.Header.Get("ETag") != "" {
			r.Header.Set("ETag", wrongETag)
		}
		if !strings.Contains(r.Header.Get("Content-Type"), "/xml") {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		text = etagElement.ReplaceAll(text, []byte("<ETag>&#34;"+strings.Trim(wrongETag, `"`)+"&#34;</ETag>"))
		r.Body = io.NopCloser(bytes.NewReader(text))
		r.ContentLength = int64(len(text))
		r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return nil
	}}
}

var listedObject = regexp.MustCompile(`(?s)<Contents>.*?</Contents>`)

// OmitFromLists leaves the objects whose keys end so out of every list. Each is there when it is asked for by its name.
func OmitFromLists(suffix string) Fault {
	f := Fault{name: "omit from lists", answer: func(_ *play, r *http.Response) error {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		text = listedObject.ReplaceAllFunc(text, func(object []byte) []byte {
			if bytes.Contains(object, []byte(suffix+"</Key>")) {
				return nil
			}
			return object
		})
		r.Body = io.NopCloser(bytes.NewReader(text))
		r.ContentLength = int64(len(text))
		r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return nil
	}}
	return f.On(ListObjects)
}

// WrongChecksum answers with the checksum of other data.
func WrongChecksum() Fault {
	return Fault{name: "wrong checksum", answer: func(_ *play, r *http.Response) error {
		for name := range r.Header {
			if strings.HasPrefix(name, "X-Amz-Checksum-") {
				r.Header.Del(name)
			}
		}
		r.Header.Set("X-Amz-Checksum-Crc32", "AAAAAA==")
		r.Header.Set("X-Amz-Checksum-Type", "FULL_OBJECT")
		r.Header.Set("X-Goog-Hash", "crc32c=AAAAAA==")
		return nil
	}}
}

var errCut = errors.New("cut, as a test wants it")
