package store

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const fakeBucket = "backups"

// fakeS3 is as much of S3 as a backup meets, with faults where the test puts them. It does not check signatures.
type fakeS3 struct {
	*httptest.Server

	mu      sync.Mutex
	objects map[string][]byte
	uploads map[string]map[int][]byte
	headers []http.Header                                            // of everything that carried data
	discard bool                                                     // keep no content
	locked  bool                                                     // a lock by default: what is uploaded has to be summed up
	before  func(w http.ResponseWriter, r *http.Request) (done bool) // may answer in its place
}

func startFakeS3(t testing.TB, configure ...func(*httptest.Server)) *fakeS3 {
	t.Helper()
	f := &fakeS3{objects: map[string][]byte{}, uploads: map[string]map[int][]byte{}}
	f.Server = httptest.NewUnstartedServer(f)
	if len(configure) == 0 {
		f.Start()
	}
	for _, start := range configure {
		start(f.Server)
	}
	t.Cleanup(f.Close)
	return f
}

func (f *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.before != nil && f.before(w, r) {
		return
	}
	key, inBucket := strings.CutPrefix(r.URL.Path, "/"+fakeBucket+"/")
	if !inBucket && strings.TrimSuffix(r.URL.Path, "/") != "/"+fakeBucket {
		refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	if !inBucket {
		key = ""
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.locked && r.Method == http.MethodPut && r.Header.Get("Content-MD5") != md5Sum(body) {
		refuse(w, http.StatusBadRequest, "InvalidRequest")
		return
	}
	if len(body) > 0 {
		f.headers = append(f.headers, r.Header.Clone())
	}
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && key == "":
		f.list(w, query.Get("prefix"))
	case query.Has("uploads") || query.Has("uploadId"):
		f.multipart(w, r, key, body)
	case r.Method == http.MethodPut:
		f.put(w, r, key, body)
	case r.Method == http.MethodDelete:
		delete(f.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		f.get(w, r, key)
	}
}

func md5Sum(body []byte) string {
	sum := md5.Sum(body)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func refuse(w http.ResponseWriter, code int, name string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(code)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", name)
}

func (f *fakeS3) put(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	if _, exists := f.objects[key]; exists && r.Header.Get("If-None-Match") == "*" {
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	f.objects[key] = body
	w.Header().Set("ETag", `"x"`)
}

func (f *fakeS3) multipart(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	id := r.URL.Query().Get("uploadId")
	switch {
	case r.Method == http.MethodPost && id == "":
		id = strconv.Itoa(len(f.uploads) + 1)
		f.uploads[id] = map[int][]byte{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case r.Method == http.MethodPut:
		n, _ := strconv.Atoi(r.URL.Query().Get("partNumber"))
		if f.discard {
			body = nil
		}
		if f.uploads[id] == nil {
			refuse(w, http.StatusNotFound, "NoSuchUpload")
			return
		}
		f.uploads[id][n] = body
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, n))
	case r.Method == http.MethodDelete:
		delete(f.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	default:
		var numbers []int
		for n := range f.uploads[id] {
			numbers = append(numbers, n)
		}
		slices.Sort(numbers)
		var whole bytes.Buffer
		for _, n := range numbers {
			whole.Write(f.uploads[id][n])
		}
		delete(f.uploads, id)
		f.put(w, r, key, whole.Bytes())
		fmt.Fprint(w, "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")
	}
}

func (f *fakeS3) get(w http.ResponseWriter, r *http.Request, key string) {
	content, exists := f.objects[key]
	if !exists {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	modified := time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)
	http.ServeContent(w, r, "object", modified, bytes.NewReader(content))
}

func (f *fakeS3) list(w http.ResponseWriter, prefix string) {
	type item struct {
		Key          string
		Size         int
		LastModified string
	}
	listing := struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []item
	}{}
	for key, content := range f.objects {
		if strings.HasPrefix(key, prefix) {
			listing.Contents = append(listing.Contents, item{key, len(content), "2006-01-02T15:04:05Z"})
		}
	}
	_ = xml.NewEncoder(w).Encode(listing)
}

// left is what the server holds: objects, and uploads that nobody ended.
func (f *fakeS3) left() (objects, uploads int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.objects), len(f.uploads)
}

func (f *fakeS3) config() Config {
	return Config{S3: &S3{Bucket: fakeBucket, Prefix: "some/prefix", Endpoint: f.URL, ForcePathStyle: true}}
}
