package etcdutil

import (
	"cmp"
	"encoding/json"
	"strings"
)

// lastWordsLimit is how much of a line that is not JSON is kept, in bytes.
const lastWordsLimit = 300

// LastWords is why etcd stopped, in its own words and in one line: message and error of the last entry that is graver
// than a warning in the end of its log, or the last line where there is none. Stack traces are left out.
func LastWords(tail string) string {
	lines := strings.Split(strings.TrimSpace(tail), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if words := cmp.Or(graveWords(lines[i]), flagWords(lines[i])); words != "" {
			return words
		}
	}
	last := strings.TrimSpace(lines[len(lines)-1])
	if len(last) > lastWordsLimit {
		last = strings.ToValidUTF8(last[:lastWordsLimit], "") + "…"
	}
	return last
}

// flagWords are those of Go's package flag, which etcd parses its flags with. Its usage follows them.
func flagWords(line string) string {
	if strings.HasPrefix(line, "flag provided but not defined: ") ||
		strings.HasPrefix(line, "invalid value ") && strings.Contains(line, " for flag -") {
		return line
	}
	return ""
}

// graveWords reads one line of etcd's log (etcd-io/etcd:client/pkg/logutil/zap.go). A line that the kubelet cut off in
// the front is no JSON and says nothing.
func graveWords(line string) string {
	var entry struct {
		Level, Msg, Error string
	}
	if json.Unmarshal([]byte(line), &entry) != nil {
		return ""
	}
	switch entry.Level {
	case "error", "dpanic", "panic", "fatal":
	default:
		return ""
	}
	if entry.Error == "" {
		return entry.Msg
	}
	return entry.Msg + ": " + entry.Error
}
