package world

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
)

var (
	first   = flag.Uint64("first", 1, "the seed of the first story of each kind")
	stories = flag.Int("stories", 150, "how many stories are played, of all kinds")
	every   = flag.Uint64("every", 4, "play the systematic tests at one of so many moments")
	seed    = flag.Uint64("seed", 0, "play only the story of this seed, of the kind of -kind, and print it")
	ofKind  = flag.String("kind", "plain", "the kind of story that -seed plays")
)

// kind is a kind of story that a seed tells.
type kind struct {
	name    string
	play    func(seed uint64) (w *World, last plan.Decision, rests bool)
	happens []string // what must be in the logs, or its stories prove nothing
	gate    int      // how many of 150 stories are of this kind; of the others, the soak plays all
}

// kinds are all of them.
func kinds() []kind {
	all := []kind{
		{"plain", play, plainEvents, 110},
		{"restores", playRestore, restoreEvents, 20},
		{"restores-in-place", playInPlace, inPlaceEvents, 20},
		{"minors", playMinors, minorEvents, 0},
	}
	for _, run := range hazardRuns {
		all = append(all, kind{run.name, func(s uint64) (*World, plan.Decision, bool) {
			return playHazard(s, run.hazards)
		}, run.happens, 0})
	}
	return all
}

func TestNoStoryViolatesAnInvariant(t *testing.T) {
	if *seed != 0 {
		t.Skip("only one story is asked for")
	}
	for _, k := range kinds() {
		for s := *first; s < *first+uint64(*stories*k.gate/150); s++ {
			w, d, rests := k.play(s)
			report(t, fmt.Sprintf("%s, seed %d", k.name, s), w, d, rests)
		}
	}
}

// It is for people: it repeats one story that was generated.
func TestTheStoryOfOneSeed(t *testing.T) {
	for _, k := range kinds() {
		if *seed != 0 && k.name == *ofKind {
			w, d, rests := k.play(*seed)
			t.Log(w.Story(len(w.Log)))
			report(t, fmt.Sprintf("%s, seed %d", k.name, *seed), w, d, rests)
		}
	}
}

// report says in one line what is wrong with a story.
func report(t *testing.T, which string, w *World, d plan.Decision, rests bool) {
	t.Helper()
	switch {
	case len(w.Violations) > 0:
		t.Errorf("%s: %v\n%s", which, w.Violations, firstStory(t, w))
	case !rests:
		t.Errorf("%s never comes to rest: %s: %s\n%s", which, d.Rule, d.Message, firstStory(t, w))
	}
}

// told are the tests that told a story.
var told = map[string]bool{}

// firstStory is the end of a story, once in each test: all rounds of a test are played, and one story is enough to
// begin with.
func firstStory(t *testing.T, w *World) string {
	test, _, _ := strings.Cut(t.Name(), "/")
	if told[test] {
		return ""
	}
	told[test] = true
	return w.Story(40)
}

// each plays a test with each of these. One that goes wrong does not keep the others from being played.
func each[T any](t *testing.T, of []T, play func(t *testing.T, one T)) {
	t.Helper()
	for _, one := range of {
		t.Run(fmt.Sprint(one), func(t *testing.T) { play(t, one) })
	}
}

// seeds are so many.
func seeds(n uint64) []uint64 {
	var out []uint64
	for s := range n {
		out = append(out, s)
	}
	return out
}

// moments are the seeds of stories that differ in the moment at which something happens: one of each four in the gate,
// odd and even ones, and all of them with -every=1.
func moments(n uint64) []uint64 {
	return slices.DeleteFunc(seeds(n), func(s uint64) bool { return s%*every != s / *every % *every })
}

func mentions(lines []string, word string) int {
	n := 0
	for _, line := range lines {
		if strings.Contains(line, word) {
			n++
		}
	}
	return n
}
