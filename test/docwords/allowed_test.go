package docwords

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const allowedFile = "testdata/allowed.txt"

// allowed is how many findings each rule may still have, by file, or by directory with a slash at its end.
type allowed map[string]map[string]int

func readAllowed(t *testing.T) allowed {
	t.Helper()
	list := allowed{}
	for i, line := range strings.Split(strings.TrimSpace(readFile(t, allowedFile)), "\n") {
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 3 {
			t.Fatalf("%s:%d: want a rule, a path and a number", allowedFile, i+1)
		}
		count, err := strconv.Atoi(fields[2])
		if err != nil || count < 1 {
			t.Fatalf("%s:%d: want a number above zero: %v", allowedFile, i+1, err)
		}
		if list[fields[0]] == nil {
			list[fields[0]] = map[string]int{}
		}
		list[fields[0]][fields[1]] = count
	}
	return list
}

// keyOf is the entry under which findings of a file are counted: the longest directory that has one, or the file.
func (a allowed) keyOf(rule, path string) string {
	longest := ""
	for entry := range a[rule] {
		if strings.HasSuffix(entry, "/") && strings.HasPrefix(path, entry) && len(entry) > len(longest) {
			longest = entry
		}
	}
	if longest == "" {
		return path
	}
	return longest
}

// compare fails where there are more findings than are allowed.
func (a allowed) compare(t *testing.T, rule string, found map[string][]string) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if limit, got := a[rule][path], len(found[path]); got > limit {
			t.Errorf("%s: %d, allowed are %d:\n%s", path, got, limit, strings.Join(found[path], "\n"))
		}
	}
}
