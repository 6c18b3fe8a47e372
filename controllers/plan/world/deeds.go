package world

import (
	"fmt"
	"strings"
)

// Deed is what the seed has people, machines or chance do to a cluster and its operator, at one moment of a story.
type Deed struct {
	moment
	Does string // such as "KillContainer demo-1"
}

// moment is when a deed may happen: the nth of its kind in this step.
type moment struct {
	step, nth int
	kind      string
}

// Kinds of deeds. What is not listed here, such as which Pod the kubelet gets to, is drawn from the seed alone.
const (
	deedFault = "fault"
	deedDeath = "dies-after" // so many effects
	deedStale = "looks-back" // so many snapshots
)

// Script is all that happens in a story. A moment that it does not name goes by.
type Script map[moment]string

// do writes down what the seed has drawn and returns it, or what the script says in its place.
func (w *World) do(kind, drawn string) string {
	q := question{"deed", kind}
	at := moment{w.Steps, w.questions[q], kind}
	w.questions[q]++
	if w.script != nil {
		drawn = w.script[at]
	}
	if drawn != "" {
		w.Deeds = append(w.Deeds, Deed{at, drawn})
	}
	return drawn
}

// doCount is do for a number; without a deed it is none.
func (w *World) doCount(kind string, drawn, none int) int {
	n := none
	_, _ = fmt.Sscan(w.do(kind, fmt.Sprint(drawn)), &n)
	return n
}

// String is one line of a story.
func (d Deed) String() string { return fmt.Sprintf("%d.%d %s %s", d.step, d.nth, d.kind, d.Does) }

// ParseDeed reads one line of a story.
func ParseDeed(line string) (Deed, error) {
	var d Deed
	if _, err := fmt.Sscanf(line, "%d.%d %s", &d.step, &d.nth, &d.kind); err != nil {
		return Deed{}, fmt.Errorf("%q is not a deed: %w", line, err)
	}
	_, d.Does, _ = strings.Cut(line, d.kind+" ")
	return d, nil
}

// ScriptOf is the script of these deeds and no others.
func ScriptOf(deeds []Deed) Script {
	s := Script{}
	for _, d := range deeds {
		s[d.moment] = d.Does
	}
	return s
}
