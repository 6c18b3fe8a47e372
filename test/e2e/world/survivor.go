package world

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
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

// FillUp writes until etcd takes no more keys.
func (c *Cluster) FillUp(ctx context.Context) {
	ginkgo.GinkgoHelper()
	etcd := c.connect(ctx)
	defer etcd.Close()
	value := strings.Repeat("x", fillSize)
	gomega.Eventually(ctx, func() error {
		_, err := etcd.Put(ctx, "/full", value)
		return err
	}).WithTimeout(Patience).WithPolling(time.Millisecond).Should(gomega.Satisfy(func(err error) bool {
		return errors.Is(err, rpctypes.ErrNoSpace)
	}), "there is still room")
}
