package gcsserver

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/s3server"
)

func TestRequestsAreNamedAsS3NamesThem(t *testing.T) {
	for request, want := range map[string]s3server.Request{
		"POST /upload/storage/v1/b/backups/o?uploadType=multipart&name=a": {Operation: s3server.PutObject},
		"POST /upload/storage/v1/b/backups/o?uploadType=resumable&name=a": {Operation: s3server.CreateMultipartUpload},
		"PUT /upload/storage/v1/b/backups/o?upload_id=7":                  {Operation: s3server.UploadPart},
		"POST /upload/resumable/7?upload_id=7":                            {Operation: s3server.UploadPart},
		"GET /storage/v1/b/backups/o?prefix=a":                            {Operation: s3server.ListObjects},
		"GET /storage/v1/b/backups/o/a%2Fb":                               {Operation: s3server.HeadObject, Key: "a/b"},
		"GET /backups/a/b":                                                {Operation: s3server.GetObject},
		"DELETE /storage/v1/b/backups/o/a%2Fb":                            {Operation: s3server.DeleteObject, Key: "a/b"},
		"PATCH /storage/v1/b/backups/o/a":                                 {Operation: s3server.Other, Key: "a"},
	} {
		method, target, _ := bytes.Cut([]byte(request), []byte(" "))
		if got := classify(httptest.NewRequest(string(method), string(target), nil)); got != want {
			t.Errorf("%s: %+v, want %+v", request, got, want)
		}
	}
}

func TestAServerServesItsBucketAlsoThroughAProxy(t *testing.T) {
	s := Start(t)
	p := s.Proxy(t)
	for _, endpoint := range []string{s.Endpoint, p.Endpoint} {
		url := endpoint + "/upload/storage/v1/b/" + s.Bucket + "/o?uploadType=media&name=" + endpoint[len("http://"):]
		answer, err := http.Post(url, "application/octet-stream", bytes.NewReader([]byte("content")))
		must(t, err)
		_ = answer.Body.Close()
		answer, err = http.Get(endpoint + "/storage/v1/b/" + s.Bucket + "/o/" + endpoint[len("http://"):] + "?alt=media")
		must(t, err)
		content, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || string(content) != "content" {
			t.Errorf("%s: %q, %v", endpoint, content, err)
		}
	}
	p.Inject(s3server.Refuse(http.StatusForbidden, "AccessDenied"))
	answer, err := http.Get(p.Endpoint + "/storage/v1/b/" + s.Bucket + "/o")
	must(t, err)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("the proxy answers %s", answer.Status)
	}
}

func TestAServerWithACertificateServesWhatAnotherToolPutThere(t *testing.T) {
	s := StartTLS(t, s3server.Loopback)
	must(t, s.Put(t.Context(), "a/b", []byte("content")))
	answer, err := s.client().Get(s.Endpoint + "/storage/v1/b/" + s.Bucket + "/o/a%2Fb?alt=media")
	must(t, err)
	content, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || string(content) != "content" {
		t.Errorf("%q, %v", content, err)
	}
}
