package etcdutil

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// lastWordsLimit is how much of a line is kept, in bytes. etcd's longest reason has three members in it.
const lastWordsLimit = 600

// LastWords is why a process of etcd stopped, in its own words and in one line: its last line that is graver than a
// warning, or else its last line if that is neither of its log nor of a stack. Empty where there is none.
func LastWords(tail string) string {
	if words := graveWords(tail); words != "" {
		return words
	}
	lines := strings.Split(strings.TrimSpace(tail), "\n")
	last := lines[len(lines)-1]
	if _, _, isEntry := logEntry(last); isEntry {
		return ""
	}
	return entryWords(last)
}

// graveWords are those of the last line by which a process says that it ends. A panic repeats a line of the log
// without its error, so that the line before it says more.
func graveWords(tail string) string {
	for _, line := range slices.Backward(strings.Split(tail, "\n")) {
		level, words, _ := logEntry(line)
		isGrave := slices.Contains([]string{"error", "dpanic", "panic", "fatal"}, level)
		if isGrave || isFlagError(line) || strings.HasPrefix(line, "fatal error: ") || isOwnPanic(line, tail) {
			return cmp.Or(words, entryWords(line))
		}
	}
	return ""
}

// isOwnPanic says that a panic is no entry of the log once more.
func isOwnPanic(line, tail string) bool {
	cause, isPanic := strings.CutPrefix(line, "panic: ")
	return isPanic && !strings.Contains(tail, `"msg":"`+cause+`"`) && !strings.Contains(tail, "\t"+cause+"\t")
}

// isFlagError knows the words of Go's package flag, which etcd parses its flags with. Its usage follows them.
func isFlagError(line string) bool {
	return strings.HasPrefix(line, "flag provided but not defined: ") ||
		strings.HasPrefix(line, "invalid value ") && strings.Contains(line, " for flag -")
}

// entryWords are what a line says to people: message and error of an entry of the log, or the line itself. Frames of a
// stack say nothing.
func entryWords(line string) string {
	if _, words, isEntry := logEntry(line); isEntry {
		return words
	}
	line = strings.TrimPrefix(line, "panic: ")
	if isFrame.MatchString(line) {
		return ""
	}
	return oneLine(line)
}

// oneLine makes of words one that people read in a table or a terminal: etcd quotes what peers and clients sent, which
// may hold line breaks and control characters.
func oneLine(words string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, words)
	line := strings.Join(strings.Fields(printable), " ")
	if len(line) > lastWordsLimit {
		line = strings.TrimSpace(strings.ToValidUTF8(line[:lastWordsLimit], "")) + "…"
	}
	return line
}

// isFrame knows lines of a stack as the Go runtime prints it.
var isFrame = regexp.MustCompile(`^\t|\.go:\d+ \+0x|^goroutine \d+ |^created by |^\S+\(.*\)$`)

// logField finds a field of an entry of etcd's log in JSON. The kubelet may have cut off its front.
var logField = regexp.MustCompile(`"(level|msg|error)": ?("(?:[^"\\]|\\.)*")`)

// logEntry reads one line of etcd's log (etcd-io/etcd:client/pkg/logutil/zap.go), as JSON or for the console.
func logEntry(line string) (level, words string, isEntry bool) {
	fields := map[string]string{}
	for _, found := range logField.FindAllStringSubmatch(line, -1) {
		var value string
		if json.Unmarshal([]byte(found[2]), &value) == nil {
			fields[found[1]] = value
		}
	}
	const time, levelAt, caller, message = 0, 1, 2, 3
	if columns := strings.Split(line, "\t"); len(columns) > message && columns[time] != "" && columns[caller] != "" {
		fields["level"], fields["msg"] = columns[levelAt], columns[message]
	}
	words = fields["msg"]
	if err := fields["error"]; err != "" {
		words = strings.TrimPrefix(words+": "+err, ": ")
	}
	isEntry = words != "" || fields["level"] != "" || strings.HasSuffix(strings.TrimSpace(line), `"}`)
	return fields["level"], oneLine(words), isEntry
}

// signalNames are those that end a process of etcd.
var signalNames = map[int]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
	11: "SIGSEGV", 15: "SIGTERM",
}

// signalWords name the signal that ended a process. Above the last one the runtime knows no more than that it ended.
func signalWords(number int) string {
	const highest = 64
	if number > highest {
		return "it ended, and its exit code was lost"
	}
	return fmt.Sprintf("signal %d (%s) ended it", number, cmp.Or(signalNames[number], "see man 7 signal"))
}
