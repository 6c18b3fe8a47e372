package etcdutil

import (
	"strings"
	"testing"
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
	if got := LastWords(strings.Repeat("x", 5000)); len(got) > 400 {
		t.Errorf("a long line is kept whole: %d bytes", len(got))
	}
}
