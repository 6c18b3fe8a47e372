package fake

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // etcd derives its identities with it
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// entryKind is what an entry of the raft log does.
type entryKind string

const (
	entryAdd     entryKind = "add"
	entryPromote entryKind = "promote"
	entryURL     entryKind = "url" // by which peers dial a member
	entryRemove  entryKind = "remove"
	entryPublish entryKind = "publish" // a member says its name and client URL when it first has a leader
	entryPut     entryKind = "put"
	// the members agree on a cluster version, and on a downgrade or its end
	entryVersion   entryKind = "version"
	entryDowngrade entryKind = "downgrade"
	// a user is made, gets a role; authentication is turned on or off
	entryUser     entryKind = "user"
	entryGrant    entryKind = "grant"
	entryAuth     entryKind = "auth"
	entryPassword entryKind = "password"
	// a user is deleted; a role is made, deleted, gets a permission and loses one
	entryNoUser entryKind = "no user"
	entryRole   entryKind = "role"
	entryNoRole entryKind = "no role"
	entryPermit entryKind = "permit"
	entryForbid entryKind = "forbid"
)

// entry is one entry of the raft log. It is comparable, so that two logs can be told apart.
type entry struct {
	kind      entryKind
	id        etcdutil.ID
	name      string
	peerURL   string
	clientURL string
	learner   bool
	role      string // of an entryGrant, and of all that is done with roles
	permits   client.Permission
	password  string           // of an entryPassword; of an entryUser too: empty for a user without one
	enabled   bool             // of an entryAuth
	version   etcdutil.Version // of an entryVersion or entryDowngrade; zero ends a downgrade
	old       bool             // written by a leader of 3.5, in a form that 3.7 cannot read
	index     uint64           // at which the leader appended it; 0 in the list of a static bootstrap
	unique    int              // apart from those of a static bootstrap, alike on every member, no two are equal
}

// membership is what a log says of the members.
type membership struct {
	members            []etcdutil.Member // by ID
	removed            map[etcdutil.ID]bool
	revision           int64
	version, downgrade etcdutil.Version // of the cluster; zero before the first, and while no downgrade is enabled
	auth               auth
}

// replay applies a log from its beginning.
func replay(log []entry) membership {
	m := membership{removed: map[etcdutil.ID]bool{}, revision: 1,
		auth: auth{Authentication: client.Authentication{Revision: 1}, users: map[string][]string{},
			passwords: map[string]string{}, roles: map[string][]client.Permission{}}}
	for _, e := range log {
		m.apply(e)
	}
	return m
}

func (m *membership) apply(e entry) {
	at := slices.IndexFunc(m.members, func(member etcdutil.Member) bool { return member.ID == e.id })
	m.auth.apply(e)
	switch {
	case e.kind == entryPut:
		m.revision++
	case e.kind == entryVersion:
		m.version = e.version
	case e.kind == entryDowngrade:
		m.downgrade = e.version
	case e.kind == entryAdd:
		m.members = append(m.members,
			etcdutil.Member{ID: e.id, Name: e.name, PeerURLs: []string{e.peerURL}, Learner: e.learner})
		slices.SortFunc(m.members, func(a, b etcdutil.Member) int { return cmp.Compare(a.ID, b.ID) })
	case at < 0: // published or promoted after it was removed
	case e.kind == entryRemove:
		m.members = slices.Delete(m.members, at, at+1)
		m.removed[e.id] = true
	case e.kind == entryPromote:
		m.members[at].Learner = false
	case e.kind == entryURL:
		m.members[at].PeerURLs = []string{e.peerURL}
	case e.kind == entryPublish:
		m.members[at].Name, m.members[at].ClientURLs = e.name, []string{e.clientURL}
	}
}

func (m *membership) find(id etcdutil.ID) (etcdutil.Member, bool) {
	for _, member := range m.members {
		if member.ID == id {
			return member, true
		}
	}
	return etcdutil.Member{}, false
}

func (m *membership) voters() []etcdutil.Member {
	return slices.DeleteFunc(slices.Clone(m.members), func(member etcdutil.Member) bool { return member.Learner })
}

func (m *membership) learners() int { return len(m.members) - len(m.voters()) }

// isPrefix says that log begins with all of prefix.
func isPrefix(prefix, log []entry) bool {
	return len(prefix) <= len(log) && slices.Equal(prefix, log[:len(prefix)])
}

// memberID derives an ID as etcd does: from the peer URL and the token at a bootstrap, from the URL and the second when
// a member is added (etcd-io/etcd:server/etcdserver/api/membership/member.go computeMemberID).
func memberID(peerURL, token string, unix int64) etcdutil.ID {
	seed := peerURL + token
	if unix != 0 {
		seed += fmt.Sprint(unix)
	}
	sum := sha1.Sum([]byte(seed)) //nolint:gosec // see above
	return etcdutil.ID(binary.BigEndian.Uint64(sum[:8]))
}

// clusterID derives the ID of a cluster from those of its first members (…/membership/cluster.go genID).
func clusterID(members []etcdutil.ID) etcdutil.ID {
	ids := slices.Sorted(slices.Values(members))
	seed := make([]byte, 8*len(ids))
	for i, id := range ids {
		binary.BigEndian.PutUint64(seed[8*i:], uint64(id))
	}
	sum := sha1.Sum(seed) //nolint:gosec // see above
	return etcdutil.ID(binary.BigEndian.Uint64(sum[:8]))
}
