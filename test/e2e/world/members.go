package world

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client/dial"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// ClientTLS is what the bundle that users connect with makes; nil when the cluster has no TLS.
func (c *Cluster) ClientTLS(ctx context.Context) (*tls.Config, error) {
	object, err := c.Get(ctx)
	if err != nil || !object.Spec.IsTLS() {
		return nil, err
	}
	return c.bundle(ctx)
}

func (c *Cluster) bundle(ctx context.Context) (*tls.Config, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: c.Namespace, Name: resources.ClientSecret(c.Name)}
	if err := c.Client.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("reading the clients' bundle: %w", err)
	}
	pair := pki.Pair{Cert: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}
	return pki.ClientTLS(secret.Data["ca.crt"], pair)
}

// Dial connects to one member by its Pod's address and the name in its certificate, with TLS where it takes that.
func (c *Cluster) Dial(ctx context.Context, pod *corev1.Pod) (etcd.Client, error) {
	var config *tls.Config
	transport, _ := resources.TransportOf(pod)
	err := error(nil)
	if transport.HasCertificates() {
		config, err = c.bundle(ctx)
	}
	if err != nil {
		return nil, err
	}
	if pod.Status.PodIP == "" {
		return nil, fmt.Errorf("the Pod %s has no address yet", pod.Name)
	}
	return dial.EtcdDialer{}.Dial(etcd.Endpoint{
		Address: clientAddress(pod), ServerName: etcdutil.PeerHost(pod.Name, c.Name, c.Namespace), TLS: config,
	})
}

func clientAddress(pod *corev1.Pod) string {
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(etcdutil.ClientPort))
}

// View is the cluster as one member sees it.
type View struct {
	Pod    string
	Status etcd.Status
	List   etcd.MemberList
}

// Look asks one member for its status, for the member list, and for a linearizable read.
func (c *Cluster) Look(ctx context.Context, pod *corev1.Pod) (View, error) {
	view := View{Pod: pod.Name}
	member, err := c.Dial(ctx, pod)
	if err != nil {
		return view, err
	}
	defer member.Close()
	if view.Status, err = member.Status(ctx); err != nil {
		return view, fmt.Errorf("asking %s for its status: %w", pod.Name, err)
	}
	if view.Status.Learner {
		return view, fmt.Errorf("%s is still a learner", pod.Name)
	}
	if view.List, err = member.MemberList(ctx); err != nil {
		return view, fmt.Errorf("asking %s for the member list: %w", pod.Name, err)
	}
	if err := member.ReadLinearizable(ctx); err != nil {
		return view, fmt.Errorf("reading through %s: %w", pod.Name, err)
	}
	return view, nil
}

// checkMembers says what speaks against these Pods being all the members of one cluster, voting and serving.
func (c *Cluster) checkMembers(ctx context.Context, pods []corev1.Pod) error {
	var leader etcdutil.ID
	for i := range pods {
		view, err := c.Look(ctx, &pods[i])
		if err != nil {
			return err
		}
		if err := checkView(view, len(pods)); err != nil {
			return err
		}
		if leader == 0 {
			leader = view.Status.Leader
		}
		if view.Status.Leader != leader {
			return fmt.Errorf("%s sees another leader", view.Pod)
		}
		if c.ClusterID == 0 {
			c.ClusterID = view.Status.ClusterID
		}
		if view.Status.ClusterID != c.ClusterID {
			return fmt.Errorf("%s is of cluster %s, and the cluster was %s", view.Pod, view.Status.ClusterID, c.ClusterID)
		}
	}
	return nil
}

func checkView(view View, voters int) error {
	if len(view.List.Members) != voters {
		return fmt.Errorf("%s lists %d members, not %d", view.Pod, len(view.List.Members), voters)
	}
	for _, m := range view.List.Members {
		if m.Learner || !m.Started() {
			return fmt.Errorf("%s lists %s (%q) as a learner or not started", view.Pod, m.ID, m.Name)
		}
		if m.Name == view.Pod && m.ID != view.Status.MemberID {
			return fmt.Errorf("%s is %s, and the list says %s", view.Pod, view.Status.MemberID, m.ID)
		}
	}
	return nil
}

// Identities are the IDs of the voters by name, as the first Pod that answers lists them.
func (c *Cluster) Identities(ctx context.Context) map[string]etcdutil.ID {
	ginkgo.GinkgoHelper()
	ids := map[string]etcdutil.ID{}
	gomega.Eventually(ctx, func() error {
		view, err := c.anyView(ctx)
		if err != nil {
			return err
		}
		clear(ids)
		for _, m := range view.List.Members {
			ids[m.Name] = m.ID
		}
		return nil
	}).WithTimeout(Patience).Should(gomega.Succeed())
	return ids
}

// Leader is the name of the member that leads.
func (c *Cluster) Leader(ctx context.Context) string {
	ginkgo.GinkgoHelper()
	var leader string
	gomega.Eventually(ctx, func() error {
		view, err := c.anyView(ctx)
		if err != nil {
			return err
		}
		if leader = leaderOf(view); leader == "" {
			return fmt.Errorf("no member leads")
		}
		return nil
	}).WithTimeout(Patience).Should(gomega.Succeed())
	return leader
}

// leaderOf is the name of the member that leads as one member sees it, or "".
func leaderOf(view View) string {
	for _, m := range view.List.Members {
		if m.ID == view.Status.Leader {
			return m.Name
		}
	}
	return ""
}

func (c *Cluster) anyView(ctx context.Context) (View, error) {
	pods, err := c.Pods(ctx)
	if err != nil {
		return View{}, err
	}
	err = fmt.Errorf("%s has no Pods", c.Name)
	for i := range pods {
		var view View
		if view, err = c.Look(ctx, &pods[i]); err == nil {
			return view, nil
		}
	}
	return View{}, err
}

// AwaitEqualHashes waits until all members have the same keys at the same revision.
func (c *Cluster) AwaitEqualHashes(ctx context.Context) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() error { return c.checkHashes(ctx) }).WithTimeout(Patience).Should(gomega.Succeed())
}

func (c *Cluster) checkHashes(ctx context.Context) error {
	pods, err := c.Pods(ctx)
	if err != nil {
		return err
	}
	var first etcd.Hash
	for i := range pods {
		hash, err := c.hash(ctx, &pods[i], first.Revision)
		if err != nil {
			return err
		}
		if i == 0 {
			first = hash
		}
		if hash.Hash != first.Hash || hash.Revision != first.Revision {
			return fmt.Errorf("%s has hash %d at revision %d, %s has %d at %d", pods[i].Name, hash.Hash, hash.Revision, pods[0].Name, first.Hash, first.Revision)
		}
	}
	return nil
}

func (c *Cluster) hash(ctx context.Context, pod *corev1.Pod, revision int64) (etcd.Hash, error) {
	member, err := c.Dial(ctx, pod)
	if err != nil {
		return etcd.Hash{}, err
	}
	defer member.Close()
	hash, err := member.HashKV(ctx, revision)
	if err != nil {
		return hash, fmt.Errorf("hashing the keys of %s: %w", pod.Name, err)
	}
	return hash, nil
}

// MoveLeader makes a member lead, as a person does with etcdctl.
func (c *Cluster) MoveLeader(ctx context.Context, to string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() error {
		view, err := c.anyView(ctx)
		if err != nil {
			return err
		}
		leader := leaderOf(view)
		var target etcdutil.ID
		for _, m := range view.List.Members {
			if m.Name == to {
				target = m.ID
			}
		}
		if leader == to {
			return nil
		}
		pod, err := c.Pod(ctx, leader)
		if err != nil {
			return err
		}
		member, err := c.Dial(ctx, pod)
		if err != nil {
			return err
		}
		defer member.Close()
		if err := member.MoveLeader(ctx, target); err != nil {
			return err
		}
		return fmt.Errorf("%s was asked to hand over to %s", leader, to)
	}).WithTimeout(Patience).Should(gomega.Succeed())
}
