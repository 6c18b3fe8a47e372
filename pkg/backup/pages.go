package backup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// The form of a page: a header, an element for each entry, then the entries' keys and values in the same order
// (etcd-io/bbolt:internal/common/page.go, inode.go, bucket.go).
const (
	firstPage    = 2 // the pages before it say where the tree begins
	branchPage   = 1
	leafPage     = 2
	pageElement  = 16
	bucketHeader = 16
	bucketEntry  = 1 // the flag of an entry that is a bucket

	// maxDepth is far more than any tree needs: a branch of 4 KiB has dozens of children.
	maxDepth = 64
)

// tree goes through the pages of a database, and through each once. Values are not read.
type tree struct {
	file     io.ReaderAt
	pageSize uint64
	pages    uint64   // that the file has
	met      []uint64 // a bit for each page
	buffer   []byte
}

type part struct{ start, end uint64 }

// checkTree fails unless the pages of a database are a tree within the file, and all entries lie within their pages.
// bbolt believes what pages say: in a page that is its own ancestor its cursor descends without end.
func checkTree(tx *bolt.Tx, file io.ReaderAt) (*tree, error) {
	pageSize := max(1, uint64(tx.DB().Info().PageSize))
	pages := uint64(mapped(tx)) / pageSize
	t := &tree{file: file, pageSize: pageSize, pages: pages, met: make([]uint64, pages/64+1)}
	return t, t.check(uint64(tx.Cursor().Bucket().Root()), 1)
}

// inUse is how large the pages are that the tree has, and those before it. All others are free, or list what is.
func (t *tree) inUse() int64 {
	pages := firstPage
	for _, word := range t.met {
		pages += bits.OnesCount64(word)
	}
	return int64(uint64(pages) * t.pageSize)
}

// check is of a page and of all below it.
func (t *tree) check(id uint64, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: its pages are more than %d deep", errUnreadable, maxDepth)
	}
	children, err := t.children(id)
	if err != nil {
		return fmt.Errorf("%w: page %d %w", errUnreadable, id, err)
	}
	for _, child := range children {
		if err := t.check(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// children are the pages that a page points at, and the roots of the buckets in it.
func (t *tree) children(id uint64) ([]uint64, error) {
	if id < firstPage || id >= t.pages {
		return nil, errors.New("is not in the file")
	}
	start := id * t.pageSize
	head, err := t.header(start)
	if err != nil {
		return nil, err
	}
	end := id + 1 + head.overflow
	if head.id != id || end > t.pages {
		return nil, errors.New("says that it is another page, or longer than the file")
	}
	if err := t.meet(id, end); err != nil {
		return nil, err
	}
	children, buckets, err := t.entries(part{start, end * t.pageSize}, head)
	for i := 0; i < len(buckets) && err == nil; i++ {
		var root uint64
		if root, err = t.bucket(buckets[i]); root != 0 {
			children = append(children, root)
		}
	}
	return children, err
}

// meet takes note of the pages up to end.
func (t *tree) meet(id, end uint64) error {
	for ; id < end; id++ {
		bit := uint64(1) << (id % 64)
		if t.met[id/64]&bit != 0 {
			return errors.New("has more than one place in the tree")
		}
		t.met[id/64] |= bit
	}
	return nil
}

// bucket is the root of a bucket. It is 0 where the bucket is so small that its only page is within its value.
func (t *tree) bucket(value part) (root uint64, err error) {
	page := part{value.start + bucketHeader, value.end}
	if page.start > page.end {
		return 0, errors.New("has a bucket that is cut off")
	}
	content, err := t.read(value.start, bucketHeader)
	if err != nil {
		return 0, err
	}
	if root = binary.NativeEndian.Uint64(content); root != 0 {
		return root, nil
	}
	head, err := t.header(page.start)
	if err != nil {
		return 0, err
	}
	children, buckets, err := t.entries(page, head)
	if err == nil && len(children)+len(buckets) > 0 {
		err = errors.New("has a bucket within it that points at pages")
	}
	return 0, err
}

// header is what a page says of itself.
type header struct {
	id, overflow uint64
	kind, count  uint16
}

func (t *tree) header(start uint64) (header, error) {
	b, err := t.read(start, pageHeaderSize)
	if err != nil {
		return header{}, err
	}
	return header{
		id: binary.NativeEndian.Uint64(b), overflow: uint64(binary.NativeEndian.Uint32(b[12:])),
		kind: binary.NativeEndian.Uint16(b[8:]), count: binary.NativeEndian.Uint16(b[10:]),
	}, nil
}

// element is what a page says of an entry. Its key begins so many bytes behind the element.
type element struct {
	offset, key, value uint64
	child              uint64 // of a branch
	isBucket           bool
}

func elementOf(kind uint16, b []byte) element {
	word := func(at int) uint64 { return uint64(binary.NativeEndian.Uint32(b[at:])) }
	if kind == branchPage {
		return element{offset: word(0), key: word(4), child: binary.NativeEndian.Uint64(b[8:])}
	}
	return element{offset: word(4), key: word(8), value: word(12), isBucket: word(0)&bucketEntry != 0}
}

// entries are the children of a branch, and the values of a leaf that are buckets. No two entries share a byte: a small
// file could say of each of its entries that it is as long as the file.
func (t *tree) entries(page part, head header) (children []uint64, buckets []part, err error) {
	start, size := page.start+pageHeaderSize, uint64(head.count)*pageElement
	switch {
	case head.kind != leafPage && (head.kind != branchPage || head.count == 0):
		return nil, nil, errors.New("is neither a branch nor a leaf")
	case start+size > page.end:
		return nil, nil, errors.New("has more entries than room")
	}
	elements, err := t.read(start, size)
	free := start + size
	for at := uint64(0); at < size && err == nil; at += pageElement {
		e := elementOf(head.kind, elements[at:])
		key := start + at + e.offset
		value := part{key + e.key, key + e.key + e.value}
		if key < free || value.end > page.end {
			return nil, nil, fmt.Errorf("has an entry outside its place: %d", at/pageElement)
		}
		free = value.end
		switch {
		case head.kind == branchPage:
			children = append(children, e.child)
		case e.isBucket:
			buckets = append(buckets, value)
		}
	}
	return children, buckets, err
}

// read is good until the next read.
func (t *tree) read(start, size uint64) ([]byte, error) {
	t.buffer = slices.Grow(t.buffer[:0], int(size))[:size]
	if _, err := t.file.ReadAt(t.buffer, int64(start)); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	return t.buffer, nil
}
