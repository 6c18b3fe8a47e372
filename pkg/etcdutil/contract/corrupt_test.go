package contract

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// The leader compares by the hour, here by the second. Where its own copy is the wrong one, no release names it.
func TestRealEtcdNamesAnotherMemberThanTheWrongLeaderAndItsAlarmEndsUnderTheIDThatItNames(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newRealWorld(t, version)
			w.extra = etcdutil.OptionArgs(w.version(), "false", map[string]string{
				flagOf(version):    "1s",
				"election-timeout": "5000", // a busy machine moves no leadership before the comparison
			})
			p := &play{TB: t, world: w}
			p.startAll("a", "b", "c")
			p.accepted(p.writing("a"))
			wrong := p.leader("a", "b", "c")
			good := p.followers("a", "b", "c")
			for _, name := range good {
				p.until(name+" has the write", func() bool { return p.status(name).Revision == 2 })
			}
			p.until("the value is on disk", func() bool { return w.damageValue(wrong) })
			var raised []etcdutil.Alarm
			p.until("the alarm is raised", func() bool {
				raised = etcdutil.ParseAlarms(p.status(good[0]).Errors)
				return len(raised) > 0
			})
			if leads := p.leader("a", "b", "c"); leads != wrong {
				t.Fatalf("%s leads, and no longer %s, so the alarm does not show what a wrong leader does: %+v", leads, wrong, raised)
			}
			if accused := raised[0].Member; (accused == 0) != strings.HasPrefix(version, "3.5.") || accused == p.id(wrong) {
				t.Errorf("%s is wrong, and the alarm is %+v", p.id(wrong), raised)
			}
			if p.hash(good[0]) != p.hash(good[1]) || p.hash(good[0]) == p.hash(wrong) {
				t.Errorf("the hashes are %v, %v and %v", p.hash(wrong), p.hash(good[0]), p.hash(good[1]))
			}
			p.accepted(p.moving(wrong, p.id(good[0])))
			p.until(good[0]+" leads", func() bool { return p.status(good[0]).Leader == p.id(good[0]) })
			p.accepted(p.removing(good[0], p.id(wrong)))
			if err := p.put(good[0]); err == nil {
				t.Error("a write is accepted while the alarm stands")
			}
			for _, alarm := range etcdutil.ParseAlarms(p.status(good[0]).Errors) {
				p.accepted(func() error { return p.dial(good[0]).DisarmAlarm(p.Context(), alarm.Member, alarm.Name) })
			}
			p.accepted(p.writing(good[0]))
		})
	}
}

// flagOf is the flag for the time between two comparisons.
func flagOf(version string) string {
	if strings.HasPrefix(version, "3.5.") {
		return "experimental-corrupt-check-time"
	}
	return "corrupt-check-time"
}

func (p *play) hash(name string) client.Hash {
	p.Helper()
	h, err := p.dial(name).HashKV(p.Context(), 2)
	if err != nil {
		p.Fatal(err)
	}
	return h
}

// damageValue changes the value that put wrote, in the file of a member that runs, and reports whether it is there yet.
func (w *realWorld) damageValue(name string) bool {
	w.t.Helper()
	path := filepath.Join(w.root, name, "member", "snap", "db")
	database, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	changed := bytes.ReplaceAll(slices.Clone(database), []byte(realValue), []byte(strings.ToUpper(realValue)))
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close()
	for at := range database {
		if database[at] != changed[at] {
			if _, err := file.WriteAt(changed[at:at+1], int64(at)); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return !bytes.Equal(changed, database)
}
