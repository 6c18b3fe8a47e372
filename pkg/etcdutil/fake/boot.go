package fake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// boot decides under which identity the process runs, or how it ends instead. The order is etcd's
// (etcd-io/etcd:server/etcdserver/bootstrap.go): with data, the flags about the cluster are not even read.
func (p *Process) boot() *Exit {
	if p.dir.corrupt {
		return &Exit{1, "failed to open WAL: walpb: crc mismatch"}
	}
	if !p.dir.empty() {
		p.id, p.cluster = p.dir.id, p.dir.cluster
		return p.bootWithData()
	}
	listed, exit := parseInitialCluster(p.flags)
	switch {
	case exit != nil:
		return exit
	case p.flags.InitialClusterState == etcdutil.StateNew:
		return p.bootNew(listed)
	case p.flags.InitialClusterState == etcdutil.StateExisting:
		return p.bootExisting(listed)
	}
	return &Exit{2, fmt.Sprintf("invalid value %q for flag -initial-cluster-state: invalid value",
		p.flags.InitialClusterState)}
}

// bootWithData ends a process that any peer knows to be removed: each answers it 410.
func (p *Process) bootWithData() *Exit {
	for _, peer := range p.network.processes {
		if peer.connects() && peer.cluster == p.cluster && replay(peer.dir.log).removed[p.id] {
			return removedExit()
		}
	}
	return p.versionExit()
}

func (p *Process) bootNew(listed []etcdutil.NamedURL) *Exit {
	ids := make([]etcdutil.ID, 0, len(listed))
	var log []entry
	for _, m := range listed {
		id := memberID(m.URL, p.flags.InitialClusterToken, 0)
		ids = append(ids, id)
		log = append(log, entry{kind: entryAdd, id: id, name: m.Name, peerURL: m.URL})
		if m.Name == p.flags.Name {
			p.id = id
		}
	}
	slices.SortFunc(log, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	p.cluster = clusterID(ids)
	if peer := p.anyPeer(listed); peer != nil {
		state := peer.state()
		if me, ok := state.find(p.id); ok && me.Started() {
			return &Exit{1, fmt.Sprintf("member %s has already been bootstrapped", p.id)}
		}
	}
	p.dir.id, p.dir.cluster, p.dir.log = p.id, p.cluster, log
	return nil
}

func (p *Process) bootExisting(listed []etcdutil.NamedURL) *Exit {
	peer := p.anyPeer(listed)
	if peer == nil {
		return &Exit{1, "cannot fetch cluster info from peer urls: could not retrieve cluster information from " +
			"the given URLs"}
	}
	state := peer.state()
	if len(state.members) != len(listed) {
		return &Exit{1, "error validating peerURLs: member count is unequal"}
	}
	for _, m := range state.members {
		at := slices.IndexFunc(listed, func(l etcdutil.NamedURL) bool { return slices.Contains(m.PeerURLs, l.URL) })
		if at < 0 {
			return &Exit{1, fmt.Sprintf("error validating peerURLs: PeerURLs: no match found for existing "+
				"member (%s, %v)", m.ID, m.PeerURLs)}
		}
		if listed[at].Name == p.flags.Name {
			p.id = m.ID
		}
	}
	if exit := p.joinExit(state); exit != nil {
		return exit
	}
	p.cluster = peer.cluster
	p.dir.id, p.dir.cluster, p.dir.log = p.id, p.cluster, nil
	return nil
}

// anyPeer is the first listed process, other than this one by name, that answers on its peer port. Quorum is not
// needed.
func (p *Process) anyPeer(listed []etcdutil.NamedURL) *Process {
	others := slices.DeleteFunc(slices.Clone(listed), func(l etcdutil.NamedURL) bool { return l.Name == p.flags.Name })
	slices.SortFunc(others, func(a, b etcdutil.NamedURL) int { return strings.Compare(a.URL, b.URL) })
	for _, other := range others {
		for _, peer := range p.network.processes {
			if peer.exit == nil && !peer.cut && peer.flags.PeerURL == other.URL && len(peer.dir.log) > 0 {
				return peer
			}
		}
	}
	return nil
}

func parseInitialCluster(flags Flags) ([]etcdutil.NamedURL, *Exit) {
	var listed []etcdutil.NamedURL
	own := false
	for _, item := range strings.Split(flags.InitialCluster, ",") {
		name, url, ok := strings.Cut(item, "=")
		if !ok {
			return nil, &Exit{1, fmt.Sprintf("error setting up initial cluster: missing peer URL in %q", item)}
		}
		listed = append(listed, etcdutil.NamedURL{Name: name, URL: url})
		own = own || name == flags.Name
	}
	if !own {
		return nil, &Exit{1, fmt.Sprintf("couldn't find local name %q in the initial cluster configuration",
			flags.Name)}
	}
	return listed, nil
}

func removedExit() *Exit {
	return &Exit{1, "the member has been permanently removed from the cluster"}
}
