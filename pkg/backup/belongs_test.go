package backup

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

func TestADatabaseIsOfTheMemberThatLivedOnItAndOfNoOther(t *testing.T) {
	for _, release := range needs.Releases() {
		t.Run(release, func(t *testing.T) {
			c := startCluster(t, release, 1, false)
			members, err := c.client.MemberList(t.Context())
			must(t, err)
			own := etcdutil.ID(members.Members[0].ID)
			database := filepath.Join(c.root, "m0", "member", "snap", "db")
			must(t, c.commands[0].Process.Signal(syscall.SIGTERM))
			_ = c.commands[0].Wait()
			must(t, CheckMember(database, "m0", own))
			err = CheckMember(database, "m0", own+1)
			wantReason(t, err, ReasonForeignCluster)
			if !strings.Contains(err.Error(), own.String()) || !strings.Contains(err.Error(), (own+1).String()) {
				t.Errorf("whose it is, and whose it should be, is not said: %v", err)
			}
			wantReason(t, CheckMember(database+".none", "m0", own), ReasonNoSource)

			for accused, want := range map[etcdutil.ID]Reason{own: ReasonNoSource, 0: ReasonNoSource, own + 1: ""} {
				corrupt, err := proto.Marshal(&pb.AlarmMember{MemberID: uint64(accused), Alarm: pb.AlarmType_CORRUPT})
				must(t, err)
				editDatabase(t, database, func(tx *bolt.Tx) error { return tx.Bucket(bucketAlarm).Put(corrupt, nil) })
				if err := CheckMember(database, "m0", own); (err != nil) != (want != "") || err != nil && ReasonOf(err) != want {
					t.Errorf("the alarm CORRUPT of %s: %v", accused, err)
				}
				editDatabase(t, database, func(tx *bolt.Tx) error { return tx.Bucket(bucketAlarm).Delete(corrupt) })
			}
			must(t, CheckMember(database, "m0", own))
			editDatabase(t, database, func(tx *bolt.Tx) error {
				return tx.Bucket(bucketMembers).Put([]byte(own.String()), []byte(`{"isLearner":true}`))
			})
			wantReason(t, CheckMember(database, "m0", own), ReasonNoSource)
		})
	}
}

func editDatabase(t *testing.T, path string, edit func(*bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	must(t, db.Update(edit))
	must(t, db.Close())
}
