package world

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

var (
	minutes     = flag.Float64("minutes", 0, "how long to soak")
	findingsDir = flag.String("findings", ".", "where the soak writes what it finds")
	isStrict    = flag.Bool("strict", false, "fail for what the soak finds")
	only        = flag.String("only", "", "soak stories of this kind alone")
)

// TestSoak tells stories of every kind with new seeds, two at a time: see `make soak`.
func TestSoak(t *testing.T) {
	if *minutes <= 0 {
		return
	}
	if err := os.MkdirAll(*findingsDir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &soak{findings: map[string]*found{}, tallies: map[string]*tally{},
		until: time.Now().Add(time.Duration(*minutes * float64(time.Minute)))}
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(s.work)
	}
	workers.Wait()
	fmt.Print(s.summary())
	if *isStrict && len(s.findings) > 0 {
		t.Errorf("%d findings", len(s.findings))
	}
	if s.err != nil {
		t.Error(s.err)
	}
}

// soak is what was told so far.
type soak struct {
	until time.Time

	sync.Mutex
	told     int
	steps    int
	findings map[string]*found // by signature
	tallies  map[string]*tally // by kind
	err      error
}

// found is what is wrong with some stories.
type found struct {
	times map[string]int // by kind
	first recorded
	file  string
}

// tally is what happened in the stories of a kind.
type tally struct {
	stories, settled int
	done             map[string]int // stories in which it happened
}

func (s *soak) work() {
	all := kinds()
	if *only != "" {
		all = slices.DeleteFunc(all, func(k kind) bool { return k.name != *only })
	}
	for time.Now().Before(s.until) {
		s.Lock()
		// Stories of one seed meet much the same faults, so each kind has seeds of its own.
		which := s.told % len(all)
		k, seed := all[which], *first+uint64(s.told/len(all)+which*1_000_000)
		s.told++
		s.Unlock()
		told := k.tell(seed, nil)
		s.count(k, told)
		for _, r := range recordedOf(k, seed, told.w) {
			s.keep(r)
		}
	}
}

func (s *soak) count(k kind, told *tale) {
	s.Lock()
	defer s.Unlock()
	s.steps += told.w.Steps
	c := s.tallies[k.name]
	if c == nil {
		c = &tally{done: map[string]int{}}
		s.tallies[k.name] = c
	}
	c.stories++
	if told.last.Reason == facts.ReasonSettled {
		c.settled++
	}
	for _, what := range k.happens {
		c.done[what] += min(1, mentions(told.w.Log, what))
	}
}

// keep counts a finding. The first of its signature is written down, and shrunk.
func (s *soak) keep(r recorded) {
	s.Lock()
	f := s.findings[r.says]
	isNew := f == nil
	if isNew {
		f = &found{times: map[string]int{}, first: r, file: filepath.Join(*findingsDir, fileOf(r.says))}
		s.findings[r.says] = f
	}
	f.times[r.kind]++
	s.Unlock()
	if !isNew {
		return
	}
	for _, known := range []string{filepath.Join("testdata/stories", fileOf(r.says)), f.file} {
		if _, err := os.Stat(known); err == nil {
			f.file = known + ", known"
			return
		}
	}
	err := os.WriteFile(f.file, []byte(r.String()), 0o644) // shrinking takes a while
	err = cmp.Or(err, os.WriteFile(f.file, []byte(r.shrunk(s.until).String()), 0o644))
	s.Lock()
	s.err = errors.Join(s.err, err)
	s.Unlock()
}

// fileOf is where a finding of this signature is written.
func fileOf(signature string) string {
	h := fnv.New32a()
	h.Write([]byte(signature))
	words := regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(signature, "-")
	return fmt.Sprintf("%.50s-%08x.story", strings.ToLower(words), h.Sum32())
}

func (s *soak) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d stories of %d kinds, %d steps, first seed %d\n", s.told, len(s.tallies), s.steps, *first)
	for _, k := range kinds() {
		c := cmp.Or(s.tallies[k.name], &tally{})
		fmt.Fprintf(&b, "  %-24s %6d stories, %d %% end settled\n", k.name, c.stories, 100*c.settled/max(1, c.stories))
		for _, what := range k.happens {
			if n := c.done[what]; n == 0 || 100*n < c.stories {
				fmt.Fprintf(&b, "    %q happened in %d only, which proves little\n", what, n)
			}
		}
	}
	fmt.Fprintf(&b, "%d findings\n", len(s.findings))
	for _, says := range slices.Sorted(maps.Keys(s.findings)) {
		f := s.findings[says]
		k, _ := kindOf(f.first.kind)
		fmt.Fprintf(&b, "  %s\n    in %v\n    %s\n    %s\n", says, f.times, repeat(k, f.first.seed), f.file)
	}
	return b.String()
}
