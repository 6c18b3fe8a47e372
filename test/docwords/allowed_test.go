package docwords

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const allowedFile = "testdata/allowed.txt"

var update = flag.Bool("update", false, "lower the numbers of the allow-list to what there is; none is ever raised")

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

// compare fails for each finding that is not allowed, and for each number that is higher than it has to be.
func (a allowed) compare(t *testing.T, rule string, found map[string][]string) {
	t.Helper()
	for path := range a[rule] {
		if _, ok := found[path]; !ok {
			found[path] = nil
		}
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		limit, got := a[rule][path], len(found[path])
		switch {
		case got > limit:
			t.Errorf("%s: %d, allowed are %d:\n%s", path, got, limit, strings.Join(found[path], "\n"))
		case got < limit && *update:
			a[rule][path] = got
		case got < limit:
			t.Errorf("%s: allowed are %d, there are %d: go test ./test/docwords -update", path, limit, got)
		}
	}
}

// write stores the numbers, when asked to.
func (a allowed) write(t *testing.T) {
	t.Helper()
	if !*update {
		return
	}
	text := strings.Builder{}
	for line := range strings.Lines(readFile(t, allowedFile)) {
		if strings.HasPrefix(line, "#") {
			text.WriteString(line)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(a)) {
		for _, path := range slices.Sorted(maps.Keys(a[r])) {
			if count := a[r][path]; count > 0 {
				fmt.Fprintf(&text, "%s %s %d\n", r, path, count)
			}
		}
	}
	if err := os.WriteFile(allowedFile, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
