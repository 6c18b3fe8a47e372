package world

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

// Recording is clients whose history a model of etcd can judge, with the logs of all members that there were meanwhile: a log
// tells what became of a write that was not answered. It needs a localkube, where a member's log is a file of this machine.
type Recording struct {
	*client.Recorder
	cluster *Cluster
	stop    context.CancelFunc
	ended   sync.WaitGroup
	logs    map[string]*os.File // by member; open, so that they can be read when the volume is gone
}

// How many clients a Recording has, and how many requests a second each of them makes.
const (
	recordedClients = 8
	recordedRate    = 15.0
)

// RecordPrefix begins every key that is recorded.
const RecordPrefix = "/report/"

// Record starts the clients of a cluster in which nothing was written yet. They end with the story at the latest.
func (c *Cluster) Record(ctx context.Context) *Recording {
	ginkgo.GinkgoHelper()
	config, err := c.ClientTLS(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	names := &names{}
	endpoints, err := c.endpoints(ctx, names)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(endpoints).NotTo(gomega.BeEmpty(), "voters to write to")
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &Recording{cluster: c, stop: stop, logs: map[string]*os.File{}}
	ginkgo.DeferCleanup(r.end)
	gomega.Expect(r.openLogs(ctx)).To(gomega.Succeed())
	r.Recorder, err = client.Record(ctx, client.Options{
		Endpoints: endpoints, TLS: config, Connect: names.connect, Prefix: RecordPrefix, PerSecond: recordedRate,
	}, recordedClients)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	r.ended.Go(func() { c.resolve(background, names, r.SetEndpoints) })
	r.ended.Go(func() { r.followLogs(background) })
	return r
}

// Flow waits until each client was answered a few times from now on.
func (r *Recording) Flow(ctx context.Context) {
	ginkgo.GinkgoHelper()
	now := time.Now()
	gomega.Eventually(ctx, func() bool { return r.AnsweredSince(now, flow) }).WithTimeout(Patience).
		WithPolling(50*time.Millisecond).Should(gomega.BeTrue(), "a client is not answered: %v", r.Problems())
}

// Finish ends the requests, and writes the history and the logs as etcd's robustness tests do.
func (r *Recording) Finish(ctx context.Context, directory string) {
	ginkgo.GinkgoHelper()
	err := r.Recorder.Finish()
	gomega.Expect(r.Write(directory)).To(gomega.Succeed())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	r.cluster.AwaitEqualHashes(ctx)
	r.stop()
	r.ended.Wait()
	gomega.Expect(r.openLogs(ctx)).To(gomega.Succeed())
	for member, log := range r.logs {
		path := filepath.Join(directory, "server-"+member, "member", "wal", filepath.Base(log.Name()))
		gomega.Expect(copyLog(log, path)).To(gomega.Succeed())
	}
}

// end hangs up, once.
func (r *Recording) end() {
	r.stop()
	r.ended.Wait()
	if r.Recorder != nil {
		r.Close()
	}
	for member, log := range r.logs {
		_ = log.Close()
		delete(r.logs, member)
	}
}

// followLogs opens the log of each new member, long before its volume can be gone.
func (r *Recording) followLogs(ctx context.Context) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = r.openLogs(ctx) // one that is not there yet is looked for again, and in the end all must be
		}
	}
}

// openLogs says whose log it does not find. A log is one file up to 64 MB, which no history here fills.
func (r *Recording) openLogs(ctx context.Context) error {
	pods, err := r.cluster.Pods(ctx)
	if err != nil {
		return err
	}
	for i := range pods {
		member := pods[i].Name
		if r.logs[member] != nil {
			continue
		}
		volume, err := r.cluster.VolumePath(ctx, r.cluster.Namespace, member)
		if err != nil {
			return err
		}
		found, err := filepath.Glob(filepath.Join(volume, "*", member, "member", "wal", "*.wal"))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%d logs of %s, not one: %w", len(found), member, err)
		}
		if r.logs[member], err = os.Open(found[0]); err != nil {
			return fmt.Errorf("opening the log of %s: %w", member, err)
		}
	}
	return nil
}

// copyLog leaves out the room that etcd reserves behind what it has written, but for the end of a record that may be zeros.
func copyLog(log *os.File, path string) error {
	content, err := io.ReadAll(io.NewSectionReader(log, 0, 1<<40))
	if err != nil {
		return fmt.Errorf("reading %s: %w", log.Name(), err)
	}
	const page = 4096
	used := (len(bytes.TrimRight(content, "\x00"))/page + 2) * page
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("copying %s: %w", log.Name(), err)
	}
	return os.WriteFile(path, content[:min(used, len(content))], 0o600)
}
