package s3server

import (
	"io"
	"math"
)

// spoilt is a body of which so many bytes come, and the rest if what happens then is no error.
type spoilt struct {
	io.ReadCloser

	left int64
	then func() error
}

func (s *spoilt) Read(buffer []byte) (int, error) {
	if s.left <= 0 {
		if err := s.then(); err != nil {
			return 0, err
		}
		s.left = math.MaxInt64
	}
	n, err := s.ReadCloser.Read(buffer[:min(int64(len(buffer)), s.left)])
	s.left -= int64(n)
	return n, err
}

// flipped is a body with one bit changed, after so many bytes.
type flipped struct {
	io.ReadCloser

	left int64
}

func (f *flipped) Read(buffer []byte) (int, error) {
	n, err := f.ReadCloser.Read(buffer)
	if f.left >= 0 && f.left < int64(n) {
		buffer[f.left] ^= 1
	}
	f.left -= int64(n)
	return n, err
}
