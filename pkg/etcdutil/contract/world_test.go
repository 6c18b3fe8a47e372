package contract

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// world is where a scenario plays: the fake, or real processes on loopback. Members and directories have short names;
// a member runs over the directory of its own name unless the scenario says otherwise.
type world interface {
	// start runs a member. It does not wait for anything.
	start(m launch)
	// stop ends a member's process and waits until it is gone.
	stop(name string)
	// exit waits until a member's process has ended by itself.
	exit(name string) exit
	// ended says that a member's process has ended by itself or was stopped.
	ended(name string) bool
	// wipe empties a directory.
	wipe(dir string)
	// copy makes one directory a copy of another; nothing may run over either.
	copy(from, to string)
	// peerURL is the peer URL of a member.
	peerURL(name string) string
	// dial gives a client of the member; the world closes it.
	dial(name string) client.Client
	// put writes a key through the member.
	put(name string) error
	// pass lets a moment go by.
	pass()
	// now is the time by the clock that the members live by.
	now() time.Time
}

// launch says how a member is started.
type launch struct {
	name, dir string
	state     string
	list      []string // members in --initial-cluster
	raw       string   // --initial-cluster as it is, instead of list
	token     string
	version   string // of the etcd to start; empty: the world's own
}

// exit is how a process ended.
type exit struct {
	code    int
	message string // what the kubelet would keep of its log
	log     string // all of it
}

func (e exit) reason() etcdutil.ExitReason { return etcdutil.Classify(e.code, e.message) }

// removed says that the process ended because its member was removed. What the kubelet keeps often does not tell: the
// sentence is followed by so much about closed connections that it is cut off.
func (e exit) removed() bool {
	silent := e.reason() == etcdutil.ExitUnknown && strings.Contains(e.log, "the member has been permanently removed from the cluster")
	return silent || e.reason() == etcdutil.ExitRemoved
}

// play is a scenario in progress.
type play struct {
	testing.TB
	world
}

// scenario is one row of the table: a sentence, and what shows that it holds.
type scenario struct {
	name string
	play func(p *play)
}

func fresh(name string, list ...string) launch {
	return launch{name: name, dir: name, state: etcdutil.StateNew, list: list, token: "token"}
}

func joining(name string, list ...string) launch {
	return launch{name: name, dir: name, state: etcdutil.StateExisting, list: list, token: "token"}
}

func sealed(name string) launch {
	return launch{name: name, dir: name, state: etcdutil.StateExisting, list: []string{name}, token: "token"}
}

func (l launch) of(version string) launch { l.version = version; return l }

func (l launch) over(dir string) launch { l.dir = dir; return l }

func (l launch) withList(raw string) launch { l.raw = raw; return l }

func (l launch) initialCluster(w world) string {
	if l.raw != "" {
		return l.raw
	}
	var urls []etcdutil.NamedURL
	for _, name := range l.list {
		urls = append(urls, etcdutil.NamedURL{Name: name, URL: w.peerURL(name)})
	}
	return etcdutil.InitialCluster(urls)
}
