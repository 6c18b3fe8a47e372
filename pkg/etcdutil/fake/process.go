package fake

import (
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Flags are those of etcd's flags that decide where a process belongs.
type Flags struct {
	Name                string
	PeerURL             string // --initial-advertise-peer-urls
	ClientURL           string // --advertise-client-urls
	InitialCluster      string
	InitialClusterState string // new or existing
	InitialClusterToken string

	Address    string           // where clients dial it, host:port; one process at a time
	Version    etcdutil.Version // zero: 3.6.16
	TLS        bool             // serves clients over TLS
	Plain      bool             // with TLS: serves clients without as well
	ServerName string           // the name in its certificate; empty accepts any
}

// Exit is how a process ended.
type Exit struct {
	Code    int
	Message string // its last words, as etcd writes them
}

// Process is one run of etcd over a data directory.
type Process struct {
	network *Network
	flags   Flags
	dir     *directory

	id        etcdutil.ID
	cluster   etcdutil.ID
	serving   bool   // clients are served from the first publish on, and then without quorum too
	hung      bool   // its log and the leader's contradict each other: it answers nobody
	cut       bool   // no packet reaches or leaves it
	lagging   bool   // it gets no entries, as a learner with gigabytes ahead of it
	snapshots uint64 // that it wrote since it started
	exit      *Exit
	connected map[*Process]time.Time
	forgotten map[*Process]bool // peers that it takes for gone
}

// directory is a data directory: whose data it is and what its log holds. Zero is empty.
type directory struct {
	id, cluster etcdutil.ID
	log         []entry
	corrupt     bool

	snapshot      int // so many entries of the log are behind its newest snapshot
	compacted     int // so many it does not send to others any more: they get a snapshot in their place
	sinceSnapshot int // applied since its newest snapshot
	unnamed       int // applied at any time that are not in the log
	received      int // so many came as a snapshot when the member joined
}

func (d *directory) empty() bool { return d.cluster == 0 }

// Exited returns how the process ended, nil while it runs.
func (p *Process) Exited() *Exit {
	p.network.mu.Lock()
	defer p.network.mu.Unlock()
	return p.exit
}

// ID is the identity the process runs under.
func (p *Process) ID() etcdutil.ID { return p.id }

// ClusterID is the cluster the process belongs to.
func (p *Process) ClusterID() etcdutil.ID { return p.cluster }

// Stop ends the process as SIGTERM does. The directory stays.
func (p *Process) Stop() {
	p.network.change(func() {
		if p.exit == nil {
			p.stop(143, "received signal; shutting down")
		}
	})
}

// Lag holds back the entries of the log from the process, or lets it catch up.
func (p *Process) Lag(on bool) { p.network.change(func() { p.lagging = on }) }

// Forget lets the process take a peer for gone that is not. A message that failed only after the peer was back does
// that, for as long as both run (etcd-io/etcd:server/etcdserver/api/rafthttp/pipeline.go, handle).
func (p *Process) Forget(peer *Process) { p.network.change(func() { p.forgotten[peer] = true }) }

// Cut takes the process off the network, or puts it back.
func (p *Process) Cut(on bool) { p.network.change(func() { p.cut = on }) }

func (p *Process) stop(code int, message string) {
	p.exit = &Exit{Code: code, Message: message}
	p.serving = false
	delete(p.network.listening, p.flags.Address)
}

// connects says that the process takes part in raft.
func (p *Process) connects() bool { return p.exit == nil && !p.hung && !p.cut }

func (p *Process) state() membership { return replay(p.dir.log) }

// connectedTo counts members that the process has been connected to for the whole of the interval, itself included.
func (p *Process) connectedTo(members []etcdutil.Member, interval time.Duration) int {
	count := 0
	for _, m := range members {
		since, ok := p.connectedSince(m.ID)
		if m.ID == p.id || ok && since.Before(p.network.now().Add(-interval)) {
			count++
		}
	}
	return count
}

func (p *Process) connectedSince(id etcdutil.ID) (time.Time, bool) {
	for other, since := range p.connected {
		if other.id == id {
			return since, true
		}
	}
	return time.Time{}, false
}
