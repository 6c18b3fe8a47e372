package backup

import (
	"context"
	"os"
	"path/filepath"
	"slices"
)

// Compared is what a restored copy was found to hold, all of it equal to the manifest.
type Compared struct {
	Revision        int64  `json:"revision"`
	CompactRevision int64  `json:"compactRevision"`
	TotalKeys       int64  `json:"totalKeys"`
	KeysHash        uint32 `json:"keysHash"`
}

// CompareOptions are for the last step of a backup that is proven.
type CompareOptions struct {
	Transfer        // without a bucket the backup is tried once more, and its manifest is there
	Scratch  string // with Take's manifest, and what etcdutl restored
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
	compared, err := compare(restored, m, o.Progress)
	if err != nil || o.Bucket == nil {
		return compared, err
	}
	m.Proven = m.KeysHash.NoWitness == "" // what no other member confirmed is compared with itself
	if m, err = m.sealed(); err != nil {
		return compared, err
	}
	return compared, publish(ctx, o.Transfer, m)
}

// compare requires that the hash of the restored keys is the one that a member of the running cluster gave, at the same
// revision. What it reads was made by the cluster's own image, which may have made anything.
func compare(restored *os.Root, m Manifest, progress *Progress) (Compared, error) {
	info, err := restored.Lstat(databaseFile)
	if err != nil {
		return Compared{}, fail(ReasonRestoreDiffers, "find the restored database: %w", err)
	}
	progress.enter(StageComparing, info.Size())
	facts, err := inspect(restored, databaseFile)
	if err != nil {
		return Compared{}, fail(ReasonRestoreDiffers, "read the restored database: %w", err)
	}
	if err := m.agrees(facts); err != nil {
		return Compared{}, err
	}
	sum, err := hashKeys(restored, databaseFile, m.KeysHash.span())
	if err != nil {
		return Compared{}, fail(ReasonRestoreDiffers, "hash the restored database: %w", err)
	}
	if sum != m.KeysHash.Hash {
		return Compared{}, fail(ReasonRestoreDiffers,
			"the restored keys hash to %d at revision %d, and those of the cluster to %d",
			sum, m.KeysHash.Revision, m.KeysHash.Hash)
	}
	return Compared{Revision: facts.Revision, CompactRevision: facts.CompactRevision, TotalKeys: facts.TotalKeys,
		KeysHash: sum}, nil
}

func (h KeysHash) span() span { return span{revision: h.Revision, compact: h.CompactRevision} }

// agrees says whether a database is what the manifest describes.
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
