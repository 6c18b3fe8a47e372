package cache

import (
	"bytes"
	"sync"
)

// tally counts what go says while it works: a line for each module that it downloads, and for each package.
type tally struct {
	mu      sync.Mutex
	counted counts
	rest    []byte
}

type counts struct {
	modules, packages int
	// others are lines of another kind, such as errors.
	others []byte
}

func (t *tally) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rest = append(t.rest, data...)
	for {
		line, rest, isWhole := bytes.Cut(t.rest, []byte("\n"))
		if !isWhole {
			return len(data), nil
		}
		t.rest = rest
		switch {
		case bytes.HasPrefix(line, []byte("go: downloading ")):
			t.counted.modules++
		case len(line) > 0 && !bytes.ContainsAny(line, " #"):
			t.counted.packages++
		default:
			t.counted.others = append(append(t.counted.others, line...), '\n')
		}
	}
}

func (t *tally) count() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counted
}
