package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Quota is the size of the database at which etcd stops accepting keys.
func Quota(size string) Option {
	return func(c *v1alpha1.EtcdCluster) {
		if c.Spec.Etcd == nil {
			c.Spec.Etcd = &v1alpha1.EtcdSpec{}
		}
		bytes := resource.MustParse(size)
		c.Spec.Etcd.QuotaBackendBytes = &bytes
	}
}

// TakeData copies what a member has in its directory, as it is at one moment. The member runs on.
func (c *Cluster) TakeData(ctx context.Context, member string) (copied string) {
	ginkgo.GinkgoHelper()
	root, err := os.MkdirTemp("", "etcd-data-")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(func() error { return os.RemoveAll(root) })
	copied = filepath.Join(root, "member")
	c.Freeze(ctx, member)
	run(ctx, "cp", "--archive", c.data(ctx, member), copied)
	c.Thaw(ctx, member)
	return copied
}

// PutData puts a copy of somebody's data where a member has its own, and kills the member. It waits until the member runs.
func (c *Cluster) PutData(ctx context.Context, member, copied string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() (string, error) {
		pod, err := c.Pod(ctx, member)
		return runningID(pod), err
	}).WithTimeout(Patience).ShouldNot(gomega.BeEmpty(), "%s does not run", member)
	own := c.data(ctx, member)
	run(ctx, "cp", "--archive", copied, own+".other")
	c.Freeze(ctx, member)
	gomega.Expect(os.RemoveAll(own)).To(gomega.Succeed())
	gomega.Expect(os.Rename(own+".other", own)).To(gomega.Succeed())
	c.KillEtcd(ctx, member)
}

// Empty deletes what Fill wrote under the prefix, and all history with it.
func (c *Cluster) Empty(ctx context.Context, prefix string) {
	ginkgo.GinkgoHelper()
	etcd := c.connect(ctx)
	defer etcd.Close()
	answer, err := etcd.Delete(ctx, "/filled/"+prefix, clientv3.WithPrefix())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(answer.Deleted).NotTo(gomega.BeZero())
	_, err = etcd.Compact(ctx, answer.Header.Revision, clientv3.WithCompactPhysical())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
}

// Sizes are those of each member's database file, and of what is in use of it, in bytes, by the names of their Pods.
func (c *Cluster) Sizes(ctx context.Context) (sizes, inUse map[string]int64, err error) {
	pods, err := c.Pods(ctx)
	if err != nil {
		return nil, nil, err
	}
	sizes, inUse = map[string]int64{}, map[string]int64{}
	for i := range pods {
		view, err := c.Look(ctx, &pods[i])
		if err != nil {
			return nil, nil, err
		}
		sizes[pods[i].Name], inUse[pods[i].Name] = view.Status.DBSize, view.Status.DBSizeInUse
	}
	return sizes, inUse, nil
}

// FillUp writes one key until etcd takes no more: its history fills the database.
func (c *Cluster) FillUp(ctx context.Context) { c.fillUp(ctx, func(int) string { return "/full" }) }

// FillUpWithKeys writes one key after the other until etcd takes no more, and returns how many it has. Of the one that
// it refuses etcd may say so after it was written (etcd-io/etcd:server/etcdserver/apply/quota.go).
func (c *Cluster) FillUpWithKeys(ctx context.Context, prefix string) int {
	ginkgo.GinkgoHelper()
	taken := c.fillUp(ctx, func(i int) string { return fmt.Sprintf("/filled/%s/%06d", prefix, i) })
	has := c.Intact(ctx, prefix)
	gomega.Expect(has).To(gomega.BeElementOf(taken, taken+1))
	return has
}

func (c *Cluster) fillUp(ctx context.Context, key func(int) string) (taken int) {
	ginkgo.GinkgoHelper()
	etcd := c.connect(ctx)
	defer etcd.Close()
	value := strings.Repeat("x", fillSize)
	gomega.Eventually(ctx, func() error {
		_, err := etcd.Put(ctx, key(taken), value)
		if err == nil {
			taken++
		}
		return err
	}).WithTimeout(Patience).WithPolling(time.Millisecond).Should(gomega.Satisfy(func(err error) bool {
		return errors.Is(err, rpctypes.ErrNoSpace)
	}), "there is still room")
	return taken
}
