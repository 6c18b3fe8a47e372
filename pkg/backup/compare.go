package backup

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	bolt "go.etcd.io/bbolt"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Compared is what a restored copy was found to hold, all of it equal to the manifest.
type Compared struct {
	Revision        int64  `json:"revision"`
	CompactRevision int64  `json:"compactRevision"`
	TotalKeys       int64  `json:"totalKeys"`
	KeysHash        uint32 `json:"keysHash"`

	// Largest are the prefixes that take most of the database, the largest first. It has names and never a value.
	Largest []Prefix `json:"largest,omitempty"`

	// Clients are those that may write most of it, the largest first, and OtherClients how many more there are.
	Clients      []Client `json:"clients,omitempty"`
	OtherClients int      `json:"otherClients,omitempty"`
}

// CompareOptions are for the last step of a backup that is proven.
type CompareOptions struct {
	Transfer        // without a bucket the backup is tried once more, and its manifest is there
	Scratch  string // with Take's manifest, and what etcdutl restored

	LargestDepth int // how deep the prefixes are that are weighed; 0: none are
}

// Compare proves the copy that etcdutl restored in the scratch directory, and then writes the manifest to the store:
// what has a manifest there was proven.
func Compare(ctx context.Context, o CompareOptions) (Compared, error) {
	o.setDefaults()
	m, err := readScratchManifest(o.Scratch)
	if err != nil {
		return Compared{}, err
	}
	restored, err := os.OpenRoot(filepath.Join(o.Scratch, scratchRestored))
	if err != nil {
		return Compared{}, scratchFailure("open what was restored", err)
	}
	defer restored.Close()
	compared, err := compare(restored, m, o)
	if err != nil || o.Bucket == nil {
		return compared, err
	}
	m.Proven = m.KeysHash.NoWitness == "" // what no other member confirmed is compared with itself
	return compared, publish(ctx, o.Transfer, m.sealed())
}

// compare requires that the hash of the restored keys is the one that a member of the running cluster gave, at the same
// revision. What it reads was made by the cluster's own image, which may have made anything.
func compare(restored *os.Root, m Manifest, o CompareOptions) (Compared, error) {
	info, err := restored.Lstat(databaseFile)
	if err != nil {
		return Compared{}, fail(ReasonRestoreDiffers, "find the restored database: %w", err)
	}
	o.Progress.enter(StageComparing, info.Size())
	w := weighing(o.LargestDepth)
	facts, err := inspect(restored, databaseFile, w)
	if err != nil {
		return Compared{}, fail(ReasonRestoreDiffers, "read the restored database: %w", err)
	}
	if err := m.agrees(facts); err != nil {
		return Compared{}, err
	}
	sum, err := hashKeys(restored, databaseFile, m.KeysHash.span(), w.again())
	if err != nil {
		return Compared{}, fail(ReasonRestoreDiffers, "hash the restored database: %w", err)
	}
	if sum != m.KeysHash.Hash {
		return Compared{}, fail(ReasonRestoreDiffers,
			"the restored keys hash to %d at revision %d, and those of the cluster to %d",
			sum, m.KeysHash.Revision, m.KeysHash.Hash)
	}
	clients, others := w.clients.largest()
	return Compared{Revision: facts.Revision, CompactRevision: facts.CompactRevision, TotalKeys: facts.TotalKeys,
		KeysHash: sum, Largest: w.largest(clients), Clients: clients, OtherClients: others}, nil
}

func (h KeysHash) span() span { return span{revision: h.Revision, compact: h.CompactRevision} }

func (m Manifest) agrees(facts Facts) error {
	switch {
	case facts.Revision != m.Revision, facts.CompactRevision != m.CompactRevision:
		return fail(ReasonRestoreDiffers, "the database has the revisions %d to %d, and the manifest says %d to %d",
			facts.CompactRevision, facts.Revision, m.CompactRevision, m.Revision)
	case facts.TotalKeys != m.TotalKeys:
		return fail(ReasonRestoreDiffers, "the database has %d keys, and the manifest says %d", facts.TotalKeys,
			m.TotalKeys)
	case facts.AuthEnabled != m.AuthEnabled:
		return fail(ReasonRestoreDiffers, "authentication is on in one of database and manifest only")
	case !slices.Equal(facts.Alarms, m.Alarms):
		return fail(ReasonRestoreDiffers, "the database has the alarms %v, and the manifest says %v", facts.Alarms,
			m.Alarms)
	case m.BesideKeys != nil && facts.BesideKeys != *m.BesideKeys:
		return fail(ReasonRestoreDiffers, "the database has %s, and the manifest says %s", facts.BesideKeys,
			*m.BesideKeys)
	}
	return nil
}

// Facts are what a database says of itself.
type Facts struct {
	Revision        int64
	CompactRevision int64 // 0: never compacted
	TotalKeys       int64 // that exist at Revision
	InUseBytes      int64 // of the file, without free pages
	StorageVersion  string
	ClusterVersion  string // that the members had agreed on: 3.6.0; empty: none yet
	AuthEnabled     bool
	Alarms          []string // "NOSPACE 8e9e05c52164694d"
	BesideKeys      BesideKeys

	settled bool
}

// maxAlarms bounds what is reported; a cluster has one per member and kind.
const maxAlarms = 32

// Inspect reads the facts of a database, with or without its trailer. The file is opened read-only and not changed.
func Inspect(path string) (Facts, error) {
	return within(path, func(dir *os.Root, name string) (Facts, error) { return inspect(dir, name, nil) })
}

// inspect is Inspect for a file that others may have made. It weighs prefixes and clients on its way.
func inspect(dir *os.Root, name string, w *weights) (Facts, error) {
	return readDatabase(dir, name, func(tx *bolt.Tx, t *tree) (Facts, error) {
		facts, err := readFacts(tx)
		if err != nil {
			return facts, err
		}
		facts.InUseBytes = t.inUse()
		d := databaseOf(tx)
		if facts.BesideKeys, err = d.besideKeys(tx); err != nil {
			return facts, err
		}
		if w != nil {
			w.clients = readClients(tx)
		}
		facts.TotalKeys, _, err = d.census(facts.span(), w)
		return facts, err
	})
}

// minor is the minor of etcd that the data needs, as a version: 3.6.0; empty where nothing says. On the way up and on
// the way down a cluster agrees on its version before its data follows, so the higher of both counts.
func (f Facts) minor() string {
	var highest etcdutil.Version
	for _, text := range []string{f.ClusterVersion, f.StorageVersion} {
		if v, err := etcdutil.ParseVersion(text); err == nil && v.Compare(highest) > 0 {
			highest = etcdutil.Version{Major: v.Major, Minor: v.Minor}
		}
	}
	if highest.IsZero() {
		return ""
	}
	return highest.String()
}

func (f Facts) span() span {
	return span{revision: f.Revision, compact: f.CompactRevision, settled: f.settled}
}

// HashKeys is the hash that a member gives for its keys up to revision when it has compacted at compactRevision,
// computed from a copy of its database. The copy may be compacted less far, and not further.
func HashKeys(path string, revision, compactRevision int64) (uint32, error) {
	return within(path, func(dir *os.Root, name string) (uint32, error) {
		return hashKeys(dir, name, span{revision: revision, compact: compactRevision}, nil)
	})
}

// hashKeys is HashKeys for a file that others may have made. It weighs the prefixes on its way.
func hashKeys(dir *os.Root, name string, s span, w *weights) (uint32, error) {
	return readDatabase(dir, name, func(tx *bolt.Tx, _ *tree) (uint32, error) {
		facts, err := readFacts(tx)
		if err != nil {
			return 0, err
		}
		if s.compact < facts.CompactRevision || s.compact > s.revision || s.revision > facts.Revision {
			return 0, fmt.Errorf("the database has the revisions %d to %d: it cannot be hashed at %d compacted at %d",
				facts.CompactRevision, facts.Revision, s.revision, s.compact)
		}
		s.settled = facts.settled && s.compact == facts.CompactRevision
		sum, _, err := databaseOf(tx).hashSpan(s, w)
		return sum, err
	})
}

func readFacts(tx *bolt.Tx) (Facts, error) {
	meta := tx.Bucket(bucketMeta)
	scheduled, finished := mainOf(meta.Get(keyScheduledCompact)), mainOf(meta.Get(keyFinishedCompact))
	facts := Facts{
		CompactRevision: max(scheduled, finished),
		settled:         scheduled <= finished,
		StorageVersion:  string(meta.Get(keyStorageVersion)),
	}
	if last, _ := tx.Bucket(bucketKey).Cursor().Last(); last != nil {
		if len(last) < revisionLen {
			return Facts{}, errEntry
		}
		facts.Revision = mainOf(last)
	}
	// All of the last revisions may be tombstones that were compacted away; an empty store is at revision 1
	// (etcd-io/etcd:server/storage/mvcc/kvstore.go restore).
	facts.Revision = max(facts.Revision, facts.CompactRevision, 1)
	if cluster := tx.Bucket(bucketCluster); cluster != nil {
		facts.ClusterVersion = string(cluster.Get(keyClusterVersion))
	}
	if auth := tx.Bucket(bucketAuth); auth != nil {
		enabled := auth.Get(keyAuthEnabled)
		facts.AuthEnabled = len(enabled) == 1 && enabled[0] == 1
	}
	alarms, err := readAlarms(tx.Bucket(bucketAlarm))
	for _, alarm := range alarms[:min(len(alarms), maxAlarms)] {
		facts.Alarms = append(facts.Alarms, alarm.Name+" "+alarm.Member.String())
	}
	return facts, err
}

// mainOf is the main part of a revision; 0 for none.
func mainOf(b []byte) int64 {
	if len(b) < 8 {
		return 0
	}
	return max(0, int64(binary.BigEndian.Uint64(b)))
}

func readAlarms(alarms *bolt.Bucket) ([]etcdutil.Alarm, error) {
	if alarms == nil {
		return nil, nil
	}
	var all []etcdutil.Alarm
	err := alarms.ForEach(func(k, _ []byte) error {
		var alarm pb.AlarmMember
		if err := proto.Unmarshal(k, &alarm); err != nil {
			return fmt.Errorf("%w: an alarm: %w", errUnreadable, err)
		}
		all = append(all, etcdutil.Alarm{Name: alarm.GetAlarm().String(), Member: etcdutil.ID(alarm.GetMemberID())})
		return nil
	})
	return all, err
}
