package etcdutil

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/reference/etcd-minors.md anew")

// minorsPage says what comes and goes from minor to minor. The lists are held to real binaries by the contract tests.
const minorsPage = "../../docs/reference/etcd-minors.md"

func TestThePageSaysWhatComesAndGoesFromMinorToMinor(t *testing.T) {
	text, err := os.ReadFile(minorsPage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- written by go test ./pkg/etcdutil -update -->\n", "<!-- end -->"
	before, rest, hasBegin := strings.Cut(string(text), begin)
	was, after, hasEnd := strings.Cut(rest, end)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s has no place for the tables", minorsPage)
	}
	want := minorTables(t)
	if *update {
		if err := os.WriteFile(minorsPage, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if was != want {
		t.Errorf("%s lags (go test ./pkg/etcdutil -update); it should have\n%s", minorsPage, want)
	}
}

// minorTables has a table for each step up.
func minorTables(t *testing.T) string {
	t.Helper()
	var page strings.Builder
	minors := ListedMinors()
	for i, higher := range minors[1:] {
		lower := minors[i]
		fmt.Fprintf(&page, "\n## From %s to %s\n\n| | New | Gone |\n|---|---|---|\n", lower, higher)
		for _, kind := range []struct {
			name  string
			names func(*testing.T, string) []string
		}{{"Flags", flagsOf}, {"Feature gates", gatesOf}, {"Metrics", metricsOf}} {
			fmt.Fprintf(&page, "| %s | %s | %s |\n", kind.name, missing(kind.names(t, higher), kind.names(t, lower)),
				missing(kind.names(t, lower), kind.names(t, higher)))
		}
	}
	return page.String() + "\n"
}

func flagsOf(_ *testing.T, minor string) []string { return nameTables()[minor].flags }

func gatesOf(_ *testing.T, minor string) []string { return nameTables()[minor].gates }

func metricsOf(t *testing.T, minor string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/metrics/" + minor + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// missing are the names of which others has none, each in quotes.
func missing(names, others []string) string {
	var left []string
	for _, name := range names {
		if !slices.Contains(others, name) {
			left = append(left, "`"+name+"`")
		}
	}
	return strings.Join(left, ", ")
}
