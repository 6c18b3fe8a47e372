package etcdutil

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ID is the 64-bit identity of a member or of a cluster. Zero means "none" or "not known".
type ID uint64

// String prints the ID as etcd does in logs and as etcdctl does: lower-case hexadecimal without a prefix.
func (id ID) String() string { return strconv.FormatUint(uint64(id), 16) }

// ParseID reads what ID.String printed. It refuses an empty string, a sign, a prefix and anything past 64 bits.
func ParseID(s string) (ID, error) {
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("parsing etcd ID %q: want 1 to 16 hexadecimal digits: %w", s, err)
	}
	return ID(v), nil
}

// MarshalText is what String prints: numbers of 64 bits do not survive every JSON tool.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText wrote of an ID that etcd gave, which is never zero.
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseID(string(text))
	if err == nil && *id == 0 {
		return errors.New("an etcd ID is never zero")
	}
	return err
}

// Member is one entry of etcd's member list.
type Member struct {
	ID ID
	// empty until a member that was added at run time has started; members of a bootstrap carry theirs at once
	Name string

	PeerURLs   []string
	ClientURLs []string // empty until the member has started
	Learner    bool
}

// Started says whether the member's process has ever joined: it publishes its client URLs when it first serves. The
// name proves nothing, because the entries of a static bootstrap have names from the beginning; etcd's own checks go by
// the name and so count such members as started (etcd-io/etcd:server/etcdserver/api/membership/member.go IsStarted).
func (m Member) Started() bool { return len(m.ClientURLs) > 0 }

// MemberName is the name of the member, and of its Pod and its volume, at an ordinal of a cluster.
func MemberName(cluster string, ordinal int) string { return cluster + "-" + strconv.Itoa(ordinal) }

// Ordinal is the inverse of MemberName. It is false for a name that MemberName would not have made for this cluster.
func Ordinal(cluster, name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, cluster+"-")
	if !ok || digits == "" || len(digits) > 9 {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || MemberName(cluster, n) != name {
		return 0, false
	}
	return n, true
}

// CompareNames orders member names of one cluster by ordinal, so that demo-10 comes after demo-9. Names that are not
// of this cluster come last, in text order.
func CompareNames(cluster, a, b string) int {
	ordinalA, okA := Ordinal(cluster, a)
	ordinalB, okB := Ordinal(cluster, b)
	switch {
	case okA && okB:
		return cmp.Compare(ordinalA, ordinalB)
	case okA:
		return -1
	case okB:
		return 1
	}
	return strings.Compare(a, b)
}

// SortNames sorts member names of one cluster in place, by CompareNames.
func SortNames(cluster string, names []string) {
	slices.SortFunc(names, func(a, b string) int { return CompareNames(cluster, a, b) })
}
