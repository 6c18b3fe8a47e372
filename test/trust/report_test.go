package trust

import (
	"regexp"
	"slices"
	"testing"
)

func TestThePageOfTheReportNamesEachRowThatItHas(t *testing.T) {
	const page, program = "docs/report.md", "test/e2e/report/rows_test.go"
	var there, named []string
	for _, m := range regexp.MustCompile(`(?m)^\t(?:three\(|\{id: )"([a-z-]+)"`).FindAllStringSubmatch(read(t, program), -1) {
		there = append(there, m[1])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ").FindAllStringSubmatch(read(t, page), -1) {
		named = append(named, m[1])
	}
	if len(there) < 10 || !slices.Equal(there, named) {
		t.Errorf("%s names %v, and %s has %v", page, named, program, there)
	}
}
