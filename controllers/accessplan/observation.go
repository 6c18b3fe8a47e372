package accessplan

import (
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Observation is everything Next may know. It is a plain value.
type Observation struct {
	Now      time.Time // the only clock
	Operator string    // namespace/name of this install

	Client  Client
	Cluster Cluster
	Etcd    Etcd
	CA      CA
	Secret  Secret
	Quota   Quota
}

// Client is the EtcdClient itself, and who asks for the same.
type Client struct {
	Name, User, Secret string
	From               string  // its namespace, where that is not the cluster's; empty: it is
	Wants              []Right // as WantedRights has them, as far as the cluster allows them
	Refused            []Right // the others that the spec asks for
	Password           bool    // its user is to have one
	Deleting, Held     bool    // Held: it has the finalizer, so that something of it may be in etcd

	// OlderUser and OlderSecret are the EtcdClients that asked earlier for this user of this cluster, or for this
	// Secret; empty: none.
	OlderUser, OlderSecret string
}

// Cluster is the cluster that the client is to use.
type Cluster struct {
	Namespace    string
	Name         string
	Unwatched    bool // it is in a namespace that this install does not look after: nothing is known of it
	Exists       bool
	Allows       bool // it is there, and in the client's namespace, or names that in spec.access
	Deleting     bool
	Operator     string // the install that looks after it; empty when no install has claimed it
	TLS          bool
	Paused       bool // or in mode DryRun: nothing of it may be changed
	Asleep       bool // its spec asks for no member
	Bootstrapped bool // its members have answered, and their cluster ID is written down
	AsksForAuth  bool // spec.auth.enabled
}

// Etcd is what a member says of users and roles. It is asked only where Cluster lets it be.
type Etcd struct {
	Known  bool
	Why    string // why it is not known
	AuthOn bool
	Role   Role
	User   User
}

// Role is the client's own role.
type Role struct {
	Exists bool
	Rights []Right
}

// User is the user of the client's name.
type User struct {
	Exists bool
	Roles  []string
}

// CA is what signs certificates of clients.
type CA struct {
	Known bool
	Why   string // why nothing can be signed
}

// Secret is the Secret of the client's name.
type Secret struct {
	State    SecretState
	Due      string // why its content has to be written; empty: it has not
	Digest   string // of the password in it; empty: there is none that could be given to a user
	NotAfter time.Time

	// Of a certificate that an issuer signs: the request that has to be made, or what it waits for; and that a person
	// may have to do something about that.
	ToAsk, Awaits string
	IsRefused     bool
}

// SecretState is whose Secret there is.
type SecretState string

// The states of a Secret.
const (
	SecretAbsent      SecretState = ""
	SecretOwn         SecretState = "Own"
	SecretForeign     SecretState = "Foreign"
	SecretTerminating SecretState = "Terminating"
)

// rolePrefix begins the names of the operator's roles. People's names have no slash unless they mean it.
const rolePrefix = v1alpha1.Group + "/"

// RoleName is the role of a client. It names both, so that whose user it is can be read in etcd alone. No name has a
// slash: so that of a client from another namespace, which is named first, is the name of no other.
func RoleName(from, client, user string) string {
	if from != "" {
		from += "/"
	}
	return rolePrefix + from + client + "/" + user
}

// IsRoleName tells the names of roles that the operator makes for clients. From is the namespace of the client where
// that is not the cluster's.
func IsRoleName(name string) (from string, isOurs bool) {
	rest, isOurs := strings.CutPrefix(name, rolePrefix)
	if names := strings.Split(rest, "/"); isOurs && len(names) > 2 {
		from = names[0]
	}
	return from, isOurs
}

// Making is a right of a role that has its rights already, and whose user is about to be made. It stands there from
// just before the user is made until the user has the role, and lets no key be read that is there.
var Making = Right{Key: rolePrefix + "making-a-user", Read: true}

// passwordMarks is how the keys of rights begin that say which password the user of a role has.
const passwordMarks = rolePrefix + "password/"

// PasswordMark is a right of a role whose user was made with a password. It has a digest of that, or none while the
// password is one that was drawn and forgotten. So etcd itself says which password it has: what brings a user of
// earlier back, such as a restore, brings the mark of that as well. It lets no key be read that is there.
func PasswordMark(digest string) Right { return Right{Key: passwordMarks + digest, Read: true} }

// IsMark tells rights that say something to the operator, and let no key be read.
func (r Right) IsMark() bool { return r == Making || r.isPassword() }

func (r Right) isPassword() bool { return r == PasswordMark(strings.TrimPrefix(r.Key, passwordMarks)) }

// hasPassword reports a user that was made with a password: etcd neither gives one to others nor takes it away.
func (o Observation) hasPassword() bool {
	return slices.ContainsFunc(o.Etcd.Role.Rights, Right.isPassword)
}

// isPasswordGiven reports that etcd has the password of the Secret.
func (o Observation) isPasswordGiven() bool {
	return o.Secret.Digest != "" && slices.Contains(o.Etcd.Role.Rights, PasswordMark(o.Secret.Digest))
}

// isOwn reports a user that the operator made for this client. Either it has the client's role, or it has none and
// the role says that the operator was about to make it: then that was interrupted.
func (o Observation) isOwn() bool {
	isBegun := len(o.Etcd.User.Roles) == 0 && (o.isRoleUnused() || slices.Contains(o.Etcd.Role.Rights, Making))
	return o.Etcd.Role.Exists && o.Etcd.User.Exists && (o.hasRole() || isBegun)
}

// isRoleUnused reports a role that lets no key be read, or none at all. Such is one whose user is about to be made.
func (o Observation) isRoleUnused() bool {
	return !slices.ContainsFunc(o.Etcd.Role.Rights, func(r Right) bool { return !r.IsMark() })
}

func (o Observation) hasRole() bool { return slices.Contains(o.Etcd.User.Roles, o.role()) }
