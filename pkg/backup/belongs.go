package backup

import (
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// bucketMembers has each member's ID in hexadecimal (etcd-io/etcd:server/storage/schema/membership.go).
var bucketMembers = []byte("members")

// CheckMember fails when the database of a member that has ended does not know the member that is to have lived on it. A member's ID
// is made from the token of its cluster and its life, so no other cluster has it, nor an earlier life of this one.
func CheckMember(database, name string, id etcdutil.ID) error {
	var known []string
	err := withDatabase(database, func(tx *bolt.Tx) error {
		members := tx.Bucket(bucketMembers)
		if members == nil {
			return nil
		}
		return members.ForEach(func(k, _ []byte) error {
			known = append(known, string(k))
			return nil
		})
	})
	if err != nil {
		return fail(ReasonNoSource, "read the database of member %s: %w", name, err)
	}
	for _, text := range known {
		if is, err := etcdutil.ParseID(text); err == nil && is == id {
			return nil
		}
	}
	return fail(ReasonForeignCluster, "on the volume of member %s lies the data of another cluster, or of another life of this one: it is of the members %s, and not of %s",
		name, strings.Join(known, ", "), id)
}
