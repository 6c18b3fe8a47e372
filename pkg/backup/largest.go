package backup

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// Prefix is a part of the key space, and what it takes in a database.
type Prefix struct {
	// Prefix ends with '/', or is empty: of keys without one. It is quoted as in Go if not all is printable.
	Prefix    string `json:"prefix"`
	Keys      int64  `json:"keys"`      // that exist
	Bytes     int64  `json:"bytes"`     // of all that is stored below it: keys, values, and what etcd notes of each
	Revisions int64  `json:"revisions"` // stored ones, deletions among them
}

const (
	// longestPrefix is where a key counts by a shorter one: keys may have a megabyte.
	longestPrefix = 128
	// manyPrefixes is how many are certain to be found, if each takes its share of the database. Twice as many are
	// remembered, in less than 1 MiB.
	manyPrefixes = 1000
	mostLargest  = 10
	// roomForLargest is of the last words of a step, as JSON. A Pod has 12 KiB for those of all its containers, in
	// equal parts (kubernetes/kubernetes:pkg/kubelet/status/status_manager.go normalizeStatus). Of seven each can say
	// so much.
	roomForLargest = 1500
)

// prefixOf is a key up to its depth-th '/', not counting one that it begins with. Where it has fewer, or that would be
// longer than is counted, it is the key up to the last one that counts.
func prefixOf(key []byte, depth int) []byte {
	end := 0
	for i, c := range key[:min(len(key), longestPrefix)] {
		if c != '/' {
			continue
		}
		end = i + 1
		if i > 0 {
			depth--
		}
		if depth == 0 {
			break
		}
	}
	return key[:end]
}

// weights are what prefixes take. A census weighs all that it visits. Where there are more prefixes than are
// remembered, small ones are forgotten on the way (Misra and Gries), and a second census weighs exactly those that are
// left. Each that has more than one part in manyPrefixes of all bytes is among them. nil weighs nothing.
type weights struct {
	depth    int
	prefixes map[string]*Prefix
	rough    bool // some were forgotten
	chosen   bool // no other ones are taken in any more

	clients *clientWeights // of the first census; it weighs them exactly
}

// weighing weighs no prefixes with a depth of 0.
func weighing(depth int) *weights { return &weights{depth: depth, prefixes: map[string]*Prefix{}} }

// again are the weights for another census; nil if that would say nothing new.
func (w *weights) again() *weights {
	if w == nil || !w.rough {
		return nil
	}
	w.chosen = true
	return w
}

// begin is called before the first entry, each time that all entries are visited anew.
func (w *weights) begin() {
	switch {
	case w == nil:
	case w.chosen:
		for _, p := range w.prefixes {
			*p = Prefix{}
		}
	default:
		clear(w.prefixes)
		w.clients.begin()
	}
}

// add weighs an entry, which changes by so much how many keys there are.
func (w *weights) add(e entry, keys int64) {
	if w == nil {
		return
	}
	if !w.chosen {
		w.clients.add(e, keys)
	}
	if w.depth <= 0 {
		return
	}
	prefix := prefixOf(e.key, w.depth)
	p := w.prefixes[string(prefix)]
	switch {
	case p == nil && w.chosen:
		return
	case p == nil:
		w.makeRoom()
		p = &Prefix{}
		w.prefixes[string(prefix)] = p
	}
	p.Keys += keys
	p.Bytes += int64(e.size)
	p.Revisions++
}

// makeRoom takes from each prefix what the last of the manyPrefixes largest has, and forgets those that have no more.
// As these lose as much each time, all that any prefix can lose is one part in manyPrefixes of all bytes.
func (w *weights) makeRoom() {
	if len(w.prefixes) < 2*manyPrefixes {
		return
	}
	w.rough = true
	sizes := make([]int64, 0, len(w.prefixes))
	for _, p := range w.prefixes {
		sizes = append(sizes, p.Bytes)
	}
	slices.Sort(sizes)
	least := sizes[len(sizes)-manyPrefixes]
	for prefix, p := range w.prefixes {
		if p.Bytes -= least; p.Bytes <= 0 {
			delete(w.prefixes, prefix)
		}
	}
}

// largest are the prefixes that take most, as many as there is room for beside the clients.
func (w *weights) largest(clients []Client) []Prefix {
	if w == nil {
		return nil
	}
	room := roomForLargest
	if len(clients) > 0 {
		room -= sizeOf(clients)
	}
	var all []Prefix
	for prefix, p := range w.prefixes {
		p.Prefix = shown(prefix)
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Prefix) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Prefix, b.Prefix))
	})
	all = all[:min(len(all), mostLargest)]
	for len(all) > 0 && sizeOf(all) > room {
		all = all[:len(all)-1]
	}
	return all
}

// sizeOf is how much room something takes in the last words of a step.
func sizeOf(said any) int {
	text, err := json.Marshal(said)
	if err != nil {
		return math.MaxInt
	}
	return len(text)
}

// shown is a prefix as it is, or quoted: others chose its bytes, and a terminal may print it.
func shown(prefix string) string {
	if quoted := strconv.Quote(prefix); quoted != `"`+prefix+`"` {
		return quoted
	}
	return prefix
}
