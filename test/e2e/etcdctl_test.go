package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("etcdctl in a member", Label("bootstrap"), func() {
	ownNamespace()

	for _, version := range []string{"3.5.35", world.DefaultVersion, "3.7.3"} {
		It("does what people type, with etcd "+version, perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "typed", 3, world.Version(version))
			cluster.AwaitReady(ctx, 3)
			run := func(args ...string) (string, error) {
				return story.Kubectl(ctx, append([]string{"-n", story.Namespace, "exec", cluster.Member(0), "-c", "etcd", "--",
					"etcdctl"}, args...)...)
			}
			url := func(member string) string {
				return "https://" + member + ".typed-peers." + story.Namespace + ".svc:2379"
			}
			every := url(cluster.Member(0)) + "," + url(cluster.Member(1)) + "," + url(cluster.Member(2))
			for _, row := range []struct {
				typed []string
				want  string
			}{
				{[]string{"endpoint", "health"}, "127.0.0.1:2379 is healthy"},
				{[]string{"endpoint", "health", "--cluster"}, url(cluster.Member(2)) + " is healthy"},
				{[]string{"endpoint", "status", "--cluster"}, url(cluster.Member(1))},
				{[]string{"endpoint", "status"}, version},
				{[]string{"member", "list"}, cluster.Member(2)},
				{[]string{"--endpoints=https://localhost:2379", "member", "list"}, cluster.Member(2)},
				{[]string{"--endpoints=127.0.0.1:2379", "endpoint", "health"}, "is healthy"},
				{[]string{"--endpoints=https://typed:2379", "endpoint", "health"}, "is healthy"},
				{[]string{"--endpoints=" + every, "endpoint", "health"}, url(cluster.Member(1)) + " is healthy"},
				// Certificates fit where an SRV record leads, and the name that was asked for.
				{[]string{"--discovery-srv=typed-peers", "endpoint", "health", "--cluster"}, url(cluster.Member(2)) + " is healthy"},
				{[]string{"--discovery-srv=typed-peers." + story.Namespace + ".svc", "--insecure-discovery=false", "member", "list"}, cluster.Member(2)},
				{[]string{"snapshot", "save", "/var/lib/etcd/by-hand.db"}, "Snapshot saved at /var/lib/etcd/by-hand.db"},
			} {
				out, err := run(row.typed...)
				Expect(err).NotTo(HaveOccurred(), "%v: %s", row.typed, out)
				Expect(out).To(ContainSubstring(row.want), "%v", row.typed)
			}
			out, err := run("snapshot", "save", "/tmp/by-hand.db")
			Expect(err).To(HaveOccurred())
			Expect(out).To(Or(ContainSubstring("read-only file system"), ContainSubstring("no such file or directory")))

			next := cluster.Member(1)
			if cluster.Leader(ctx) == next {
				next = cluster.Member(2)
			}
			out, err = run("--endpoints="+every, "move-leader", cluster.Identities(ctx)[next].String())
			Expect(err).NotTo(HaveOccurred(), out)
			Expect(out).To(ContainSubstring("Leadership transferred"))
			Expect(cluster.Leader(ctx)).To(Equal(next))
			cluster.AwaitReady(ctx, 3)
		})
	}
})
