package trust

import (
	"regexp"
	"strings"
	"testing"
)

// fuzzTarget is how OpenSSF Scorecard finds one.
var fuzzTarget = regexp.MustCompile(`func\s+(Fuzz\w+)\s*\(\w+\s+\*testing.F\)`)

// What others may have written, or had a part in, is read by a parser that is fuzzed.
func TestWhatOthersWroteIsReadByAParserThatIsFuzzed(t *testing.T) {
	want := map[string]bool{"pkg/backup/": false, "pkg/etcdutil/": false, "pkg/pki/": false, "controllers/record/": false}
	targets := 0
	for _, path := range files(t) {
		if !strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "test/") {
			continue
		}
		found := fuzzTarget.FindAllString(read(t, path), -1)
		targets += len(found)
		for room := range want {
			want[room] = want[room] || len(found) > 0 && strings.HasPrefix(path, room)
		}
	}
	if targets < 10 {
		t.Errorf("only %d fuzz targets were found", targets)
	}
	for room, isFuzzed := range want {
		if !isFuzzed {
			t.Errorf("nothing in %s is fuzzed", room)
		}
	}
}
