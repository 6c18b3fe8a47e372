// Package promql finds which metrics a query reads, and promtool, which says whether it is a query at all.
package promql

import (
	"regexp"
	"slices"
)

var (
	// Between quotes, braces and brackets, and after these words, there are labels, values and times.
	apart = regexp.MustCompile(`"[^"]*"|'[^']*'|\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	// A function or an aggregation is followed by a parenthesis, if need be after its grouping.
	called = regexp.MustCompile(`\b[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(`)
	name   = regexp.MustCompile(`\b[a-zA-Z_:][a-zA-Z0-9_:]*\b`)
	quoted = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	// Words of the language, and units of times such as 5m.
	words = []string{"and", "or", "unless", "bool", "offset"}
	// suffix is what a histogram adds to its name.
	suffix = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// Metrics are the names of the metrics that a query reads, sorted, those of histograms without the suffix of a series.
// A name that it does not understand it takes for a metric.
func Metrics(query string) []string {
	rest := apart.ReplaceAllString(quoted.ReplaceAllString(query, `""`), " ")
	rest = called.ReplaceAllString(rest, "(")
	var found []string
	for _, metric := range name.FindAllString(rest, -1) {
		if !slices.Contains(words, metric) {
			found = append(found, suffix.ReplaceAllString(metric, ""))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
