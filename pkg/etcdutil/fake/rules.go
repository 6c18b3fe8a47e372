package fake

import (
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// healthInterval is how long members must have been connected to count as such
// (etcd-io/etcd:server/etcdserver/server.go HealthInterval).
const healthInterval = 5 * time.Second

// readyPercent is how much of the leader's log a learner must have to be promoted (…/server.go readyPercentThreshold).
const readyPercent = 0.9

// readable says whether the process can answer a linearizable read.
func (n *Network) readable(p *Process) error {
	switch {
	case p.learner():
		return client.ErrLearnerRefuses
	case n.group(p.cluster).leader == nil:
		return errTimeout()
	}
	return nil
}

// addLearner follows MemberAdd: what the asked member checks first, then what the log's application checks
// (etcd-io/etcd:server/etcdserver/server.go mayAddMember, …/membership/cluster.go ValidateConfigurationChange).
func (n *Network) addLearner(p *Process, peerURL string) (etcdutil.Member, error) {
	state := p.state()
	id := memberID(peerURL, "", n.now().Unix())
	_, exists := state.find(id)
	switch {
	case p.learner():
		return etcdutil.Member{}, client.ErrLearnerRefuses
	case !strings.Contains(peerURL, "://"):
		return etcdutil.Member{}, rpctypes.ErrMemberBadURLs
	case !p.mayAdd(state.voters()):
		return etcdutil.Member{}, client.ErrUnhealthy
	case n.group(p.cluster).leader == nil:
		return etcdutil.Member{}, errTimeout()
	case exists:
		return etcdutil.Member{}, client.ErrMemberExist
	case slices.ContainsFunc(state.members, func(m etcdutil.Member) bool {
		return slices.Contains(m.PeerURLs, peerURL)
	}):
		return etcdutil.Member{}, client.ErrPeerURLExist
	case state.learners() > 0:
		return etcdutil.Member{}, client.ErrTooManyLearners
	}
	if err := n.commit(p, entry{kind: entryAdd, id: id, peerURL: peerURL, learner: true}); err != nil {
		return etcdutil.Member{}, err
	}
	return etcdutil.Member{ID: id, PeerURLs: []string{peerURL}, Learner: true}, nil
}

// mayAdd asks for a connected quorum of the members that there would be. Older patches asked for every voter.
func (p *Process) mayAdd(voters []etcdutil.Member) bool {
	wanted := etcdutil.Quorum(len(voters) + 1)
	v := p.flags.Version
	if v.Minor == 5 && v.Patch < 30 || v.Minor == 6 && v.Patch < 11 {
		wanted = len(voters)
	}
	return len(voters) == 1 || p.connectedTo(voters, healthInterval) >= wanted
}

// setPeerURL follows MemberUpdate, which asks for no health (…/cluster.go ValidateConfigurationChange).
func (n *Network) setPeerURL(p *Process, id etcdutil.ID, peerURL string) error {
	state := p.state()
	_, found := state.find(id)
	switch {
	case p.learner():
		return client.ErrLearnerRefuses
	case !strings.Contains(peerURL, "://"):
		return rpctypes.ErrMemberBadURLs
	case n.group(p.cluster).leader == nil:
		return errTimeout()
	case !found:
		return client.ErrMemberNotFound
	case slices.ContainsFunc(state.members, func(m etcdutil.Member) bool {
		return m.ID != id && slices.Contains(m.PeerURLs, peerURL)
	}):
		return client.ErrPeerURLExist
	}
	return n.commit(p, entry{kind: entryURL, id: id, peerURL: peerURL})
}

// promote is decided by the leader, whoever was asked. It looks at the log's match and not at the process: a learner
// that died after it had caught up is promoted.
func (n *Network) promote(p *Process, id etcdutil.ID) error {
	g := n.group(p.cluster)
	switch {
	case p.learner():
		return client.ErrLearnerRefuses
	case g.leader == nil:
		return errTimeout()
	}
	state := g.leader.state()
	m, found := state.find(id)
	voters := state.voters()
	switch {
	case !found:
		return client.ErrMemberNotFound
	case float64(g.match[id]) < readyPercent*float64(len(g.leader.dir.log)):
		return client.ErrLearnerNotReady
	case named(voters)+1 < etcdutil.Quorum(len(voters)+1):
		return client.ErrNotEnoughStarted
	case !m.Learner:
		return client.ErrMemberNotLearner
	}
	return n.commit(p, entry{kind: entryPromote, id: id})
}

// remove follows MemberRemove: learners go unchecked, dead voters when enough others ever started, live ones when the
// rest is a quorum without them (…/server.go mayRemoveMember).
func (n *Network) remove(p *Process, id etcdutil.ID) error {
	if p.learner() {
		return client.ErrLearnerRefuses
	}
	state := p.state()
	m, found := state.find(id)
	if !m.Learner {
		if err := p.mayRemoveVoter(id, state.voters()); err != nil {
			return err
		}
	}
	switch {
	case n.group(p.cluster).leader == nil:
		return errTimeout()
	case !found:
		return client.ErrMemberNotFound
	}
	return n.commit(p, entry{kind: entryRemove, id: id})
}

func (p *Process) mayRemoveVoter(id etcdutil.ID, voters []etcdutil.Member) error {
	left := slices.DeleteFunc(slices.Clone(voters), func(v etcdutil.Member) bool { return v.ID == id })
	if named(left) < etcdutil.Quorum(len(left)) {
		return client.ErrNotEnoughStarted
	}
	if _, connected := p.connectedSince(id); !connected && id != p.id {
		return nil
	}
	if p.connectedTo(voters, healthInterval)-1 < etcdutil.Quorum(len(voters)-1) {
		return client.ErrUnhealthy
	}
	return nil
}

func (n *Network) moveLeader(p *Process, target etcdutil.ID) error {
	g, state := n.group(p.cluster), p.state()
	m, found := state.find(target)
	switch {
	case p.learner():
		return client.ErrLearnerRefuses
	case g.leader != p:
		return client.ErrNotLeader
	case !found || m.Learner:
		return client.ErrBadLeaderTransferee
	case target == p.id:
		return nil
	}
	for _, other := range n.running(p.cluster) {
		if other.id == target && !other.lagging {
			n.lead(g, other)
			n.settle()
			return nil
		}
	}
	return status.Error(codes.DeadlineExceeded, "context deadline exceeded")
}

// named counts the members that etcd's own checks call started: those with a name. The entries of a static bootstrap
// have one from the beginning (…/membership/member.go IsStarted).
func named(members []etcdutil.Member) int {
	count := 0
	for _, m := range members {
		if m.Name != "" {
			count++
		}
	}
	return count
}

// commit puts an entry into the log, given a leader with a quorum.
func (n *Network) commit(p *Process, e entry) error {
	g := n.group(p.cluster)
	if g.leader == nil {
		return errTimeout()
	}
	n.append(g, e)
	n.replicate(p.cluster) // while the leader still leads: the entry may be its own removal
	n.settle()
	return nil
}

// errTimeout is what a request without a quorum is answered in the end.
func errTimeout() error { return rpctypes.ErrTimeout }
