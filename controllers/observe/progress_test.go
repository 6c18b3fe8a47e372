package observe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
)

func TestAPodThatTellsItsProgressIsHeardAndNothingElseIs(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the stranger was asked") }))
	defer stranger.Close()
	for name, row := range map[string]struct {
		answer http.HandlerFunc
		want   *backupplan.Progress
	}{
		"bytes of a total":      {says(`{"stage":"snapshot","bytes":5,"total":10}`), &backupplan.Progress{Bytes: 5, Total: 10}},
		"bytes of nobody knows": {says(`{"stage":"snapshot","bytes":5}`), &backupplan.Progress{Bytes: 5}},
		"no JSON":               {says("hello"), nil},
		"less than nothing":     {says(`{"bytes":-5}`), nil},
		"a flood":               {says(`{"stage":"` + strings.Repeat("x", 1<<20) + `","bytes":5}`), nil},
		"an error":              {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, nil},
		"a way to somebody else": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, stranger.URL, http.StatusFound)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pod := httptest.NewServer(row.answer)
			defer pod.Close()
			got := progressFrom(t.Context(), newProgressClient(), pod.URL+"/progress")
			if fmt.Sprint(got) != fmt.Sprint(row.want) && (got == nil || row.want == nil || *got != *row.want) {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

func TestAPodThatHangsHoldsAPassForAMomentOnly(t *testing.T) {
	release := make(chan struct{})
	pod := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer pod.Close()
	defer close(release)
	begin := time.Now()
	if got := progressFrom(t.Context(), newProgressClient(), pod.URL); got != nil {
		t.Errorf("%+v", got)
	}
	if took := time.Since(begin); took > 3*progressTimeout {
		t.Errorf("it took %s", took)
	}
}

func TestNoAddressButAPodsIsAsked(t *testing.T) {
	asked := &http.Client{Transport: roundTripper(func(r *http.Request) { t.Errorf("asked %s", r.URL) })}
	for _, address := range []string{"", "127.0.0.1", "::1", "169.254.169.254", "fe80::1", "0.0.0.0", "::ffff:169.254.169.254", "::ffff:127.0.0.1", "224.0.0.1", "kubernetes.default"} {
		if got := askProgress(t.Context(), asked, address); got != nil {
			t.Errorf("%s: %+v", address, got)
		}
	}
	var urls []string
	heard := &http.Client{Transport: roundTripper(func(r *http.Request) { urls = append(urls, r.URL.String()) })}
	for _, address := range []string{"10.1.2.3", "fd00::7"} {
		askProgress(t.Context(), heard, address)
	}
	if got := strings.Join(urls, " "); got != "http://10.1.2.3:8099/progress http://[fd00::7]:8099/progress" {
		t.Errorf("asked %s", got)
	}
}

// roundTripper sees requests and answers none.
type roundTripper func(*http.Request)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return nil, http.ErrServerClosed
}
