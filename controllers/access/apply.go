package access

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// apply makes one change. What the platform refuses comes as apply.Rejected or apply.Later; apply.ErrStale asks to look
// again.
func (r *Reconciler) apply(ctx context.Context, c *v1alpha1.EtcdClient, seen view, change accessplan.Change) error {
	switch change.(type) {
	case accessplan.Hold:
		return r.Edit(ctx, c, func(o client.Object) {
			o.SetFinalizers(append(o.GetFinalizers(), v1alpha1.FinalizerAccess))
		})
	case accessplan.Release:
		return r.Edit(ctx, c, func(o client.Object) {
			isOurs := func(f string) bool { return f == v1alpha1.FinalizerAccess }
			o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), isOurs))
		})
	case accessplan.WriteSecret:
		return r.writeSecret(ctx, c, seen)
	case accessplan.AskIssuer:
		return r.askIssuer(ctx, c, seen)
	}
	return r.inEtcd(ctx, c, seen, change)
}

// inEtcd makes a change of users and roles, while this process holds the Lease. A change that was not answered shows
// in the next look.
func (r *Reconciler) inEtcd(ctx context.Context, c *v1alpha1.EtcdClient, seen view, change accessplan.Change) error {
	if r.Leads != nil {
		until, err := r.Leads(ctx)
		if err != nil {
			return apply.Later{Reason: apply.LaterNotLeading, Message: words.Bounded(err.Error())}
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	defer r.known.Forget(client.ObjectKeyFromObject(c))
	err := changeEtcd(ctx, seen, change)
	if err == nil || errors.Is(err, apply.ErrStale) {
		return err
	}
	return apply.Later{Reason: accessplan.ReasonEtcdUnavailable, Message: words.Bounded(err.Error())}
}

func changeEtcd(ctx context.Context, seen view, change accessplan.Change) error {
	member := seen.member
	switch change := change.(type) {
	case accessplan.MakeBoth:
		return makeBoth(ctx, member, change)
	case accessplan.Grant:
		return grant(ctx, member, change.Role, change.Rights)
	case accessplan.Revoke:
		return each(change.Rights, func(p etcd.Permission) error {
			return member.RevokePermission(ctx, change.Role, p)
		})
	case accessplan.MakeUser:
		return makeUser(ctx, member, change)
	case accessplan.GiveRole:
		return member.GrantRole(ctx, change.User, change.Role)
	case accessplan.SetPassword:
		return setPassword(ctx, member, seen.password, change)
	case accessplan.DeleteUser:
		err := member.DeleteUser(ctx, change.User)
		if errors.Is(err, etcd.ErrUserNotFound) {
			return apply.ErrStale
		}
		return err
	case accessplan.DeleteRole:
		return member.DeleteRole(ctx, change.Role)
	}
	return fmt.Errorf("the change %T is unknown", change)
}

func grant(ctx context.Context, member etcd.Client, role string, rights []accessplan.Right) error {
	return each(rights, func(p etcd.Permission) error { return member.GrantPermission(ctx, role, p) })
}

func each(rights []accessplan.Right, do func(etcd.Permission) error) error {
	for _, right := range rights {
		if err := do(etcd.Permission(right)); err != nil {
			return err
		}
	}
	return nil
}

// makeBoth makes the role right before the user, and gives it rights right after the user has it. Meanwhile it lets no
// key be read, which says that the operator is at it: where it is interrupted, it knows its user again by that. Each
// change of users and rights costs etcd a commit to its disk and a look at all users, so there is none beside these.
func makeBoth(ctx context.Context, member etcd.Client, change accessplan.MakeBoth) error {
	if err := member.AddRole(ctx, change.Role); err != nil {
		return err
	}
	err := newUser(ctx, member, change.User, change.Role, change.Password)
	switch {
	case errors.Is(err, etcd.ErrUserExists):
		return takenBack(member.DeleteRole(ctx, change.Role))
	case err != nil:
		return err
	}
	if err := member.GrantRole(ctx, change.User, change.Role); err != nil {
		return err
	}
	return grant(ctx, member, change.Role, change.Rights)
}

// makeUser makes the user of a role that has its rights, and gives it the role. A mark in the role says meanwhile that
// the operator is at it.
func makeUser(ctx context.Context, member etcd.Client, change accessplan.MakeUser) error {
	making := etcd.Permission(accessplan.Making)
	if err := member.GrantPermission(ctx, change.Role, making); err != nil {
		return err
	}
	err := newUser(ctx, member, change.User, change.Role, change.Password)
	switch {
	case errors.Is(err, etcd.ErrUserExists):
		return takenBack(member.RevokePermission(ctx, change.Role, making))
	case err != nil:
		return err
	}
	if err := member.GrantRole(ctx, change.User, change.Role); err != nil {
		return err
	}
	return member.RevokePermission(ctx, change.Role, making)
}

// takenBack asks to look again after what said that a user was being made is gone: another one made a user of that name
// since the look, and that user is not the operator's.
func takenBack(err error) error {
	if err != nil {
		return err
	}
	return apply.ErrStale
}

// newUser makes the user. One that is to have a password gets one that is drawn and forgotten, so that it never has an
// empty one. The role says so before.
func newUser(ctx context.Context, member etcd.Client, user, role string, hasPassword bool) error {
	if !hasPassword {
		return member.NewUser(ctx, user)
	}
	mark := etcd.Permission(accessplan.PasswordMark(""))
	if err := member.GrantPermission(ctx, role, mark); err != nil {
		return err
	}
	return member.NewUserWithPassword(ctx, user, resources.NewPassword())
}

// setPassword gives the user the password of the Secret, and then the role the mark of that. Where it is interrupted it
// is done once more.
func setPassword(ctx context.Context, member etcd.Client, password string, change accessplan.SetPassword) error {
	if resources.PasswordDigest(password) != change.Digest {
		return apply.ErrStale
	}
	err := member.ChangePassword(ctx, change.User, password)
	switch {
	case errors.Is(err, etcd.ErrUserNotFound):
		return apply.ErrStale
	case err != nil:
		return err
	}
	return member.GrantPermission(ctx, change.Role, etcd.Permission(accessplan.PasswordMark(change.Digest)))
}

// writeSecret hands a certificate out, or brings the Secret up to date. It asks once more whether authentication is on:
// with a certificate everything may be read where it is not.
func (r *Reconciler) writeSecret(ctx context.Context, c *v1alpha1.EtcdClient, seen view) error {
	isOn, err := r.isAuthOnNow(ctx, seen)
	switch {
	case err != nil:
		return apply.Later{Reason: accessplan.ReasonEtcdUnavailable, Message: words.Bounded(err.Error())}
	case !isOn:
		return apply.ErrStale
	}
	data := resources.AccessFiles(seen.cluster, seen.Client.User, seen.ca)
	if seen.secret == nil || seen.renew != "" {
		if err := issue(seen, data); err != nil {
			return err
		}
	}
	if seen.Client.Password && seen.password == "" {
		data[resources.KeyPassword] = []byte(resources.NewPassword())
	}
	if seen.secret == nil {
		whole := map[string][]byte{}
		compose(c, whole, data)
		err = r.Create(ctx, c, resources.BuildAccessSecret(seen.cluster, c, whole))
	} else {
		err = r.Edit(ctx, seen.secret, func(o client.Object) {
			secret := o.(*corev1.Secret)
			if secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			compose(c, secret.Data, data)
		})
	}
	if err != nil || seen.signed == nil || data[resources.KeyOrigin] == nil {
		return err
	}
	return r.Delete(ctx, c, seen.signed.request, seen.signed.request.UID)
}

// askIssuer makes the request for a certificate, in the place of one that is of no use.
func (r *Reconciler) askIssuer(ctx context.Context, c *v1alpha1.EtcdClient, seen view) error {
	if seen.signed == nil {
		return apply.ErrStale
	}
	if before := seen.signed.request; before != nil {
		if err := r.Delete(ctx, c, before, before.UID); err != nil {
			return err
		}
	}
	request, err := seen.signed.asking.BuildFor(seen.cluster, c)
	if err != nil {
		return fmt.Errorf("asking the issuer: %w", err)
	}
	return r.Create(ctx, c, request)
}

// issue adds a certificate and its key: by the key of the CA, or as the issuer signed it.
func issue(seen view, data map[string][]byte) error {
	by, err := resources.SignerIn(seen.ca)
	if err != nil {
		return apply.Rejected{Reason: accessplan.ReasonCANotReady, Message: err.Error()}
	}
	var pair pki.Pair
	if data[resources.KeyOrigin] = nil; seen.signed != nil {
		issuer := seen.signed.asking.Issuer
		data[resources.KeyOrigin] = resources.Origin{Issuer: &issuer, Since: seen.Now.UTC()}.Encode()
		pair, err = seen.signed.asking.Take(seen.signed.request, by.WithChain(seen.ca[resources.KeyChain]), seen.Now)
	} else {
		pair, err = by.Issue(seen.certificate().Leaf, seen.Now)
	}
	if err != nil {
		return apply.Rejected{Reason: accessplan.ReasonCANotReady, Message: err.Error()}
	}
	data[resources.KeyCert], data[resources.KeyKey] = pair.Cert, pair.Key
	return nil
}
