package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// wayOut is one way in which a member stops serving that its kubelet does not see at once.
type wayOut struct {
	when      string
	size      int
	take      takeOut
	cuts      int  // how often in a row it is tried on one cluster
	isBesides bool // the operator leads on the member's node
	write     func(*world.Cluster, context.Context) *world.Traffic
}

// takeOut makes a member stop serving; what it returns lets it serve again.
type takeOut func(ctx context.Context, c *world.Cluster, member string) (heal func(context.Context))

// The clients differ in how they get away from a member that stopped answering: gRPC's keepalive takes 3 to 4 s, and
// only where the node is gone; one that connects anew by itself does so after 2 s.
var (
	byKeepalive = (*world.Cluster).WriteByKeepalive
	byDeadline  = (*world.Cluster).WriteThroughService
)

var waysOut = []wayOut{
	{"the node of its member is cut off", 3, cutNode, 5, false, byDeadline},
	{"the node of its member is cut off, on which the operator leads", 3, cutNode, 5, true, byDeadline},
	{"the node of its member is cut off, and all it has is a keepalive", 3, cutNode, 5, false, byKeepalive},
	{"the node of its member is cut off, on which the operator leads, and all it has is a keepalive", 3, cutNode, 5, true, byKeepalive},
	{"the node of its member and of the operator that leads is cut off until another one leads", 3, cutTillTakenOver, 5, true, byDeadline},
	{"all that its member and the operator that leads send is lost", 3, cutSenders, 5, true, byDeadline},
	{"the process of its member is stopped", 3, freeze, 5, false, byDeadline},
	{"the processes of its member and of the operator that leads are stopped", 3, freezeBoth, 5, true, byDeadline},
	{"all that its member sends is lost", 3, cutSender, 5, false, byDeadline},
	{"its member hears nothing of the leader", 3, cutFromLeader, 5, false, byDeadline},
	{"two members of five are stopped, each while it serves this client", 5, freeze, 5, false, byDeadline},
}

func cutNode(ctx context.Context, c *world.Cluster, member string) func(context.Context) {
	return kube.Cut(ctx, c.NodeOf(ctx, member))
}

func freeze(ctx context.Context, c *world.Cluster, member string) func(context.Context) {
	c.Freeze(ctx, member)
	return func(ctx context.Context) { c.Thaw(ctx, member) }
}

// freezeBoth stops the operator first, which would act otherwise.
func freezeBoth(ctx context.Context, c *world.Cluster, member string) func(context.Context) {
	operator, err := kube.OperatorLeader(ctx)
	Expect(err).NotTo(HaveOccurred())
	goOn := kube.FreezeOperator(ctx, *operator)
	thaw := freeze(ctx, c, member)
	return func(ctx context.Context) { thaw(ctx); goOn(ctx) }
}

// cutTillTakenOver cuts off one leading operator after the other.
func cutTillTakenOver(ctx context.Context, c *world.Cluster, member string) func(context.Context) {
	was, err := leadingOperator(ctx)
	Expect(err).NotTo(HaveOccurred())
	heal := cutNode(ctx, c, member)
	return func(ctx context.Context) {
		Eventually(ctx, leadingOperator).WithTimeout(actsWithin).ShouldNot(Equal(was), "the operator that leads")
		heal(ctx)
	}
}

// cutSenders silences the operator first, which would act otherwise.
func cutSenders(ctx context.Context, c *world.Cluster, member string) func(context.Context) {
	operator, err := kube.OperatorLeader(ctx)
	Expect(err).NotTo(HaveOccurred())
	operators, members := kube.CutOperator(ctx, *operator), cutSender(ctx, c, member)
	return func(ctx context.Context) { members(ctx); operators.Heal(ctx) }
}

func cutSender(ctx context.Context, c *world.Cluster, member string) func(context.Context) {
	return c.CutSender(ctx, member).Heal
}

func cutFromLeader(ctx context.Context, c *world.Cluster, member string) func(context.Context) {
	return c.CutOneWay(ctx, anotherLeader(ctx, c, member), member).Heal
}

var _ = Describe("A client behind the Service", Label("networks"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, way := range waysOut {
		It("writes on within 6 s when "+way.when+", and is led there again", perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "behind", int32(way.size), world.ReplaceAfter(never))
			cluster.AwaitReady(ctx, way.size)
			was := identityOf(ctx, cluster)
			traffic := way.write(cluster, ctx)
			for range way.cuts {
				var heals []func(context.Context)
				for range way.size / 2 {
					heals = append(heals, stopServing(ctx, cluster, traffic, way))
				}
				for _, heal := range heals {
					heal(ctx)
				}
				back := leaving
				if way.isBesides { // the operator that leads comes back as well, or another one takes over
					back = actsWithin
				}
				for member := range was.ids {
					awaitRole(ctx, cluster, member, v1alpha1.RoleVoter, back)
				}
				cluster.AwaitReady(ctx, way.size)
			}
			expectUntouched(ctx, cluster, was)
			expectNoRestarts(ctx, cluster)
			traffic.Finish(ctx)
		})
	}
})

// stopServing stops the very member that the client is led to. It expects that the client writes on soon, and that the
// member leaves the Service.
func stopServing(ctx context.Context, c *world.Cluster, t *world.Traffic, way wayOut) (heal func(context.Context)) {
	GinkgoHelper()
	t.Within(ctx, world.OneFault, func() {
		member := servingMember(ctx, c, t, way.isBesides)
		etcdLeads := c.Leader(ctx) == member // then the others serve nothing until they have another leader
		began := time.Now()
		heal = way.take(ctx, c, member)
		awaitRole(ctx, c, member, "", leaving)
		left := time.Since(began)
		t.Flow(ctx)
		AddReportEntry("stopped", fmt.Sprintf("%s (etcd leads there: %v): left the Service after %.1f s, longest gap of the client %.1f s",
			member, etcdLeads, left.Seconds(), t.LongestGap(began, time.Now()).Seconds()))
	})
	return heal
}

// awaitRole waits until a member has a role label, by which the Service selects, or has none.
func awaitRole(ctx context.Context, c *world.Cluster, member, role string, within time.Duration) {
	GinkgoHelper()
	Eventually(ctx, func() (string, error) { return roleOf(ctx, c, member) }).
		WithTimeout(within).WithPolling(50*time.Millisecond).Should(Equal(role), "the role of %s", member)
}

// leaving is how long a member that stopped serving may stay in the Service, and one that serves again out of it.
const leaving = 8 * time.Second

// servingMember is the member that the client's connection leads to. It is on the node on which the operator leads, or on
// another one.
func servingMember(ctx context.Context, c *world.Cluster, t *world.Traffic, isBesides bool) string {
	GinkgoHelper()
	ids := c.Identities(ctx)
	for range 50 {
		t.Flow(ctx)
		operator, err := kube.OperatorLeader(ctx)
		Expect(err).NotTo(HaveOccurred())
		for name, id := range ids {
			if id == t.Member() && (c.NodeOf(ctx, name) == operator.Spec.NodeName) == isBesides {
				return name
			}
		}
		t.LetGo()
	}
	Fail("the client is never led to such a member")
	return ""
}

// anotherLeader is the leader once the member itself does not lead.
func anotherLeader(ctx context.Context, c *world.Cluster, member string) string {
	GinkgoHelper()
	for name := range c.Identities(ctx) {
		if leader := c.Leader(ctx); leader != member {
			return leader
		} else if name != member {
			c.MoveLeader(ctx, name)
		}
	}
	return c.Leader(ctx)
}

// roleOf is the role label of a member's Pod, by which the Service selects.
func roleOf(ctx context.Context, c *world.Cluster, member string) (string, error) {
	pod, err := c.Pod(ctx, member)
	if err != nil {
		return "", err
	}
	return pod.Labels[v1alpha1.LabelRole], nil
}
