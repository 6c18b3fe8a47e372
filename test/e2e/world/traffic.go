package world

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

// Traffic is a client that writes through a story, and follows the cluster's Pods as a resolver would.
type Traffic struct {
	*client.Writer
	cluster *Cluster
	stop    context.CancelFunc
	ended   sync.WaitGroup
	done    bool
}

// keyPrefix begins every key that a story writes.
const keyPrefix = "/story/"

// flow is how many puts prove that writes go on, and minimum how many a second of a fault leaves at least.
const (
	flow    = 20
	minimum = 1.0
)

// How long writes of a client may be held back.
const (
	// standstill is the bound of a story that claims no less, for all writes and for each put. It tells a quorum that
	// serves from one that is lost, on a busy machine too. test/bench measures what a fault or a roll costs.
	standstill = 10 * time.Second
	// OneFault is the bound of a client behind the Service whose member stops serving.
	OneFault = 6 * time.Second
	// OneConnection is the bound of a client behind the Service whose member is stopped on purpose: an election, which costs less than it
	// may when a leader hands over, and one new connection that is not refused. A refused one costs a second.
	OneConnection = 500 * time.Millisecond
)

// Write starts a client and waits until it writes. It ends with the story at the latest.
func (c *Cluster) Write(ctx context.Context) *Traffic {
	ginkgo.GinkgoHelper()
	return c.writeBy(ctx, &names{})
}

// WriteWithoutTLS is Write for a client that has no certificate, in whatever mode the cluster is.
func (c *Cluster) WriteWithoutTLS(ctx context.Context) *Traffic {
	ginkgo.GinkgoHelper()
	return c.writeBy(ctx, &names{plain: true})
}

func (c *Cluster) writeBy(ctx context.Context, names *names) *Traffic {
	ginkgo.GinkgoHelper()
	endpoints, err := c.endpoints(ctx, names)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(endpoints).NotTo(gomega.BeEmpty(), "voters to write to")
	t, background := c.start(ctx, names, client.Options{Endpoints: endpoints})
	t.ended.Go(func() { c.resolve(background, names, t.SetEndpoints) })
	t.Flow(ctx)
	return t
}

// manyPuts is how many puts a second show a gap that is shorter than a tenth of a second.
const manyPuts = 200

// unanswered is how many attempts in a row without an answer make a client behind the Service connect anew. Each takes
// a second.
const unanswered = 2

// WriteThroughService starts a client that knows the client Service only, and so has a single connection at a time. It needs a
// localkube, whose Services this machine reaches.
func (c *Cluster) WriteThroughService(ctx context.Context) *Traffic {
	ginkgo.GinkgoHelper()
	url, address := c.clientService(ctx)
	return c.WriteTo(ctx, url, address)
}

// WriteByKeepalive is WriteThroughService for a client that finds out by gRPC's keepalive alone that its member is gone:
// it never lets a connection go by itself, and waits 20 s for a new one. A put has failed after OneFault.
func (c *Cluster) WriteByKeepalive(ctx context.Context) *Traffic {
	ginkgo.GinkgoHelper()
	url, address := c.clientService(ctx)
	return c.writeTo(ctx, url, address, client.Options{FailedAfter: OneFault,
		Settings: &client.Settings{KeepAlive: [2]time.Duration{5 * time.Second, 3 * time.Second}}})
}

// clientService is the URL of the client Service, and its address.
func (c *Cluster) clientService(ctx context.Context) (url, address string) {
	ginkgo.GinkgoHelper()
	object, err := c.Get(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(object.Status.Endpoints).To(gomega.HaveLen(1), "the URL of the client Service")
	service := &corev1.Service{}
	key := ctrlclient.ObjectKey{Namespace: c.Namespace, Name: resources.ClientService(c.Name)}
	gomega.Expect(c.Client.Get(ctx, key, service)).To(gomega.Succeed())
	return object.Status.Endpoints[0], service.Spec.ClusterIP
}

// WriteTo starts a client that knows one URL only, whose host it finds at an address that this machine reaches.
func (c *Cluster) WriteTo(ctx context.Context, url, address string) *Traffic {
	ginkgo.GinkgoHelper()
	return c.writeTo(ctx, url, address, client.Options{LetGoAfter: unanswered})
}

func (c *Cluster) writeTo(ctx context.Context, url, address string, o client.Options) *Traffic {
	ginkgo.GinkgoHelper()
	names := &names{}
	_, host, _ := strings.Cut(url, "://")
	names.addresses.Store(host, net.JoinHostPort(address, strconv.Itoa(etcdutil.ClientPort)))
	o.Endpoints, o.PerSecond = []string{url}, manyPuts
	t, _ := c.start(ctx, names, o)
	t.Flow(ctx)
	return t
}

// start begins to write by these names, and returns a context that ends with the writing.
func (c *Cluster) start(ctx context.Context, names *names, o client.Options) (*Traffic, context.Context) {
	ginkgo.GinkgoHelper()
	if o.TLS == nil && !names.plain {
		config, err := c.ClientTLS(ctx)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		o.TLS = config
	}
	o.Connect, o.Prefix = names.connect, keyPrefix+rand.String(6)+"/"
	o.FailedAfter = cmp.Or(o.FailedAfter, standstill)
	background, stop := context.WithCancel(context.Background())
	writer, err := client.Start(background, o)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	t := &Traffic{Writer: writer, cluster: c, stop: stop}
	ginkgo.DeferCleanup(func() {
		if !t.done {
			ginkgo.GinkgoWriter.Printf("\n---- the client that writes\n%s\n", t.Now())
			t.end()
			t.Abandon()
		}
	})
	return t, background
}

// names is the DNS of a client that runs beside the cluster's network and not in it: where each member's Pod is now.
type names struct {
	addresses sync.Map
	plain     bool // the client connects without TLS, also where members take it
}

func (n *names) connect(ctx context.Context, hostPort string) (net.Conn, error) {
	address, ok := n.addresses.Load(hostPort)
	if !ok {
		return nil, fmt.Errorf("no Pod of the name %s", hostPort)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address.(string))
}

// endpoints are the client URLs of the members that the client Service would lead to, by the names in their certificates.
// A Service leads to Pods that are Ready; a client that knows all voters does not wait for that.
func (c *Cluster) endpoints(ctx context.Context, names *names) ([]string, error) {
	pods, err := c.Pods(ctx)
	if err != nil {
		return nil, err
	}
	scheme := etcdutil.SchemeHTTPS
	if object, err := c.Get(ctx); err != nil || !object.Spec.IsTLS() || names.plain {
		scheme = etcdutil.SchemeHTTP
	}
	var endpoints []string
	for i := range pods {
		if pods[i].Status.PodIP == "" || pods[i].Labels[v1alpha1.LabelRole] != v1alpha1.RoleVoter {
			continue
		}
		url := etcdutil.ClientURL(scheme, pods[i].Name, c.Name, c.Namespace)
		names.addresses.Store(strings.TrimPrefix(url, scheme+"://"), clientAddress(&pods[i]))
		endpoints = append(endpoints, url)
	}
	return endpoints, nil
}

// resolve tells a client where members are, whenever a Pod changes.
func (c *Cluster) resolve(ctx context.Context, names *names, tell func(endpoints []string)) {
	for ctx.Err() == nil {
		events, err := c.Client.Watch(ctx, &corev1.PodList{}, ctrlclient.InNamespace(c.Namespace), ctrlclient.MatchingLabels(resources.MemberSelector(c.Name)))
		if err != nil {
			continue
		}
		for range events.ResultChan() {
			if endpoints, err := c.endpoints(ctx, names); err == nil {
				tell(endpoints)
			}
		}
	}
}

// Flow waits until writes go on now.
func (t *Traffic) Flow(ctx context.Context) {
	ginkgo.GinkgoHelper()
	before := t.Acknowledged()
	gomega.Eventually(ctx, t.Acknowledged).WithTimeout(Patience).WithPolling(50*time.Millisecond).
		Should(gomega.BeNumerically(">=", before+flow), "writes do not go on")
}

// During does what the story is about between two proofs that writes go on, and expects no standstill meanwhile.
func (t *Traffic) During(ctx context.Context, fault func()) {
	ginkgo.GinkgoHelper()
	t.Within(ctx, standstill, fault)
}

// Within is During for a story that claims a bound of its own. A gap at the end of the story counts too: it lasts until writes go on.
func (t *Traffic) Within(ctx context.Context, bound time.Duration, work func()) {
	ginkgo.GinkgoHelper()
	t.Flow(ctx)
	began := time.Now()
	work()
	ended := time.Now()
	t.Flow(ctx)
	during := flowed{lasted: ended.Sub(began), writes: t.AcknowledgedBetween(began, ended), gap: t.LongestGap(began, time.Now())}
	gomega.Expect(during.check(bound)).To(gomega.Succeed())
}

// flowed is what went on while a story did something.
type flowed struct {
	lasted time.Duration
	writes int           // acknowledged meanwhile
	gap    time.Duration // the longest without one, until writes were seen to go on after it
}

// check says what speaks against writes that went on all the while.
func (f flowed) check(bound time.Duration) error {
	if f.gap > bound {
		return fmt.Errorf("all writes were held back for %s, longer than %s", f.gap, bound)
	}
	if least := int(minimum * (f.lasted - bound).Seconds()); f.writes < least {
		return fmt.Errorf("%d writes in %s, fewer than %d", f.writes, f.lasted, least)
	}
	return nil
}

// Finish expects that nothing failed, and that everything acknowledged is there on all members.
func (t *Traffic) Finish(ctx context.Context) client.Report {
	ginkgo.GinkgoHelper()
	r := t.FinishAfterOutage(ctx)
	gomega.Expect(r.Failed).To(gomega.BeZero(), "puts that were not acknowledged in time: %s", r)
	return r
}

// FinishAfterOutage is Finish where the story took the quorum away for a while: puts may have failed, and none is lost.
func (t *Traffic) FinishAfterOutage(ctx context.Context) client.Report {
	ginkgo.GinkgoHelper()
	t.end()
	r, err := t.Writer.Finish(ctx)
	ginkgo.AddReportEntry("the client that writes", r.String())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(r.Lost).To(gomega.BeEmpty(), "acknowledged and lost")
	gomega.Expect(r.Backward).To(gomega.BeEmpty(), "acknowledged by a cluster that had forgotten")
	gomega.Expect(r.Clusters).To(gomega.Equal(1), "etcd clusters that acknowledged")
	gomega.Expect(r.Acknowledged).To(gomega.BeNumerically(">=", flow))
	t.cluster.AwaitEqualHashes(ctx)
	return r
}

func (t *Traffic) end() {
	t.done = true
	t.Stop()
	t.stop()
	t.ended.Wait()
}
