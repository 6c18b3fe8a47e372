// Package accessplan decides what becomes of an EtcdClient. Next is a pure function from what was observed to the one
// thing to do now; Status and Events are pure functions from that to what people see.
//
// # Words
//
// A client is one EtcdClient. Its user is a user of etcd, which its certificate names. Its role is a role of etcd
// that the operator made for this client alone. A right is what a role may do with a range of keys.
//
// # The order of rules
//
//  1. Whether the client is this operator's at all: other-operator.
//  2. The client that is being deleted: release, revocation-waits, delete-user, delete-role, release. Its access goes
//     before the object does. Where the cluster is gone nothing is left to take away.
//  3. Whether the cluster's owner lets it be: not-watched, not-allowed. Where that was taken back, the access goes as
//     if it were deleted.
//  4. What a person has to put right: user-reserved, user-claimed, secret-claimed.
//  5. Whether there is a cluster to ask: cluster, secret-taken, etcd-unknown.
//  6. What has to be so in etcd: user-taken, hold, remake-user, give-role, make-both, grant, revoke, make-user.
//     Rights that are missing come before rights that are too many, so that a client which moves to other keys never
//     has none.
//  7. What is handed out, and only while authentication limits what it may do: auth-off, ca, ask-issuer, signing,
//     secret, password, keys-not-allowed, granted.
//
// # Whose a user is
//
// etcd has no labels. So the role says it: RoleName names client and user, and a user that has its role is the
// operator's. Between the making of a user and that, the role lets no key be read, since it is made right before and
// gets its rights afterwards. A user that is made for a role with rights is marked by the right Making. A user without
// any role, beside a role with rights and without that one, is another's, and is never touched. Nothing is decided from
// the status.
package accessplan

import (
	"fmt"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// How long until the next look, where nothing else says that something moved.
const (
	whileWaiting = 10 * time.Second
	whileGranted = 5 * time.Minute
	afterChange  = 20 * time.Millisecond
)

// Change is one effect on one system.
type Change any

// The changes.
type (
	// Hold puts the finalizer on the client, before anything of it is in etcd.
	Hold struct{}
	// Release takes the finalizer off.
	Release struct{}
	// MakeBoth makes the role and the user, gives the user the role, and then the role its rights. In this order it
	// takes etcd the fewest changes. With a password that is one that is drawn and forgotten.
	MakeBoth struct {
		User, Role string
		Rights     []Right
		Password   bool
	}
	// Grant gives the role rights.
	Grant struct {
		Role   string
		Rights []Right
	}
	// Revoke takes all rights to the ranges of these from the role.
	Revoke struct {
		Role   string
		Rights []Right
	}
	// MakeUser makes the user of a role that has its rights, and gives it the role.
	MakeUser struct {
		User, Role string
		Password   bool
	}
	// GiveRole gives the role to the user, whose making was interrupted.
	GiveRole struct{ User, Role string }
	// SetPassword gives the user the password of the Secret, which has this digest.
	SetPassword struct{ User, Role, Digest string }
	// DeleteUser deletes the user.
	DeleteUser struct{ User string }
	// DeleteRole deletes the role.
	DeleteRole struct{ Role string }
	// WriteSecret makes the Secret, or brings its content up to date.
	WriteSecret struct{ Why string }
	// AskIssuer asks the issuer of the CA for a certificate.
	AskIssuer struct{ Request string }
)

// Decision is what to do now, and what to tell.
type Decision struct {
	Change  Change // nil: nothing
	Ignored bool   // another operator looks after it
	Granted bool
	Trouble bool // a person has to do something
	Reason  string
	Message string
	Recheck time.Duration // zero: when something moves
}

// Refused is the decision after the platform refused its change.
func (d Decision) Refused(reason, message string, recheck time.Duration) Decision {
	return Decision{Reason: reason, Message: words.Bounded(message), Trouble: true, Recheck: recheck}
}

// rules in the order that the package names; the first that speaks wins.
var rules = []func(Observation) *Decision{
	otherOperator,
	deleting,
	notWatched, notAllowed,
	userReserved, userClaimed, secretClaimed,
	cluster, secretTaken, etcdUnknown,
	userTaken, hold, remakeUser, giveRole, makeBoth, grant, revoke, makeUser,
	authOff, ca, askIssuer, awaitIssuer, writeSecret, setPassword, keysNotAllowed, granted,
}

// Next is what to do now.
func Next(o Observation) Decision {
	for _, rule := range rules {
		if d := rule(o); d != nil {
			return *d
		}
	}
	panic("the last rule always speaks")
}

func waits(reason, message string, parts ...any) *Decision {
	return &Decision{Reason: reason, Message: words.Bounded(fmt.Sprintf(message, parts...)), Recheck: whileWaiting}
}

func (d *Decision) troubled() *Decision {
	d.Trouble = true
	return d
}

func act(change Change, message string, parts ...any) *Decision {
	d := waits(ReasonGranting, message, parts...)
	d.Change, d.Recheck = change, afterChange
	return d
}

func (o Observation) role() string { return RoleName(o.Client.From, o.Client.Name, o.Client.User) }

func otherOperator(o Observation) *Decision {
	if o.Cluster.Operator == "" || o.Cluster.Operator == o.Operator {
		return nil
	}
	return &Decision{Ignored: true, Recheck: time.Minute}
}

func cluster(o Observation) *Decision {
	name := "EtcdCluster " + o.Cluster.Name
	switch c := o.Cluster; {
	case !c.Exists:
		return waits(ReasonClusterNotFound, "%s does not exist in this namespace. The operator waits for it. Create "+
			"it, or delete this EtcdClient.", name).troubled()
	case c.Deleting:
		return waits(ReasonClusterDeleting, "%s is being deleted, and its users with it. The operator waits for "+
			"another one of that name.", name)
	case !c.TLS:
		return waits(ReasonClusterWithoutTLS, "%s has spec.tls.mode: Disabled, and an EtcdClient is let in by a "+
			"certificate. The operator changes nothing. Turn TLS on step by step, as "+
			pages.Docs+"docs/certificates.md#turn-tls-on-or-off "+
			"says, or delete this EtcdClient.", name).troubled()
	case c.Asleep:
		return waits(ReasonClusterAsleep, "%s sleeps, because its spec.size is 0. The operator goes on when it is "+
			"woken: set that to the number of members that it is to have.", name)
	case c.Paused:
		return waits(ReasonClusterPaused, "%s is paused, or in mode DryRun. The operator changes no user and no "+
			"Secret until it is not.", name)
	case !c.Bootstrapped:
		return waits(ReasonClusterNotServing, "%s has not served yet. The operator waits for it.", name)
	}
	return nil
}

func etcdUnknown(o Observation) *Decision {
	if o.Etcd.Known {
		return nil
	}
	return waits(ReasonEtcdUnavailable, "etcd does not say which users and roles there are: %s. The operator asks "+
		"again. The access stays as it is until then.", o.Etcd.Why)
}

func userTaken(o Observation) *Decision {
	if !o.Etcd.User.Exists || o.isOwn() {
		return nil
	}
	return waits(ReasonUserTaken, "etcd has a user %s that the operator did not make for this EtcdClient. The "+
		"operator does not touch it, and hands out no certificate of that name. Delete the user with etcdctl, or "+
		"create another EtcdClient with another spec.user.", o.Client.User).troubled()
}

func hold(o Observation) *Decision {
	if o.Client.Held {
		return nil
	}
	return act(Hold{}, "The EtcdClient gets its finalizer.")
}

// remakeUser deletes a user that is there with a password and should have none, or the other way round. Such is one
// that a restore brought back from before its EtcdClient was created anew.
func remakeUser(o Observation) *Decision {
	if !o.isOwn() || o.hasPassword() == o.Client.Password {
		return nil
	}
	return act(DeleteUser{o.Client.User}, "The user is deleted, and made anew: etcd neither gives a user a password "+
		"later nor takes it away.")
}

// giveRole comes before the rights: until the user has the role, the role must not look like one that is in use.
func giveRole(o Observation) *Decision {
	if !o.Etcd.User.Exists || o.hasRole() {
		return nil
	}
	return act(GiveRole{o.Client.User, o.role()}, "The user gets the role.")
}

// makeBoth is also what goes on where it was interrupted before there was a user.
func makeBoth(o Observation) *Decision {
	if o.Etcd.User.Exists || !o.isRoleUnused() || len(o.excess()) > 0 {
		return nil
	}
	return act(MakeBoth{o.Client.User, o.role(), o.Client.Wants, o.Client.Password}, "Role and user are made in etcd.")
}

func grant(o Observation) *Decision {
	if rights := o.missing(); len(rights) > 0 {
		return act(Grant{o.role(), rights}, "The role gets what the spec asks for.")
	}
	return nil
}

func revoke(o Observation) *Decision {
	if rights := o.excess(); len(rights) > 0 {
		return act(Revoke{o.role(), rights}, "The role loses what the spec does not ask for.")
	}
	return nil
}

// makeUser is for a user that people deleted, or a restore took away, beside its role.
func makeUser(o Observation) *Decision {
	if o.Etcd.User.Exists {
		return nil
	}
	return act(MakeUser{o.Client.User, o.role(), o.Client.Password}, "The user is made in etcd, and gets the role.")
}

// authOff hands out no certificate that may do everything. One that was handed out before stays: to take it would
// stop the program, and others have as much.
func authOff(o Observation) *Decision {
	switch {
	case o.Etcd.AuthOn:
		return nil
	case o.Cluster.AsksForAuth:
		return waits(ReasonAuthenticationOff, "etcd's authentication is not on yet, and until then every "+
			"certificate may read and write all keys. User and role are made. The Secret %s follows once "+
			"EtcdCluster %s has turned it on.",
			o.Client.Secret, o.Cluster.Name)
	}
	return waits(ReasonAuthenticationOff, "etcd's authentication is off, so every certificate may read and write "+
		"all keys. User and role are made. The Secret %s comes once authentication is on: set spec.auth.enabled of "+
		"EtcdCluster %s to true. What that changes for its other clients: "+
		pages.Docs+"docs/auth.md#turn-it-on.", o.Client.Secret, o.Cluster.Name).troubled()
}

func ca(o Observation) *Decision {
	if o.CA.Known {
		return nil
	}
	return waits(ReasonCANotReady, "No certificate can be signed: %s. The operator tries again.", o.CA.Why)
}

func askIssuer(o Observation) *Decision {
	if o.Secret.ToAsk == "" {
		return nil
	}
	return act(AskIssuer{o.Secret.ToAsk}, "The issuer of the CA is asked for a certificate.")
}

// awaitIssuer waits where there is no certificate that lets the client in. One that is only to be renewed goes on.
func awaitIssuer(o Observation) *Decision {
	if o.Secret.Awaits == "" || o.Secret.State == SecretOwn && (o.Secret.Due != "" || o.Now.Before(o.Secret.NotAfter)) {
		return nil
	}
	d := waits(ReasonAwaitsIssuer, "The certificate waits for the issuer that signs for the cluster: %s. The operator "+
		"writes the Secret %s once it is signed.%s", o.Secret.Awaits, o.Client.Secret, o.wayOn())
	d.Trouble = o.Secret.IsRefused
	return d
}

func (o Observation) wayOn() string {
	if !o.Secret.IsRefused {
		return ""
	}
	return " Put the issuer right. The operator asks it again an hour later, or as soon as the CertificateRequest is " +
		"deleted."
}

func writeSecret(o Observation) *Decision {
	if o.Secret.State == SecretOwn && o.Secret.Due == "" {
		return nil
	}
	return act(WriteSecret{o.Secret.Due}, "The Secret %s is written.", o.Client.Secret)
}

// setPassword comes after the Secret: a program that reads that a moment too early is refused once, and one that was
// given a password that is in no Secret would stay refused.
func setPassword(o Observation) *Decision {
	if !o.Client.Password || o.Secret.Digest == "" || o.isPasswordGiven() {
		return nil
	}
	return act(SetPassword{o.Client.User, o.role(), o.Secret.Digest}, "The user gets the password of the Secret.")
}

// keysNotAllowed tells of what the client does not get. What is allowed it has by then.
func keysNotAllowed(o Observation) *Decision {
	if len(o.Client.Refused) == 0 {
		return nil
	}
	return waits(ReasonKeysNotAllowed, "EtcdCluster %s allows namespace %s only keys with the prefixes that it names "+
		"in spec.access. The spec asks for others, the first of which begins with %q. The user %s has the other "+
		"rights of the spec. Take those entries out, or have the owner of the cluster add a prefix.", o.Cluster.Name,
		o.Client.From, o.Client.Refused[0].Key, o.Client.User).troubled()
}

func granted(o Observation) *Decision {
	message := fmt.Sprintf("The user %s has the rights of the spec, and the Secret %s its certificate.", o.Client.User,
		o.Client.Secret)
	if len(o.Etcd.User.Roles) > 1 {
		message += " It also has roles that people gave it in etcd, which the operator leaves alone."
	}
	recheck := whileGranted
	if o.Secret.Awaits != "" {
		message, recheck = words.Bounded(message+" The next certificate waits for its issuer: "+o.Secret.Awaits+"."+
			o.wayOn()), time.Minute
	}
	return &Decision{Granted: true, Reason: ReasonGranted, Message: message, Recheck: recheck}
}
