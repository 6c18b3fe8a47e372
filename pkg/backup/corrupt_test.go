package backup

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// Every member speaks of every alarm: only the member that it was raised for is meant.
func TestTheAlarmCorruptKeepsOnlyTheMemberThatItAccusesOutOfABackup(t *testing.T) {
	for name, speakers := range map[string]int{"all speak of it": 0, "the accused has not heard of it": 1} {
		t.Run(name, func(t *testing.T) {
			accused, second, third := newLiar(t), newLiar(t), newLiar(t)
			all := []*liar{accused, second, third}
			together(second, accused, third)
			accuse(accused.status.Header.MemberId, all[speakers:]...)
			accused.diverge(t)
			bucket, _ := volumeBucket(t)
			m, err := Take(context.Background(), liarOptions(t, bucket, accused.serve(t, "accused"),
				second.serve(t, "second"), third.serve(t, "third")))
			must(t, err)
			if m.Member == "accused" || m.KeysHash.Member == "accused" || m.Member == m.KeysHash.Member {
				t.Errorf("the snapshot is of %s, and compared with %s", m.Member, m.KeysHash.Member)
			}
		})
	}
}

func TestTheAlarmCorruptOfAMemberThatEtcdDoesNotKnowKeepsAllOutOfABackup(t *testing.T) {
	leader, follower := pair(t)
	accuse(0, leader, follower)
	_, err := takeOfPair(t, leader, follower)
	wantReason(t, err, ReasonNoSource)
	if !strings.Contains(err.Error(), "CORRUPT") {
		t.Errorf("the alarm is not named: %v", err)
	}
}

// raiseCorrupt raises the alarm as the leader's check does, which etcd lets its root do as well.
func (c *cluster) raiseCorrupt(ctx context.Context, id uint64) {
	c.t.Helper()
	_, err := pb.NewMaintenanceClient(c.client.ActiveConnection()).Alarm(ctx,
		&pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: id, Alarm: pb.AlarmType_CORRUPT})
	must(c.t, err)
}

func (c *cluster) idOf(ctx context.Context, i int) uint64 {
	c.t.Helper()
	list, err := c.client.MemberList(ctx)
	must(c.t, err)
	for _, m := range list.Members {
		if m.Name == c.endpoints[i].Name {
			return m.ID
		}
	}
	c.t.Fatalf("no member %s in %v", c.endpoints[i].Name, list.Members)
	return 0
}

func TestMembersOfEveryReleaseGiveABackupWhileAnotherIsCalledCorrupt(t *testing.T) {
	t.Parallel()
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			c := startCluster(t, version, 3, false)
			c.fill()
			c.raiseCorrupt(t.Context(), c.idOf(t.Context(), 1))
			bucket, _ := volumeBucket(t)
			m, err := Take(t.Context(), c.options(bucket))
			must(t, err)
			if m.Member == "m1" || m.KeysHash.Member == "m1" || m.Member == m.KeysHash.Member {
				t.Errorf("the snapshot is of %s, and compared with %s", m.Member, m.KeysHash.Member)
			}
		})
	}
}

// awaitCorrupt waits until this member has heard of the alarm. A follower hears of it a moment after the member that
// was asked to raise it, and never when it is left alone before. That it has no leader is among its errors as well.
func (c *cluster) awaitCorrupt(i int) {
	c.t.Helper()
	m, err := dialMember(c.endpoints[i], c.tls)
	must(c.t, err)
	defer func() { _ = m.conn.Close() }()
	for deadline := time.Now().Add(busy); ; <-time.After(20 * time.Millisecond) {
		must(c.t, m.ask(c.t.Context()))
		if strings.Contains(strings.Join(m.status.GetErrors(), " "), pb.AlarmType_CORRUPT.String()) {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("it speaks of no alarm CORRUPT: %q", m.status.GetErrors())
		}
	}
}

func TestTheAlarmCorruptOfALostMemberKeepsNoSurvivorFromBeginningAnew(t *testing.T) {
	c := startCluster(t, needs.Release, 3, false)
	c.fill()
	lost, survivor := c.idOf(t.Context(), 0), c.idOf(t.Context(), 1)
	c.raiseCorrupt(t.Context(), lost)
	c.awaitCorrupt(1)
	m := c.leaveOne(1)
	_, err := RestoreSurvivor(t.Context(), survivorOf(c, m, newMembers(t, 1)[0].Place))
	must(t, err)
	database := filepath.Join(c.root, "m1", "member", "snap", "db")
	must(t, c.commands[1].Process.Kill())
	_ = c.commands[1].Wait()
	must(t, CheckMember(database, "m1", etcdutil.ID(survivor)))
	wantReason(t, CheckMember(database, "m0", etcdutil.ID(lost)), ReasonNoSource)
}

func TestASurvivorThatTheAlarmCorruptAccusesOrMayAccuseIsRefused(t *testing.T) {
	for _, accused := range []uint64{0, liarID} {
		l := newLiar(t)
		together(l)
		l.status.Leader = 0
		accuse(accused, l)
		o := SurvivorOptions{Endpoint: l.serve(t, "m0"), ClusterID: liarCluster, Place: newMembers(t, 1)[0].Place,
			BumpRevision: bump}
		_, err := RestoreSurvivor(t.Context(), o)
		wantReason(t, err, ReasonNoSource)
		if !strings.Contains(err.Error(), "CORRUPT") {
			t.Errorf("the alarm is not named: %v", err)
		}
	}
}
