package fake

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// group is what the running members of one cluster have between them.
type group struct {
	leader *Process
	term   uint64
	match  map[etcdutil.ID]int // as the leader knows it, since its election: how much of its log each member has
	alarms map[raised]bool
}

// raised is an alarm with the member that it was raised for.
type raised struct {
	member etcdutil.ID
	name   string
}

func (n *Network) group(cluster etcdutil.ID) *group {
	if n.groups[cluster] == nil {
		n.groups[cluster] = &group{match: map[etcdutil.ID]int{}, alarms: map[raised]bool{}}
	}
	return n.groups[cluster]
}

// settle lets everything happen that follows from the last event: elections, replication, stops, first publications.
func (n *Network) settle() {
	for again := true; again; {
		again = false
		for _, cluster := range n.clusters() {
			n.elect(cluster)
			again = n.replicate(cluster) || again
			again = n.publish(cluster) || again
			again = n.moveVersions(cluster) || again
		}
	}
	n.connect()
}

func (n *Network) clusters() []etcdutil.ID {
	var ids []etcdutil.ID
	for _, p := range n.processes {
		if !slices.Contains(ids, p.cluster) {
			ids = append(ids, p.cluster)
		}
	}
	return ids
}

// running returns the processes of a cluster that take part in raft.
func (n *Network) running(cluster etcdutil.ID) []*Process {
	var running []*Process
	for _, p := range n.processes {
		if p.cluster == cluster && p.connects() {
			running = append(running, p)
		}
	}
	return running
}

// elect keeps a leader that still has a quorum; otherwise the longest log among a quorum leads. What a leader knew of
// the others it forgets with its office, and that is why an emptied member stops panicking then.
func (n *Network) elect(cluster etcdutil.ID) {
	g := n.group(cluster)
	if g.leader != nil && g.leader.connects() && n.canLead(g.leader) {
		return
	}
	g.leader = nil
	for _, p := range n.running(cluster) {
		if n.canLead(p) && (g.leader == nil || len(p.dir.log) > len(g.leader.dir.log)) {
			g.leader = p
		}
	}
	if g.leader != nil {
		n.lead(g, g.leader)
	}
}

func (n *Network) lead(g *group, leader *Process) {
	g.leader, g.term = leader, g.term+1
	g.match = map[etcdutil.ID]int{leader.id: len(leader.dir.log)}
}

// canLead says that a process is a voter by its own log and that a quorum of those voters runs.
func (n *Network) canLead(p *Process) bool {
	state := p.state()
	if me, ok := state.find(p.id); !ok || me.Learner {
		return false
	}
	voters := state.voters()
	present := 0
	for _, v := range voters {
		if slices.ContainsFunc(n.running(p.cluster), func(o *Process) bool { return o.id == v.ID }) {
			present++
		}
	}
	return present >= etcdutil.Quorum(len(voters))
}

// replicate brings every running member to the leader's log, and stops or hangs those where that cannot be. It says
// whether a process stopped.
func (n *Network) replicate(cluster etcdutil.ID) bool {
	g := n.group(cluster)
	if g.leader == nil {
		return false
	}
	stopped := false
	leaderLog := g.leader.dir.log
	state := replay(leaderLog)
	for _, p := range n.running(cluster) {
		_, member := state.find(p.id)
		switch {
		case state.removed[p.id]:
			exit := removedExit()
			p.stop(exit.Code, exit.Message)
			stopped = true
		case p == g.leader || !member || p.lagging:
		case g.match[p.id] > len(p.dir.log):
			p.stop(2, "panic: tocommit is out of range [lastIndex(0)]. Was the raft log corrupted, truncated, or lost?")
			stopped = true
		case !isPrefix(p.dir.log, leaderLog):
			p.hung = true
			stopped = true
		default:
			p.follow(g.leader.dir)
			g.match[p.id] = len(leaderLog)
		}
	}
	g.match[g.leader.id] = len(leaderLog)
	return stopped
}

// publish lets members that have a leader for the first time since their start say their name and URL, and serve.
func (n *Network) publish(cluster etcdutil.ID) bool {
	g := n.group(cluster)
	if g.leader == nil {
		return false
	}
	published := false
	for _, p := range n.running(cluster) {
		if p.serving || p.lagging && len(p.dir.log) == 0 {
			continue
		}
		n.append(g, entry{kind: entryPublish, id: p.id, name: p.flags.Name, clientURL: p.flags.ClientURL,
			old: p.flags.Version.Minor < 6})
		p.serving = true
		published = true
	}
	return published
}

func (n *Network) append(g *group, e entry) {
	n.unique++
	was := g.leader.state().version
	e.unique, e.index = n.unique, g.leader.dir.applied()+1
	g.leader.dir.log = append(slices.Clone(g.leader.dir.log), e)
	g.leader.snapshotAfter(1)
	g.leader.snapshotBelow(was)
}

// connect remembers since when each pair of running members has known each other.
func (n *Network) connect() {
	for _, p := range n.processes {
		for _, other := range n.processes {
			if !p.isConnected(other) {
				delete(p.connected, other)
				continue
			}
			if _, known := p.connected[other]; !known {
				p.connected[other] = n.now()
			}
		}
	}
}

func (p *Process) isConnected(other *Process) bool {
	return p != other && p.cluster == other.cluster && p.connects() && other.connects() && p.lists(other) &&
		!p.forgotten[other]
}

func (p *Process) lists(other *Process) bool {
	state := p.state()
	_, ok := state.find(other.id)
	return ok
}
