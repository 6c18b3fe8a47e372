package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// whole is all of a report.
type whole struct {
	about
	Runs []played `json:"results"`
}

// about is what the runs wrote of where they ran.
type about struct {
	Date       time.Time `json:"date"`
	Operator   string    `json:"operator"`
	Kubernetes string    `json:"kubernetes"`
	Etcd       string    `json:"etcd"`
	Processors int       `json:"processors"`
	Memory     string    `json:"memory,omitempty"`
	Kernel     string    `json:"kernel,omitempty"`
	Rows       []string  `json:"rows"`
	Wanted     int       `json:"runs"`
}

// played is one history: one or more faults or changes, one after the other, in one cluster.
type played struct {
	Scenario   string         `json:"scenario"`
	Run        int            `json:"run"`
	History    string         `json:"history"` // its directory, in the report's
	Operations int            `json:"operations"`
	Failed     int            `json:"failed"`
	Problems   map[string]int `json:"problems,omitempty"`
	Steps      []step         `json:"steps"`
	Error      string         `json:"error,omitempty"`
	verdict
}

type step struct {
	Row        string  `json:"row"`
	LongestGap float64 `json:"longestGap"` // seconds
	Whole      float64 `json:"whole"`      // seconds
}

// read reads what was written of each run. One of which nothing was written never began.
func read(directory string) (whole, error) {
	var r whole
	if err := readJSON(filepath.Join(directory, "about.json"), &r.about); err != nil {
		return r, err
	}
	for _, id := range r.Rows {
		for number := 1; number <= r.Wanted; number++ {
			var found played
			name := fmt.Sprintf("%s-%d", id, number)
			err := readJSON(filepath.Join(directory, name, "run.json"), &found)
			found.Scenario, found.Run, found.History = id, number, name
			if errors.Is(err, os.ErrNotExist) {
				found.Error = "it was not begun"
			} else if err != nil {
				return r, err
			}
			r.Runs = append(r.Runs, found)
		}
	}
	return r, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the report: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// err names every run that is not as it should be.
func (r whole) err() error {
	var wrong []error
	for _, run := range r.Runs {
		err := run.err()
		if run.Error != "" {
			err = errors.New(run.Error)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", run.History, err))
		}
	}
	return errors.Join(wrong...)
}

// guide is where the columns are explained.
const guide = "https://github.com/etcdsteward/etcd-steward/blob/main/docs/report.md#how-to-read-it"

const head = `| Fault or change | Runs | Linearizable | Watch complete | Watch late by | Requests | Failed | Longest gap of a client | Until whole | Histories |
|---|---|---|---|---|---|---|---|---|---|
`

// markdown is the page. Of several runs it has the worst figure, and the median behind it.
func (r whole) markdown() string {
	var page strings.Builder
	fmt.Fprintf(&page, "%s, %s: operator %s, Kubernetes %s, etcd %s, %d processors", r.Date.Format(time.DateOnly),
		plural(r.Wanted, "run"), r.Operator, r.Kubernetes, r.Etcd, r.Processors)
	if r.Kernel != "" {
		r.Kernel = "Linux " + r.Kernel
	}
	for _, more := range []string{r.Memory, r.Kernel} {
		if more != "" {
			page.WriteString(", " + more)
		}
	}
	page.WriteString(", all on one machine. [How to read this](" + guide + ").\n\n" + head)
	for _, id := range r.Rows {
		runs := slices.DeleteFunc(slices.Clone(r.Runs), func(x played) bool { return x.Scenario != id })
		page.WriteString(rowsOf(id, runs))
	}
	return page.String()
}

// rowsOf are the rows of one scenario: one for each of its steps, which share requests and histories.
func rowsOf(id string, runs []played) string {
	var text strings.Builder
	good := slices.DeleteFunc(slices.Clone(runs), func(x played) bool { return x.Error != "" })
	if len(good) > 0 {
		for i := range good[0].Steps {
			text.WriteString(rowOf(good, i))
		}
	}
	for _, bad := range runs {
		if bad.Error != "" {
			fmt.Fprintf(&text, "| `%s`, run %d | 0 | no figures: %s | | | | | | | |\n", id, bad.Run, cell(bad.Error))
		}
	}
	return text.String()
}

func rowOf(runs []played, i int) string {
	var gaps, wholes, late []float64
	var names []string
	requests, failed := 0, 0
	linearizable, watch := yes, yes
	for _, run := range runs {
		gaps, wholes = append(gaps, run.Steps[i].LongestGap), append(wholes, run.Steps[i].Whole)
		late = append(late, run.WatchLatestBy)
		requests, failed = requests+run.Operations, failed+run.Failed
		names = append(names, "`"+run.History+"`")
		if run.Linearizable != yes {
			linearizable = loud(run.Linearizable)
		}
		if run.Watch != yes {
			watch = loud(run.Watch)
		}
	}
	return fmt.Sprintf("| %s | %d | %s | %s | %s | %d | %d | %s | %s | %s |\n", runs[0].Steps[i].Row, len(runs),
		linearizable, watch, figure(late, "%.2f s"), requests, failed, figure(gaps, "%.2f s"), figure(wholes, "%.1f s"), strings.Join(names, ", "))
}

// loud is a verdict that is not yes, which no reader may miss.
func loud(said string) string {
	what, why, _ := strings.Cut(said, ": ")
	if why == "" {
		return "**" + what + "**"
	}
	return "**" + what + "**: " + cell(why)
}

// figure is the worst, and the median where there are several.
func figure(values []float64, form string) string {
	slices.Sort(values)
	n := len(values)
	worst := fmt.Sprintf(form, values[n-1])
	if n == 1 {
		return worst
	}
	return fmt.Sprintf("%s ("+form+")", worst, (values[(n-1)/2]+values[n/2])/2)
}

// cell is a text that does not end the cell of a table.
func cell(text string) string { return strings.NewReplacer("|", "/", "\n", " ").Replace(text) }

func plural(n int, what string) string {
	if n == 1 {
		return "one " + what + " of each row"
	}
	return fmt.Sprintf("%d %ss of each row", n, what)
}
