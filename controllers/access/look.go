package access

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// view is what a pass over a client saw: the plain value that is decided on, and what it is carried out with.
type view struct {
	accessplan.Observation
	cluster *v1alpha1.EtcdCluster // nil: there is none
	history string                // of the cluster's data
	member  etcd.Client           // the one that answered; nil: none
	secret  *corev1.Secret        // nil: there is none, or it is another's
	ca      map[string][]byte     // what the CA's Secret holds; nil: it cannot sign
	renew   string                // why the certificate has to be issued anew, and can be; empty: it has not
	signed  *signed               // how it stands with the issuer of the CA; nil: the operator signs, or nothing is due

	// password is that of the Secret; empty: there is none, or another one has to be drawn.
	password string
}

// Indices of the cache. Each lists the clients that ask for one thing, so that no pass reads all of them.
const (
	byCluster = "cluster"
	byUser    = "user"
	bySecret  = "secret"
)

var indices = map[string]client.IndexerFunc{
	byCluster: indexOf(func(c *v1alpha1.EtcdClient) string { return c.ClusterKey().String() }),
	byUser:    indexOf(userOfCluster),
	bySecret:  indexOf((*v1alpha1.EtcdClient).SecretNameOrDefault),
}

func indexOf(value func(*v1alpha1.EtcdClient) string) client.IndexerFunc {
	return func(object client.Object) []string {
		c, isClient := object.(*v1alpha1.EtcdClient)
		if !isClient {
			return nil
		}
		return []string{value(c)}
	}
}

// userOfCluster is what no two clients may have. A slash is in none of the names.
func userOfCluster(c *v1alpha1.EtcdClient) string {
	return c.ClusterKey().String() + "/" + c.UserOrDefault()
}

// look asks etcd and reads Secrets only where what was seen before lets something come of it.
func (r *Reconciler) look(ctx context.Context, c *v1alpha1.EtcdClient) (view, error) {
	seen, err := r.lookAround(ctx, c)
	if err == nil {
		r.lookAtQuota(ctx, c, &seen)
	}
	isStopped := seen.Client.OlderUser != "" || seen.Client.OlderSecret != ""
	if err != nil || isStopped && !seen.isLeaving() || seen.isIgnored() || !seen.mayAsk() {
		return seen, err
	}
	if !seen.isLeaving() {
		if err := r.lookAtCA(ctx, &seen); err != nil {
			return seen, err
		}
		if err := r.lookAtSecret(ctx, c, &seen); err != nil {
			return seen, err
		}
	}
	r.lookAtEtcd(ctx, c, &seen)
	return seen, nil
}

func (v view) isIgnored() bool { return v.Cluster.Operator != "" && v.Cluster.Operator != v.Operator }

// isLeaving reports a client whose access is taken away.
func (v view) isLeaving() bool { return v.Client.Deleting || !v.Cluster.Allows }

// mayAsk reports a cluster whose members can be asked, for a client that has something there or may have.
func (v view) mayAsk() bool {
	c := v.Cluster
	return c.Exists && !c.Deleting && c.TLS && !c.Paused && !c.Asleep && c.Bootstrapped &&
		(c.Allows || v.Client.Held)
}

// lookAround reads what the cache has: the client, the cluster, and who else asks for the same.
func (r *Reconciler) lookAround(ctx context.Context, c *v1alpha1.EtcdClient) (view, error) {
	key := c.ClusterKey()
	seen := view{Observation: accessplan.Observation{Now: r.Now(), Operator: r.Operator, Client: clientOf(c),
		Cluster: accessplan.Cluster{Namespace: key.Namespace, Name: key.Name, Unwatched: !r.watches(key.Namespace)}}}
	if seen.Cluster.Unwatched {
		return seen, nil
	}
	err := r.lookAtCluster(ctx, c, &seen)
	if err != nil {
		return seen, err
	}
	allowed := func(other *v1alpha1.EtcdClient) bool { return allows(seen.cluster, other) }
	all := client.MatchingFields{byUser: userOfCluster(c)}
	if seen.Client.OlderUser, err = r.older(ctx, c, allowed, all); err != nil {
		return seen, err
	}
	seen.Client.OlderSecret, err = r.older(ctx, c, nil, client.InNamespace(c.Namespace),
		client.MatchingFields{bySecret: c.SecretNameOrDefault()})
	return seen, err
}

// watches reports a namespace that this install looks after.
func (r *Reconciler) watches(namespace string) bool {
	return len(r.Watches) == 0 || slices.Contains(r.Watches, namespace)
}

// allows reports a client that may name this cluster; nil: there is none.
func allows(cluster *v1alpha1.EtcdCluster, c *v1alpha1.EtcdClient) bool {
	return !c.IsFromOutside() || cluster != nil && cluster.Spec.ClientNamespace(c.Namespace) != nil
}

func clientOf(c *v1alpha1.EtcdClient) accessplan.Client {
	seen := accessplan.Client{
		Name: c.Name, User: c.UserOrDefault(), Secret: c.SecretNameOrDefault(),
		Wants:    accessplan.WantedRights(c.Spec.Permissions),
		Password: c.Spec.Password,
		Deleting: c.DeletionTimestamp != nil, Held: slices.Contains(c.Finalizers, v1alpha1.FinalizerAccess),
	}
	if c.IsFromOutside() {
		seen.From = c.Namespace
	}
	return seen
}

// older is the oldest other client among these that counts, if it is older than this one; empty: none is. One that is
// not stored yet is the newest. Without counts each does.
func (r *Reconciler) older(ctx context.Context, c *v1alpha1.EtcdClient, counts func(*v1alpha1.EtcdClient) bool,
	among ...client.ListOption) (string, error) {
	var list v1alpha1.EtcdClientList
	if err := r.Client.List(ctx, &list, among...); err != nil {
		return "", fmt.Errorf("listing the EtcdClients that ask for the same as %s: %w", c.Name, err)
	}
	first := c
	for i := range list.Items {
		other := &list.Items[i]
		isItself := other.Name == c.Name && other.Namespace == c.Namespace
		if !isItself && (counts == nil || counts(other)) && isOlder(other, first) {
			first = other
		}
	}
	switch {
	case first == c:
		return "", nil
	case first.Namespace != c.Namespace:
		return first.Name + " of namespace " + first.Namespace, nil
	}
	return first.Name, nil
}

func isOlder(a, b *v1alpha1.EtcdClient) bool {
	if b.CreationTimestamp.IsZero() {
		return true
	}
	order := a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time)
	return cmp.Or(order, cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace)) < 0
}

func (r *Reconciler) lookAtCluster(ctx context.Context, c *v1alpha1.EtcdClient, seen *view) error {
	key := c.ClusterKey()
	cluster, err := observe.Find[v1alpha1.EtcdCluster](ctx, r.Client, key.Namespace, key.Name)
	switch {
	case err != nil:
		return err
	case cluster == nil:
		seen.Cluster.Allows = allows(nil, c)
		r.ledger.forget(key)
		return r.Dialer.Forget(key)
	}
	spec := &cluster.Spec
	seen.cluster = cluster
	seen.Cluster = accessplan.Cluster{Namespace: cluster.Namespace, Name: cluster.Name, Exists: true,
		Deleting: cluster.DeletionTimestamp != nil, Allows: allows(cluster, c),
		TLS: spec.IsTLS(), Paused: spec.Paused || spec.IsDryRun(), Asleep: spec.Size == 0,
		AsksForAuth: spec.Auth != nil && spec.Auth.Enabled}
	if entry := spec.ClientNamespace(c.Namespace); c.IsFromOutside() && entry != nil {
		seen.Client.Wants, seen.Client.Refused = accessplan.Allowed(seen.Client.Wants, entry.Prefixes)
	}
	if seen.Cluster.Operator, err = observe.KeeperOf(ctx, r.Client, cluster, r.Operator); err != nil {
		return err
	}
	return r.lookAtBootstrap(ctx, seen)
}

// lookAtBootstrap reads whether the cluster has served, and which history its data is of, from where the cluster's own
// passes write it down.
func (r *Reconciler) lookAtBootstrap(ctx context.Context, seen *view) error {
	cluster := seen.cluster
	service, err := observe.Find[corev1.Service](ctx, r.Client, cluster.Namespace, resources.PeerService(cluster.Name))
	if service == nil || err != nil || !resources.IsControlledBy(service, cluster.UID) {
		return err
	}
	bootstrap, err := record.DecodeBootstrap(service.Annotations[v1alpha1.AnnotationBootstrap])
	if err != nil {
		return nil //nolint:nilerr // the cluster's own passes say so, and until it is put right nothing is known of it
	}
	seen.Cluster.Bootstrapped = bootstrap.ClusterID != 0 && !bootstrap.Void
	seen.history = fmt.Sprintf("%s %s %s", cluster.UID, bootstrap.ClusterID, bootstrap.Incarnation)
	return nil
}

// lookAtCA reads what signs certificates of clients. It has to be the CA that signed the operator's own: that is the
// one that members trust.
func (r *Reconciler) lookAtCA(ctx context.Context, seen *view) error {
	name := resources.CASecret(seen.cluster.Name)
	ca, err := r.secretOf(ctx, seen.cluster, name)
	if err != nil {
		return err
	}
	own, err := r.secretOf(ctx, seen.cluster, resources.OperatorSecret(seen.cluster.Name))
	switch {
	case err != nil:
		return err
	case ca == nil || !resources.IsDataOf(ca, seen.cluster.UID):
		seen.CA.Why = "there is no Secret " + name + " of this cluster"
		return nil
	case own == nil:
		seen.CA.Why = "there is no Secret " + resources.OperatorSecret(seen.cluster.Name)
		return nil
	}
	signs, err := resources.SignerIn(ca.Data)
	if err == nil {
		err = signs.CheckValidity(seen.Now)
	}
	switch {
	case err != nil:
		seen.CA.Why = fmt.Sprintf("the Secret %s: %v", name, err)
	case !pki.IsOf(own.Data[resources.KeyCert], own.Data[resources.KeyCA], ca.Data[resources.KeyCert]):
		seen.CA.Why = "the Secret " + name + " holds another CA than members trust"
	default:
		seen.CA.Known, seen.ca = true, ca.Data
	}
	return nil
}

// secretOf reads a Secret of a cluster; nil when there is none.
func (r *Reconciler) secretOf(ctx context.Context, cluster *v1alpha1.EtcdCluster, name string) (*corev1.Secret, error) {
	secret, err := r.Secrets.Get(ctx, types.NamespacedName{Namespace: cluster.Namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s/%s: %w", cluster.Namespace, name, err)
	}
	return secret, nil
}

// lookAtSecret reads the client's Secret as it is now: a person who deleted it waits for another one.
func (r *Reconciler) lookAtSecret(ctx context.Context, c *v1alpha1.EtcdClient, seen *view) error {
	secret, err := observe.Find[corev1.Secret](ctx, r.Live, c.Namespace, seen.Client.Secret)
	switch {
	case err != nil:
		return err
	case secret == nil:
		return r.lookAtIssuer(ctx, c, seen, "there is none")
	case !resources.IsControlledBy(secret, c.UID):
		seen.Secret.State = accessplan.SecretForeign
		return nil
	case secret.DeletionTimestamp != nil:
		seen.Secret.State = accessplan.SecretTerminating
		return nil
	}
	seen.secret, seen.Secret.State = secret, accessplan.SecretOwn
	if end, err := pki.NotAfter(secret.Data[resources.KeyCert]); err == nil {
		seen.Secret.NotAfter = end
	}
	if !seen.CA.Known {
		return nil
	}
	certificate := seen.certificate()
	seen.renew = resources.WhyCertificateIsDue(secret.Data, certificate, seen.ca, renewalAsked(c), seen.Now)
	if err := r.lookAtIssuer(ctx, c, seen, seen.renew); err != nil {
		return err
	}
	seen.Secret.Due = cmp.Or(seen.renew, resources.WhyFilesAreDue(secret.Data,
		resources.AccessFiles(seen.cluster, seen.Client.User, seen.ca)), seen.lookAtPassword(c),
		r.whyStoresAreDue(c, secret.Data), resources.WhyCopiesAreDue(secret.Data, c.Spec.SecretKeys))
	return nil
}

// certificate is what the Secret is to hold.
func (v *view) certificate() resources.Certificate {
	return resources.AccessCertificate(v.cluster.Name, v.Client.User, v.Client.Password)
}

// lookAtPassword says why another password has to be drawn; empty: it has not. One is asked for together with a
// certificate, and not drawn where that is renewed in time.
func (v *view) lookAtPassword(c *v1alpha1.EtcdClient) string {
	password := string(v.secret.Data[resources.KeyPassword])
	switch {
	case !c.Spec.Password:
		return ""
	case !resources.IsPassword(password):
		return resources.KeyPassword + " is not as it has to be"
	case v.renew != "" && resources.IsAskedFor(v.certificate().Made(v.secret.Data), renewalAsked(c), v.Now):
		return "a new password was asked for"
	}
	v.password, v.Secret.Digest = password, resources.PasswordDigest(password)
	return ""
}

// renewalAsked is the time before which a certificate must not have been made; zero where none is named, or one that
// cannot be read.
func renewalAsked(c *v1alpha1.EtcdClient) time.Time {
	asked, _ := time.Parse(time.RFC3339, c.Annotations[v1alpha1.AnnotationRenewCertificate])
	return asked
}

// lookAtClientsOf asks for a pass over each client of a cluster. What is remembered of the cluster's CAs is read anew.
func (r *Reconciler) lookAtClientsOf(ctx context.Context, cluster client.Object) []reconcile.Request {
	r.forgetCA(client.ObjectKeyFromObject(cluster))
	var list v1alpha1.EtcdClientList
	err := r.Client.List(ctx, &list, client.MatchingFields{byCluster: client.ObjectKeyFromObject(cluster).String()})
	if err != nil {
		return nil // from the cache, which is there; each client looks again by itself
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

func (r *Reconciler) forgetCA(cluster types.NamespacedName) {
	for _, name := range []string{resources.CASecret(cluster.Name), resources.OperatorSecret(cluster.Name)} {
		r.Secrets.Forget(types.NamespacedName{Namespace: cluster.Namespace, Name: name})
	}
}
