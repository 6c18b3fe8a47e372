package world

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// recorded is a story in a file: its kind, its seed, and its deeds. Where a story has a script, the seed makes no other
// deeds. It still says when Pods start, when clients write, and when the operator looks. So a story may show nothing any
// more once the simulator changes. What must stay for good is written as a finding, by hand.
type recorded struct {
	says   string // the signature of what is wrong
	kind   string
	seed   uint64
	isOpen bool // the planner is wrong in it today, which is known and no reason to fail
	deeds  []Deed
}

// recordedOf are the findings of a story, as files hold them: what follows the first violation of a class mostly follows
// from it.
func recordedOf(k kind, seed uint64, w *World) []recorded {
	var findings []recorded
	isSeen := map[Class]bool{}
	for _, v := range w.Violations {
		if !isSeen[v.Class] {
			findings = append(findings,
				recorded{says: v.Signature(), kind: k.name, seed: seed, isOpen: true, deeds: w.Deeds})
		}
		isSeen[v.Class] = true
	}
	return findings
}

// String is what the file holds.
func (r recorded) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\nkind %s\nseed %d\n", r.says, r.kind, r.seed)
	if r.isOpen {
		fmt.Fprintln(&b, "open")
	}
	for _, d := range r.deeds {
		fmt.Fprintln(&b, d)
	}
	return b.String()
}

// readStory reads such a file.
func readStory(text string) (recorded, error) {
	var r recorded
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var err error
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "#":
			r.says = rest
		case "kind":
			r.kind = rest
		case "seed":
			r.seed, err = strconv.ParseUint(rest, 10, 64)
		case "open":
			r.isOpen = true
		default:
			var d Deed
			d, err = ParseDeed(line)
			r.deeds = append(r.deeds, d)
		}
		if err != nil {
			return r, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return r, nil
}

// play tells the story of these deeds.
func (r recorded) play() (*World, error) {
	k, isKnown := kindOf(r.kind)
	if !isKnown {
		return nil, fmt.Errorf("there is no kind %q", r.kind)
	}
	return k.tell(r.seed, ScriptOf(r.deeds)).w, nil
}

// shows reports whether a story still goes wrong as it says.
func (r recorded) shows() bool {
	w, err := r.play()
	return err == nil && slices.ContainsFunc(w.Violations, func(v Violation) bool { return v.Signature() == r.says })
}

// shrunk is the story without the deeds that it does not take, as far as some attempts show.
func (r recorded) shrunk(until time.Time) recorded {
	attempts := 200
	for size := len(r.deeds); size > 0; size /= 2 {
		for from := 0; from < len(r.deeds) && attempts > 0 && time.Now().Before(until); attempts-- {
			less := r
			less.deeds = slices.Delete(slices.Clone(r.deeds), from, min(from+size, len(r.deeds)))
			if less.shows() {
				r = less
			} else {
				from += size
			}
		}
	}
	return r
}

func TestNoRecordedStoryGoesWrong(t *testing.T) {
	files, _ := filepath.Glob("testdata/stories/*.story")
	if *storyFile != "" {
		files = []string{*storyFile}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := readStory(string(text))
			if err != nil {
				t.Fatal(err)
			}
			w, err := r.play()
			switch {
			case err != nil:
				t.Fatal(err)
			case *storyFile != "":
				fmt.Print(w.Story(len(w.Log)))
				t.Log(w.Violations)
			case r.isOpen && len(w.Violations) == 0:
				t.Errorf("nothing goes wrong any more: take the line \"open\" out of the file. It was: %s", r.says)
			case r.isOpen:
				tellFinding(w.Violations[0], "open, in testdata/stories/"+filepath.Base(file))
			case len(w.Violations) > 0:
				t.Errorf("%v\n%s", w.Violations, w.Story(40))
			}
		})
	}
}

func TestARecordedStoryIsReadAsItWasWritten(t *testing.T) {
	k, _ := kindOf("plain")
	w := k.tell(7, nil).w
	want := recorded{says: "safety: nothing", kind: "plain", seed: 7, isOpen: true, deeds: w.Deeds}
	got, err := readStory(want.String())
	if err != nil || got.String() != want.String() || !slices.Equal(got.deeds, want.deeds) {
		t.Fatalf("%v\n%s\n%s", err, want, got)
	}
	again, err := got.play()
	if err != nil || !slices.Equal(again.Log, w.Log) {
		t.Errorf("the recorded story is another one: %v\n%s", err, again.Story(40))
	}
	got.deeds = nil
	if again, _ := got.play(); len(again.Deeds) > 0 {
		t.Errorf("a script without deeds has some\n%s", again.Story(40))
	}
}
