package world

import (
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/corpus"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

var (
	first     = flag.Uint64("first", 1, "the seed of the first story of each kind")
	times     = flag.Int("times", 1, "play so many times as many stories of each kind as the gate does")
	every     = flag.Uint64("every", uint64(needs.Stride(8)), "play one of so many seeds and moments")
	seed      = flag.Uint64("seed", 0, "play only the story of this seed, of the kind of -kind, and print it")
	storyFile = flag.String("story", "", "play only the recorded story of this file, and print it")
	ofKind    = flag.String("kind", "plain", "the kind of story that -seed plays")
	update    = flag.Bool("update", false, "write the corpus anew")
)

// tale is one story: of a seed, and of a script if it was recorded.
type tale struct {
	seed   uint64
	script Script
	w      *World
	last   plan.Decision
}

// begin is the world of the story.
func (t *tale) begin(spec facts.Desired) *World {
	t.w = New(t.seed, spec)
	t.w.script = t.script
	return t.w
}

// kind is a kind of story.
type kind struct {
	name    string
	play    func(*tale) (last plan.Decision, rests bool)
	happens []string // what must be in the logs, or its stories prove nothing
	gate    int      // how many stories of this kind the gate plays; the soak plays those under hazards
}

// kinds are all of them.
func kinds() []kind {
	all := []kind{
		{"plain", play, plainEvents, 150},
		{"restores", playRestore, restoreEvents, 20},
		{"restores-in-place", playInPlace, inPlaceEvents, 20},
		{"minors", playMinors, minorEvents, 20},
	}
	for _, run := range hazardRuns {
		all = append(all, kind{run.name, func(t *tale) (plan.Decision, bool) { return playHazard(t, run.hazards) },
			run.happens, 0})
	}
	return append(all, kind{"mixed", func(t *tale) (plan.Decision, bool) { return playHazard(t, mixed(t.seed)) }, nil, 0})
}

// kindOf finds a kind by its name.
func kindOf(name string) (kind, bool) {
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == name })
	return all[max(i, 0)], i >= 0
}

// tell plays one story. That it never comes to rest is a violation of its own, and so is a panic.
func (k kind) tell(seed uint64, script Script) (t *tale) {
	t = &tale{seed: seed, script: script}
	defer func() {
		if why := recover(); why != nil {
			t.w.logf("%s", debug.Stack())
			t.w.violate("panic: %v", why)
		}
	}()
	last, rests := k.play(t)
	if t.last = last; !rests && !t.w.IsUnsafe() {
		t.w.stall("never comes to rest: %s: %s", last.Rule, last.Message)
	}
	return t
}

func TestNoStoryViolatesAnInvariant(t *testing.T) {
	if *seed != 0 {
		return // only one story is asked for
	}
	answers, isGate := corpus.Open(t, "testdata/corpus-of-stories.txt"), *first == 1 && *times == 1
	for _, k := range kinds() {
		for s := *first; s < *first+uint64(*times*k.gate); s++ {
			w := k.tell(s, nil).w
			report(t, k, s, w)
			answers.Begin(fmt.Sprintf("%s, seed %d", k.name, s))
			for i, d := range w.ledger.decided {
				answers.Add(fmt.Sprintf("decision %d", i), d.said, d.trace)
			}
		}
	}
	if isGate {
		answers.Compare(t, *update)
	}
}

// It is for people: it tells one story that was generated, and prints what a file of it holds, shrunk.
func TestTheStoryOfOneSeed(t *testing.T) {
	if *seed == 0 {
		return
	}
	k, isKnown := kindOf(*ofKind)
	if !isKnown {
		t.Fatalf("there is no kind %q", *ofKind)
	}
	w := k.tell(*seed, nil).w
	fmt.Print(w.Story(len(w.Log)))
	report(t, k, *seed, w)
	for _, r := range recordedOf(k, *seed, w) {
		fmt.Printf("\n%s:\n%s", fileOf(r.says), r.shrunk(time.Now().Add(time.Minute)))
	}
}

// report fails for a story that violates an invariant. One in which the operator does not get on is a finding: what a
// change of the planner must not break is safety, and no 200 stories prove that each one comes to rest.
func report(t *testing.T, k kind, seed uint64, w *World) {
	t.Helper()
	for _, v := range w.Violations {
		if v.Class == Safety {
			t.Errorf("%s, seed %d: %s\n%s", k.name, seed, v, firstStory(t, w))
			continue
		}
		tellFinding(v, fmt.Sprintf("%s seed %d, repeat with: %s", k.name, seed, repeat(k, seed)))
	}
}

// tellFinding names what is wrong today, and where it is told, for the gate to list at its end.
func tellFinding(v Violation, where string) {
	fmt.Printf("FINDING (does not fail): %s: %s\n", v.Signature(), where)
}

// repeat is the command that tells a story.
func repeat(k kind, seed uint64) string {
	return fmt.Sprintf("go test ./controllers/plan/world -v -run OneSeed -kind %s -seed %d", k.name, seed)
}

func TestASignatureNamesNoMember(t *testing.T) {
	v := Violation{Liveness, "I8: never: demo-1, demo-3 and demo-12 of 2f5f3c8e9a0b1c2d wait 5m0s for 3.6.16, 2 of 3"}
	if got, want := v.Signature(), "liveness: I8: never: NAMES of ID wait N for N, N of N"; got != want {
		t.Errorf("got %q, want %q", got, want)
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
func each[T any](t *testing.T, rounds []T, play func(t *testing.T, one T)) {
	t.Helper()
	for _, one := range rounds {
		t.Run(fmt.Sprint(one), func(t *testing.T) { play(t, one) })
	}
}

// seeds are so many, of which the gate plays the first eighth, three at least.
func seeds(n uint64) []uint64 {
	return upTo(max(n / *every, min(n, 3)))
}

// moments are the seeds of stories that differ in the moment at which something happens: one of each eight in the gate,
// odd and even ones, and all of them with -every=1.
func moments(n uint64) []uint64 {
	return slices.DeleteFunc(upTo(n), func(s uint64) bool { return s%*every != s / *every % *every })
}

func upTo(n uint64) []uint64 {
	var out []uint64
	for s := range n {
		out = append(out, s)
	}
	return out
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
