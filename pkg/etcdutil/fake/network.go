package fake

import (
	"fmt"
	"sync"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Network is where processes, directories and clients meet. It is safe for concurrent use.
type Network struct {
	mu          sync.Mutex
	now         func() time.Time
	directories map[string]*directory
	processes   []*Process
	listening   map[string]*Process // by client address
	groups      map[etcdutil.ID]*group
	unique      int
	faults      []*Fault
	calls       []Call
}

// New makes an empty network with a clock.
func New(now func() time.Time) *Network {
	return &Network{
		now:         now,
		directories: map[string]*directory{},
		listening:   map[string]*Process{},
		groups:      map[etcdutil.ID]*group{},
	}
}

// Start runs an etcd over a directory. Like a real one it may end at once: look at Exited.
func (n *Network) Start(dir string, flags Flags) *Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	if flags.Version.IsZero() {
		flags.Version = etcdutil.Version{Major: 3, Minor: 6, Patch: 16}
	}
	if n.directories[dir] == nil {
		n.directories[dir] = &directory{}
	}
	p := &Process{network: n, flags: flags, dir: n.directories[dir], connected: map[*Process]time.Time{},
		forgotten: map[*Process]bool{}}
	if n.listening[flags.Address] != nil {
		p.exit = &Exit{1, fmt.Sprintf("listen tcp %s: bind: address already in use", flags.Address)}
		return p
	}
	if exit := p.boot(); exit != nil {
		p.exit = exit
		return p
	}
	n.processes = append(n.processes, p)
	n.listening[flags.Address] = p
	n.settle()
	return p
}

// WipeDir empties a directory. A process that runs over it goes on until it is stopped, as with a deleted file.
func (n *Network) WipeDir(dir string) {
	n.change(func() { delete(n.directories, dir) })
}

// CopyDir makes one directory a copy of another, as a volume restored or mounted in the wrong place would be.
func (n *Network) CopyDir(from, to string) {
	n.change(func() {
		copied := *n.directories[from]
		copied.log = append([]entry(nil), copied.log...)
		n.directories[to] = &copied
	})
}

// CorruptDir damages a directory: the next start over it fails, and hashes differ until then.
func (n *Network) CorruptDir(dir string) {
	n.change(func() { n.directories[dir].corrupt = true })
}

// Put writes a key through the process, as a client would. It fails where a client's write would.
func (p *Process) Put() error {
	p.network.mu.Lock()
	defer p.network.mu.Unlock()
	if err := p.network.reachable(p); err != nil {
		return err
	}
	if err := p.network.readable(p); err != nil {
		return err
	}
	return p.network.commit(p, entry{kind: entryPut})
}

// Raise raises an alarm for a member, which need not be one any more.
func (n *Network) Raise(cluster, member etcdutil.ID, alarm string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.group(cluster).alarms[raised{member, alarm}] = true
}

// Leader returns the process that leads a cluster, nil while there is none.
func (n *Network) Leader(cluster etcdutil.ID) *Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.group(cluster).leader
}

func (n *Network) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
	n.settle()
}
