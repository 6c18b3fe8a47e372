package azureserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/s3server"
)

func TestRequestsAreNamedAsS3NamesThem(t *testing.T) {
	for request, want := range map[string]s3server.Request{
		"PUT /steward/backups/a/b":                         {Operation: s3server.PutObject, Key: "a/b"},
		"PUT /steward/backups/a/b?comp=block&blockid=x":    {Operation: s3server.UploadPart, Key: "a/b"},
		"PUT /steward/backups/a/b?comp=blocklist":          {Operation: s3server.CompleteMultipartUpload, Key: "a/b"},
		"PUT /steward/backups/a/b?comp=metadata":           {Operation: s3server.Other, Key: "a/b"},
		"GET /steward/backups/a/b":                         {Operation: s3server.GetObject, Key: "a/b"},
		"GET /steward/backups?comp=list&restype=container": {Operation: s3server.ListObjects},
		"HEAD /steward/backups/a/b":                        {Operation: s3server.HeadObject, Key: "a/b"},
		"DELETE /steward/backups/a/b":                      {Operation: s3server.DeleteObject, Key: "a/b"},
	} {
		method, target, _ := strings.Cut(request, " ")
		if got := classify(httptest.NewRequest(method, target, nil)); got != want {
			t.Errorf("%s: %+v, want %+v", request, got, want)
		}
	}
}

func TestAServerServesItsContainerAlsoThroughAProxy(t *testing.T) {
	s := Start(t)
	p, through := s.Proxy(t)
	fault := p.Inject(s3server.Refuse(http.StatusForbidden, "AuthorizationFailure").After(1))
	for endpoint, want := range map[string][]int{s.Endpoint: {http.StatusForbidden}, through: {http.StatusForbidden, http.StatusForbidden}} {
		for _, status := range want { // it lets nobody in who has not signed, as the fault does
			answer, err := http.Get(endpoint + "/" + s.Container + "?restype=container&comp=list")
			must(t, err)
			_ = answer.Body.Close()
			if answer.StatusCode != status {
				t.Errorf("%s answers %s", endpoint, answer.Status)
			}
		}
	}
	if fault.Count() != 1 || len(p.Requests()) != 2 {
		t.Errorf("%s, of %v", fault, p.Requests())
	}
}

func TestAServerWithACertificateServesWhatAnotherToolPutThere(t *testing.T) {
	s := StartTLS(t, s3server.Loopback)
	must(t, s.Put(t.Context(), "a/b", []byte("content")))
	content := make([]byte, len("content"))
	if _, err := s.container.NewBlobClient("a/b").DownloadBuffer(t.Context(), content, nil); err != nil || string(content) != "content" {
		t.Errorf("%q, %v", content, err)
	}
}
