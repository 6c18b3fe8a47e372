// Package client is the narrow part of etcd that the operator uses, and its implementation by clientv3.
//
// A Client talks to one member and never to "the cluster": health, hashes and leadership are facts about single
// members, and a balanced client would answer with somebody else's.
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"sync"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Status is what one member says of itself. Leader, term and indexes are that member's own view.
type Status struct {
	ClusterID, MemberID, Leader etcdutil.ID // Leader is zero when the member knows none

	Version        string // of the binary, "3.6.16"
	StorageVersion string // of the data, "3.6.0"; empty below 3.6
	Downgrade      string // the version to which a downgrade is enabled, "3.6.0"; empty while none is, and below 3.6

	RaftTerm, RaftIndex, RaftAppliedIndex uint64

	Revision            int64
	DBSize, DBSizeInUse int64 // bytes
	Learner             bool
	Errors              []string // alarms and "no leader", as etcd words them
}

// MemberList is a linearizable member list: a quorum agreed that this is it.
type MemberList struct {
	ClusterID etcdutil.ID
	Members   []etcdutil.Member
}

// Hash is the hash of a member's keys up to a revision. Two members' hashes can be compared only when both revisions
// are equal.
type Hash struct {
	Hash            uint32
	Revision        int64 // the revision that was hashed
	CompactRevision int64
}

// Authentication is how etcd's authentication stands.
type Authentication struct {
	Enabled bool
	// Revision of users and roles. A change of one raises it, and turning authentication off does.
	Revision uint64
}

// etcd's own names for the user that must be there, and for the role that may do everything.
const (
	RootUser = "root"
	RootRole = "root"
)

// Permission is a right to keys, as a role has it.
type Permission struct {
	Key string
	End string // the first key behind the range; empty for Key alone
	// Read and Write say what may be done with the keys.
	Read, Write bool
}

// SameKeys reports rights to the same keys: etcd holds one for each range.
func (p Permission) SameKeys(other Permission) bool { return p.Key == other.Key && p.End == other.End }

// Endpoint is where and as whom a member is dialled.
type Endpoint struct {
	Address    string      // ip:port or [v6]:port
	ServerName string      // the DNS name in the member's certificate
	TLS        *tls.Config // nil for plain; it is cloned and gets ServerName
}

// Client talks to one member. Every call has a deadline of its own beside the one of its context. It is safe for
// concurrent use.
//
// Once authentication is on, most calls need RootRole. Status, lists of members, AppendEntry and what is served beside
// gRPC go on for any certificate, on patches where those are open at all: package contract has the table of rights.
type Client interface {
	// Status proves that the process answers, nothing more.
	Status(ctx context.Context) (Status, error)
	// MemberList reads the list linearizably. A learner refuses it.
	MemberList(ctx context.Context) (MemberList, error)
	// MemberListSerializable reads the list as this member has it, which nobody confirmed: evidence without a quorum,
	// and never ground for a change. A learner refuses it.
	MemberListSerializable(ctx context.Context) (MemberList, error)
	// ReadLinearizable reads one key that need not exist. Success proves the member, a leader and a quorum.
	ReadLinearizable(ctx context.Context) error
	// AddLearner adds a learner. A timeout means unknown: list again and look for the URL.
	AddLearner(ctx context.Context, peerURL string) (etcdutil.Member, error)
	// SetPeerURL changes the URL by which peers dial a member, once a connection that they have ends. The member
	// listens as it did.
	SetPeerURL(ctx context.Context, id etcdutil.ID, peerURL string) error
	// Promote makes a learner a voter.
	Promote(ctx context.Context, id etcdutil.ID) error
	// Remove takes a member out of the cluster.
	Remove(ctx context.Context, id etcdutil.ID) error
	// MoveLeader hands leadership to another voter. It must be sent to the leader.
	MoveLeader(ctx context.Context, target etcdutil.ID) error
	// DisarmAlarm takes back an alarm, "NOSPACE" for one, by the member that it was raised for, which may be gone. One
	// that is not raised is no error.
	DisarmAlarm(ctx context.Context, member etcdutil.ID, alarm string) error
	// ClusterVersion is the version that the members agreed on, "3.6.0", as this member has it. It is empty before they
	// first did.
	ClusterVersion(ctx context.Context) (string, error)
	// EnableDowngrade lets members of this minor, one below the cluster's, take the place of the others. etcd refuses
	// another one, and a second one while one is enabled.
	EnableDowngrade(ctx context.Context, minor etcdutil.Version) error
	// CancelDowngrade ends what EnableDowngrade began. It is no error where nothing was begun.
	CancelDowngrade(ctx context.Context) error
	// AppendEntry adds an entry to raft's log that changes no key and no revision.
	AppendEntry(ctx context.Context) error
	// SnapshotsSaved is how many snapshots of raft's state this process wrote since it started. Each covers all entries
	// that it had applied by then.
	SnapshotsSaved(ctx context.Context) (uint64, error)
	// HashKV hashes the keys up to a revision; 0 means the current one.
	HashKV(ctx context.Context, revision int64) (Hash, error)
	// HoldsKeys reports any key at a revision, as this member has it, without asking the others.
	HoldsKeys(ctx context.Context, revision int64) (bool, error)
	// Compact takes away the history up to a revision, and waits until the member has freed the room of it. One that
	// was compacted before is no error.
	Compact(ctx context.Context, revision int64) error
	// Compacted is the revision that history was compacted to, as this member has it; 0 where it never was.
	Compacted(ctx context.Context) (int64, error)
	// SizeInUse is what is in use of the member's database, in bytes. It has etcd commit first: after a compaction
	// Status tells too much for as long as no client writes. What is compacted while a snapshot is sent counts as in
	// use.
	SizeInUse(ctx context.Context) (int64, error)
	// StreamsSnapshot reports a member that sends a snapshot to a client at this moment.
	StreamsSnapshot(ctx context.Context) (bool, error)
	// Defragment has the member write its database anew without the room that it does not use. The member answers
	// nothing meanwhile, and goes on when the call is given up: it has no deadline but that of its context.
	Defragment(ctx context.Context) error
	// Authentication is how etcd's authentication stands once this member has applied all that was decided before. It
	// is an entry of raft's log that changes no key, and so is each question about users.
	Authentication(ctx context.Context) (Authentication, error)
	// Roles are those of a user, or ErrUserNotFound.
	Roles(ctx context.Context, user string) ([]string, error)
	// AddUser makes a user without a password, which a certificate of that common name is. One that is there stays as
	// it is, and is no error.
	AddUser(ctx context.Context, user string) error
	// GrantRole gives a user a role. One that it has is no error. RootRole need not be made before.
	GrantRole(ctx context.Context, user, role string) error
	// NewUser is AddUser that is refused where the user is there: ErrUserExists.
	NewUser(ctx context.Context, user string) error
	// NewUserWithPassword is NewUser of one that may also log in by a password. etcd never gives one to a user that was
	// made without, and never takes it away.
	NewUserWithPassword(ctx context.Context, user, password string) error
	// ChangePassword gives a user another password. One that was made without stays without, and that is no error.
	ChangePassword(ctx context.Context, user, password string) error
	// DeleteUser deletes a user. One that is not there is ErrUserNotFound, as is our own.
	DeleteUser(ctx context.Context, user string) error
	// RoleNames are the names of all roles.
	RoleNames(ctx context.Context) ([]string, error)
	// Permissions are those of a role, or ErrRoleNotFound.
	Permissions(ctx context.Context, role string) ([]Permission, error)
	// AddRole makes a role without permissions. One that is there stays as it is, and is no error.
	AddRole(ctx context.Context, role string) error
	// DeleteRole deletes a role, and takes it from all users. One that is not there is no error.
	DeleteRole(ctx context.Context, role string) error
	// GrantPermission gives a role a permission, in the place of one to the same keys.
	GrantPermission(ctx context.Context, role string, permission Permission) error
	// RevokePermission takes the permission to these very keys from a role. One that it does not have is no error.
	RevokePermission(ctx context.Context, role string, permission Permission) error
	// EnableAuthentication is refused before the user root has RootRole. From then on neither can be taken away.
	EnableAuthentication(ctx context.Context) error
	// DisableAuthentication lets every client do everything. Users and roles stay.
	DisableAuthentication(ctx context.Context) error
	// Close ends the connection. Calls in flight fail.
	Close() error
}

// Dialer makes clients. Dial must not block: a member that does not answer shows at the first call.
type Dialer interface {
	Dial(endpoint Endpoint) (Client, error)
}

// Key says for whom a connection was made. A connection is used again only while all of it stays the same.
type Key struct {
	Cluster       string // namespace/name: the scope of Retain
	PodUID        string
	Address       string
	TLSGeneration string // changes whenever the certificates that were dialled with do; empty for plain
}

// Pool keeps one connection per key between passes, so that a pass pays no handshakes. It is safe for concurrent use;
// the clients that it gives out belong to it, and their Close does nothing.
type Pool struct {
	dialer  Dialer
	mu      sync.Mutex
	clients map[Key]Client
}

// NewPool makes an empty pool over a dialer.
func NewPool(dialer Dialer) *Pool { return &Pool{dialer: dialer, clients: map[Key]Client{}} }

// Get returns the client for a key, and dials when there is none yet.
func (p *Pool) Get(key Key, endpoint Endpoint) (Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.clients[key]; ok {
		return pooled{c}, nil
	}
	c, err := p.dialer.Dial(endpoint)
	if err != nil {
		return nil, err
	}
	p.clients[key] = c
	return pooled{c}, nil
}

// Retain closes the clients of a cluster that are not among the keys in use; with none in use, all of them.
func (p *Pool) Retain(cluster string, inUse ...Key) error {
	return p.closeWhere(func(k Key) bool { return k.Cluster == cluster && !slices.Contains(inUse, k) })
}

// Close closes every client. The pool can be used again.
func (p *Pool) Close() error { return p.closeWhere(func(Key) bool { return true }) }

func (p *Pool) closeWhere(unused func(Key) bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for key, c := range p.clients {
		if unused(key) {
			errs = append(errs, c.Close())
			delete(p.clients, key)
		}
	}
	return errors.Join(errs...)
}

// pooled is a client whose connection outlives the pass that uses it.
type pooled struct{ Client }

func (pooled) Close() error { return nil }
