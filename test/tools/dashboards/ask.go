package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot/plotter"
)

// window is what a Prometheus saw in some time, of the cluster that was chosen.
type window struct {
	address    string // of Prometheus, as a URL
	begin, end time.Time
	chosen     *strings.Replacer // what Grafana puts into queries
}

// points is about how many points of time a line has.
const points = 240

func (w window) step() time.Duration {
	return max(w.end.Sub(w.begin)/points, time.Second).Truncate(time.Second)
}

// series is one answer to a query: points of time in seconds, and values.
type series struct {
	name string
	plotter.XYs
}

// ask returns the series that answered a query in this time, sorted by Prometheus.
func (w window) ask(q query) ([]series, error) {
	stamp := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	asked := url.Values{"query": {w.chosen.Replace(q.expr)}, "start": {stamp(w.begin)}, "end": {stamp(w.end)},
		"step": {w.step().String()}}
	answer, err := http.Get(w.address + "/api/v1/query_range?" + asked.Encode())
	if err != nil {
		return nil, fmt.Errorf("asking Prometheus: %w", err)
	}
	defer answer.Body.Close()
	var said struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		return nil, fmt.Errorf("reading the answer of Prometheus: %w", err)
	}
	if said.Status != "success" {
		return nil, fmt.Errorf("asking Prometheus: it refuses %q: %s", asked.Get("query"), cmp.Or(said.Error, answer.Status))
	}
	var all []series
	for _, one := range said.Data.Result {
		s := series{name: nameOf(q.legend, one.Metric)}
		for _, v := range one.Values {
			seconds, _ := v[0].(float64)
			text, _ := v[1].(string)
			if value, err := strconv.ParseFloat(text, 64); err == nil && value-value == 0 { // neither NaN nor infinite
				s.XYs = append(s.XYs, plotter.XY{X: seconds, Y: value})
			}
		}
		all = append(all, s)
	}
	return all, nil
}

var label = regexp.MustCompile(`\{\{(\w+)\}\}`)

// nameOf puts labels into a legend.
func nameOf(legend string, labels map[string]string) string {
	return label.ReplaceAllStringFunc(legend, func(l string) string { return labels[label.FindStringSubmatch(l)[1]] })
}

// last is the value of a series at the end; none where it ended before.
func (w window) last(s series) (value float64, isThere bool) {
	if len(s.XYs) == 0 {
		return 0, false
	}
	newest := s.XYs[len(s.XYs)-1]
	return newest.Y, newest.X > float64(w.end.Add(-2*w.step()).Unix())
}

// pieces are the parts of a series between the times at which nothing answered.
func (w window) pieces(s series) []plotter.XYs {
	var all []plotter.XYs
	for i, p := range s.XYs {
		if i == 0 || p.X-s.XYs[i-1].X > 1.5*w.step().Seconds() {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], p)
	}
	return all
}
