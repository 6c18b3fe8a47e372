package world

import (
	"encoding/binary"
	"hash/fnv"
)

// question is what the seed is asked, and about whom.
type question struct{ what, about string }

// chance answers a question with a number below n. The answer depends on the seed, the step, the question, and how
// often it was asked in this step, and on nothing else. So one effect of the operator more or less does not change what
// happens to a cluster later.
func (w *World) chance(n int, what, about string) int {
	q := question{what, about}
	asked := w.questions[q]
	w.questions[q]++
	return int(w.mix(q, asked) % uint64(n))
}

// sometimes is true once in so many times, where the hazard is on.
func (w *World) sometimes(isOn bool, once int, what string) bool {
	return isOn && w.chance(once, what, "") == 0
}

// oneOf chooses a name, or "" where there is none. Each name draws a number, and the highest wins: others that come or
// go do not change who is chosen, unless one of them is.
func (w *World) oneOf(what string, names []string) string {
	q, chosen, highest := question{what, ""}, "", uint64(0)
	asked := w.questions[q]
	w.questions[q]++
	for _, name := range names {
		if drawn := w.mix(question{what, name}, asked); chosen == "" || drawn > highest {
			chosen, highest = name, drawn
		}
	}
	return chosen
}

// mix makes one number of all that an answer depends on.
func (w *World) mix(q question, asked int) uint64 {
	h := fnv.New64a()
	var head [24]byte
	binary.BigEndian.PutUint64(head[:], w.seed)
	binary.BigEndian.PutUint64(head[8:], uint64(w.Steps))
	binary.BigEndian.PutUint64(head[16:], uint64(asked))
	h.Write(head[:])
	h.Write([]byte(q.what + "\x00" + q.about))
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // the lowest bits of FNV alone are poor
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
