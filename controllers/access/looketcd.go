package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// authLifetime is how long it is believed how authentication stands. Each question is an entry of raft's log, and all
// clients of a cluster share the answer.
const authLifetime = 10 * time.Second

// silenceLifetime is how long a cluster of which no member answered is not asked again. Otherwise the passes over its
// clients would wait, one after the other, and those of other clusters behind them.
const silenceLifetime = 30 * time.Second

// ledger remembers how authentication stands in each cluster. The zero value is empty.
type ledger struct {
	mu    sync.Mutex
	pages map[types.NamespacedName]*page
}

// page is of one cluster. Of passes that ask at once, one asks.
type page struct {
	mu   sync.Mutex
	last asked
}

func (l *ledger) of(cluster types.NamespacedName) *page {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages == nil {
		l.pages = map[types.NamespacedName]*page{}
	}
	if l.pages[cluster] == nil {
		l.pages[cluster] = &page{}
	}
	return l.pages[cluster]
}

func (l *ledger) forget(cluster types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pages, cluster)
}

// lookAtEtcd asks a member for the client's role and user, unless no user or role of the cluster has changed since it
// was asked. The revision is that from before: so what is remembered may be newer than it says, and never older.
func (r *Reconciler) lookAtEtcd(ctx context.Context, c *v1alpha1.EtcdClient, seen *view) {
	members, err := r.membersOf(ctx, seen.cluster)
	if err != nil { // such as no certificate of the operator, which the cluster's own passes make again
		seen.Etcd.Why = words.Bounded(err.Error())
		return
	}
	p := r.ledger.of(client.ObjectKeyFromObject(seen.cluster))
	if seen.Etcd.Why = p.silent(seen.history, seen.Now); seen.Etcd.Why != "" {
		return
	}
	seen.Etcd.Why = "no member serves"
	isSilent := len(members) > 0
	for _, member := range members {
		err := r.askMember(ctx, c, seen, member)
		if err == nil {
			seen.member = member
			return
		}
		if etcd.IsTLS(err) {
			r.Dialer.Distrust(seen.cluster)
			isSilent = false // with certificates that are read anew it may answer
		}
		seen.Etcd = accessplan.Etcd{Why: words.Bounded(err.Error())}
		if !etcd.IsUnreachable(err) && !etcd.IsTLS(err) {
			return // another member would answer the same
		}
	}
	if isSilent {
		p.note(asked{history: seen.history, at: seen.Now, why: seen.Etcd.Why})
	}
}

// silent is why no member answered a moment ago; empty where one did, or none was asked.
func (p *page) silent(history string, now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.history == history && now.Sub(p.last.at).Abs() < silenceLifetime {
		return p.last.why
	}
	return ""
}

func (p *page) note(said asked) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = said
}

func (r *Reconciler) askMember(ctx context.Context, c *v1alpha1.EtcdClient, seen *view, member etcd.Client) error {
	auth, err := r.authOf(ctx, seen, member)
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(c)
	if last, isKept := r.known.Get(key); isKept && last.history == seen.history && last.revision == auth.Revision {
		seen.Etcd = last.etcd
		seen.Etcd.AuthOn = auth.Enabled
		return nil
	}
	said, err := askAbout(ctx, member, seen.Client)
	if err != nil {
		return err
	}
	said.AuthOn = auth.Enabled
	seen.Etcd = said
	r.known.Set(key, seenInEtcd{history: seen.history, revision: auth.Revision, etcd: said})
	return nil
}

// authOf is how authentication stands, as it was said a moment ago or is said now.
func (r *Reconciler) authOf(ctx context.Context, seen *view, member etcd.Client) (etcd.Authentication, error) {
	key := client.ObjectKeyFromObject(seen.cluster)
	p := r.ledger.of(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	isHeard := p.last.history == seen.history && p.last.why == ""
	if isHeard && seen.Now.Sub(p.last.at).Abs() < authLifetime {
		return p.last.auth, nil
	}
	auth, err := member.Authentication(ctx)
	if err != nil {
		return auth, err
	}
	p.last = asked{history: seen.history, at: seen.Now, auth: auth}
	r.forgetCA(key)
	return auth, nil
}

// isAuthOnNow asks the member itself, right before a certificate is handed out.
func (r *Reconciler) isAuthOnNow(ctx context.Context, seen view) (bool, error) {
	auth, err := seen.member.Authentication(ctx)
	if err == nil && !auth.Enabled {
		r.ledger.forget(client.ObjectKeyFromObject(seen.cluster)) // what is remembered is not so any more
	}
	return auth.Enabled, err
}

// askAbout asks for the role first: where that is missing, it is known before the user is looked for that none was
// made.
func askAbout(ctx context.Context, member etcd.Client, c accessplan.Client) (accessplan.Etcd, error) {
	said := accessplan.Etcd{Known: true}
	permissions, err := member.Permissions(ctx, accessplan.RoleName(c.From, c.Name, c.User))
	if err != nil && !errors.Is(err, etcd.ErrRoleNotFound) {
		return said, err
	}
	said.Role.Exists = err == nil
	for _, p := range permissions {
		said.Role.Rights = append(said.Role.Rights, accessplan.Right(p))
	}
	said.User.Roles, err = member.Roles(ctx, c.User)
	if err != nil && !errors.Is(err, etcd.ErrUserNotFound) {
		return said, err
	}
	said.User.Exists = err == nil
	return said, nil
}

// membersOf are connections to the voters of a cluster, in the order of their names.
func (r *Reconciler) membersOf(ctx context.Context, cluster *v1alpha1.EtcdCluster) ([]etcd.Client, error) {
	var list corev1.PodList
	err := r.Client.List(ctx, &list, client.InNamespace(cluster.Namespace),
		client.MatchingLabels(resources.VoterSelector(cluster.Name)))
	if err != nil {
		return nil, fmt.Errorf("listing the members' Pods of %s: %w", client.ObjectKeyFromObject(cluster), err)
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.Status.PodIP == "" || !resources.IsControlledBy(&pod, cluster.UID)
	})
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	clients, err := r.Dialer.Dial(ctx, cluster, pods)
	if err != nil {
		return nil, err
	}
	members := make([]etcd.Client, 0, len(pods))
	for _, pod := range pods {
		members = append(members, clients[pod.Name])
	}
	return members, nil
}
