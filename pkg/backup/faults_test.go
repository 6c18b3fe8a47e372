package backup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// liar is a member whose answers the test chooses. It serves a real database.
type liar struct {
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedKVServer
	pb.UnimplementedClusterServer
	content []byte // with its trailer
	hash    pb.HashKVResponse
	status  pb.StatusResponse
	voters  []*pb.Member // that it lists

	mu     sync.Mutex
	asked  int                                                         // snapshots begun
	send   func(content []byte, s pb.Maintenance_SnapshotServer) error // nil: as etcd does
	onHash func() error

	onStatus func(s *pb.StatusResponse) // changes what it says of itself, each time it is asked
	onRead   func() (int64, error)      // the revision that a quorum has; nil: its own
}

func (l *liar) Range(_ context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	header := proto.CloneOf(l.status.Header)
	if l.onRead != nil && !r.Serializable {
		var err error
		if header.Revision, err = l.onRead(); err != nil {
			return nil, err
		}
	}
	return &pb.RangeResponse{Header: header}, nil
}

func (l *liar) MemberList(_ context.Context, r *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.onRead != nil && r.Linearizable {
		if _, err := l.onRead(); err != nil {
			return nil, err
		}
	}
	return &pb.MemberListResponse{Header: l.status.Header, Members: l.voters}, nil
}

func (l *liar) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.onStatus != nil {
		l.onStatus(&l.status)
	}
	return proto.CloneOf(&l.status), nil
}

func (l *liar) HashKV(context.Context, *pb.HashKVRequest) (*pb.HashKVResponse, error) {
	if l.onHash != nil {
		if err := l.onHash(); err != nil {
			return nil, err
		}
	}
	return &l.hash, nil
}

func (l *liar) Snapshot(_ *pb.SnapshotRequest, s pb.Maintenance_SnapshotServer) error {
	l.mu.Lock()
	l.asked++
	l.mu.Unlock()
	if l.send != nil {
		return l.send(l.content, s)
	}
	return sendAll(l.content, s)
}

func (l *liar) snapshots() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// sendAll announces and sends as etcd does.
func sendAll(content []byte, s pb.Maintenance_SnapshotServer) error {
	database, trailer := content[:len(content)-trailerSize], content[len(content)-trailerSize:]
	if err := sendPart(database, len(database), s); err != nil {
		return err
	}
	return s.Send(&pb.SnapshotResponse{Blob: trailer})
}

func sendPart(content []byte, announced int, s pb.Maintenance_SnapshotServer) error {
	for sent := 0; sent < len(content); {
		piece := content[sent:min(len(content), sent+4096)]
		sent += len(piece)
		if err := s.Send(&pb.SnapshotResponse{RemainingBytes: uint64(announced - sent), Blob: piece}); err != nil {
			return err
		}
	}
	return nil
}

const (
	liarCluster = 0xc1
	liarID      = 0xa1
)

// newLiar has a database of a hundred or so changes.
func newLiar(t testing.TB) *liar {
	t.Helper()
	return newLiarOf(t, func(l *library) {
		l.change(rand.New(rand.NewPCG(7, 7)), 100)
		l.compact(30)
	})
}

func newLiarOf(t testing.TB, fill func(l *library)) *liar {
	t.Helper()
	library := openLibrary(t, filepath.Join(t.TempDir(), "db"))
	fill(library)
	path := library.copy()
	library.close()
	facts, err := Inspect(path)
	must(t, err)
	hash, err := HashKeys(path, facts.Revision, facts.CompactRevision)
	must(t, err)
	content, err := os.ReadFile(path)
	must(t, err)
	l := &liar{content: sealed(content)}
	l.hash.Hash, l.hash.CompactRevision, l.hash.HashRevision = hash, facts.CompactRevision, facts.Revision
	l.status.Header = &pb.ResponseHeader{ClusterId: liarCluster, MemberId: liarID}
	l.status.Version, l.status.Leader, l.status.RaftAppliedIndex = "3.6.16", liarID+1, 1000
	l.voters = []*pb.Member{{ID: liarID, Name: "m0"}}
	return l
}

// together makes members of one cluster of liars. The first is its leader. They are listed as voter-0 and so on.
func together(liars ...*liar) {
	var voters []*pb.Member
	for i, l := range liars {
		l.status.Header.MemberId, l.status.Leader = liarID+uint64(i), liarID
		voters = append(voters, &pb.Member{ID: l.status.Header.MemberId, Name: fmt.Sprintf("voter-%d", i)})
	}
	for _, l := range liars {
		l.voters = voters
	}
}

// accuse raises the alarm CORRUPT for a member; 0 is for one that etcd does not know. Every member speaks of it.
func accuse(id uint64, liars ...*liar) {
	for _, l := range liars {
		l.status.Errors = append(l.status.Errors, (&pb.AlarmMember{MemberID: id, Alarm: pb.AlarmType_CORRUPT}).String())
	}
}

// sealed puts the trailer behind a database.
func sealed(database []byte) []byte {
	s := newSeal()
	_, _ = s.Write(database)
	_, _ = s.Write(make([]byte, trailerSize))
	return s.sum.Sum(append([]byte(nil), database...))
}

func (l *liar) serve(t testing.TB, name string) Endpoint {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := grpc.NewServer()
	pb.RegisterMaintenanceServer(server, l)
	pb.RegisterKVServer(server, l)
	pb.RegisterClusterServer(server, l)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return Endpoint{Name: name, URL: "http://" + listener.Addr().String()}
}

func liarOptions(t testing.TB, bucket *store.Bucket, endpoints ...Endpoint) TakeOptions {
	return TakeOptions{
		Identity: Identity{
			ClusterNamespace: "team", ClusterName: "demo", ClusterUID: "u-1", ClusterID: liarCluster, BackupUID: "b-1",
		},
		Endpoints: endpoints, Scratch: t.TempDir(), Transfer: Transfer{Bucket: bucket, Stall: patient},
		Patience: time.Second,
	}
}

// withAnotherValue is the database with one bit of its newest value changed, and all its pages sound.
func withAnotherValue(t testing.TB, content []byte) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "other.db")
	must(t, os.WriteFile(path, content[:len(content)-trailerSize], 0o600))
	changeLastValue(t, path)
	changed, err := os.ReadFile(path)
	must(t, err)
	return changed
}

// stored is every object below the bucket's prefix, and every other file in its directory.
func stored(t testing.TB, root string) []string {
	t.Helper()
	var files []string
	must(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}

func TestAStreamThatIsNotWhatItShouldBeIsRefusedAndLeavesNoObject(t *testing.T) {
	t.Parallel()
	other := withAnotherValue(t, newLiar(t).content)
	for name, tc := range map[string]struct {
		send func(content []byte, s pb.Maintenance_SnapshotServer) error
		want Reason
	}{
		"it stops, and the connection stays": {func(content []byte, s pb.Maintenance_SnapshotServer) error {
			if err := sendPart(content[:8192], len(content), s); err != nil {
				return err
			}
			<-s.Context().Done()
			return nil
		}, ReasonStreamStalled},
		"it goes on without bytes": {func(content []byte, s pb.Maintenance_SnapshotServer) error {
			if err := sendPart(content[:8192], len(content), s); err != nil {
				return err
			}
			for s.Context().Err() == nil {
				if err := s.Send(&pb.SnapshotResponse{RemainingBytes: 1000}); err != nil {
					return err
				}
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		}, ReasonStreamStalled},
		"it never begins": {func(_ []byte, s pb.Maintenance_SnapshotServer) error {
			<-s.Context().Done()
			return nil
		}, ReasonStreamStalled},
		"it ends early": {func(content []byte, s pb.Maintenance_SnapshotServer) error {
			return sendPart(content[:8192], len(content)-trailerSize, s)
		}, ReasonStreamDamaged},
		"it ends without its hash": {func(content []byte, s pb.Maintenance_SnapshotServer) error {
			return sendPart(content[:len(content)-trailerSize], len(content)-trailerSize, s)
		}, ReasonStreamDamaged},
		"it is empty": {func([]byte, pb.Maintenance_SnapshotServer) error { return nil }, ReasonStreamDamaged},
		"it goes on after its hash": {func(content []byte, s pb.Maintenance_SnapshotServer) error {
			if err := sendAll(content, s); err != nil {
				return err
			}
			return s.Send(&pb.SnapshotResponse{Blob: make([]byte, 512)})
		}, ReasonStreamDamaged},
		"one bit of it is another": {func(content []byte, s pb.Maintenance_SnapshotServer) error {
			flipped := append([]byte(nil), content...)
			flipped[len(flipped)/2] ^= 4
			return sendAll(flipped, s)
		}, ReasonStreamDamaged},
		"it is sound, and of another content": {func(_ []byte, s pb.Maintenance_SnapshotServer) error {
			return sendAll(sealed(other), s)
		}, ReasonHashMismatch},
		"it is no database": {func(_ []byte, s pb.Maintenance_SnapshotServer) error {
			return sendAll(sealed(make([]byte, 8192)), s)
		}, ReasonStreamDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLiar(t)
			l.send = tc.send
			bucket, root := volumeBucket(t)
			o := liarOptions(t, bucket, l.serve(t, "m0"))
			o.Stall = stallFor(tc.want)
			_, err := Take(context.Background(), o)
			wantReason(t, err, tc.want)
			if left := stored(t, root); len(left) > 0 {
				t.Errorf("the store has %v", left)
			}
		})
	}
}

func TestAMemberThatBreaksOffIsFollowedByAnother(t *testing.T) {
	sound, broken := pair(t)
	broken.send = func(content []byte, s pb.Maintenance_SnapshotServer) error {
		if err := sendPart(content[:8192], len(content), s); err != nil {
			return err
		}
		return status.Error(codes.Unavailable, "going down")
	}
	// The leader is asked last, so the broken follower comes first.
	bucket, root := volumeBucket(t)
	m, err := Take(context.Background(), liarOptions(t, bucket, sound.serve(t, "leader"), broken.serve(t, "follower")))
	must(t, err)
	if m.Member != "leader" || broken.snapshots() != 1 || sound.snapshots() != 1 {
		t.Errorf("the snapshot is of %s; %d and %d were begun", m.Member, broken.snapshots(), sound.snapshots())
	}
	if left := stored(t, root); len(left) != 2 {
		t.Errorf("the store has %v", left)
	}
}

func TestASnapshotThatCannotBeHashedAnyMoreIsTakenAgainThreeTimes(t *testing.T) {
	l := newLiar(t)
	l.onHash = func() error { return rpctypes.ErrGRPCCompacted }
	bucket, root := volumeBucket(t)
	_, err := Take(context.Background(), liarOptions(t, bucket, l.serve(t, "m0")))
	wantReason(t, err, ReasonHashUnavailable)
	if l.snapshots() != maxAttempts {
		t.Errorf("%d snapshots were taken", l.snapshots())
	}
	if left := stored(t, root); len(left) > 0 {
		t.Errorf("the store has %v", left)
	}
}

func TestOnlyACaughtUpVoterOfThisClusterWithALeaderIsASource(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(s *pb.StatusResponse)
		want  Reason
	}{
		"a learner":                 {func(s *pb.StatusResponse) { s.IsLearner = true }, ReasonNoSource},
		"without a leader":          {func(s *pb.StatusResponse) { s.Leader = 0 }, ReasonNoSource},
		"known to be corrupt":       {func(s *pb.StatusResponse) { s.Errors = []string{"memberID:162 alarm:CORRUPT "} }, ReasonNoSource},
		"a member of another":       {func(s *pb.StatusResponse) { s.Header.ClusterId = 7 }, ReasonForeignCluster},
		"a member that was removed": {func(s *pb.StatusResponse) { s.Header.MemberId = 7 }, ReasonNoSource},
		"far behind":                {func(s *pb.StatusResponse) { s.RaftAppliedIndex = 1 }, ""},
		"the leader, and caught up": {func(s *pb.StatusResponse) { s.Leader = s.Header.MemberId }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spoiled, sound := newLiar(t), newLiar(t)
			together(newLiar(t), spoiled, sound)
			tc.spoil(&spoiled.status)
			bucket, _ := volumeBucket(t)
			spoiledAt := spoiled.serve(t, "spoiled")
			m, err := Take(context.Background(), liarOptions(t, bucket, spoiledAt, sound.serve(t, "sound")))
			must(t, err)
			if m.Member != "sound" {
				t.Errorf("the snapshot is of %s", m.Member)
			}
			if tc.want != "" {
				_, err = Take(context.Background(), liarOptions(t, bucket, spoiledAt))
				wantReason(t, err, tc.want)
			}
		})
	}
}

func TestAMemberThatAsksForAPasswordIsAReasonOfItsOwn(t *testing.T) {
	l := newLiar(t)
	l.send = func([]byte, pb.Maintenance_SnapshotServer) error { return rpctypes.ErrGRPCUserEmpty }
	bucket, _ := volumeBucket(t)
	_, err := Take(context.Background(), liarOptions(t, bucket, l.serve(t, "m0")))
	wantReason(t, err, ReasonAuthRequired)
}

func TestAStepToldToStopLeavesNoObject(t *testing.T) {
	l := newLiar(t)
	ctx, cancel := context.WithCancel(context.Background())
	l.send = func(content []byte, s pb.Maintenance_SnapshotServer) error {
		err := sendPart(content[:8192], len(content), s)
		cancel()
		<-s.Context().Done()
		return err
	}
	bucket, root := volumeBucket(t)
	_, err := Take(ctx, liarOptions(t, bucket, l.serve(t, "m0")))
	if err == nil {
		t.Fatal("it succeeded")
	}
	if left := stored(t, root); len(left) > 0 {
		t.Errorf("the store has %v", left)
	}
}

// tinyDisk is a file system of a few pages. It is detached, not only unmounted: for a moment after a server was killed the kernel
// may still call its disk busy.
func tinyDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size))
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func TestAFullDiskIsSaidToBeFull(t *testing.T) {
	needs.Mounts(t, fillDisks)
}

func fillDisks(t *testing.T) {
	l := newLiar(t)
	endpoint := l.serve(t, "m0")
	t.Run("the scratch directory", func(t *testing.T) {
		bucket, root := volumeBucket(t)
		o := liarOptions(t, bucket, endpoint)
		o.Scratch = tinyDisk(t, "8k")
		_, err := Take(context.Background(), o)
		wantReason(t, err, ReasonScratchFull)
		if left := stored(t, root); len(left) > 0 {
			t.Errorf("the store has %v", left)
		}
	})
	t.Run("the volume of the store", func(t *testing.T) {
		root := tinyDisk(t, "16k")
		bucket, err := store.Open(context.Background(), store.Config{Volume: &store.Volume{}}, store.Options{VolumeRoot: root})
		must(t, err)
		_, err = Take(context.Background(), liarOptions(t, bucket, endpoint))
		wantReason(t, err, ReasonStoreFull)
		if left := stored(t, root); len(left) > 0 {
			t.Errorf("the store has %v", left)
		}
	})
	t.Run("the scratch directory at the way back", func(t *testing.T) {
		bucket, _ := volumeBucket(t)
		o := liarOptions(t, bucket, endpoint)
		m, err := Take(context.Background(), o)
		must(t, err)
		err = Download(context.Background(), m, scratchFetched, FetchOptions{Transfer: Transfer{Bucket: bucket}, Scratch: tinyDisk(t, "8k")})
		wantReason(t, err, ReasonScratchFull)
	})
}
