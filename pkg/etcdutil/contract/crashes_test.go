package contract

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// crash is one way in which a real etcd ends, and what its last words must be understood as.
type crash struct {
	name   string
	reason etcdutil.ExitReason
	// cause brings the end of member a, b or c about, and names it. An empty name: this version does not end so.
	cause func(p *play, w *realWorld) string
}

var crashes = slices.Concat(identityCrashes, dataCrashes, flagCrashes, versionCrashes)

var identityCrashes = []crash{
	{"sealed over an empty directory, alone", etcdutil.ExitDataEmpty, func(p *play, _ *realWorld) string {
		p.start(sealed("a"))
		return "a"
	}},
	{"sealed over an empty directory, with two peers up", etcdutil.ExitDataEmpty, func(p *play, _ *realWorld) string {
		p.startAll("a", "b", "c")
		p.stop("c")
		p.wipe("c")
		p.start(sealed("c"))
		return "c"
	}},
	{"joining while no peer answers", etcdutil.ExitDataEmpty, func(p *play, _ *realWorld) string {
		p.start(joining("b", "a", "b"))
		return "b"
	}},
	{"removed while it runs", etcdutil.ExitRemoved, func(p *play, _ *realWorld) string {
		p.startAll("a", "b", "c")
		gone := p.followers("a", "b", "c")[0]
		p.accepted(p.removing(p.leader("a", "b", "c"), p.id(gone)))
		return gone
	}},
	{"removed while it leads", etcdutil.ExitRemoved, func(p *play, _ *realWorld) string {
		p.startAll("a", "b", "c")
		leader := p.leader("a", "b", "c")
		p.accepted(p.removing(p.followers("a", "b", "c")[0], p.id(leader)))
		return leader
	}},
	{"removed, and started again with its data", etcdutil.ExitRemoved, func(p *play, _ *realWorld) string {
		p.startAll("a", "b", "c")
		gone := p.followers("a", "b", "c")[0]
		id := p.id(gone)
		p.stop(gone)
		leader, _ := p.others(gone)
		p.accepted(p.removing(leader, id))
		p.start(sealed(gone))
		return gone
	}},
	{"new over an empty directory, while a peer knows it", etcdutil.ExitAlreadyBootstrapped, func(p *play, _ *realWorld) string {
		p.startAll("a", "b", "c")
		p.stop("c")
		p.wipe("c")
		p.start(fresh("c", "a", "b", "c"))
		return "c"
	}},
	{"joining with a list that is too long", etcdutil.ExitStaleFlags, func(p *play, _ *realWorld) string {
		p.startAll("a")
		p.start(joining("b", "a", "b"))
		return "b"
	}},
	{"joining with the wrong URL in the list", etcdutil.ExitStaleFlags, func(p *play, _ *realWorld) string {
		p.startAll("a")
		p.add("a", "c")
		p.start(joining("b", "a", "b"))
		return "b"
	}},
	{"not in its own list", etcdutil.ExitStaleFlags, func(p *play, _ *realWorld) string {
		p.start(fresh("a", "b"))
		return "a"
	}},
	{"joining over an emptied directory while its leader leads", etcdutil.ExitRaftPanic, func(p *play, _ *realWorld) string {
		p.startAll("a", "b", "c")
		lost := p.followers("a", "b", "c")[0]
		p.stop(lost)
		p.wipe(lost)
		p.start(joining(lost, "a", "b", "c"))
		return lost
	}},
}

const (
	// A record of the WAL begins with the tag of its type, and then has that (etcd-io/etcd:server/storage/wal/walpb).
	noTag        = 0x0f // of a field that protobuf has not
	metadataType = 1    // whose the WAL is
	stateType    = 3    // how far raft is
	metadataAt   = 1    // the record before it begins a checksum

	// Either of the first two pages of a database says which transaction wrote it, and has a checksum of that
	// (etcd-io/bbolt:internal/common/meta.go).
	pageSize    = 4096
	transaction = 64
)

// records are where the records of a file of the WAL begin. Before each is its length, and in the highest byte of that
// how much follows to fill eight bytes (etcd-io/etcd:server/storage/wal/encoder.go).
func records(b []byte) []int {
	var all []int
	const frame, long = 8, 1<<56 - 1
	for at := 0; at+frame <= len(b); {
		length := binary.LittleEndian.Uint64(b[at:])
		if length == 0 {
			break
		}
		all = append(all, at+frame)
		at += frame + int(length&long+(length>>56)&7)
	}
	return all
}

var dataCrashes = []crash{
	{"a damaged WAL", etcdutil.ExitDataCorrupt, func(p *play, w *realWorld) string {
		p.grown("a")
		damage(w, "a/member/wal/*.wal", flip)
		p.start(sealed("a"))
		return "a"
	}},
	{"a WAL of zeros", etcdutil.ExitDataCorrupt, func(p *play, w *realWorld) string {
		if w.release == "3.7.3" {
			return "" // it ends for a nil pointer, before it has said anything of the WAL
		}
		p.grown("a")
		damage(w, "a/member/wal/*.wal", func(b []byte) { clear(b) })
		p.start(sealed("a"))
		return "a"
	}},
	{"a WAL whose first file is gone", etcdutil.ExitDataCorrupt, func(p *play, w *realWorld) string {
		p.grown("a")
		wal := filepath.Join(w.root, "a/member/wal")
		if err := os.Rename(filepath.Join(wal, "0000000000000000-0000000000000000.wal"),
			filepath.Join(wal, "0000000000000001-0000000000000040.wal")); err != nil {
			p.Fatal(err)
		}
		p.start(sealed("a"))
		return "a"
	}},
	{"a record of the WAL that cannot be decoded", etcdutil.ExitDataCorrupt, func(p *play, w *realWorld) string {
		p.grown("a")
		damage(w, "a/member/wal/*.wal", func(b []byte) { b[records(b)[metadataAt]] = noTag })
		p.start(sealed("a"))
		return "a"
	}},
	{"a WAL that does not say whose it is", etcdutil.ExitDataCorrupt, func(p *play, w *realWorld) string {
		p.grown("a")
		damage(w, "a/member/wal/*.wal", func(b []byte) { b[records(b)[metadataAt]+1] = stateType })
		p.start(sealed("a"))
		return "a"
	}},
	{"a WAL that says of two members that it is theirs", etcdutil.ExitDataCorrupt, func(p *play, w *realWorld) string {
		p.grown("a")
		damage(w, "a/member/wal/*.wal", func(b []byte) {
			all := records(b)
			b[all[slices.IndexFunc(all, func(at int) bool { return b[at+1] == stateType })]+1] = metadataType
		})
		p.start(sealed("a"))
		return "a"
	}},
	{"a database whose first pages are damaged", etcdutil.ExitDataCorrupt, func(p *play, w *realWorld) string {
		p.grown("a")
		damage(w, "a/member/snap/db", func(b []byte) {
			for _, page := range []int{0, pageSize} {
				b[page+transaction] ^= 1
			}
		})
		p.start(sealed("a"))
		return "a"
	}},
	{"a database that is none", etcdutil.ExitDataCorrupt, func(p *play, w *realWorld) string {
		p.grown("a")
		damage(w, "a/member/snap/db", func(b []byte) { copy(b, bytes.Repeat([]byte{0xaa}, len(b))) })
		p.start(sealed("a"))
		return "a"
	}},
	{"a database whose inner pages are damaged", etcdutil.ExitDataCorrupt, func(p *play, w *realWorld) string {
		p.grown("a")
		damage(w, "a/member/snap/db", func(b []byte) { copy(b[8192:], bytes.Repeat([]byte{0xaa}, len(b))) })
		p.start(sealed("a"))
		return "a"
	}},
	{"a truncated database", etcdutil.ExitDataCorrupt, func(p *play, w *realWorld) string {
		p.grown("a")
		if err := os.Truncate(filepath.Join(w.root, "a/member/snap/db"), 5000); err != nil {
			p.Fatal(err)
		}
		p.start(sealed("a"))
		return "a"
	}},
	{"a database without its WAL", etcdutil.ExitDataEmpty, func(p *play, _ *realWorld) string {
		p.grown("a")
		p.wipe("a/member/wal")
		p.start(sealed("a"))
		return "a"
	}},
	{"data that differ from those of the peers", etcdutil.ExitDataDiffers, func(p *play, w *realWorld) string {
		if w.release == "3.5.35" {
			return "" // it asks the members of its last raft snapshot; a young cluster has none, and it asks no member
		}
		w.extra = etcdutil.OptionArgs(w.version(), "true", nil)
		p.startAll("a", "b", "c")
		p.accepted(p.writing("a"))
		p.until("b has it", func() bool { return p.status("b").Revision == 2 })
		p.stop("b")
		damage(w, "b/member/snap/db", flip)
		p.start(sealed("b"))
		return "b"
	}},
	{"good data beside a peer whose data differ", etcdutil.ExitDataDiffers, func(p *play, w *realWorld) string {
		if w.release == "3.5.35" {
			return ""
		}
		w.extra = etcdutil.OptionArgs(w.version(), "true", nil)
		p.startAll("a", "b", "c")
		p.accepted(p.writing("a"))
		p.until("b has it", func() bool { return p.status("b").Revision == 2 })
		p.stop("b")
		damage(w, "b/member/snap/db", flip)
		w.extra = nil // the damaged one starts without looking at the others
		p.start(sealed("b"))
		p.until("b answers", func() bool { return p.status("b").Revision == 2 })
		w.extra = etcdutil.OptionArgs(w.version(), "true", nil)
		p.stop("c")
		p.start(sealed("c"))
		return "c"
	}},
	{"a file system that became read-only", etcdutil.ExitDiskFailing, func(p *play, w *realWorld) string {
		p.grown("a")
		return readOnlyDisk(p, w)
	}},
	{"a database that the disk does not deliver", etcdutil.ExitFault, func(p *play, w *realWorld) string {
		p.grown("a")
		p.start(sealed("a"))
		p.until("a answers", func() bool { return p.status("a").Revision > 0 })
		if err := os.Truncate(filepath.Join(w.root, "a/member/snap/db"), 0); err != nil {
			p.Fatal(err)
		}
		_ = p.put("a") // the process reads a page that is not there any more, and never answers
		return "a"
	}},
	{"a directory of another user", etcdutil.ExitPermission, func(p *play, w *realWorld) string {
		p.grown("a")
		w.asNobody("a")
		p.start(sealed("a"))
		return "a"
	}},
	{"a volume that may not be written", etcdutil.ExitPermission, func(p *play, w *realWorld) string {
		if err := os.Mkdir(filepath.Join(w.root, "closed"), 0o755); err != nil {
			p.Fatal(err)
		}
		w.asNobody("closed")
		first := fresh("a", "a")
		first.dir = "closed/a"
		p.start(first)
		return "a"
	}},
}

// asNobody makes the next processes run as a user without rights in a directory, who may reach the root of this world
// and the binary. Only root can start processes of another user; any other user gives up its own right to write there.
func (w *realWorld) asNobody(directory string) {
	w.t.Helper()
	if os.Geteuid() != 0 {
		closed := filepath.Join(w.root, directory)
		if err := os.Chmod(closed, 0o500); err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = os.Chmod(closed, 0o700) })
		return
	}
	own := filepath.Join(w.root, "etcd")
	// Written by another process: a file that this one wrote may be busy for as long as a child that was forked
	// meanwhile holds it open.
	if out, err := exec.Command("cp", w.binary, own).CombinedOutput(); err != nil {
		w.t.Fatalf("copying %s: %v: %s", w.binary, err, out)
	}
	for _, path := range []string{filepath.Dir(w.root), w.root, own} {
		if err := os.Chmod(path, 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	w.binary, w.credential = own, &syscall.Credential{Uid: 65534, Gid: 65534}
}

// grown is a member with data, stopped.
func (p *play) grown(name string) {
	p.Helper()
	p.startAll(name)
	for range 20 {
		p.accepted(p.writing(name))
	}
	p.stop(name)
}

// damage rewrites the files that match, below the world's root.
func damage(w *realWorld, pattern string, how func(b []byte)) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.root, pattern))
	if err != nil || len(files) == 0 {
		w.t.Fatalf("nothing to damage at %s: %v", pattern, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		before := bytes.Clone(b)
		if how(b); bytes.Equal(b, before) {
			w.t.Fatalf("%s was not damaged", file)
		}
		if err := os.WriteFile(file, b, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// flip changes a byte of each value that was put, so that the file is well-formed and says something else.
func flip(b []byte) {
	for at := bytes.Index(b, []byte(realValue)); at >= 0; at = bytes.Index(b, []byte(realValue)) {
		b[at] ^= 1
	}
}
