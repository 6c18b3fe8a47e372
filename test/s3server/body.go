package s3server

import "io"

// spoilt is a body of which only so many bytes come.
type spoilt struct {
	io.ReadCloser

	left int64
	then func() error
}

func (s *spoilt) Read(buffer []byte) (int, error) {
	if s.left <= 0 {
		return 0, s.then()
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
