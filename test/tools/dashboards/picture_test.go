package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"image/png"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// fakePrometheus answers each query with two series, but those about kept volumes with none. It refuses queries with the
// word refused, and knows nothing at all where it is empty.
type fakePrometheus struct {
	t       *testing.T
	refused string
	isEmpty bool
}

func (f fakePrometheus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.FormValue("query")
	if r.URL.Path != "/api/v1/query_range" || query == "" || strings.Contains(query, "$n") || strings.Contains(query, "$_") {
		f.t.Errorf("asked is %s", r.URL)
	}
	if f.refused != "" && strings.Contains(query, f.refused) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"status":"error","error":"too many samples"}`))
		return
	}
	result := []any{}
	if !f.isEmpty && !strings.Contains(query, "kept_volumes") {
		result = []any{f.answer(r, 0), f.answer(r, 1)}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"result": result}})
}

func (f fakePrometheus) answer(r *http.Request, ordinal int) map[string]any {
	at := func(field string) float64 {
		seconds, err := strconv.ParseFloat(r.FormValue(field), 64)
		if err != nil {
			f.t.Errorf("%s: %v", field, err)
		}
		return seconds
	}
	step, err := time.ParseDuration(r.FormValue("step"))
	if err != nil || step <= 0 {
		f.t.Fatalf("step: %v", err)
	}
	var values [][2]any
	for second := at("start"); second <= at("end"); second += step.Seconds() {
		value := float64(1 + ordinal)
		if strings.Contains(r.FormValue("query"), "condition") {
			value = float64(ordinal)
		}
		if strings.Contains(r.FormValue("query"), "rate(") {
			value = 1 + math.Sin(second/60+float64(ordinal))
		}
		values = append(values, [2]any{second, strconv.FormatFloat(value, 'g', -1, 64)})
	}
	values = append(values, [2]any{at("end"), "NaN"})
	pod := "demo-" + strconv.Itoa(ordinal)
	return map[string]any{"values": values, "metric": map[string]string{"pod": pod, "rule": "roll", "type": "Ready", "state": pod,
		"kind": "StartPods", "result": "applied", "controller": "etcdcluster", "code": "200", "namespace": "team", "name": pod}}
}

// seenBy serves a Prometheus, and is what it saw in 10 minutes that lie in the past.
func seenBy(t *testing.T, f fakePrometheus) window {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	w := newWindow(server.URL+"/", 10*time.Minute, "team", "demo")
	w.begin, w.end = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 12, 10, 0, 0, time.UTC)
	return w
}

// texts are what is written in a picture.
func texts(t *testing.T, b board, w window) []string {
	t.Helper()
	var canvas recorder.Canvas
	wide, high := b.pictureSize()
	if err := b.draw(draw.NewCanvas(&canvas, wide, high), w); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, action := range canvas.Actions {
		if text, ok := action.(*recorder.FillString); ok {
			if at := text.Point; at.X < 0 || at.X > wide || at.Y < 0 || at.Y > high {
				t.Errorf("%q stands outside", text.String)
			}
			all = append(all, text.String)
		}
	}
	return all
}

func TestAPictureHasEveryPanelWithItsTitleItsLegendsAndItsUnits(t *testing.T) {
	w := seenBy(t, fakePrometheus{t: t})
	for file, b := range boards {
		said := "\n" + strings.Join(texts(t, b, w), "\n") + "\n"
		for _, p := range panels(b) {
			if !strings.Contains(said, "\n"+p.title+"\n") {
				t.Errorf("%s: no panel has the title %q", file, p.title)
			}
		}
		charts := 0
		for _, p := range panels(b) {
			if p.kind == lines && p.title != "Volumes of replaced members" {
				charts++
			}
		}
		if zeros := strings.Count(strings.ReplaceAll(said, "\n", "\n\n"), "\n0\n"); zeros < charts {
			t.Errorf("%s: %d axes of %d begin at 0", file, zeros, charts)
		}
		for _, want := range []string{b.title, "12:00 to 12:10 UTC", "12:04", "demo-1", "1 s", "2 /s"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: nothing says %q", file, want)
			}
		}
	}
}

func TestAPanelWhoseQueriesNothingAnswersSaysSo(t *testing.T) {
	for _, b := range boards {
		said := texts(t, b, seenBy(t, fakePrometheus{t: t, isEmpty: true}))
		for _, p := range panels(b) {
			want := noData
			if p.kind == number || p.kind == named {
				want = cmp.Or(p.none, noData) // as Grafana has it
			} else if p.none != "" {
				want += ": " + p.none
			}
			if !strings.Contains(strings.Join(said, "\n")+"\n", "\n"+p.title+"\n"+want+"\n") {
				t.Errorf("%s: want %q after it in %q", p.title, want, said)
			}
		}
		if said := strings.Join(texts(t, b, seenBy(t, fakePrometheus{t: t})), "\n"); strings.Count(said, noData) != strings.Count(said, "replaced members\nno data: none") {
			t.Errorf("%s: a panel says that it has no data: %s", b.title, said)
		}
	}
}

func TestAQueryThatPrometheusRefusesIsNamedWithItsPanel(t *testing.T) {
	w := seenBy(t, fakePrometheus{t: t, refused: "process_resident_memory_bytes"})
	_, err := w.picture(cluster)
	if err == nil || !strings.Contains(err.Error(), "Memory: ") || !strings.Contains(err.Error(), "too many samples") {
		t.Errorf("%v", err)
	}
}

func TestThePicturesAreWrittenAsFiles(t *testing.T) {
	directory := t.TempDir()
	if err := write(directory, ".png", seenBy(t, fakePrometheus{t: t}).picture); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"operator.png", "cluster.png"} {
		file, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(file))
		if err != nil || picture.Bounds().Dx() < 1000 || picture.Bounds().Dy() < 1000 {
			t.Errorf("%s: %v, %v", name, picture.Bounds(), err)
		}
	}
}

func TestEachUnitOfTheDashboardsIsWrittenAsPeopleReadIt(t *testing.T) {
	for _, b := range boards {
		for _, p := range panels(b) {
			if scales[p.unit] == nil {
				t.Errorf("%s: how is %q written?", p.title, p.unit)
			}
		}
	}
	for _, row := range []struct {
		unit  string
		value float64
		want  string
	}{
		{"s", 0.00123, "1.23 ms"}, {"s", 90, "1.5 min"}, {"s", 31536000, "365 d"}, {"s", -7200, "-2 h"}, {"s", 0, "0"}, {"s", 1e-9, "0.001 µs"},
		{"bytes", 16 << 20, "16 MiB"}, {"bytes", 12.5 * (1 << 30), "12.5 GiB"}, {"percentunit", 0.853, "85.3 %"}, {"ops", 0.2, "0.2 /s"},
		{"", 3, "3"}, {"", 12345, "12345"},
	} {
		if got := written(row.unit, row.value); got != row.want {
			t.Errorf("%v %s is written %q, want %q", row.value, row.unit, got, row.want)
		}
	}
}

func TestTheMarksOfAnAxisAreRoundAndFew(t *testing.T) {
	for _, row := range []struct {
		unit          string
		highest, want float64
	}{{"bytes", 16 << 20, 5 << 20}, {"s", 0.9, 0.5}, {"s", 240, 60}, {"percentunit", 1, 0.5}, {"", 3, 1}} {
		if got := valueStep(row.unit, row.highest); math.Abs(got-row.want) > row.want/100 {
			t.Errorf("%v %s: %v, want %v", row.highest, row.unit, got, row.want)
		}
	}
	for span, want := range map[time.Duration]time.Duration{time.Minute: 10 * time.Second, 10 * time.Minute: 2 * time.Minute, 3 * time.Hour: 30 * time.Minute, 24 * time.Hour: 5 * time.Hour} {
		if got := timeStep(span); got != want {
			t.Errorf("%s: %s, want %s", span, got, want)
		}
	}
}

func TestALineHasNoPieceWhereNothingAnswered(t *testing.T) {
	w := seenBy(t, fakePrometheus{t: t})
	s := series{}
	for _, second := range []float64{0, 2, 4, 60, 62} {
		s.XYs = append(s.XYs, struct{ X, Y float64 }{float64(w.begin.Unix()) + second, 1})
	}
	if pieces := w.pieces(s); len(pieces) != 2 || len(pieces[0]) != 3 || len(pieces[1]) != 2 {
		t.Errorf("%v", pieces)
	}
	at := func(second float64) float64 { return float64(w.begin.Unix()) + second }
	s.XYs[1].Y = 0
	want := []run{{at(0), at(2), 1}, {at(2), at(4), 0}, {at(4), at(6), 1}, {at(60), at(64), 1}}
	if runs := w.runs(s); !slices.Equal(runs, want) {
		t.Errorf("%v, want %v", runs, want)
	}
	if _, isThere := w.last(s); isThere {
		t.Error("what ended before is shown as the value of now")
	}
}
