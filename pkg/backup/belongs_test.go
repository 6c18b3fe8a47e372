package backup

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestADatabaseIsOfTheMemberThatLivedOnItAndOfNoOther(t *testing.T) {
	for _, release := range releases {
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
		})
	}
}
