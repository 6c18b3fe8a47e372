package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// result is everything a run found, as it is written down.
type result struct {
	Began       time.Time  `json:"began"`
	Seconds     float64    `json:"seconds"`
	Processors  int        `json:"processors"`
	LoadBefore  string     `json:"loadBefore,omitempty"`
	LoadAfter   string     `json:"loadAfter,omitempty"`
	Kubernetes  string     `json:"kubernetes"`
	EtcdVersion string     `json:"etcdVersion"`
	Figures     []judgment `json:"figures"`
}

// judgment is a figure with what follows from it.
type judgment struct {
	*figure
	Value       *float64 `json:"value"`  // null while a side lacks
	Target      *float64 `json:"target"` // null while it depends on a floor that lacks
	Hit         bool     `json:"hit"`
	OursSpread  *spread  `json:"oursSpread,omitempty"`
	FloorSpread *spread  `json:"floorSpread,omitempty"`
}

func (b *bench) result() result {
	r := result{
		Began: b.began.UTC(), Seconds: time.Since(b.began).Seconds(), Processors: runtime.NumCPU(),
		LoadBefore: b.loadBefore, LoadAfter: loadAverage(), Kubernetes: b.kube.version, EtcdVersion: etcdVersion,
	}
	for _, f := range b.figures {
		r.Figures = append(r.Figures, judge(f))
	}
	return r
}

// judge leaves out what is not a number: JSON has none of these.
func judge(f *figure) judgment {
	j := judgment{figure: f, Hit: f.isHit()}
	if len(f.Ours) > 0 {
		j.OursSpread = new(spreadOf(f.Ours))
	}
	if len(f.Floor) > 0 {
		j.FloorSpread = new(spreadOf(f.Floor))
	}
	if value := f.value(); !math.IsNaN(value) {
		j.Value = new(value)
	}
	if target := f.target(); !math.IsNaN(target) {
		j.Target = new(target)
	}
	return j
}

// write replaces the file.
func (r result) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// print shows one line for each figure.
func (r result) print(to io.Writer) {
	fmt.Fprintf(to, "\nKubernetes %s, etcd %s, %d processors, load before %s, after %s, %.0f s\n\n",
		r.Kubernetes, r.EtcdVersion, r.Processors, r.LoadBefore, r.LoadAfter, r.Seconds)
	table := tabwriter.NewWriter(to, 0, 4, 3, ' ', 0)
	fmt.Fprintln(table, "FIGURE\tOURS\tFLOOR\tVALUE\tTARGET\tVERDICT")
	for _, j := range r.Figures {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t≤ %s%s\t%s\n", j.Name, j.showSide(j.Ours), j.showSide(j.Floor),
			j.showJudged(j.value()), j.showJudged(j.target()), j.rule(), verdict(j.Hit))
	}
	_ = table.Flush()
}

// missed is an error that names every figure which is above its target, or was not measured on both sides.
func (r result) missed() error {
	var misses []string
	for _, j := range r.Figures {
		if !j.Hit {
			misses = append(misses, fmt.Sprintf("%s is %s, and may be %s", j.Name, j.showJudged(j.value()), j.showJudged(j.target())))
		}
	}
	if len(misses) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d figures miss their target: %s", len(misses), len(r.Figures), strings.Join(misses, "; "))
}

// showSide is the median of a side and its spread.
func (j judgment) showSide(samples []sample) string {
	if len(samples) == 0 {
		return "-"
	}
	s := spreadOf(samples)
	return fmt.Sprintf("%s [%.4g..%.4g] n=%d", j.show(s.Median), s.Min, s.Max, len(samples))
}

func (j judgment) showJudged(value float64) string {
	if j.isRatio() && !math.IsNaN(value) {
		return fmt.Sprintf("%.2f ×", value)
	}
	return j.show(value)
}

func verdict(hit bool) string {
	if hit {
		return "hit"
	}
	return "MISS"
}
