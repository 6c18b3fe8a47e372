package etcdutil

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLastWordsAreTheGravestLineWithoutItsStack(t *testing.T) {
	for _, row := range []struct{ name, tail, want string }{
		{"the last grave line of a cut-off log",
			`-1.demo-peers.lead.svc:2380/members\": EOF"}` + "\n" +
				`{"level":"error","msg":"bootstrap failed","error":"first","stacktrace":"a\n\tb"}` + "\n" +
				`{"level":"fatal","msg":"discovery failed","error":"cannot fetch cluster info","stacktrace":"a\n\tb"}` + "\n" +
				`{"level":"info","msg":"closed etcd server"}`,
			"discovery failed: cannot fetch cluster info"},
		{"a panic without an error field", `{"level":"panic","msg":"tocommit(5) is out of range"}`, "tocommit(5) is out of range"},
		{"a log without a grave line", "one\ntwo\n", "two"},
		{"a log of a healthy time", `{"level":"info","msg":"sending buffered request"}`, ""},
		{"a panic that is no entry of the log", "panic: runtime error: index out of range [3]\n\ngoroutine 1 [running]:\nmain.main()\n" +
			"\tmain.go:31 +0x28", "runtime error: index out of range [3]"},
		{"the Go runtime's own end", "fatal error: out of memory\n\ngoroutine 1 [running]:\nmain.main()", "fatal error: out of memory"},
		{"a flag that is not known", "flag provided but not defined: -nonsense",
			"flag provided but not defined: -nonsense"},
		{"a flag that is not known, before the usage",
			"flag provided but not defined: -nonsense\nUsage:\n\n  etcd [flags]\n",
			"flag provided but not defined: -nonsense"},
		{"a feature gate that is not known, before the usage",
			"invalid value \"Foo=true\" for flag -feature-gates: unrecognized feature gate: Foo\nUsage:\n",
			"invalid value \"Foo=true\" for flag -feature-gates: unrecognized feature gate: Foo"},
		{"nothing", "", ""},
	} {
		if got := LastWords(row.tail); got != row.want {
			t.Errorf("%s: %q", row.name, got)
		}
	}
	if got := LastWords(strings.Repeat("x", 5000)); len(got) > lastWordsLimit+len("…") {
		t.Errorf("a long line is kept whole: %d bytes", len(got))
	}
}

// What stood in the status was a frame of a stack where the disk was full, and JSON where flags contradict each other.
func TestTheWordsOfACrashAreThoseOfTheLineThatTellsItsReason(t *testing.T) {
	const people = ",-with-a-log-for-people"
	want := map[string]string{
		"a-volume-with-no-room-at-all":                             "no space left on device",
		"a-volume-with-no-room-for-the-WAL":                        "failed to create WAL",
		"a-flag-that-etcd-does-not-know":                           "flag provided but not defined: -no-such-flag",
		"a-flag-with-a-value-that-contradicts-another":             "failed to verify flags: --election-timeout[1ms] should be",
		"a-log-level-that-is-none":                                 `unrecognized level: "loud"`,
		"a-damaged-WAL":                                            "walpb: crc mismatch",
		"a-database-that-is-none":                                  "failed to open database: invalid database",
		"a-database-whose-inner-pages-are-damaged":                 "",
		"an-address-of-another-machine":                            "discovery failed: listen tcp 192.0.2.1:2379: bind: cannot assign",
		"sealed-over-an-empty-directory,-alone" + people:           "discovery failed: cannot fetch cluster info from peer urls",
		"a-database-that-is-none" + people:                         "failed to open database: invalid database",
		"a-volume-with-no-room-at-all" + people:                    "no space left on device",
		"a-record-of-the-WAL-that-cannot-be-decoded" + people:      "discovery failed: proto: ",
		"joining-over-an-emptied-directory-while-its-leader-leads": "tocommit(8) is out of range [lastIndex(0)]",
	}
	seen := map[string]bool{}
	for _, e := range recordedExits(t) {
		_, name, _ := strings.Cut(strings.TrimSuffix(e.name, ".txt"), "/")
		seen[name] = true
		_, words := Explain(e.code, e.message)
		if words == "" || !strings.Contains(words, want[name]) {
			t.Errorf("%s is told as %q, not %q", e.name, words, want[name])
		}
		for _, raw := range []string{`"level"`, "\t", "\n", ".go:", "0x", "goroutine"} {
			if strings.Contains(words, raw) {
				t.Errorf("%s is told as %q, which is not for people", e.name, words)
			}
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("there is no recorded crash of the name %s", name)
		}
	}
}

func TestWhatASignalEndedIsToldByTheSignal(t *testing.T) {
	const healthy = `{"level":"error","msg":"failed to write","error":"no space left on device"}`
	for code, want := range map[int]string{
		137: "signal 9 (SIGKILL) ended it", 143: "signal 15 (SIGTERM) ended it", 135: "signal 7 (SIGBUS) ended it",
		139: "signal 11 (SIGSEGV) ended it", 160: "signal 32", 255: "it ended, and its exit code was lost",
	} {
		if _, words := Explain(code, healthy); !strings.Contains(words, want) {
			t.Errorf("exit code %d is told as %q", code, words)
		}
	}
	if _, words := Explain(0, ""); words != "it ended with exit code 0" {
		t.Errorf("a process that ended by itself is told as %q", words)
	}
}

// FuzzLastWordsAreOneShortLine feeds on what real processes of etcd said. A peer or a client may have a part in it.
func FuzzLastWordsAreOneShortLine(f *testing.F) {
	for _, e := range recordedExits(f) {
		f.Add(e.code, e.message)
	}
	f.Add(2, `{"level":"panic","msg":"first\nReady: all is well\u001b[2J"}`)
	f.Add(1, `{"level":"fatal","msg":"`+strings.Repeat("x", 2*lastWordsLimit)+`"}`)
	f.Add(1, "panic: a\rb\xff")
	f.Fuzz(func(t *testing.T, code int, message string) {
		_, explained := Explain(code, message)
		for _, words := range []string{LastWords(message), explained} {
			if len(words) > lastWordsLimit+len("…") || !utf8.ValidString(words) || strings.TrimSpace(words) != words ||
				strings.ContainsFunc(words, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("of %q: %q", message, words)
			}
		}
	})
}
