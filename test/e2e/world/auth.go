package world

import (
	"context"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// EnableAuth turns etcd's authentication on, as a person does with etcdctl. The users log in by their certificates, and may
// do all that root may.
func (c *Cluster) EnableAuth(ctx context.Context, users ...string) {
	ginkgo.GinkgoHelper()
	etcd := c.connect(ctx)
	defer etcd.Close()
	for _, user := range append([]string{"root"}, users...) {
		_, err := etcd.UserAddWithOptions(ctx, user, "", &clientv3.UserAddOptions{NoPassword: true})
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		_, err = etcd.UserGrantRole(ctx, user, "root")
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
	}
	_, err := etcd.AuthEnable(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
}

// AuthIsOn says whether authentication is on.
func (c *Cluster) AuthIsOn(ctx context.Context) bool {
	ginkgo.GinkgoHelper()
	etcd := c.connect(ctx)
	defer etcd.Close()
	status, err := etcd.AuthStatus(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return status.Enabled
}
