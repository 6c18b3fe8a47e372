package world

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"golang.org/x/time/rate"

	"github.com/etcdsteward/etcd-steward/test/needs"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// The record that CoreDNS has to find in etcd, and what it says.
const (
	dnsKey    = "/skydns/internal/example/web"
	dnsName   = "web.example.internal."
	dnsRecord = "192.0.2.7"
)

// CoreDNS is a server of names, a process of this machine, that looks each one up in a cluster, and a client that asks it
// all the while, as often as the writer of an API server writes.
type CoreDNS struct {
	process  *process
	resolver *net.Resolver
	stop     context.CancelFunc
	asking   sync.WaitGroup

	answered, failed int // written by the client until it has ended
	told             told
	longest          time.Duration
}

// StartCoreDNS puts a record into the cluster, starts a CoreDNS that answers from it, as docs/recipes.md says, and asks
// for it until Finish or the end of the story.
func (c *Cluster) StartCoreDNS(ctx context.Context) *CoreDNS {
	ginkgo.GinkgoHelper()
	program := filepath.Join("..", "..", "bin", "consumers", "coredns")
	if _, err := os.Stat(program); err != nil {
		needs.Missing(ginkgo.GinkgoT(), "CoreDNS is not built: make load-coredns")
	}
	c.putRecord(ctx)
	dir, address := ginkgo.GinkgoT().TempDir(), s3server.FreeAddress(ginkgo.GinkgoTB())
	args, err := c.coreDNS(ctx, program, dir, address)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	d := &CoreDNS{told: told{}, resolver: &net.Resolver{PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}}
	d.process, err = startProcess(filepath.Join(dir, "log"), args)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	var asking context.Context
	asking, d.stop = context.WithCancel(context.Background())
	ginkgo.DeferCleanup(func() {
		d.end()
		d.process.kill()
		if ginkgo.CurrentSpecReport().Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			ginkgo.GinkgoWriter.Printf("\n---- CoreDNS\n%s\n%s\n", d, linesWith(string(log), "", 50))
		}
	})
	gomega.Eventually(ctx, func() error { return d.ask(ctx) }).WithTimeout(Patience).Should(gomega.Succeed())
	d.asking.Go(func() { d.askOn(asking) })
	return d
}

func (c *Cluster) putRecord(ctx context.Context) {
	ginkgo.GinkgoHelper()
	etcd := c.connect(ctx)
	defer etcd.Close()
	_, err := etcd.Put(ctx, dnsKey, `{"host":"`+dnsRecord+`","ttl":1}`)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
}

// coreDNS writes its files, and returns how it is started.
func (c *Cluster) coreDNS(ctx context.Context, program, dir, address string) ([]string, error) {
	object, err := c.Get(ctx)
	if err != nil {
		return nil, err
	}
	files, err := c.etcdFiles(ctx)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("reading the address of CoreDNS: %w", err)
	}
	files["Corefile"] = fmt.Appendf(nil, `example.internal:%s {
    errors
    etcd {
        path /skydns
        endpoint %s
        tls %s/etcd.crt %s/etcd.key %s/etcd-ca.crt
    }
}
`, port, object.Status.Endpoints[0], dir, dir, dir)
	if err := writeFiles(dir, files); err != nil {
		return nil, err
	}
	return withDNS(dir, c.Domain(ctx), []string{program, "-conf", filepath.Join(dir, "Corefile")})
}

func (d *CoreDNS) askOn(ctx context.Context) {
	limit := rate.NewLimiter(requestsPerSecond, 1)
	for limit.Wait(ctx) == nil {
		began := time.Now()
		err := d.ask(context.WithoutCancel(ctx))
		d.longest = max(d.longest, time.Since(began))
		if err == nil {
			d.answered++
			continue
		}
		d.failed++
		d.told.add(err)
	}
}

// ask is one question, which the library repeats as every resolver does.
func (d *CoreDNS) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, mendedWithin)
	defer cancel()
	found, err := d.resolver.LookupHost(ctx, dnsName)
	if err == nil && !slices.Contains(found, dnsRecord) {
		err = fmt.Errorf("the answer is %s", found)
	}
	return err
}

// Finish ends the questions and expects that each one was answered.
func (d *CoreDNS) Finish() {
	ginkgo.GinkgoHelper()
	d.end()
	ginkgo.AddReportEntry("CoreDNS, which reads from the same etcd", d.String())
	gomega.Expect(d.failed).To(gomega.BeZero(), "%s", d)
}

func (d *CoreDNS) end() {
	d.stop()
	d.asking.Wait()
}

func (d *CoreDNS) String() string {
	return fmt.Sprintf("questions: %d answered, %d failed, the longest took %s; they were told:%s",
		d.answered, d.failed, d.longest.Round(time.Millisecond), d.told)
}
