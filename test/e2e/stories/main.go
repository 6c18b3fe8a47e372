// Command stories prints the table of stories: the group by which `make test-all GROUP=…` runs it, whether CI runs it,
// what is proven, and how long it took when it last ran here.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/etcdsteward/etcd-steward/test/e2e/stories/durations"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "stories:", err)
		os.Exit(1)
	}
}

func run() error {
	specs, err := list()
	if err != nil {
		return err
	}
	last, err := durations.Read("test/reports")
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "GROUP\tCORE\tLAST\tPROVEN")
	slices.SortStableFunc(specs, func(a, b types.SpecReport) int { return strings.Compare(group(a), group(b)) })
	core := 0
	for _, spec := range specs {
		mark := ""
		if slices.Contains(spec.Labels(), coreLabel) {
			mark = "core"
			core++
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", group(spec), mark, duration(last[spec.FullText()]), spec.FullText())
	}
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Printf("\n%d stories, of which %d core\n", len(specs), core)
	return nil
}

const coreLabel = "core"

// group is the first label that is not core.
func group(spec types.SpecReport) string {
	for _, label := range spec.Labels() {
		if label != coreLabel {
			return label
		}
	}
	return "-"
}

func duration(last durations.Last) string {
	if last.State == "" {
		return "-"
	}
	text := fmt.Sprintf("%.0f s", last.Seconds)
	if last.State != types.SpecStatePassed.String() {
		text += " " + last.State
	}
	return text
}

// dryRun lists the stories. E2E_TEST names their test binary where it is built already.
func dryRun(report string) *exec.Cmd {
	flags := []string{"-ginkgo.dry-run", "-ginkgo.json-report=" + report}
	if built := os.Getenv("E2E_TEST"); built != "" {
		return exec.Command(built, flags...)
	}
	return exec.Command("go", append([]string{"test", "-count=1", "./test/e2e"}, flags...)...)
}

// list asks Ginkgo for the stories, without running them.
func list() ([]types.SpecReport, error) {
	directory, err := os.MkdirTemp("", "stories")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	path := filepath.Join(directory, "stories.json")
	out, err := dryRun(path).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("listing the stories: %w\n%s", err, out)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the list of stories: %w", err)
	}
	var reports []types.Report
	if err := json.Unmarshal(content, &reports); err != nil {
		return nil, fmt.Errorf("reading the list of stories: %w", err)
	}
	var specs []types.SpecReport
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			if spec.LeafNodeType == types.NodeTypeIt {
				specs = append(specs, spec)
			}
		}
	}
	return specs, nil
}
