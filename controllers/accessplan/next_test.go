package accessplan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

var (
	below = Right{Key: "shop/", End: "shop0", Read: true, Write: true}
	one   = Right{Key: "currency", Read: true}
	role  = RoleName("", "shop", "shop-user")
)

// settled is a client that has all it asks for.
func settled(edits ...func(*Observation)) Observation {
	o := Observation{
		Now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Operator: "ops/etcd-steward",
		Client:  Client{Name: "shop", User: "shop-user", Secret: "shop-etcd", Wants: []Right{one, below}, Held: true},
		Cluster: Cluster{Namespace: "prod", Name: "demo", Exists: true, Allows: true, Operator: "ops/etcd-steward", TLS: true, Bootstrapped: true, AsksForAuth: true},
		Etcd: Etcd{Known: true, AuthOn: true, Role: Role{Exists: true, Rights: []Right{one, below}},
			User: User{Exists: true, Roles: []string{role}}},
		CA: CA{Known: true}, Secret: Secret{State: SecretOwn},
	}
	for _, edit := range edits {
		edit(&o)
	}
	return o
}

func fresh(o *Observation) {
	o.Client.Held, o.Etcd.Role, o.Etcd.User, o.Secret = false, Role{}, User{}, Secret{}
}

func leaving(o *Observation) { o.Client.Deleting = true }

func user(roles ...string) func(*Observation) {
	return func(o *Observation) { o.Etcd.User = User{Exists: true, Roles: roles} }
}

func rights(all ...Right) func(*Observation) {
	return func(o *Observation) { o.Etcd.Role = Role{Exists: true, Rights: all} }
}

// outside is a client of another namespace, with what it had there.
func outside(o *Observation) {
	o.Client.From, o.Client.User = "team", "team.shop"
	o.Etcd.User.Roles = []string{o.role()}
}

func unallowed(o *Observation) { outside(o); o.Cluster.Allows = false }

func unwatched(o *Observation) {
	outside(o)
	o.Cluster = Cluster{Namespace: "prod", Name: "demo", Unwatched: true}
}

// logging is a client that has a password as well.
func logging(o *Observation) {
	o.Client.Password, o.Secret.Digest = true, "d1"
	o.Etcd.Role.Rights = []Right{one, below, PasswordMark("d1")}
}

func called(name string) func(*Observation) { return func(o *Observation) { o.Client.User = name } }

func TestWhatIsDoneNextForAClient(t *testing.T) {
	for _, row := range []struct {
		name   string
		seen   Observation
		want   string // the change, or the reason where nothing is changed
		detail string // part of the change, or of the message
	}{
		{"all is as asked for", settled(), ReasonGranted, "shop-user"},
		{"an issuer is asked", settled(func(o *Observation) { o.Secret = Secret{ToAsk: "shop-etcd-clients"} }), "AskIssuer", "shop-etcd-clients"},
		{"what it signs is waited for", settled(func(o *Observation) { o.Secret = Secret{Awaits: "CertificateRequest r: it takes its time"} }),
			ReasonAwaitsIssuer, "it takes its time. The operator writes the Secret shop-etcd once it is signed"},
		{"a certificate that has to be renewed goes on", settled(func(o *Observation) {
			o.Secret.Awaits, o.Secret.NotAfter = "CertificateRequest r: it failed", o.Now.Add(time.Hour)
		}), ReasonGranted, "The next certificate waits for its issuer: CertificateRequest r: it failed."},
		{"one that ended does not", settled(func(o *Observation) { o.Secret.Awaits, o.Secret.NotAfter = "r", o.Now.Add(-time.Hour) }), ReasonAwaitsIssuer, "r"},
		{"the CAs beside it are written meanwhile", settled(func(o *Observation) { o.Secret.Awaits, o.Secret.Due = "r", "ca.crt is not as it has to be" }),
			"WriteSecret", "ca.crt"},
		{"another operator looks after the cluster", settled(func(o *Observation) { o.Cluster.Operator = "other/one" }), "Ignored", ""},

		{"the finalizer comes before anything in etcd", settled(fresh), "Hold", ""},
		{"role and user are made together", settled(func(o *Observation) { o.Etcd.Role, o.Etcd.User = Role{}, User{} }), "MakeBoth", role},
		{"so they are where the role has no right yet", settled(rights(), func(o *Observation) { o.Etcd.User = User{} }), "MakeBoth", "shop/"},
		{"and where it only says that the user is to have a password", settled(logging, rights(PasswordMark("")), func(o *Observation) { o.Etcd.User = User{} }), "MakeBoth", "true}"},
		{"a role that says which password its user had gets its rights first", settled(logging, rights(PasswordMark("d1")), func(o *Observation) { o.Etcd.User = User{} }), "Grant", "shop/"},
		{"a user whose making was interrupted gets its role before that gets rights", settled(user(), rights()), "GiveRole", role},
		{"so does one that is to have a password", settled(logging, user(), rights(PasswordMark(""))), "GiveRole", role},
		{"a role that has rights gets the others before its user is made anew", settled(rights(one), func(o *Observation) { o.Etcd.User = User{} }), "Grant", "shop/"},
		{"a user that people deleted comes once the role has its rights", settled(func(o *Observation) { o.Etcd.User = User{} }), "MakeUser", "false"},
		{"where that was interrupted it gets its role", settled(user(), rights(one, below, Making)), "GiveRole", role},
		{"the mark of that goes once the user has its role", settled(rights(one, below, Making)), "Revoke", Making.Key},
		{"a right that is missing is granted", settled(rights(below)), "Grant", "currency"},
		{"a right that is too many is taken away", settled(rights(one, below, Right{Key: "z", Read: true})), "Revoke", "{z "},
		{"a right to write that is not asked for is taken away", settled(rights(Right{Key: "currency", Read: true, Write: true}, one, below)), "Revoke", "currency"},
		{"a range that etcd has two rights to is taken away, and granted anew", settled(rights(one, below, below)), "Revoke", "shop/"},
		{"new keys are granted before old ones are taken away", settled(rights(Right{Key: "old", Read: true})), "Grant", "shop/"},
		{"the Secret comes last", settled(func(o *Observation) { o.Secret = Secret{} }), "WriteSecret", ""},
		{"a certificate that is due is issued anew", settled(func(o *Observation) { o.Secret.Due = "old" }), "WriteSecret", "old"},
		{"roles that people gave it are told and stay", settled(user(role, "theirs")), ReasonGranted, "people gave it"},

		{"a user of people is not touched", settled(fresh, user("admin")), ReasonUserTaken, "does not touch it"},
		{"nor one without a role, where the operator was not at it", settled(fresh, user()), ReasonUserTaken, "etcdctl"},
		{"nor one that was made while the operator was away", settled(user()), ReasonUserTaken, ""},
		{"nor one with other roles beside a role without rights", settled(user("admin"), rights()), ReasonUserTaken, ""},
		{"nor one that was made beside a role with some of its rights", settled(user(), rights(one)), ReasonUserTaken, ""},
		{"nor one with other roles beside the mark", settled(user("admin"), rights(one, below, Making)), ReasonUserTaken, ""},
		{"root is the operator", settled(fresh, called("root")), ReasonUserReserved, "operator"},
		{"the shared certificate has a user", settled(fresh, called("demo-client")), ReasonUserReserved, "demo-client-tls"},
		{"a member has a name", settled(fresh, called("demo-12")), ReasonUserReserved, "member"},
		{"another cluster's member is nothing here", settled(fresh, called("other-0")), "Hold", ""},
		{"an older client has the user", settled(fresh, func(o *Observation) { o.Client.OlderUser = "first" }), ReasonUserClaimed, "first"},
		{"an older client has the Secret", settled(fresh, func(o *Observation) { o.Client.OlderSecret = "first" }), ReasonSecretClaimed, "first"},
		{"a Secret of people is not touched, and no user is made for it", settled(fresh, func(o *Observation) { o.Secret.State = SecretForeign }), ReasonSecretTaken, "does not touch it"},
		{"a Secret that is being deleted is waited for", settled(func(o *Observation) { o.Secret.State = SecretTerminating }), ReasonSecretTaken, "once it is gone"},

		{"a client of another namespace has a role with that in its name", settled(outside, func(o *Observation) { o.Etcd.User, o.Etcd.Role = User{}, Role{} }), "MakeBoth", "etcdsteward.dev/team/shop/team.shop"},
		{"a client of another namespace has a user of that", settled(outside, fresh, called("shop-user")), ReasonUserReserved, "team."},
		{"a user is no longer than a certificate can name", settled(fresh, called(strings.Repeat("u", 65))), ReasonUserReserved, "64"},
		{"a namespace that the cluster does not allow gets no user", settled(unallowed, fresh), ReasonNamespaceNotAllowed, "The operator makes no user. Have the owner of the cluster add the namespace to spec.access.namespaces, with prefixes that cover"},
		{"nor one that asks for a cluster that is not there, and it does not hear which", settled(unallowed, fresh, func(o *Observation) { o.Cluster.Exists = false }), ReasonNamespaceNotAllowed, "no EtcdCluster demo in namespace prod, or it does not allow"},
		{"a permission that is taken back takes the user first", settled(unallowed), "DeleteUser", "team.shop"},
		{"then the role", settled(unallowed, func(o *Observation) { o.Etcd.User = User{} }), "DeleteRole", "team"},
		{"then nothing of it is left, and the finalizer stays for a user that a restore brings back", settled(unallowed, func(o *Observation) { o.Etcd.User, o.Etcd.Role = User{}, Role{} }), ReasonNamespaceNotAllowed, "has taken away"},
		{"it goes with the cluster", settled(unallowed, func(o *Observation) { o.Cluster.Exists, o.Etcd = false, Etcd{} }), "Release", ""},
		{"and with the object", settled(unallowed, leaving, func(o *Observation) { o.Etcd.User, o.Etcd.Role = User{}, Role{} }), "Release", ""},
		{"a permission that is taken back while the cluster sleeps waits", settled(unallowed, func(o *Observation) { o.Cluster.Asleep, o.Etcd = true, Etcd{} }), ReasonNamespaceNotAllowed, "the cluster sleeps"},
		{"a permission that is taken back beside a user of people leaves that", settled(unallowed, user("admin")), "DeleteRole", ""},
		{"keys that the cluster does not allow are told once the others are granted", settled(outside, func(o *Observation) { o.Client.Refused = []Right{{Key: "z"}} }), ReasonKeysNotAllowed, `"z"`},
		{"keys that it does allow come first", settled(outside, rights(one), func(o *Observation) { o.Client.Refused = []Right{{Key: "z"}} }), "Grant", "shop/"},
		{"a cluster in a namespace that this operator does not look after", settled(unwatched, fresh), ReasonNamespaceNotWatched, "prod"},
		{"deleted there: it waits, and says how to go on", settled(unwatched, leaving), ReasonRevoking, "does not look after the namespace prod"},

		{"a client that has its password is settled", settled(logging), ReasonGranted, ""},
		{"a user that is to have a password is made with one", settled(logging, rights(one, below), func(o *Observation) { o.Etcd.User = User{} }), "MakeUser", "true}"},
		{"one that is not is made without", settled(func(o *Observation) { o.Etcd.User = User{} }), "MakeUser", "false}"},
		{"the password of the Secret is given to the user", settled(logging, rights(one, below, PasswordMark(""))), "SetPassword", "d1"},
		{"so is one that was drawn anew", settled(logging, rights(one, below, PasswordMark("d0"))), "SetPassword", "d1"},
		{"then the mark of the former one goes", settled(logging, rights(one, below, PasswordMark("d0"), PasswordMark("d1"))), "Revoke", "d0"},
		{"not before the Secret has it", settled(logging, rights(one, below, PasswordMark("d0")), func(o *Observation) { o.Secret.Due, o.Secret.Digest = "a new password was asked for", "" }), "WriteSecret", ""},
		{"a user that people deleted is made anew, and does not count as having its password", settled(logging, func(o *Observation) { o.Etcd.User = User{} }), "Revoke", "d1"},
		{"a user that was made without a password, and is to have one, is made anew", settled(logging, rights(one, below)), "DeleteUser", ""},
		{"a user that was made with a password, and is to have none, is made anew", settled(rights(one, below, PasswordMark("d0"))), "DeleteUser", ""},
		{"the mark of a password that is not wanted goes before the next user is made", settled(rights(one, below, PasswordMark("d0")), func(o *Observation) { o.Etcd.User = User{} }), "Revoke", "d0"},
		{"no password is given while authentication is off", settled(logging, rights(one, below, PasswordMark("")), func(o *Observation) { o.Etcd.AuthOn = false }), ReasonAuthenticationOff, ""},
		{"a user of people gets no password", settled(logging, user("admin")), ReasonUserTaken, ""},

		{"there is no cluster", settled(fresh, func(o *Observation) { o.Cluster = Cluster{Name: "demo", Allows: true} }), ReasonClusterNotFound, "Create it"},
		{"the cluster is being deleted", settled(func(o *Observation) { o.Cluster.Deleting = true }), ReasonClusterDeleting, ""},
		{"the cluster has no certificates", settled(fresh, func(o *Observation) { o.Cluster.TLS = false }), ReasonClusterWithoutTLS, "spec.tls.mode"},
		{"the cluster sleeps", settled(func(o *Observation) { o.Cluster.Asleep = true }), ReasonClusterAsleep, "spec.size"},
		{"the cluster is paused", settled(func(o *Observation) { o.Cluster.Paused = true }), ReasonClusterPaused, ""},
		{"the cluster has not served", settled(func(o *Observation) { o.Cluster.Bootstrapped = false }), ReasonClusterNotServing, ""},
		{"no quorum answers", settled(func(o *Observation) { o.Etcd = Etcd{Why: "no leader"} }), ReasonEtcdUnavailable, "no leader"},
		{"authentication is off: no certificate", settled(func(o *Observation) {
			o.Etcd.AuthOn, o.Secret, o.Cluster.AsksForAuth = false, Secret{}, false
		}), ReasonAuthenticationOff, "to true. What that changes for its other clients: https://github.com/etcdsteward/etcd-steward/blob/main/docs/auth.md#turn-it-on."},
		{"authentication is off: user and role are made, so that turning it on stops no one", settled(func(o *Observation) {
			o.Etcd.AuthOn, o.Etcd.User = false, User{}
		}), "MakeUser", ""},
		{"authentication is off: rights that are too many are taken away", settled(rights(one, below, Right{Key: "z"}), func(o *Observation) { o.Etcd.AuthOn = false }), "Revoke", ""},
		{"authentication is about to be turned on", settled(func(o *Observation) { o.Etcd.AuthOn = false }), ReasonAuthenticationOff, "not on yet"},
		{"nothing can be signed", settled(func(o *Observation) { o.CA = CA{Why: "it expired"} }), ReasonCANotReady, "it expired"},

		{"deleted: the user goes first", settled(leaving), "DeleteUser", "shop-user"},
		{"deleted: then the role", settled(leaving, func(o *Observation) { o.Etcd.User = User{} }), "DeleteRole", role},
		{"deleted: then the object", settled(leaving, func(o *Observation) { o.Etcd.User, o.Etcd.Role = User{}, Role{} }), "Release", ""},
		{"deleted while its user was being made", settled(leaving, user(), rights()), "DeleteUser", ""},
		{"deleted while its user was being made anew", settled(leaving, user(), rights(one, Making)), "DeleteUser", ""},
		{"deleted beside a user of people: that stays", settled(leaving, user("admin"), rights()), "DeleteRole", ""},
		{"deleted where people gave its user more: it goes all the same", settled(leaving, user(role, "theirs")), "DeleteUser", ""},
		{"deleted while authentication is off", settled(leaving, func(o *Observation) { o.Etcd.AuthOn = false }), "DeleteUser", ""},
		{"deleted although its Secret is another's", settled(leaving, func(o *Observation) { o.Secret.State = SecretForeign }), "DeleteUser", ""},
		{"deleted although it waits for an older one", settled(leaving, func(o *Observation) { o.Client.OlderUser = "first" }), "DeleteUser", ""},
		{"deleted before anything of it was in etcd", settled(leaving, fresh), ReasonRevoking, ""},
		{"deleted where the cluster is gone", settled(leaving, func(o *Observation) { o.Cluster, o.Etcd = Cluster{Name: "demo"}, Etcd{} }), "Release", ""},
		{"deleted with the cluster", settled(leaving, func(o *Observation) { o.Cluster.Deleting, o.Etcd = true, Etcd{} }), "Release", ""},
		{"deleted while the cluster sleeps: it waits, and says how to go on", settled(leaving, func(o *Observation) { o.Cluster.Asleep, o.Etcd = true, Etcd{} }), ReasonRevoking, "finalizer etcdsteward.dev/access"},
		{"deleted while no quorum answers: the same", settled(leaving, func(o *Observation) { o.Etcd = Etcd{Why: "no leader"} }), ReasonRevoking, "no leader"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := Next(row.seen)
			what, detail := got.Reason, got.Message
			switch {
			case got.Ignored:
				what = "Ignored"
			case got.Change != nil:
				what, detail = strings.TrimPrefix(fmt.Sprintf("%T", got.Change), "accessplan."), fmt.Sprintf("%v", got.Change)
			}
			if what != row.want || !strings.Contains(detail, row.detail) {
				t.Errorf("it is %s (%s), want %s (%s)", what, detail, row.want, row.detail)
			}
			if isOver := row.want == ReasonRevoking && !row.seen.Client.Held; got.Recheck == 0 && !isOver {
				t.Error("it is never looked at again")
			}
		})
	}
}

// carryOut does to an observation what a change does.
func carryOut(o *Observation, change Change) {
	switch c := change.(type) {
	case Hold:
		o.Client.Held = true
	case Release:
		o.Client.Held = false
	case MakeBoth:
		o.Etcd.Role.Exists = true // and the user has no role yet, as where that is interrupted
		o.Etcd.User = User{Exists: true}
		if c.Password && !slices.Contains(o.Etcd.Role.Rights, PasswordMark("")) {
			o.Etcd.Role.Rights = append(append([]Right{}, o.Etcd.Role.Rights...), PasswordMark(""))
		}
	case GiveRole:
		o.Etcd.User.Roles = append(o.Etcd.User.Roles, c.Role)
	case Grant:
		o.Etcd.Role.Rights = append(append([]Right{}, o.Etcd.Role.Rights...), c.Rights...)
	case Revoke:
		var left []Right
		for _, have := range o.Etcd.Role.Rights {
			isTaken := false
			for _, taken := range c.Rights {
				isTaken = isTaken || have.isOf(taken)
			}
			if !isTaken {
				left = append(left, have)
			}
		}
		o.Etcd.Role.Rights = left
	case MakeUser:
		o.Etcd.User = User{Exists: true, Roles: []string{c.Role}}
		o.Etcd.Role.Rights = append(append([]Right{}, o.Etcd.Role.Rights...), Making)
		if c.Password {
			o.Etcd.Role.Rights = append(o.Etcd.Role.Rights, PasswordMark(""))
		}
	case SetPassword:
		o.Etcd.Role.Rights = append(append([]Right{}, o.Etcd.Role.Rights...), PasswordMark(c.Digest))
	case DeleteUser:
		o.Etcd.User = User{}
	case DeleteRole:
		o.Etcd.Role = Role{}
	case WriteSecret:
		o.Secret = Secret{State: SecretOwn}
		if o.Client.Password {
			o.Secret.Digest = "d1"
		}
	}
}

// walk carries out what is decided until nothing is, and fails when that takes too long.
func walk(t *testing.T, o *Observation) Decision {
	t.Helper()
	for range 20 {
		d := Next(*o)
		if d.Change == nil {
			return d
		}
		carryOut(o, d.Change)
	}
	t.Fatalf("it never settles: %+v", *o)
	return Decision{}
}

func TestFromEachStateARoleComesToExactlyWhatIsAskedForAndBack(t *testing.T) {
	all := []Right{one, below, {Key: "currency", Read: true, Write: true}, {Key: "shop/", End: "shop0", Read: true}, {Key: "z", Read: true}, Making, below}
	for chosen := range 1 << len(all) {
		o := settled(func(o *Observation) { o.Etcd.Role.Rights, o.Secret = nil, Secret{} })
		for i, right := range all {
			if chosen&(1<<i) != 0 {
				o.Etcd.Role.Rights = append(o.Etcd.Role.Rights, right)
			}
		}
		if d := walk(t, &o); !d.Granted || len(o.missing()) > 0 || len(o.excess()) > 0 || len(o.Etcd.Role.Rights) != 2 {
			t.Errorf("%b ends with %+v and the rights %+v", chosen, d, o.Etcd.Role.Rights)
		}
		o.Client.Deleting = true
		walk(t, &o)
		if o.Client.Held || o.Etcd.User.Exists || o.Etcd.Role.Exists {
			t.Errorf("%b leaves %+v", chosen, o.Etcd)
		}
	}
}

func TestFromEachStateAUserComesToThePasswordThatIsAskedFor(t *testing.T) {
	marks := []Right{PasswordMark(""), PasswordMark("d0"), PasswordMark("d1"), Making}
	for chosen := range 1 << (len(marks) + 3) {
		has := func(bit int) bool { return chosen&(1<<bit) != 0 }
		o := settled()
		for i, mark := range marks {
			if has(i) {
				o.Etcd.Role.Rights = append(append([]Right{}, o.Etcd.Role.Rights...), mark)
			}
		}
		o.Client.Password, o.Secret.State = has(4), SecretOwn
		if has(4) {
			o.Secret.Digest = "d1"
		}
		if has(5) {
			o.Etcd.User = User{}
		}
		if has(6) {
			o.Secret = Secret{}
		}
		d := walk(t, &o)
		want := []Right{one, below}
		if has(4) {
			want = append(want, PasswordMark("d1"))
		}
		if !d.Granted || !slices.Equal(o.Etcd.Role.Rights, want) {
			t.Errorf("%b ends with %+v and the rights %+v", chosen, d, o.Etcd.Role.Rights)
		}
	}
}

func TestNoCertificateIsWrittenBeforeTheUserHasItsRoleAndAuthenticationIsOn(t *testing.T) {
	o := settled(fresh)
	for range 20 {
		d := Next(o)
		if _, isSecret := d.Change.(WriteSecret); isSecret && (!o.hasRole() || !o.Etcd.AuthOn || len(o.excess()) > 0 || len(o.missing()) > 0) {
			t.Fatalf("it is written while %+v", o.Etcd)
		}
		if d.Change == nil {
			return
		}
		carryOut(&o, d.Change)
	}
	t.Error("it never settles")
}

func TestRightsAreAddedUpByRange(t *testing.T) {
	got := WantedRights([]v1alpha1.ClientPermission{
		{Prefix: "shop/", Access: v1alpha1.AccessReadOnly}, {Key: "shop/", Access: v1alpha1.AccessReadOnly},
		{Prefix: "shop/", Access: v1alpha1.AccessReadWrite}, {Prefix: "ä", Access: v1alpha1.AccessReadOnly}, {},
		{AllKeys: true, Access: v1alpha1.AccessReadOnly}, {Key: Making.Key, Access: v1alpha1.AccessReadOnly},
	})
	want := []Right{{Key: "\x00", End: "\x00", Read: true}, {Key: "shop/", Read: true}, below, {Key: "ä", End: "\xc3\xa5", Read: true}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestOnlyRightsBelowAPrefixAreAllowed(t *testing.T) {
	wants := []Right{{Key: "a"}, {Key: "team/", End: "team0"}, {Key: "team/a"}, {Key: "team/z", End: "team/{"}, {Key: "tea", End: "teb"}, {Key: "team"}, {Key: "team/b", End: "\x00"}}
	allowed, refused := Allowed(wants, []string{"other/", "team/"})
	if !slices.Equal(allowed, wants[1:4]) || !slices.Equal(refused, append(wants[:1:1], wants[4:]...)) {
		t.Errorf("allowed %+v, refused %+v", allowed, refused)
	}
	if allowed, refused := Allowed(wants, nil); len(allowed) != len(wants) || refused != nil {
		t.Errorf("without prefixes: allowed %+v, refused %+v", allowed, refused)
	}
}

func TestTheConditionIsReadyOnlyWhereTheAccessIsThereAndTroubleIsToldOnce(t *testing.T) {
	o := settled()
	status := Status(o, Next(o), 3, v1alpha1.EtcdClientStatus{})
	if c := status.Conditions[0]; c.Status != "True" || c.ObservedGeneration != 3 || status.Role != role || status.User != "shop-user" {
		t.Errorf("%+v", status)
	}
	broken := settled(fresh, user("admin"))
	d := Next(broken)
	told := Events(d, status, status)
	if len(told) != 1 || !told[0].Warning || len(Events(d, Status(broken, d, 3, status), Status(broken, d, 3, status))) != 0 {
		t.Errorf("told %+v", told)
	}
	if c := Status(broken, d, 3, status).Conditions[0]; c.Status != "False" || c.Reason != ReasonUserTaken {
		t.Errorf("%+v", c)
	}
}
