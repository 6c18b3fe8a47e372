package dial

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
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
		{"so does what is no answer", "<html>", 200, "", "reading /version"},
		{"and one that does not end", `{"etcdserver":"` + strings.Repeat("3", 8<<10) + `"}`, 200, "",
			"reading"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := answering(t, "/version", row.code, row.body).ClusterVersion(t.Context())
			if got != row.want || !says(err, row.why) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestSnapshotsAreCountedFromTheMetricsOfTheClientPort(t *testing.T) {
	const other = "# TYPE etcd_server_has_leader gauge\netcd_server_has_leader 1\n"
	for _, row := range []struct {
		name, body string
		code       int
		want       uint64
		why        string
	}{
		{"those that the process wrote", other + "# TYPE etcd_debugging_snap_save_total_duration_seconds histogram\n" +
			"etcd_debugging_snap_save_total_duration_seconds_bucket{le=\"+Inf\"} 3\n" +
			"etcd_debugging_snap_save_total_duration_seconds_sum 0.1\n" +
			"etcd_debugging_snap_save_total_duration_seconds_count 3\n", 200, 3, ""},
		{"an etcd that does not tell is an error, and no zero", other, 200, 0, "does not tell"},
		{"so is one that tells it in another form", "etcd_debugging_snap_save_total_duration_seconds 3\n", 200, 0,
			"does not tell"},
		{"an error says so", "no", 503, 0, "503"},
		{"so does what is no page of metrics", "<html>", 200, 0, "reading /metrics"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := answering(t, "/metrics", row.code, row.body).SnapshotsSaved(t.Context())
			if got != row.want || !says(err, row.why) {
				t.Errorf("%d, %v", got, err)
			}
		})
	}
}

// answering is a client of a server that gives this answer at one path.
func answering(t *testing.T, path string, code int, body string) client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			t.Errorf("asked %s", r.URL.Path)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	c, err := EtcdDialer{}.Dial(client.Endpoint{Address: strings.TrimPrefix(server.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// says reports an error with these words, or none where there are none.
func says(err error, why string) bool {
	return err == nil && why == "" || err != nil && why != "" && strings.Contains(err.Error(), why)
}
