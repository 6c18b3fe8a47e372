package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

const bump = 1_000_000_000

// member is a member that is restored: its volume, and the address it will have.
type restoredMember struct {
	Place
	host string
}

func (m restoredMember) peerURL() string   { return "http://" + m.host + ":2380" }
func (m restoredMember) clientURL() string { return "http://" + m.host + ":2379" }

func newMembers(t testing.TB, size int) []restoredMember {
	t.Helper()
	var members []restoredMember
	for i := range size {
		n := addresses.Add(1)
		members = append(members, restoredMember{
			Place: Place{Volume: t.TempDir(), Incarnation: "1a2b3c4d", Member: fmt.Sprintf("demo-%d", i)},
			host:  fmt.Sprintf("127.%d.%d.%d", 210+os.Getpid()%40, n/250, 1+n%250),
		})
	}
	return members
}

func originOf(m Manifest) Origin {
	return Origin{Key: m.Key, SHA256: m.SHA256, SizeBytes: m.SizeBytes, Revision: m.Revision, BumpRevision: bump}
}

// walDir is the flag of etcd and of etcdutl, for a log on a volume of its own.
func (m restoredMember) walDir(name string) []string {
	if m.WAL == "" {
		return nil
	}
	return []string{"--wal-dir=" + filepath.Join(m.WAL, name)}
}

// etcdutl is the middle step, as the restore Pod has it.
func etcdutl(programs string, m restoredMember, all []restoredMember) error {
	var initial []string
	for _, each := range all {
		initial = append(initial, each.Member+"="+each.peerURL())
	}
	output, err := exec.Command(filepath.Join(programs, "etcdutl"), slices.Concat([]string{"snapshot", "restore",
		m.onDisk(m.staged(stagedSnapshot)),
		"--name=" + m.Member, "--data-dir=" + m.onDisk(m.staged(stagedData)), "--initial-cluster=" + strings.Join(initial, ","),
		"--initial-cluster-token=token-1a2b3c4d", "--initial-advertise-peer-urls=" + m.peerURL(),
		fmt.Sprintf("--bump-revision=%d", bump), "--mark-compacted"}, m.walDir(m.staged(stagedWAL)))...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("etcdutl: %w: %s", err, output)
	}
	return nil
}

// restoreMember is the whole restore Pod of one member.
func restoreMember(programs string, bucket *store.Bucket, m restoredMember, all []restoredMember, origin Origin) (Activated, error) {
	if _, err := Restore(context.Background(), RestoreOptions{Transfer: Transfer{Bucket: bucket}, Place: m.Place, Origin: origin}); err != nil {
		return Activated{}, err
	}
	if err := etcdutl(programs, m, all); err != nil {
		return Activated{}, err
	}
	return Activate(m.Place, origin)
}

// start starts the member as the operator does from then on: sealed.
func (m restoredMember) start(t testing.TB, programs string) {
	t.Helper()
	command := exec.Command(filepath.Join(programs, "etcd"), append(m.walDir(m.target()), "--name="+m.Member, "--data-dir="+m.onDisk(m.target()),
		"--initial-cluster-state=existing", "--initial-cluster="+m.Member+"="+m.peerURL(), "--initial-cluster-token=token-1a2b3c4d",
		"--initial-advertise-peer-urls="+m.peerURL(), "--listen-peer-urls="+m.peerURL(),
		"--listen-client-urls="+m.clientURL(), "--advertise-client-urls="+m.clientURL(),
		"--unsafe-no-fsync=true", "--log-level=error")...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
}

func dialMembers(t testing.TB, members ...restoredMember) *clientv3.Client {
	t.Helper()
	var urls []string
	for _, m := range members {
		urls = append(urls, m.clientURL())
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: urls, Logger: zap.NewNop()})
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// contents is every key with its value.
func contents(ctx context.Context, client *clientv3.Client, options ...clientv3.OpOption) (map[string]string, error) {
	response, err := client.Get(ctx, "", append(options, clientv3.WithPrefix())...)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, kv := range response.Kvs {
		all[string(kv.Key)] = string(kv.Value)
	}
	return all, nil
}

func TestThreeMembersRestoredInParallelAreOneClusterWithTheKeysOfTheSnapshot(t *testing.T) {
	t.Parallel()
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			source := startCluster(t, version, 1, false)
			source.fill()
			bucket, _ := volumeBucket(t)
			ctx, cancel := context.WithTimeout(context.Background(), busy)
			defer cancel()
			m, err := Take(ctx, source.options(bucket))
			must(t, err)
			_, err = source.client.Put(ctx, "after", "the snapshot")
			must(t, err)

			members := newMembers(t, 3)
			restoreAll(t, source.programs, bucket, members, originOf(m))
			for _, member := range members {
				member.start(t, source.programs)
			}
			client := dialMembers(t, members...)
			got, err := contents(ctx, client)
			must(t, err)
			want, err := contents(ctx, source.client, clientv3.WithRev(m.Revision))
			must(t, err)
			if len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("restored\n%v\nof the snapshot\n%v", got, want)
			}
			assertOneCluster(ctx, t, client, members, m)
			assertPastIsCompacted(ctx, t, client, m)
		})
	}
}

func restoreAll(t testing.TB, programs string, bucket *store.Bucket, members []restoredMember, origin Origin) {
	t.Helper()
	var group sync.WaitGroup
	failures := make([]error, len(members))
	for i, member := range members {
		group.Go(func() { _, failures[i] = restoreMember(programs, bucket, member, members, origin) })
	}
	group.Wait()
	must(t, errors.Join(failures...))
	for _, member := range members {
		if _, err := os.Stat(member.onDisk(member.staged(stagedSnapshot))); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the snapshot of %s is still there: %v", member.Member, err)
		}
	}
}

func assertOneCluster(ctx context.Context, t testing.TB, client *clientv3.Client, members []restoredMember, m Manifest) {
	t.Helper()
	clusters, ids := map[uint64]bool{}, map[uint64]bool{}
	for _, member := range members {
		status, err := client.Status(ctx, member.clientURL())
		must(t, err)
		clusters[status.Header.ClusterId], ids[status.Header.MemberId] = true, true
		if old := fmt.Sprintf("%x", status.Header.ClusterId); old == m.ClusterID {
			t.Errorf("it has the ID %s of the cluster that was backed up", old)
		}
	}
	if len(clusters) != 1 || len(ids) != len(members) {
		t.Errorf("cluster IDs %v, member IDs %v", clusters, ids)
	}
	list, err := client.MemberList(ctx)
	must(t, err)
	if len(list.Members) != len(members) {
		t.Errorf("the cluster has %d members", len(list.Members))
	}
}

// assertPastIsCompacted: a client that held a revision from before learns that the world is another.
func assertPastIsCompacted(ctx context.Context, t testing.TB, client *clientv3.Client, m Manifest) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, busy)
	defer cancel()
	for _, revision := range []int64{m.Revision, m.Revision + 1} {
		response := <-client.Watch(ctx, "", clientv3.WithPrefix(), clientv3.WithRev(revision))
		if !errors.Is(response.Err(), rpctypes.ErrCompacted) || response.CompactRevision <= bump {
			t.Errorf("a watch from revision %d: %v, compacted at %d", revision, response.Err(), response.CompactRevision)
		}
	}
	put, err := client.Put(ctx, "new", "value")
	must(t, err)
	if want := m.Revision + bump + 1; put.Header.Revision != want {
		t.Errorf("the first write has revision %d, want %d", put.Header.Revision, want)
	}
}

// What a kill leaves behind is what the steps before it have done, and part of one. Run again from its beginning, the
// whole of it succeeds, from wherever it was.
func TestARestoreThatWasKilledAnywhereEndsWhenItIsRunAgain(t *testing.T) {
	t.Parallel()
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			source := startCluster(t, version, 1, false)
			source.fill()
			bucket, _ := volumeBucket(t)
			m, err := Take(context.Background(), source.options(bucket))
			must(t, err)
			origin := originOf(m)
			for each := 2*(len((&activation{}).steps())+3) - 1; each >= 0; each -= needs.Stride(3) {
				members, killed := newMembers(t, 1), each/2
				if each%2 == 1 {
					members[0].WAL = t.TempDir()
				}
				dieAt(t, killed, source.programs, bucket, members[0], origin)
				last := killed == len((&activation{}).steps())+2
				done, err := restoreMember(source.programs, bucket, members[0], members, origin)
				if err != nil {
					t.Fatalf("killed at %d: %v", killed, err)
				}
				if last {
					dieAt(t, 1, source.programs, bucket, members[0], origin)
					done, err = restoreMember(source.programs, bucket, members[0], members, origin)
					must(t, err)
				}
				if last && !done.AlreadyRestored {
					t.Errorf("what was in place was made anew")
				}
				assertClean(t, members[0])
				if again, err := Activate(members[0].Place, origin); err != nil || !again.AlreadyRestored {
					t.Errorf("killed at %d, activated once more: %+v, %v", killed, again, err)
				}
				if killed > 1 && killed%3 == 0 || last {
					assertServes(t, source, members[0], m)
				}
			}
		})
	}
}

// dieAt runs the steps up to one, which is left half done.
func dieAt(t testing.TB, step int, programs string, bucket *store.Bucket, m restoredMember, origin Origin) {
	t.Helper()
	if step == 0 { // while fetching
		must(t, os.MkdirAll(m.onDisk(m.staging()), 0o700))
		must(t, os.WriteFile(m.onDisk(m.staged(stagedSnapshot)), []byte("half"), 0o600))
		return
	}
	_, err := Restore(context.Background(), RestoreOptions{Transfer: Transfer{Bucket: bucket}, Place: m.Place, Origin: origin})
	must(t, err)
	if step == 1 { // while restoring
		half := m.onDisk(m.staged(filepath.Join(stagedData, "member", "snap")))
		must(t, os.MkdirAll(half, 0o700))
		must(t, os.WriteFile(filepath.Join(half, "db"), []byte("half"), 0o600))
		if m.WAL != "" {
			must(t, os.MkdirAll(filepath.Join(m.WAL, m.staged(stagedWAL)), 0o700))
		}
		return
	}
	must(t, etcdutl(programs, m, []restoredMember{m}))
	volume, err := os.OpenRoot(m.Volume)
	must(t, err)
	defer volume.Close()
	a := &activation{Place: m.Place, origin: origin, volume: volume}
	must(t, a.look())
	for _, do := range a.steps()[:step-2] {
		must(t, do())
	}
}

// assertClean: only the data and the record of it are left.
func assertClean(t testing.TB, m restoredMember) {
	t.Helper()
	entries, err := os.ReadDir(m.onDisk(m.staging()))
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != stagedRecord {
		t.Errorf("left behind: %v", entries)
	}
	data, err := os.ReadDir(m.onDisk(m.target()))
	must(t, err)
	if len(data) != 1 || data[0].Name() != "member" {
		t.Errorf("the data is %v", data)
	}
	_, err = os.Lstat(m.onDisk(m.target() + "/member/wal"))
	if isBeside := err == nil; isBeside != (m.WAL == "") {
		t.Errorf("the log lies beside the data: %v", isBeside)
	}
}

func assertServes(t testing.TB, source *cluster, m restoredMember, manifest Manifest) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), busy)
	defer cancel()
	m.start(t, source.programs)
	got, err := contents(ctx, dialMembers(t, m))
	must(t, err)
	want, err := contents(ctx, source.client, clientv3.WithRev(manifest.Revision))
	must(t, err)
	if len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("restored\n%v\nof the snapshot\n%v", got, want)
	}
}

func TestUsersAndAuthenticationComeBackWithTheKeys(t *testing.T) {
	t.Parallel()
	source := startCluster(t, "3.6.16", 1, true)
	source.fill()
	ctx, cancel := context.WithTimeout(context.Background(), busy)
	defer cancel()
	_, err := source.client.UserAdd(ctx, "root", "secret-of-root")
	must(t, err)
	_, err = source.client.UserGrantRole(ctx, "root", "root")
	must(t, err)
	_, err = source.client.AuthEnable(ctx)
	must(t, err)
	bucket, _ := volumeBucket(t)
	m, err := Take(ctx, source.options(bucket))
	must(t, err)
	if !m.AuthEnabled {
		t.Error("the manifest does not say that authentication is on")
	}
	members := newMembers(t, 1)
	restoreAll(t, source.programs, bucket, members, originOf(m))
	members[0].start(t, source.programs)
	anybody := dialMembers(t, members...)
	if _, err := contents(ctx, anybody); !errors.Is(err, rpctypes.ErrUserEmpty) {
		t.Errorf("somebody without a name reads: %v", err)
	}
	root, err := clientv3.New(clientv3.Config{
		Endpoints: []string{members[0].clientURL()}, Username: "root", Password: "secret-of-root", Logger: zap.NewNop(),
	})
	must(t, err)
	defer root.Close()
	got, err := contents(ctx, root)
	must(t, err)
	if int64(len(got)) != m.TotalKeys {
		t.Errorf("%d keys came back of %d", len(got), m.TotalKeys)
	}
}

func TestABackupFitsAClusterOfItsMinorOrOfANewerOneAndNoOther(t *testing.T) {
	fits := map[string][]string{
		"3.5.35": {"3.5.21", "3.6.4", "3.7.0"},
		"3.6.16": {"3.6.4", "3.7.0"},
		"3.7.3":  {"3.7.0"},
	}
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			source := startCluster(t, version, 1, false)
			bucket, _ := volumeBucket(t)
			m, err := Take(context.Background(), source.options(bucket))
			must(t, err)
			for _, other := range []string{"3.4.34", "3.5.21", "3.6.4", "3.7.0", "4.0.0"} {
				wanted, err := etcdutil.ParseVersion(other)
				must(t, err)
				_, err = Preflight(context.Background(), PreflightOptions{Transfer: Transfer{Bucket: bucket}, Key: m.Key, Version: wanted})
				if slices.Contains(fits[version], other) {
					must(t, err)
					continue
				}
				wantReason(t, err, ReasonVersionDiffers)
				way := "Set spec.version to " + version[:len("3.x")] + ".x, or name another backup"
				if !strings.Contains(err.Error(), way) {
					t.Errorf("into %s: %q is not in %q", other, way, err)
				}
			}
		})
	}
}

func TestAVolumeThatFillsUpUnderEtcdutlIsNoMembersUntilThereIsRoomAgain(t *testing.T) {
	source := startCluster(t, "3.6.16", 1, false)
	source.fill()
	bucket, _ := volumeBucket(t)
	m, err := Take(context.Background(), source.options(bucket))
	must(t, err)
	members, origin := newMembers(t, 1), originOf(m)
	members[0].Volume = tinyDisk(t, fmt.Sprint(roomToRestore(m.SizeBytes)+1<<20))
	_, err = Restore(context.Background(), RestoreOptions{Transfer: Transfer{Bucket: bucket}, Place: members[0].Place, Origin: origin})
	must(t, err)
	free := fillUp(t, members[0].Volume)
	if err := etcdutl(source.programs, members[0], members); err == nil {
		t.Error("it was restored on a disk that is full")
	}
	_, err = Activate(members[0].Place, origin)
	wantReason(t, err, ReasonRestoreIncomplete)
	if _, err := os.Lstat(members[0].onDisk(members[0].target())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a member could start from it: %v", err)
	}
	free()
	restoreAll(t, source.programs, bucket, members, origin)
}

// The room that is asked for before the first byte is enough to the last.
func TestAVolumeWithJustTheRoomThatIsAskedForIsEnough(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			source := startCluster(t, version, 1, false)
			source.fill()
			bucket, _ := volumeBucket(t)
			m, err := Take(context.Background(), source.options(bucket))
			must(t, err)
			members := newMembers(t, 1)
			pages := (roomToRestore(m.SizeBytes) + 4095) / 4096
			members[0].Volume = tinyDisk(t, fmt.Sprint(pages*4096))
			restoreAll(t, source.programs, bucket, members, originOf(m))
			must(t, os.RemoveAll(members[0].onDisk(members[0].Incarnation)))
			must(t, os.WriteFile(members[0].onDisk("foreign"), make([]byte, 8192), 0o600))
			_, err = restoreMember(source.programs, bucket, members[0], members, originOf(m))
			wantReason(t, err, ReasonVolumeFull)
		})
	}
}
