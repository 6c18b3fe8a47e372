package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"
)

const (
	// longestLine is how many bytes of a line are kept. What is longer is cut.
	longestLine = 64 << 10
	// quietFor is how long a member is waited for that may write nothing, while new lines are followed.
	quietFor = 300 * time.Millisecond
)

// stream is the log of one member, of which one line is in memory at a time.
type stream struct {
	member string
	from   *bufio.Reader
	taken  chan struct{} // after each line, once the next one may be read

	// These are the merger's.
	head              *line
	hasEnded, isQuiet bool
	failed            error
}

func newStream(member string, from io.Reader) *stream {
	return &stream{member: member, from: bufio.NewReaderSize(from, longestLine), taken: make(chan struct{}, 1)}
}

// arrival is a line of a stream, or its end.
type arrival struct {
	stream *stream
	line   *line
	err    error
}

// read passes one line after the other on, and the end.
func (s *stream) read(ctx context.Context, arrivals chan<- arrival) {
	for {
		read := s.next()
		select {
		case arrivals <- read:
		case <-ctx.Done():
			return
		}
		if read.line == nil {
			return
		}
		select {
		case <-s.taken:
		case <-ctx.Done():
			return
		}
	}
}

// next reads the next line, or the end.
func (s *stream) next() arrival {
	text, err := s.from.ReadSlice('\n')
	kept := string(text)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = s.from.ReadSlice('\n')
	}
	switch {
	case kept != "":
		return arrival{stream: s, line: lineOf(s.member, kept)} // an error comes again
	case errors.Is(err, io.EOF):
		err = nil
	}
	return arrival{stream: s, err: err}
}

// merge passes the lines of all streams on, the oldest first. It takes one once it has one of each stream. With quiet
// it waits no longer than that for a stream, until that has a line again.
func merge(ctx context.Context, streams []*stream, quiet time.Duration, take func(line) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	arrivals := make(chan arrival)
	for _, s := range streams {
		go s.read(ctx, arrivals)
	}
	for {
		oldest, awaited := choose(streams)
		var late <-chan time.Time
		switch {
		case oldest == nil && len(awaited) == 0:
			return nil
		case len(awaited) == 0 || oldest != nil && allQuiet(awaited):
			if err := take(*oldest.head); err != nil {
				return err
			}
			oldest.head = nil
			oldest.taken <- struct{}{}
			continue
		case quiet > 0 && oldest != nil:
			late = time.After(quiet)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-late:
			markQuiet(awaited)
		case a := <-arrivals:
			s := a.stream
			s.head, s.hasEnded, s.isQuiet, s.failed = a.line, a.line == nil, false, a.err
		}
	}
}

// choose finds the stream with the oldest line, and those that have none yet.
func choose(streams []*stream) (oldest *stream, awaited []*stream) {
	for _, s := range streams {
		switch {
		case s.head == nil && !s.hasEnded:
			awaited = append(awaited, s)
		case s.head != nil && (oldest == nil || s.head.before(*oldest.head)):
			oldest = s
		}
	}
	return oldest, awaited
}

func markQuiet(streams []*stream) {
	for _, s := range streams {
		s.isQuiet = true
	}
}

func allQuiet(streams []*stream) bool {
	return !slices.ContainsFunc(streams, func(s *stream) bool { return !s.isQuiet })
}

// before orders lines by time, and those of one moment by member.
func (l line) before(other line) bool {
	return cmp.Or(l.Time.Compare(other.Time.Time), cmp.Compare(l.Member, other.Member)) < 0
}
