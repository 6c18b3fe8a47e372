package backup

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// leaveOne kills all members but one, and waits until that one knows that it is alone.
func (c *cluster) leaveOne(i int) *member {
	c.t.Helper()
	for j, command := range c.commands {
		if j != i {
			must(c.t, command.Process.Kill())
		}
	}
	m, err := dialMember(c.endpoints[i], c.tls)
	must(c.t, err)
	c.t.Cleanup(func() { _ = m.conn.Close() })
	for deadline := time.Now().Add(busy); ; {
		must(c.t, m.ask(context.Background()))
		if m.status.GetLeader() == 0 {
			return m
		}
		if time.Now().After(deadline) {
			c.t.Fatal("the member that is left still has a leader")
		}
		<-time.After(20 * time.Millisecond)
	}
}

func survivorOf(c *cluster, m *member, place Place) SurvivorOptions {
	return SurvivorOptions{
		Endpoint: m.Endpoint, TLS: c.tls, ClusterID: etcdutil.ID(m.status.GetHeader().GetClusterId()), Place: place,
		BumpRevision: bump,
		Transfer:     Transfer{Stall: patient},
	}
}

func TestAClusterBeginsAnewWithWhatTheLastMemberHolds(t *testing.T) {
	t.Parallel()
	for _, release := range needs.Releases() {
		t.Run(release, func(t *testing.T) {
			c := startCluster(t, release, 3, true)
			c.fill()
			all, err := contents(t.Context(), c.client)
			must(t, err)
			m := c.leaveOne(1)
			members := newMembers(t, 1)
			next := members[0]
			for run := range 2 { // a restore Pod is made anew whenever it was lost
				restored, err := RestoreSurvivor(t.Context(), survivorOf(c, m, next.Place))
				must(t, err)
				must(t, etcdutl(c.programs, next, members))
				activated, err := ActivateSurvivor(next.Place, "m1")
				must(t, err)
				if isAgain := run > 0; restored.AlreadyRestored != isAgain || activated.AlreadyRestored != isAgain {
					t.Errorf("run %d: restored %+v, activated %+v", run, restored, activated)
				}
			}
			next.start(t, c.programs)
			ctx, cancel := context.WithTimeout(t.Context(), busy)
			defer cancel()
			got, err := contents(ctx, dialMembers(t, next))
			must(t, err)
			if len(got) != len(all) || len(got) < 50 {
				t.Errorf("it has %d keys, and there were %d", len(got), len(all))
			}
			for key, value := range all {
				if got[key] != value {
					t.Errorf("%s was lost or changed", key)
				}
			}
			if _, err := RestoreSurvivor(t.Context(),
				SurvivorOptions{Endpoint: Endpoint{Name: "m2", URL: m.URL},
					Place: next.Place}); ReasonOf(err) != ReasonDataExists {
				t.Errorf("what came from m1 is taken for that of m2: %v", err)
			}
		})
	}
}

func TestAClusterBeginsAnewWithWhatAStoppedMemberLeftOnItsVolume(t *testing.T) {
	t.Parallel()
	for _, release := range needs.Releases() {
		t.Run(release, func(t *testing.T) {
			c := startCluster(t, release, 1, false)
			c.fill()
			all, err := contents(t.Context(), c.client)
			must(t, err)
			members := newMembers(t, 1)
			next := members[0]
			o := SurvivorOptions{
				Endpoint: Endpoint{Name: "m0"}, Database: filepath.Join(c.root, "m0", "member", "snap", "db"),
				Place: next.Place, BumpRevision: bump,
			}
			_, err = RestoreSurvivor(t.Context(), o)
			wantReason(t, err, ReasonNoSource) // it runs, and may write
			must(t, c.commands[0].Process.Signal(syscall.SIGTERM))
			_ = c.commands[0].Wait()
			before, err := os.ReadFile(o.Database)
			must(t, err)
			for run := range 2 {
				restored, err := RestoreSurvivor(t.Context(), o)
				must(t, err)
				must(t, etcdutl(c.programs, next, members))
				activated, err := ActivateSurvivor(next.Place, "m0")
				must(t, err)
				if isAgain := run > 0; restored.AlreadyRestored != isAgain || activated.AlreadyRestored != isAgain {
					t.Errorf("run %d: restored %+v, activated %+v", run, restored, activated)
				}
			}
			if after, err := os.ReadFile(o.Database); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the member's own database was touched: %v", err)
			}
			next.start(t, c.programs)
			ctx, cancel := context.WithTimeout(t.Context(), busy)
			defer cancel()
			got, err := contents(ctx, dialMembers(t, next))
			must(t, err)
			if len(got) != len(all) || len(got) < 50 {
				t.Errorf("it has %d keys, and there were %d", len(got), len(all))
			}
		})
	}
}

func TestAMemberThatIsNotLeftAloneIsNotTakenForASurvivor(t *testing.T) {
	c := startCluster(t, "3.6.16", 1, false)
	m, err := dialMember(c.endpoints[0], nil)
	must(t, err)
	defer m.conn.Close()
	must(t, m.ask(t.Context()))
	place := newMembers(t, 1)[0].Place
	_, err = RestoreSurvivor(t.Context(), survivorOf(c, m, place))
	wantReason(t, err, ReasonQuorumHolds)
	other := survivorOf(c, m, place)
	other.ClusterID++
	_, err = RestoreSurvivor(t.Context(), other)
	wantReason(t, err, ReasonForeignCluster)
	if entries, err := os.ReadDir(place.Volume); err != nil || len(entries) > 0 {
		t.Errorf("something was left on the volume: %v, %v", entries, err)
	}
}

func TestWhatASurvivorGaveIsActivatedOnlyWhereThatIsWrittenDown(t *testing.T) {
	place := newMembers(t, 1)[0].Place
	_, err := ActivateSurvivor(place, "m1")
	wantReason(t, err, ReasonRestoreIncomplete)
	file := place.onDisk(place.staged(stagedSurvivor))
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must(t, os.WriteFile(file,
		[]byte(`{"key":"survivor/m2","sha256":"`+strings.Repeat("a", 64)+`","sizeBytes":1056,"revision":1}`), 0o600))
	_, err = ActivateSurvivor(place, "m1")
	wantReason(t, err, ReasonRestoreIncomplete)
	must(t, os.WriteFile(file, []byte(`{"key":"surv`), 0o600))
	_, err = ActivateSurvivor(place, "m1")
	wantReason(t, err, ReasonRestoreIncomplete)
}
