package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTheClusterVersionIsReadFromThePlainEndpoint(t *testing.T) {
	for _, row := range []struct {
		name, body string
		code       int
		want, why  string
	}{
		{"what the members agreed on", `{"etcdserver":"3.6.16","etcdcluster":"3.5.0","storage":"3.5.0"}`, 200, "3.5.0",
			""},
		{"nothing before they did", `{"etcdserver":"3.6.16","etcdcluster":"not_decided"}`, 200, "", ""},
		{"an error says so", "no", 503, "", "503"},
		{"so does what is no answer", "<html>", 200, "", "reading the cluster version"},
		{"and one that does not end", `{"etcdserver":"` + strings.Repeat("3", 2*versionLimit) + `"}`, 200, "",
			"reading"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var asked string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.URL.Path
				w.WriteHeader(row.code)
				_, _ = io.WriteString(w, row.body)
			}))
			defer server.Close()
			c, err := EtcdDialer{}.Dial(Endpoint{Address: strings.TrimPrefix(server.URL, "http://")})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			got, err := c.ClusterVersion(t.Context())
			isAsWanted := err == nil && row.why == "" || err != nil && row.why != "" &&
				strings.Contains(err.Error(), row.why)
			if got != row.want || !isAsWanted {
				t.Errorf("%q, %v", got, err)
			}
			if asked != "/version" {
				t.Errorf("asked %s", asked)
			}
		})
	}
}
