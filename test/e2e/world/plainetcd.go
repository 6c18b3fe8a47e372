package world

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// PlainEtcd is an etcd of three processes of this machine, without an operator. What its clients notice of a restart is
// what etcd costs by itself.
type PlainEtcd struct {
	world   *World
	program string
	dir     string
	members []*plainMember
}

// answerTimeout is longer than etcd itself takes to give up.
const answerTimeout = 10 * time.Second

type plainMember struct {
	name, client, peer string // the latter two are addresses
	process            *process
}

// StartPlainEtcd starts one, which ends with the story, and waits until it serves.
func (w *World) StartPlainEtcd(ctx context.Context) *PlainEtcd {
	ginkgo.GinkgoHelper()
	w.NeedLocalkube()
	program, err := w.localkube(ctx, "binary", "--etcd", DefaultVersion, "etcd")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	p := &PlainEtcd{world: w, program: program, dir: ginkgo.GinkgoT().TempDir()}
	for i := range 3 {
		p.members = append(p.members, &plainMember{
			name:   fmt.Sprintf("plain-%d", i),
			client: s3server.FreeAddress(ginkgo.GinkgoTB()), peer: s3server.FreeAddress(ginkgo.GinkgoTB()),
		})
	}
	for _, m := range p.members {
		gomega.Expect(p.start(m)).To(gomega.Succeed())
		ginkgo.DeferCleanup(func() { m.process.kill() })
	}
	p.awaitServing(ctx)
	return p
}

// StartAPIServer starts a kube-apiserver whose only etcd this is.
func (p *PlainEtcd) StartAPIServer(ctx context.Context, version APIServerVersion) *APIServer {
	ginkgo.GinkgoHelper()
	var urls []string
	for _, m := range p.members {
		urls = append(urls, "http://"+m.client)
	}
	return p.world.startAPIServer(ctx, version, etcdAccess{urls: urls})
}

// RestartEach restarts each member as a careful person does: one after the other, and the leader last, once another one
// leads.
func (p *PlainEtcd) RestartEach(ctx context.Context) {
	ginkgo.GinkgoHelper()
	leader := 0
	gomega.Eventually(ctx, func(g gomega.Gomega) { leader, _ = p.leader(ctx, g) }).WithTimeout(Patience).Should(gomega.Succeed())
	for _, m := range slices.Concat(p.members[:leader], p.members[leader+1:], p.members[leader:leader+1]) {
		p.handOver(ctx, m)
		m.process.stop()
		gomega.Expect(p.start(m)).To(gomega.Succeed())
		p.awaitServing(ctx)
	}
}

// start begins a member, anew or on its data, which need not survive this machine.
func (p *PlainEtcd) start(m *plainMember) (err error) {
	var peers []string
	for _, other := range p.members {
		peers = append(peers, other.name+"=http://"+other.peer)
	}
	m.process, err = startProcess(filepath.Join(p.dir, m.name+".log"), []string{
		p.program,
		"--name=" + m.name,
		"--data-dir=" + filepath.Join(p.dir, m.name),
		"--listen-client-urls=http://" + m.client,
		"--advertise-client-urls=http://" + m.client,
		"--listen-peer-urls=http://" + m.peer,
		"--initial-advertise-peer-urls=http://" + m.peer,
		"--initial-cluster=" + strings.Join(peers, ","),
		"--unsafe-no-fsync=true",
	})
	return err
}

func (p *PlainEtcd) awaitServing(ctx context.Context) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() error {
		for _, m := range p.members {
			if err := m.ask(ctx, func(ctx context.Context, etcd *clientv3.Client) error {
				_, err := etcd.Get(ctx, "x")
				return err
			}); err != nil {
				return fmt.Errorf("reading from %s: %w", m.name, err)
			}
		}
		return nil
	}).WithTimeout(Patience).Should(gomega.Succeed())
}

// leader is the place of the member that leads, and the ID of each.
func (p *PlainEtcd) leader(ctx context.Context, g gomega.Gomega) (place int, ids []uint64) {
	place = -1
	for i, m := range p.members {
		g.Expect(m.ask(ctx, func(ctx context.Context, etcd *clientv3.Client) error {
			status, err := etcd.Status(ctx, m.client)
			if err != nil {
				return err
			}
			ids = append(ids, status.Header.MemberId)
			if status.Leader == status.Header.MemberId {
				place = i
			}
			return nil
		})).To(gomega.Succeed())
	}
	g.Expect(place).NotTo(gomega.Equal(-1), "no member leads")
	return place, ids
}

// handOver has another member lead, if this one does. On a busy machine etcd may give up, and is asked again.
func (p *PlainEtcd) handOver(ctx context.Context, m *plainMember) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func(g gomega.Gomega) {
		leader, ids := p.leader(ctx, g)
		if p.members[leader] != m {
			return
		}
		g.Expect(m.ask(ctx, func(ctx context.Context, etcd *clientv3.Client) error {
			_, err := etcd.MoveLeader(ctx, ids[(leader+1)%len(ids)])
			return err
		})).To(gomega.Succeed())
	}).WithTimeout(Patience).Should(gomega.Succeed(), "another member leads")
}

// ask asks one member, which may not be there.
func (m *plainMember) ask(ctx context.Context, what func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{m.client}, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", m.name, err)
	}
	defer etcd.Close()
	return what(ctx, etcd)
}
