package kit

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestTheTimeIsThatOfTheAPIServer(t *testing.T) {
	for name, row := range map[string]struct{ off, want time.Duration }{
		"behind":                   {-6 * time.Minute, -6 * time.Minute},
		"ahead":                    {6 * time.Minute, 6 * time.Minute},
		"by less than it can tell": {time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", time.Now().Add(row.off).UTC().Format(http.TimeFormat))
			}))
			defer server.Close()
			clock := &ServerClock{}
			client := &http.Client{Transport: clock.Wrap(http.DefaultTransport)}
			response, err := client.Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if off := clock.Now().Sub(time.Now().Add(row.want)).Abs(); off > 2*time.Second {
				t.Errorf("it is %s off", off)
			}
		})
	}
}
