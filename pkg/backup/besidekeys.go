package backup

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	bolt "go.etcd.io/bbolt"
)

// BesideKeys is what a database holds beside its keys: etcd's own hash (HashKV) leaves it out. A restore changes none
// of it, in 3.5, 3.6 and 3.7 alike. It makes the members and the index of the log anew, and drops neither users nor
// roles nor leases (etcd-io/etcd:etcdutl/snapshot/v3_snapshot.go).
type BesideKeys struct {
	Users  int64 `json:"users"`
	Roles  int64 `json:"roles"`
	Leases int64 `json:"leases"`
	// SHA256 is of all of it and of the settings of authentication, hexadecimal.
	SHA256 string `json:"sha256"`
}

func (b BesideKeys) String() string {
	return fmt.Sprintf("%d users, %d roles and %d leases (SHA-256 %s)", b.Users, b.Roles, b.Leases, b.SHA256)
}

// besideKeys reads them in an order that is the format's own. A bucket that is missing counts as an empty one: etcd
// makes all of them at its start.
func (d *database) besideKeys(tx *bolt.Tx) (BesideKeys, error) {
	var beside BesideKeys
	var settings int64
	sum := sha256.New()
	for _, part := range []struct {
		bucket  []byte
		entries *int64
	}{
		{bucketUsers, &beside.Users}, {bucketRoles, &beside.Roles}, {bucketLease, &beside.Leases},
		{bucketAuth, &settings},
	} {
		bucket := tx.Bucket(part.bucket)
		if bucket == nil {
			continue
		}
		err := bucket.ForEach(func(k, v []byte) error {
			*part.entries++
			for _, text := range [][]byte{part.bucket, k, v} {
				hashFramed(sum, text)
			}
			d.passed(len(k) + len(v))
			return nil
		})
		if err != nil {
			return BesideKeys{}, fmt.Errorf("read the bucket %s: %w", part.bucket, err)
		}
	}
	beside.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return beside, nil
}

// hashFramed hashes a text with its length before it, so that no two lists of texts are hashed alike.
func hashFramed(sum hash.Hash, text []byte) {
	_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
	_, _ = sum.Write(text)
}
