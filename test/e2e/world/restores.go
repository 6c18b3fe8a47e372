package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// InPlace is one EtcdRestore of a story.
type InPlace struct {
	*Story
	Name    string
	cluster *Cluster
}

// RestoreTo asks for other data under a cluster. Nobody has approved it yet.
func (c *Cluster) RestoreTo(ctx context.Context, name string, source v1alpha1.EtcdRestoreSource,
	edits ...func(*v1alpha1.EtcdRestoreSpec)) *InPlace {
	ginkgo.GinkgoHelper()
	restore := &v1alpha1.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name},
		Spec:       v1alpha1.EtcdRestoreSpec{ClusterRef: v1alpha1.ClusterReference{Name: c.Name}, Source: source},
	}
	for _, edit := range edits {
		edit(&restore.Spec)
	}
	gomega.Expect(c.Client.Create(ctx, restore)).To(gomega.Succeed())
	return &InPlace{Story: c.Story, Name: name, cluster: c}
}

// ByCommand creates the EtcdRestore that a command in the status of the cluster pipes into kubectl create.
func (c *Cluster) ByCommand(ctx context.Context, command string) *InPlace {
	ginkgo.GinkgoHelper()
	manifest, isPiped := strings.CutSuffix(command, "' | kubectl create -n "+c.Namespace+" -f -")
	gomega.Expect(isPiped).To(gomega.BeTrue(), command)
	restore := &v1alpha1.EtcdRestore{}
	gomega.Expect(json.Unmarshal([]byte(strings.TrimPrefix(manifest, "echo '")), restore)).To(gomega.Succeed(), manifest)
	restore.Namespace = c.Namespace
	gomega.Expect(c.Client.Create(ctx, restore)).To(gomega.Succeed())
	return &InPlace{Story: c.Story, Name: restore.Name, cluster: c}
}

// Get reads the object.
func (r *InPlace) Get(ctx context.Context) (*v1alpha1.EtcdRestore, error) {
	object := &v1alpha1.EtcdRestore{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Name}, object)
	return object, err
}

// Change changes the spec, and tries again when somebody else wrote meanwhile.
func (r *InPlace) Change(ctx context.Context, change func(*v1alpha1.EtcdRestoreSpec)) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() error {
		object, err := r.Get(ctx)
		if err != nil {
			return err
		}
		change(&object.Spec)
		return r.Client.Update(ctx, object)
	}).WithTimeout(Patience).Should(gomega.Succeed())
}

// Evidence is what the cluster's status says of what would be given up; it is waited for.
func (c *Cluster) Evidence(ctx context.Context) v1alpha1.EvidenceStatus {
	ginkgo.GinkgoHelper()
	var evidence *v1alpha1.EvidenceStatus
	gomega.Eventually(ctx, func() (*v1alpha1.EvidenceStatus, error) {
		object, err := c.Get(ctx)
		if err == nil {
			evidence = object.Status.Evidence
		}
		return evidence, err
	}).WithTimeout(Patience).ShouldNot(gomega.BeNil())
	return *evidence
}

// Approve quotes the evidence as a person would who has just read it.
func (r *InPlace) Approve(ctx context.Context) {
	ginkgo.GinkgoHelper()
	digest := r.cluster.Evidence(ctx).Digest
	r.Change(ctx, func(s *v1alpha1.EtcdRestoreSpec) { s.Approval = digest })
}

// Await waits until a condition has this status, and this reason unless that is empty.
func (r *InPlace) Await(ctx context.Context, condition string, status metav1.ConditionStatus, reason string) v1alpha1.EtcdRestoreStatus {
	ginkgo.GinkgoHelper()
	var last v1alpha1.EtcdRestoreStatus
	gomega.Eventually(ctx, func() error {
		object, err := r.Get(ctx)
		if err != nil {
			return err
		}
		last = object.Status
		c := meta.FindStatusCondition(last.Conditions, condition)
		if c == nil || c.Status != status || reason != "" && c.Reason != reason {
			return fmt.Errorf("%s is not %s (%s): stage %s, %+v", condition, status, reason, last.Stage, last.Conditions)
		}
		return nil
	}).WithTimeout(Patience).Should(gomega.Succeed())
	return last
}

// Complete waits until the cluster serves with what was restored.
func (r *InPlace) Complete(ctx context.Context) v1alpha1.EtcdRestoreStatus {
	ginkgo.GinkgoHelper()
	status := r.Await(ctx, v1alpha1.RestoreComplete, metav1.ConditionTrue, "")
	r.cluster.ClusterID = 0 // it is another etcd cluster from here on
	return status
}

// Watcher is a client that follows all keys from now on, and resumes where it was whenever its watch ends, as a cache does.
type Watcher struct {
	compacted chan int64
}

// Follow starts one. It ends with the story at the latest.
func (c *Cluster) Follow(ctx context.Context) *Watcher {
	ginkgo.GinkgoHelper()
	etcd := c.connect(ctx)
	now, err := etcd.Get(ctx, "x")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	_ = etcd.Close()
	background, stop := context.WithCancel(context.Background())
	ginkgo.DeferCleanup(stop)
	w := &Watcher{compacted: make(chan int64, 1)}
	go c.follow(background, w, now.Header.Revision+1)
	return w
}

func (c *Cluster) follow(ctx context.Context, w *Watcher, from int64) {
	for ctx.Err() == nil {
		etcd, err := c.tryConnect(ctx)
		if err != nil {
			pause(ctx)
			continue
		}
		next, at, err := followUntilItEnds(ctx, etcd, from)
		_ = etcd.Close()
		if errors.Is(err, rpctypes.ErrCompacted) {
			w.compacted <- at
			return
		}
		from = next
		pause(ctx)
	}
}

// followUntilItEnds is one watch. A server that is away for a while ends it, so that the next one finds its successor.
func followUntilItEnds(ctx context.Context, etcd *clientv3.Client, from int64) (next, compacted int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := etcd.Watch(ctx, "", clientv3.WithPrefix(), clientv3.WithRev(from))
	for {
		select {
		case <-ctx.Done():
			return from, 0, ctx.Err()
		case response, open := <-events:
			if err := response.Err(); err != nil || !open {
				return from, response.CompactRevision, err
			}
			from = max(from, response.Header.Revision+1)
		case <-time.After(time.Second):
			asked, done := context.WithTimeout(ctx, time.Second)
			_, err := etcd.Get(asked, "x", clientv3.WithSerializable())
			done()
			if err != nil {
				return from, 0, err
			}
		}
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
}

// AwaitNotice waits until the watcher was told that what it asked for is compacted.
func (w *Watcher) AwaitNotice(ctx context.Context) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, w.compacted).WithTimeout(Patience).Should(gomega.Receive(), "the watcher never heard that the history is another one")
}

// Snapshot is what etcdctl snapshot save writes to its file: the stream of one member, as it comes.
func (c *Cluster) Snapshot(ctx context.Context) []byte {
	ginkgo.GinkgoHelper()
	etcd := c.connect(ctx)
	defer etcd.Close()
	stream, err := etcd.Snapshot(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	defer stream.Close()
	content, err := io.ReadAll(stream)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return content
}

// Hold takes a lease for ten minutes and puts a key that lives by it.
func (c *Cluster) Hold(ctx context.Context, key string) clientv3.LeaseID {
	ginkgo.GinkgoHelper()
	etcd := c.connect(ctx)
	defer etcd.Close()
	lease, err := etcd.Grant(ctx, 600)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = etcd.Put(ctx, key, "held", clientv3.WithLease(lease.ID))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return lease.ID
}

// Holds says that the lease is there with its key, and can be kept alive.
func (c *Cluster) Holds(ctx context.Context, lease clientv3.LeaseID, key string) {
	ginkgo.GinkgoHelper()
	etcd := c.connect(ctx)
	defer etcd.Close()
	left, err := etcd.TimeToLive(ctx, lease, clientv3.WithAttachedKeys())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(left.Keys).To(gomega.HaveLen(1))
	gomega.Expect(string(left.Keys[0])).To(gomega.Equal(key))
	kept, err := etcd.KeepAliveOnce(ctx, lease)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(kept.TTL).To(gomega.BeEquivalentTo(600))
}
