package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// lone is a member that is silent so often, and sends so many snapshots more before it can be defragmented.
type lone struct {
	client.Client
	silent int
	sends  int
	size   int64
	asked  bool
}

func (l *lone) Status(context.Context) (client.Status, error) {
	if l.silent--; l.silent >= 0 {
		return client.Status{}, status.Error(codes.Unavailable, "connection refused")
	}
	return client.Status{ClusterID: 7, MemberID: 8, DBSize: l.size}, nil
}

func (l *lone) StreamsSnapshot(context.Context) (bool, error) {
	l.sends--
	return l.sends >= 0, nil
}

func (l *lone) Defragment(context.Context) error {
	if l.sends >= 0 {
		return errors.New("asked while it sends a snapshot")
	}
	l.asked, l.size = true, 10
	return nil
}

func TestOnlyTheMemberThatIsMeantIsDefragmentedAndOnceItSendsNoSnapshot(t *testing.T) {
	member := &lone{sends: 1, size: 100}
	if got, err := giveBack(t.Context(), member, 7, 8, 100); err != nil || got != (defragmented{100, 10}) {
		t.Errorf("%+v: %v", got, err)
	}
	member.asked = false
	if got, err := giveBack(t.Context(), member, 7, 8, 100); err != nil || got != (defragmented{10, 10}) || member.asked {
		t.Errorf("its file is small already: %+v: %v", got, err)
	}
	for _, meant := range [][2]etcdutil.ID{{6, 8}, {7, 9}} {
		other := &lone{}
		if _, err := giveBack(t.Context(), other, meant[0], meant[1], 0); err == nil || other.asked {
			t.Errorf("%v is meant, and 8 of 7 was asked: %v", meant, err)
		}
	}
}

func TestAMemberThatStartsJustThenIsWaitedForAndOneThatStaysSilentIsLeftAlone(t *testing.T) {
	member := &lone{silent: 1, size: 100}
	if got, err := giveBack(t.Context(), member, 7, 8, 0); err != nil || got != (defragmented{100, 10}) {
		t.Errorf("%+v: %v", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the time is over"))
	dead := &lone{silent: 1 << 20}
	if _, err := giveBack(ctx, dead, 7, 8, 0); err == nil || !strings.Contains(err.Error(), "connection refused") || dead.asked {
		t.Errorf("asked %v: %v", dead.asked, err)
	}
}

func TestAPodThatNoNodeTookForLongLeavesItsMemberAlone(t *testing.T) {
	by := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	if err := inTime(by, by); err != nil {
		t.Error(err)
	}
	if err := inTime(by, by.Add(time.Second)); err == nil || !strings.Contains(err.Error(), "was left alone") {
		t.Errorf("a second late: %v", err)
	}
}

func TestAMemberThatSendsSnapshotsForeverIsLeftAlone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	member := &lone{sends: 1 << 20}
	if _, err := giveBack(ctx, member, 7, 8, 0); err == nil || !strings.Contains(err.Error(), "sent a snapshot all the while") || member.asked {
		t.Errorf("asked %v: %v", member.asked, err)
	}
}

func TestAWrongCallOfDefragmentIsRefusedWithWhatIsWrong(t *testing.T) {
	good := []string{"defragment", "--endpoints=demo-1=https://demo-1.peers:2379", "--cluster-id=cdf818194e3a8c32", "--member-id=8e9e05c52164694d",
		"--start-by=2026-01-31T12:00:00Z"}
	if _, err := parseOptions(good); err != nil {
		t.Fatal(err)
	}
	for wrong, names := range map[string]string{"--member-id=": "member-id", "--cluster-id=": "cluster", "--store={}": "store", "--start-by=soon": "start-by",
		"--start-by=0001-01-01T00:00:00Z":                   "start-by",
		"--endpoints=demo-1=https://h:1,demo-2=https://h:2": "one endpoint"} {
		if _, err := parseOptions(append(good[:5:5], wrong)); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: got %v, want %q in it", wrong, err, names)
		}
	}
}
