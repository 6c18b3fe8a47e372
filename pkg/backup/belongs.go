package backup

import (
	"encoding/json"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// bucketMembers has the members as JSON by their IDs in hexadecimal (etcd-io/etcd:server/storage/schema/membership.go).
var bucketMembers = []byte("members")

// CheckMember fails when the database of a member that has ended is none to begin anew with: it does not know the
// member that is to have lived on it, or knows it as a learner, or the alarm CORRUPT accuses it. A member's ID is
// made from the token of its cluster and its incarnation, so no other cluster has it, nor an earlier incarnation of
// this one.
func CheckMember(database, name string, id etcdutil.ID) error {
	var lived resident
	err := withDatabase(database, func(tx *bolt.Tx) error {
		var err error
		lived, err = residentOf(tx, id)
		return err
	})
	switch {
	case err != nil:
		return fail(ReasonNoSource, "read the database of member %s: %w", name, err)
	case !lived.isKnown:
		return fail(ReasonForeignCluster,
			"the volume of member %s holds data of another cluster, or of another incarnation of this one: of the "+
				"members %s, and not of %s",
			name, strings.Join(lived.members, ", "), id)
	case lived.isLearner:
		return fail(ReasonNoSource, "member %s is a learner, which may lack what the voters had agreed on", name)
	case lived.isCorrupt:
		return fail(ReasonNoSource,
			"in the data of member %s the alarm CORRUPT accuses that member, or no member by name", name)
	}
	return nil
}

// resident is what a database says of the member that is to have lived on it.
type resident struct {
	members   []string // all that it knows
	isKnown   bool
	isLearner bool
	isCorrupt bool
}

func residentOf(tx *bolt.Tx, id etcdutil.ID) (resident, error) {
	var lived resident
	alarms, err := readAlarms(tx.Bucket(bucketAlarm))
	if err != nil {
		return lived, err
	}
	lived.isCorrupt = etcdutil.IsCalledCorrupt(alarms, id)
	members := tx.Bucket(bucketMembers)
	if members == nil {
		return lived, nil
	}
	err = members.ForEach(func(k, v []byte) error {
		lived.members = append(lived.members, string(k))
		if got, err := etcdutil.ParseID(string(k)); err != nil || got != id {
			return nil //nolint:nilerr // a key that is no ID is nobody's
		}
		var member struct {
			IsLearner bool `json:"isLearner"`
		}
		lived.isKnown = true
		err := json.Unmarshal(v, &member)
		lived.isLearner = member.IsLearner
		return err
	})
	return lived, err
}
