package plan

import (
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// A restore in place never writes to a volume that a member lived on. The next life of the cluster is laid beside the one that
// serves, on new volumes under names that were never used; then the birth record moves to it. The life that ends is kept.

// SourceKind says what the next life of a cluster begins with.
type SourceKind string

// The sources of a restore in place.
const (
	SourceBackup   SourceKind = "Backup"   // a backup in a store
	SourceSurvivor SourceKind = "Survivor" // what one member of the current life still holds
	SourceEmpty    SourceKind = "Empty"    // nothing: every key is given up
)

// Request is an EtcdRestore that names the cluster.
type Request struct {
	Name       string
	ID         string    // its UID and what its source asks for: a life that came of it says so
	Created    time.Time // the older of two goes first
	Source     SourceKind
	Wish       Wish   // of SourceBackup; its Fault speaks for every source
	Survivor   string // of SourceSurvivor: the member
	Bump       int64  // by how much revisions are raised
	Approval   string // the digest of the evidence that it was approved on; empty without an approval
	DeletesOld bool   // the volumes of the lives before are given up, once this one serves
}

// Life is a life of the cluster that is laid beside the one that the birth record is of.
type Life struct {
	Incarnation string
	Counter     int
	Token       string
	Names       []string // the first members
	Origin      Origin   // what they begin with; zero when they begin empty
	Source      SourceKind
	Survivor    string // of SourceSurvivor: the member
	Bump        int64
	Restore     string // the Request.ID that it comes of
}

// IsZero reports that no life is laid.
func (l Life) IsZero() bool { return l.Incarnation == "" }

// Past is a life that a restore in place ended.
type Past struct {
	Incarnation string
	Restore     string   // the Request.ID that it came of; empty when it began with the cluster
	Voters      []string // the members that had a vote when it ended; nil when nobody could say
}

// First is the lowest ordinal of this life. Those below it are of lives before.
func (b Birth) First(cluster string) int {
	lowest := b.Next
	for _, name := range b.Names {
		if ordinal, ok := etcdutil.Ordinal(cluster, name); ok {
			lowest = min(lowest, ordinal)
		}
	}
	return lowest
}
