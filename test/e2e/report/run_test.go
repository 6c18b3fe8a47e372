package report

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// scenario is one cluster with one history: what is done to it, step by step, and each step is a row of the report.
type scenario struct {
	id       string // for ROWS, and the name of its histories
	size     int32
	steps    []step
	options  []world.Option
	operator bool // it brings an operator of its own, which can be killed
}

// step is one fault or change. Do returns when it has happened; the row ends when the cluster has so many voters and is whole.
type step struct {
	row    string
	do     func(context.Context, *subject)
	voters int
}

// subject is what a step is done to.
type subject struct {
	*world.Cluster
	operator *world.Operator // nil for the installed one
	began    time.Time
}

// begin is when a fault begins that something had to be made ready for.
func (s *subject) begin() { s.began = time.Now() }

// taken is what is written of one run beside its history. Durations are in seconds.
type taken struct {
	Scenario   string         `json:"scenario"`
	Run        int            `json:"run"`
	Operations int            `json:"operations"`
	Failed     int            `json:"failed"` // not answered in time, or with an error
	Problems   map[string]int `json:"problems,omitempty"`
	Steps      []measured     `json:"steps"`
	Error      string         `json:"error,omitempty"` // why there are no figures
}

type measured struct {
	Row        string  `json:"row"`
	LongestGap float64 `json:"longestGap"` // of any one client, from the fault until each client was answered after the cluster was whole
	Whole      float64 `json:"whole"`      // from the fault until the cluster was whole
}

// runs is how often each row is run.
var runs = asked()

func asked() int {
	n, err := strconv.Atoi(os.Getenv("RUNS"))
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// wanted are the scenarios that ROWS names, or all.
func wanted() []scenario {
	ids := named()
	return slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return len(ids) > 0 && !slices.Contains(ids, s.id) })
}

func named() []string {
	return strings.FieldsFunc(os.Getenv("ROWS"), func(r rune) bool { return r == ',' || r == ' ' })
}

// unknown are the names in ROWS that no scenario has.
func unknown() []string {
	return slices.DeleteFunc(named(), func(id string) bool {
		return slices.ContainsFunc(scenarios, func(s scenario) bool { return s.id == id })
	})
}

// perRow bounds one that hangs; it is no measure of speed.
const perRow = NodeTimeout(8 * time.Minute)

var _ = Describe("Clients", func() {
	if directory == "" {
		return
	}
	for run := 1; run <= runs; run++ {
		for _, s := range wanted() {
			It(fmt.Sprintf("of %s, run %d", s.id, run), Label(s.id), Label(strconv.Itoa(run)), perRow, func(ctx context.Context) {
				play(ctx, s, run)
			})
		}
	}
})

// aLine is how much of a failure fits into a row. All of it is in the output.
const aLine = 200

// gomegaError is how Gomega says an error: around its text is what Go has of it in memory.
var gomegaError = regexp.MustCompile(`^Unexpected error: <[^>]*>: (.*?) \{.*$`)

// What was begun and not finished is in the report, with why. What is not there was not begun.
var _ = ReportAfterEach(func(report SpecReport) {
	if !report.Failed() {
		return
	}
	labels := report.Labels()
	run, _ := strconv.Atoi(labels[1])
	why := gomegaError.ReplaceAllString(strings.Join(strings.Fields(report.FailureMessage()), " "), "$1")
	found := taken{Scenario: labels[0], Run: run, Error: why[:min(len(why), aLine)]}
	Expect(writeJSON(filepath.Join(history(labels[0], run), "run.json"), found)).To(Succeed())
})

// history is the directory of one run, below the report's.
func history(id string, run int) string { return fmt.Sprintf("%s-%d", id, run) }

func play(ctx context.Context, s scenario, run int) {
	awaitOperator(ctx) // the row before may have hurt it
	kube.AwaitNodesReady(ctx)
	story, err := newStory(ctx, s.operator)
	Expect(err).NotTo(HaveOccurred())
	on := &subject{}
	if s.operator {
		on.operator = story.StartOperator(ctx)
	}
	on.Cluster = story.Create(ctx, "asked", s.size, s.options...)
	on.AwaitReady(ctx, int(s.size))
	recording := on.Record(ctx)
	recording.Flow(ctx)
	found := taken{Scenario: s.id, Run: run}
	for _, step := range s.steps {
		By(step.row)
		on.begin()
		step.do(ctx, on)
		on.AwaitReady(ctx, step.voters)
		whole := time.Since(on.began)
		recording.Flow(ctx)
		found.Steps = append(found.Steps, measured{Row: step.row, Whole: whole.Seconds(),
			LongestGap: recording.LongestGap(on.began, time.Now()).Seconds()})
	}
	recording.Finish(ctx, filepath.Join(directory, history(s.id, run)))
	found.Operations, found.Failed = recording.Counts()
	found.Problems = recording.Problems()
	Expect(writeJSON(filepath.Join(history(s.id, run), "run.json"), found)).To(Succeed())
	GinkgoWriter.Printf("%+v\n", found)
}

func newStory(ctx context.Context, own bool) (*world.Story, error) {
	if own {
		return kube.NewStoryWithOwnOperator(ctx)
	}
	return kube.NewStory(ctx)
}

// writeJSON writes a file of the report.
func writeJSON(name string, content any) error {
	path := filepath.Join(directory, name)
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// memory is this machine's; empty where there is nothing to read.
func memory() string {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), "\n")
	_, kib, _ := strings.Cut(first, ":")
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(kib), " kB"))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%.0f GiB", float64(n)/(1<<20))
}

func kernel() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(text))
}
