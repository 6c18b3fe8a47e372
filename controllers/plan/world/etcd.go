package world

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// disk is one data directory. An empty one has no member.
type disk struct {
	cluster, member etcdutil.ID
	applied         int    // writes that reached it
	from            string // the backup that was restored there; empty for what began empty
	emptied         emptied
	content         int              // 0 for what clients wrote, another number for what no client wrote
	promised        int              // writes that its member acknowledged, where the disk holds fewer by now
	isCopy          bool             // a backup tool made it: no member ever lived on it
	fails           bool             // it returns errors
	full            bool             // it has no room left
	hasNoLog        bool             // its log was on a volume that is gone
	ran             etcdutil.Version // that last took part on it
	format          etcdutil.Version // in which it is
	entries         int              // of raft's log that reached it and are no writes
	covered         int              // all entries up to this one are behind its snapshot
	awaits          int              // its member does not serve before there is this entry; 0 for none
}

// emptied is what a directory held before something emptied it.
type emptied struct {
	cluster, member etcdutil.ID
	look            int // the last look that an operator had taken by then
}

func (d *disk) isEmpty() bool { return d.member == 0 }

// process is a running etcd. It serves clients from the first quorum that it was part of until it stops.
type process struct {
	pod         string
	disk        *disk
	served      bool
	neverServes bool // it never serves, whoever is there
	content     int  // of its disk when it started
	snapshots   uint64
	trusts      []string // CAs, that it read at its start
	shows       string   // the CA of the certificate that it shows
	ill         illness

	instead string // who answers at its address while it is out of reach
}

// illness is what a process suffers from.
type illness string

const (
	frozen   illness = "frozen"   // it is there and does nothing: a disk that hangs, a node that stopped answering
	isolated illness = "isolated" // it answers the operator, and its peers are out of reach
	hidden   illness = "hidden"   // it is well, and out of the operator's reach
)

// takesPart reports whether the process counts for its cluster.
func (p *process) takesPart() bool { return !p.neverServes && (p.ill == "" || p.ill == hidden) }

// isHeard reports a process that answers the operator.
func (p *process) isHeard() bool {
	return p != nil && p.served && p.ill != frozen && p.ill != hidden && p.ill != busy
}

// cluster is what the members of one cluster ID agreed on.
type cluster struct {
	id          etcdutil.ID
	members     []etcdutil.Member
	removed     map[etcdutil.ID]bool
	leader      etcdutil.ID
	writes      int              // acknowledged to clients, and never to be lost
	from        string           // what it began with: the sum of a backup, or the survivor; empty for nothing
	base        int64            // the revision that it began at; zero for nothing
	incarnation string           // the incarnation that its members are of
	version     etcdutil.Version // that its members agreed on; zero before
	// the minor to which a downgrade is enabled; zero while none is
	downgrade etcdutil.Version
	entries   int // of raft's log that are no writes
	added     int // of these, by an operator
	old       int // the last entry that a 3.5 may have written
	// the version to which the last entry of that kind raised the cluster, and which entry that was
	raised   etcdutil.Version
	raisedAt int
	// that space ran out, under the ID of a member of the cluster that the backup was taken from
	alarm   bool
	full    bool                 // whether it did
	bloated map[etcdutil.ID]bool // members whose file is full of what is not in use
	// databases are full of history, which is compacted up to this revision
	historic  bool
	compacted int64
	// a snapshot is sent that was begun before that: etcd tells until then that all of it is in use
	isRead  bool
	auth    auth
	corrupt map[etcdutil.ID]bool // members of which etcd said that their data differs; 0 where it does not know whose
}

func hash(parts ...any) etcdutil.ID {
	h := fnv.New64a()
	fmt.Fprint(h, parts...)
	return etcdutil.ID(h.Sum64() | 1)
}

func (c *cluster) find(id etcdutil.ID) int {
	return slices.IndexFunc(c.members, func(m etcdutil.Member) bool { return m.ID == id })
}

func (c *cluster) voters() []etcdutil.Member {
	return slices.DeleteFunc(slices.Clone(c.members), func(m etcdutil.Member) bool { return m.Learner })
}

// hasVoter reports a voter of this name.
func (c *cluster) hasVoter(name string) bool {
	return slices.ContainsFunc(c.voters(), func(m etcdutil.Member) bool { return c.nameOf(m.ID) == name })
}

// running are the processes of the cluster's listed members.
func (w *World) running(c *cluster) []*process {
	var out []*process
	for _, name := range sortedKeys(w.objects.pods) {
		p := w.procs[w.objects.pods[name].UID]
		if p != nil && p.takesPart() && p.disk.cluster == c.id && c.find(p.disk.member) >= 0 {
			out = append(out, p)
		}
	}
	return out
}

// upVoters counts running voters, as many as one of them reaches.
func (w *World) upVoters(c *cluster) int {
	voters := w.runningVoters(c)
	if !w.hasTurned {
		return len(voters)
	}
	return w.reach(c, voters)
}

func (w *World) runningVoters(c *cluster) []*process {
	return slices.DeleteFunc(w.running(c), func(p *process) bool { return c.members[c.find(p.disk.member)].Learner })
}

func (w *World) hasQuorum(c *cluster) bool {
	return w.upVoters(c) >= etcdutil.Quorum(len(c.voters()))
}

// start is what etcd does with a directory and its flags. It returns the reason for which it stops at once, or "".
func (w *World) start(p pod, d *disk) etcdutil.ExitReason {
	if !d.isEmpty() {
		if c := w.clusters[d.cluster]; c.removed[d.member] {
			return etcdutil.ExitRemoved
		}
		if d.hasNoLog {
			return w.startWithoutLog(p, d)
		}
		return w.startOnData(p, d)
	}
	switch p.seen {
	case facts.FlagsSealed, facts.FlagsComparing:
		return etcdutil.ExitDataEmpty
	case facts.FlagsBootstrap:
		return w.startNew(p, d)
	case facts.FlagsJoin:
		return w.startExisting(p, d)
	case facts.FlagsNone:
	}
	return etcdutil.ExitBadFlag
}

// startOnData is a start from a directory that is not empty.
func (w *World) startOnData(p pod, d *disk) etcdutil.ExitReason {
	switch {
	case d.fails:
		return etcdutil.ExitDiskFailing
	case d.full:
		return etcdutil.ExitDiskFull
	case w.isTooOld(p, d):
		return etcdutil.ExitVersionTooLow
	case w.isUnreadable(p, d):
		return etcdutil.ExitVersionSkipped
	case w.isBehindItsWord(d):
		return etcdutil.ExitRaftPanic
	case p.seen == facts.FlagsComparing && w.differs(d):
		return etcdutil.ExitDataDiffers
	}
	return ""
}

// startNew is --initial-cluster-state=new in an empty directory: IDs follow from names and token.
func (w *World) startNew(p pod, d *disk) etcdutil.ExitReason {
	id := hash("cluster", p.Incarnation, p.initial)
	c := w.formed(id, p.Incarnation, p.initial)
	self := hash(id, w.nameOf(p))
	if i := c.find(self); i >= 0 && c.members[i].Started() && len(w.running(c)) > 0 {
		return etcdutil.ExitAlreadyBootstrapped
	}
	w.checkFreshStart(c, self)
	if !w.isHeld(id) { // what was restored under that name left no trace
		c.from, c.base, c.alarm, c.full, c.auth = "", 0, false, false, auth{}
	}
	*d = disk{cluster: id, member: self}
	return ""
}

// formed is the cluster that a token and a list make, the same for each of its members.
func (w *World) formed(id etcdutil.ID, incarnation string, initial []etcdutil.NamedURL) *cluster {
	if w.clusters[id] == nil {
		c := &cluster{id: id, incarnation: incarnation, removed: map[etcdutil.ID]bool{},
			bloated: map[etcdutil.ID]bool{}, auth: w.authBegun()}
		for _, m := range initial {
			c.members = append(c.members, etcdutil.Member{ID: hash(id, m.Name), Name: m.Name,
				PeerURLs: []string{m.URL}})
		}
		w.clusters[id] = c
	}
	return w.clusters[id]
}

// startExisting is --initial-cluster-state=existing in an empty directory: the list must match in count and URLs.
func (w *World) startExisting(p pod, d *disk) etcdutil.ExitReason {
	c := w.clusters[w.objects.bootstrap.ClusterID]
	if c == nil || len(w.running(c)) == 0 {
		return etcdutil.ExitDataEmpty // the same words as a sealed member on an empty disk
	}
	if !c.downgrade.IsZero() || minorOf(p.made.Version).Compare(c.version) < 0 {
		return etcdutil.ExitVersionTooLow
	}
	if len(c.members) != len(p.initial) {
		return etcdutil.ExitStaleFlags
	}
	name := w.nameOf(p)
	for _, m := range c.members {
		if m.PeerURLs[0] == w.url(name, p.Transport.PeerScheme()) {
			w.checkFreshStart(c, m.ID)
			*d = disk{cluster: c.id, member: m.ID, content: w.leadersContent(c), covered: w.leadersSnapshot(c),
				awaits: c.awaited(p)}
			return ""
		}
	}
	return etcdutil.ExitStaleFlags
}

// checkFreshStart is I4: an identity that was sealed, as far as the kubelet knows, starts from its own data or not at
// all.
func (w *World) checkFreshStart(c *cluster, id etcdutil.ID) {
	if w.sealed[id] {
		w.violate("I4: member %s of %s starts on an empty disk", id, c.id)
	}
}

// settleClusters lets running members elect, publish themselves and catch up.
func (w *World) settleClusters() {
	for _, id := range sortedIDs(w.clusters) {
		c := w.clusters[id]
		if !w.hasQuorum(c) {
			c.leader = 0
			continue
		}
		running := w.running(c)
		newest := slices.MaxFunc(running, func(a, b *process) int { return a.disk.applied - b.disk.applied })
		if newest.disk.applied < c.writes && !w.unsealedLoss && !w.trouble.rolled {
			w.violate("acknowledged writes lost: %d of %d left in %s", newest.disk.applied, c.writes, c.id)
			c.writes = newest.disk.applied
		}
		for _, p := range running {
			p.disk.applied = c.writes
			if c.writes+c.entries < p.disk.awaits {
				continue // it cannot publish itself
			}
			i := c.find(p.disk.member)
			c.members[i].Name = w.nameOf(w.objects.pods[p.pod])
			c.members[i].ClientURLs = []string{"client"}
			p.served = true
		}
		w.settleLog(c, running)
		w.elect(c, running)
		w.moveVersion(c, running)
	}
}

func (w *World) elect(c *cluster, running []*process) {
	for _, p := range running {
		if p.disk.member == c.leader && !c.members[c.find(c.leader)].Learner {
			return
		}
	}
	for _, p := range running {
		if !c.members[c.find(p.disk.member)].Learner {
			c.leader = p.disk.member
			return
		}
	}
}

// write is one client write through the client Service: it needs a labelled, running voter and a quorum.
func (w *World) write() {
	if w.trouble.isQuiet {
		return
	}
	for _, id := range sortedIDs(w.clusters) {
		c := w.clusters[id]
		if !w.hasQuorum(c) || !w.isSelected(c) {
			continue
		}
		c.writes++
		w.checkRevision(c)
		for _, p := range w.running(c) {
			p.disk.applied = c.writes
		}
	}
}

func (w *World) isSelected(c *cluster) bool {
	return slices.ContainsFunc(w.running(c), func(p *process) bool {
		return p.served && w.objects.pods[p.pod].Role == "voter"
	})
}
