package backup

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"hash"
)

// etcd ends a snapshot with the SHA-256 of all before it. Pages are multiples of a sector, so the size tells whether it
// is there (etcd-io/etcd:etcdutl/snapshot/v3_snapshot.go hasChecksum).
const (
	trailerSize = sha256.Size
	sectorSize  = 512
)

// seal checks a snapshot while it goes by, in whatever pieces, and hashes it once for both sums: its own over the
// database, and ours over the whole object.
type seal struct {
	sum  hash.Hash // of what is certainly not the trailer
	held []byte    // the last bytes, at most trailerSize
	size int64
}

func newSeal() *seal { return &seal{sum: sha256.New(), held: make([]byte, 0, 2*trailerSize)} }

// Write never fails.
func (s *seal) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	if len(p) >= trailerSize {
		s.sum.Write(s.held)
		cut := len(p) - trailerSize
		s.sum.Write(p[:cut])
		s.held = append(s.held[:0], p[cut:]...)
		return len(p), nil
	}
	s.held = append(s.held, p...)
	if surplus := len(s.held) - trailerSize; surplus > 0 {
		s.sum.Write(s.held[:surplus])
		s.held = append(s.held[:0], s.held[surplus:]...)
	}
	return len(p), nil
}

// verify says whether what went by ends with its own hash, and gives the SHA-256 of all of it, trailer included.
func (s *seal) verify() (whole string, err error) {
	if s.size%sectorSize != trailerSize {
		return "", fail(ReasonStreamDamaged, "the snapshot has %d bytes, which is not a database with its hash", s.size)
	}
	if subtle.ConstantTimeCompare(s.sum.Sum(nil), s.held) != 1 {
		return "", fail(ReasonStreamDamaged, "the snapshot of %d bytes does not have the hash it ends with", s.size)
	}
	s.sum.Write(s.held)
	return hex.EncodeToString(s.sum.Sum(nil)), nil
}
