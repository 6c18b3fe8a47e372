package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("Programs that have an EtcdClient", Label("auth", "operator"), func() {
	ownOperator()

	It("each use their own keys, and lose the right with it", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "shared", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)

		shop := cluster.CreateClient(ctx, "shop", world.Below("shop/"))
		awaitAccess(ctx, shop, accessplan.ReasonAuthenticationOff)
		cluster.Change(ctx, withAuth(true))
		billing := cluster.CreateClient(ctx, "billing", world.Below("billing/"))
		operator.Restart() // midway, wherever that is
		awaitAccess(ctx, shop, accessplan.ReasonGranted)
		awaitAccess(ctx, billing, accessplan.ReasonGranted)

		sells, bills := shop.Connect(ctx), billing.Connect(ctx)
		mayUse(ctx, sells, "shop/1")
		mayUse(ctx, bills, "billing/1")
		mayNotUse(ctx, sells, "billing/1")
		mayNotUse(ctx, bills, "shop/1")
		mayNotUse(ctx, bills, "billings") // it begins alike, and is outside

		shop.Allow(ctx, v1alpha1.ClientPermission{Prefix: "shop/", Access: v1alpha1.AccessReadOnly}, world.Below("orders/"))
		operator.Restart()
		awaitAccess(ctx, shop, accessplan.ReasonGranted)
		mayUse(ctx, sells, "orders/1")
		_, err := sells.Get(ctx, "shop/1")
		Expect(err).NotTo(HaveOccurred())
		_, err = sells.Put(ctx, "shop/1", "value")
		Expect(err).To(MatchError(rpctypes.ErrPermissionDenied))

		shop.Delete(ctx)
		operator.Restart()
		Eventually(ctx, func() error {
			_, err := shop.Get(ctx)
			return err
		}).WithTimeout(world.Patience).Should(Satisfy(apierrors.IsNotFound))
		_, err = sells.Get(ctx, "orders/1")
		Expect(err).To(HaveOccurred(), "a certificate of a client that is gone still reads")
		Expect(err).To(Satisfy(isRefused), "%v", err)
		mayUse(ctx, bills, "billing/2")

		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
	})
})

var _ = Describe("A program that takes more than its quota", Label("auth", "operator"), func() {
	ownOperator()

	It("is told of by the next backup, and writes on", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "shared", 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Change(ctx, withAuth(true))
		jobs := cluster.CreateClient(ctx, "jobs", world.Below("jobs/"))
		jobs.Limit(ctx, "64Ki")
		awaitAccess(ctx, jobs, accessplan.ReasonGranted)
		awaitQuota(ctx, jobs, accessplan.ReasonNotMeasured)

		etcd := jobs.Connect(ctx)
		for i := range 20 {
			_, err := etcd.Put(ctx, fmt.Sprintf("jobs/%d", i), strings.Repeat("x", 8<<10))
			Expect(err).NotTo(HaveOccurred())
		}
		story.Claim(ctx, "backups")
		story.Backup(ctx, "first", cluster.Name, world.ToVolume("backups")).Await(ctx, v1alpha1.BackupVerified)
		operator.Restart() // it looks at once
		awaitQuota(ctx, jobs, accessplan.ReasonQuotaExceeded)
		mayUse(ctx, etcd, "jobs/more")

		object, err := jobs.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(object.Status.Usage).To(HaveValue(And(HaveField("Keys", int64(20)), HaveField("Backup", "first"),
			HaveField("Bytes", BeNumerically("~", 20*8<<10, 20<<10)))))
		jobs.Limit(ctx, "1Mi")
		awaitQuota(ctx, jobs, accessplan.ReasonWithinQuota)
		awaitAccess(ctx, jobs, accessplan.ReasonGranted)
	})
})

var _ = Describe("A program of another namespace", Label("auth", "operator"), func() {
	var beside string
	BeforeEach(func(ctx context.Context) {
		kube.NeedLocalkube()
		var err error
		story, err = kube.NewStoryWithOwnOperator(ctx)
		Expect(err).NotTo(HaveOccurred())
		beside = story.Beside(ctx)
		operator = story.StartOperator(ctx, "--namespace="+story.Namespace+","+beside)
	})

	It("uses the keys that the cluster allows it, by a password as well, and loses them with the permission", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "shared", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		cluster.Change(ctx, withAuth(true))

		cart := cluster.CreateClientIn(ctx, beside, "cart", world.Below("team/"), world.Below("other/"))
		awaitAccess(ctx, cart, accessplan.ReasonNamespaceNotAllowed)
		cluster.Change(ctx, allowing(v1alpha1.ClientNamespace{Name: beside, Prefixes: []string{"team/"}}))
		operator.Restart() // midway, wherever that is
		awaitAccess(ctx, cart, accessplan.ReasonKeysNotAllowed)

		_, err := cart.Connect(ctx).Get(ctx, "team/1")
		Expect(err).To(MatchError(rpctypes.ErrPermissionDenied), "a certificate beside a password is no user by itself")
		first := string(cart.Secret(ctx)["password"])
		loggedIn, err := cart.LogIn(ctx, first)
		Expect(err).NotTo(HaveOccurred())
		mayUse(ctx, loggedIn, "team/1")
		mayNotUse(ctx, loggedIn, "other/1")

		cart.Renew(ctx)
		operator.Restart()
		Eventually(ctx, func(g Gomega) {
			second := string(cart.Secret(ctx)["password"])
			g.Expect(second).NotTo(Equal(first))
			loggedIn, err = cart.LogIn(ctx, second)
			g.Expect(err).NotTo(HaveOccurred())
		}).WithTimeout(world.Patience).Should(Succeed())
		_, err = cart.LogIn(ctx, first)
		Expect(err).To(MatchError(rpctypes.ErrAuthFailed))
		mayUse(ctx, loggedIn, "team/2")

		cluster.Change(ctx, allowing())
		operator.Restart()
		Eventually(ctx, func() error {
			_, err := loggedIn.Get(ctx, "team/1")
			return err
		}).WithTimeout(world.Patience).Should(Satisfy(isRefused), "a user of a namespace that is not allowed any more still reads")
		awaitAccess(ctx, cart, accessplan.ReasonNamespaceNotAllowed)

		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
	})
})

// allowing has the spec allow these namespaces, and no others.
func allowing(namespaces ...v1alpha1.ClientNamespace) func(*v1alpha1.EtcdClusterSpec) {
	return func(s *v1alpha1.EtcdClusterSpec) { s.Access = &v1alpha1.AccessSpec{Namespaces: namespaces} }
}

func awaitAccess(ctx context.Context, access *world.Access, reason string) {
	GinkgoHelper()
	Eventually(ctx, func() (string, error) { return access.ReasonOf(ctx, v1alpha1.ClientReady) }).WithTimeout(world.Patience).Should(Equal(reason))
}

func awaitQuota(ctx context.Context, access *world.Access, reason string) {
	GinkgoHelper()
	Eventually(ctx, func() (string, error) { return access.ReasonOf(ctx, v1alpha1.ClientWithinQuota) }).
		WithTimeout(world.Patience).Should(Equal(reason))
}

func mayUse(ctx context.Context, etcd *clientv3.Client, key string) {
	GinkgoHelper()
	_, err := etcd.Put(ctx, key, "value")
	Expect(err).NotTo(HaveOccurred())
	answer, err := etcd.Get(ctx, key)
	Expect(err).NotTo(HaveOccurred())
	Expect(answer.Kvs).To(HaveLen(1))
}

func mayNotUse(ctx context.Context, etcd *clientv3.Client, key string) {
	GinkgoHelper()
	_, err := etcd.Put(ctx, key, "value")
	Expect(err).To(MatchError(rpctypes.ErrPermissionDenied))
	_, err = etcd.Get(ctx, key)
	Expect(err).To(MatchError(rpctypes.ErrPermissionDenied))
}

// isRefused reports how etcd answers a certificate whose user is gone.
func isRefused(err error) bool {
	return errors.Is(err, rpctypes.ErrPermissionDenied) || errors.Is(err, rpctypes.ErrUserNotFound) ||
		errors.Is(err, rpctypes.ErrInvalidAuthToken) || errors.Is(err, rpctypes.ErrAuthFailed)
}
