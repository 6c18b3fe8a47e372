package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// said takes down what a test would fail with.
type said struct {
	testing.TB
	text string
}

func (s *said) Helper() {}

func (s *said) Errorf(format string, args ...any) { s.text += format }

func TestOneOtherAnswerIsNoticedAndEachAnswerCanBeRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "corpus.txt")
	play := func(answer string, update bool) bool {
		t.Helper()
		heard := &said{TB: t}
		c := Open(heard, file)
		c.Begin("worlds of one member")
		c.Add("it is silent", "wait")
		c.Begin("worlds of two members")
		c.Add("both are silent", answer)
		c.Compare(heard, update)
		return heard.text == ""
	}
	play("refuse", true)
	if !play("refuse", false) {
		t.Error("the same answers are called other ones")
	}
	answers := t.TempDir()
	t.Setenv(answersTo, answers)
	if play("act", false) {
		t.Error("another answer is not noticed")
	}
	text, err := os.ReadFile(filepath.Join(answers, "corpus.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "worlds of two members, both are silent: act\n"; !strings.HasSuffix(string(text), want) {
		t.Errorf("%q does not end with %q", text, want)
	}
}
