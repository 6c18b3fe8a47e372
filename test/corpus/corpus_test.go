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

// told is how an answer came about.
type told string

func (t told) String() string { return string(t) }

func TestOneOtherAnswerIsNoticedAndEachAnswerCanBeRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "corpus.txt")
	play := func(answer string, how told, update bool) bool {
		t.Helper()
		heard := &said{TB: t}
		c := Open(heard, file)
		c.Begin("worlds of one member")
		c.Add("it is silent", "wait", told(""))
		c.Begin("worlds of two members")
		c.Add("both are silent", answer, how)
		c.Compare(heard, update)
		return heard.text == ""
	}
	play("refuse", "nothing is known", true)
	if !play("refuse", "they are blind", false) {
		t.Error("the same answers, explained in other words, are called other ones")
	}
	answers := t.TempDir()
	t.Setenv(answersTo, answers)
	if play("act", "one speaks\none is mute", false) {
		t.Error("another answer is not noticed")
	}
	text, err := os.ReadFile(filepath.Join(answers, "corpus.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "worlds of two members, both are silent: act\n  one speaks\n  one is mute\n"; !strings.HasSuffix(string(text), want) {
		t.Errorf("%q does not end with %q", text, want)
	}
}
