package e2e

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("An operator that is exchanged for another release", Label("operator"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("restarts no member and writes each member's record once at most, from the release before to this one and back",
		NodeTimeout(15*time.Minute), func(ctx context.Context) {
			before, now := kube.BuildCommit(ctx, world.PreviousCommit), kube.Installed()
			DeferCleanup(func(ctx context.Context) { now.Deploy(ctx) })
			before.Deploy(ctx)
			begin, err := kube.Mark(ctx)
			Expect(err).NotTo(HaveOccurred())
			clusters := []*world.Cluster{
				story.Create(ctx, "volumes", 3, dressed),
				story.Create(ctx, "single", 1, world.Version("3.5.35")),
				story.Create(ctx, "plain", 3, world.Ephemeral, world.Version("3.7.3"), withoutTLS, keepingNothing),
			}
			sizes := []int{3, 1, 3}
			traffic := map[*world.Cluster]*world.Traffic{}
			for i, cluster := range clusters {
				cluster.AwaitReady(ctx, sizes[i])
				traffic[cluster] = cluster.Write(ctx)
			}
			for i, next := range []*world.Install{now, before, now} {
				awaitQuiet(ctx, begin, 22*time.Second)
				began, processes := mark(ctx), processesOf(ctx, clusters)
				next.Deploy(ctx)
				awaitLooks(ctx, clusters...)
				writes, err := kube.OperatorWrites(ctx, began, story.Namespace)
				Expect(err).NotTo(HaveOccurred())
				budget := "create" // of an only member, for which the release before has none
				if next == before {
					budget = "delete"
				}
				if i == 0 {
					expectCompleted(ctx, clusters, writes, budget)
				} else {
					expectRelabelled(ctx, clusters, writes, budget)
				}
				Expect(processesOf(ctx, clusters)).To(Equal(processes), "no member is restarted")
				for i, cluster := range clusters {
					cluster.AwaitReady(ctx, sizes[i])
				}
			}
			for _, cluster := range clusters {
				traffic[cluster].Finish(ctx)
			}
		})

	It("on the way to another minor version restarts no member where its release knows no way, and goes on where it "+
		"does", longWay, func(ctx context.Context) {
		before, now := kube.BuildCommit(ctx, world.PreviousCommit), kube.Installed()
		DeferCleanup(func(ctx context.Context) { now.Deploy(ctx) })
		ways := map[string]midway{"rising": midways[0], "falling": midways[2]}
		clusters := map[string]*world.Cluster{}
		traffic, was := map[string]*world.Traffic{}, map[string]identity{}
		for name, m := range ways {
			cluster := story.Create(ctx, name, 3, world.Version(m.from))
			cluster.AwaitReady(ctx, 3)
			clusters[name], was[name], traffic[name] = cluster, identityOf(ctx, cluster), cluster.Write(ctx)
			m.reach(ctx, cluster) // and is paused
		}
		all := slices.Collect(maps.Values(clusters))
		before.Deploy(ctx)
		processes := processesOf(ctx, all)
		for _, cluster := range all {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Paused = false })
		}
		awaitLooks(ctx, all...)
		Consistently(ctx, func() []string { return processesOf(ctx, all) }).WithTimeout(watching).
			Should(Equal(processes), "no member is restarted")
		for name, m := range ways {
			expectHealedMidway(ctx, clusters[name], m)
		}
		now.Deploy(ctx)
		for name, m := range ways {
			arrive(ctx, clusters[name], 3, m.to)
			traffic[name].Finish(ctx)
			expectSame(ctx, clusters[name], was[name])
			clusters[name].AwaitEqualHashes(ctx)
		}
	})
})

// expectHealedMidway deletes the Pod of a member that has not gone the way, and waits until it serves again.
func expectHealedMidway(ctx context.Context, cluster *world.Cluster, m midway) {
	GinkgoHelper()
	views := answering(ctx, cluster)
	at := slices.IndexFunc(views, func(v world.View) bool { return v.Status.Version == m.from })
	Expect(at).To(BeNumerically(">=", 0), "no member runs %s:\n%s", m.from, cluster.History)
	deletePod(ctx, cluster, views[at].Pod)
	Eventually(ctx, func() []string { return versionsIn(answering(ctx, cluster)) }).
		Should(And(HaveLen(3), ContainElement(m.to)), "decisions:\n%s", cluster.History)
	cluster.AwaitEqualHashes(ctx)
}

var _ = Describe("An operator that is deleted", Label("operator"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	ways := map[string]func(context.Context){
		"alone":                    func(ctx context.Context) { kube.DeleteDeployment(ctx) },
		"with its whole namespace": func(ctx context.Context) { kube.DeleteOperatorNamespace(ctx) },
	}
	for _, how := range slices.Sorted(maps.Keys(ways)) { // every process must see them in one order
		It(how+" leaves etcd serving; installed again, it takes over and writes nothing", perStory,
			func(ctx context.Context) {
				cluster := story.Create(ctx, "left", 3)
				begin := mark(ctx)
				cluster.AwaitReady(ctx, 3)
				traffic := cluster.Write(ctx)
				awaitQuiet(ctx, begin, 22*time.Second)
				gone, processes := mark(ctx), processesOf(ctx, []*world.Cluster{cluster})
				DeferCleanup(func(ctx context.Context) { kube.Installed().Deploy(ctx) })
				traffic.During(ctx, func() {
					ways[how](ctx)
					Consistently(ctx, func() error {
						return cluster.CheckServing(ctx, 3)
					}).WithTimeout(watching).Should(Succeed())
					kube.Installed().Deploy(ctx)
					awaitLooks(ctx, cluster)
				})
				Expect(kube.OperatorWrites(ctx, gone, story.Namespace)).To(BeEmpty())
				Expect(processesOf(ctx, []*world.Cluster{cluster})).To(Equal(processes), "no member is restarted")
				deletePod(ctx, cluster, cluster.Member(1))
				cluster.AwaitReady(ctx, 3)
				traffic.Finish(ctx)
			})
	}
})

var _ = Describe("An operator with a Role only", Label("operator"), func() {
	It("heals a deleted Pod, grows, and replaces a member whose data is lost", perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		var err error
		story, err = kube.NewFencedStory(ctx)
		Expect(err).NotTo(HaveOccurred())
		story.InstallNamespaced(ctx)
		cluster := story.Create(ctx, "alone", 1)
		cluster.AwaitReady(ctx, 1)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Resize(ctx, 3)
			cluster.AwaitReady(ctx, 3)
		})
		ids := cluster.Identities(ctx)
		traffic.During(ctx, func() {
			deletePod(ctx, cluster, cluster.Leader(ctx))
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		victim := cluster.Member(1)
		traffic.During(ctx, func() {
			loseVolume(ctx, cluster, victim)
			cluster.AwaitReady(ctx, 3)
		})
		expectReplaced(ctx, cluster, ids, victim)
		traffic.Finish(ctx)
	})

	It("leaves a cluster alone that the operator of all namespaces looks after, and says so", perStory,
		func(ctx context.Context) {
			kube.NeedLocalkube()
			var err error
			story, err = kube.NewStory(ctx)
			Expect(err).NotTo(HaveOccurred())
			cluster := story.Create(ctx, "claimed", 1)
			cluster.AwaitReady(ctx, 1)
			traffic := cluster.Write(ctx)
			second := story.InstallNamespaced(ctx)
			begin := mark(ctx)
			traffic.During(ctx, func() {
				cluster.Resize(ctx, 3)
				cluster.AwaitReady(ctx, 3)
				Eventually(ctx, func() string {
					return second.Log(ctx)
				}).Should(ContainSubstring("OtherOperator"), "it saw the cluster")
			})
			writes, err := kube.OperatorWrites(ctx, begin, story.Namespace)
			Expect(err).NotTo(HaveOccurred())
			Expect(writes).NotTo(BeEmpty(), "the first one goes on")
			Expect(writes).NotTo(ContainElement(HaveField("User.Name", second.User())))
			traffic.Finish(ctx)
		})
})

func mark(ctx context.Context) world.AuditMark {
	GinkgoHelper()
	at, err := kube.Mark(ctx)
	Expect(err).NotTo(HaveOccurred())
	return at
}

// awaitLooks waits until the operator that runs now has looked at each cluster, and again.
func awaitLooks(ctx context.Context, clusters ...*world.Cluster) {
	GinkgoHelper()
	for _, cluster := range clusters {
		before := asked(ctx, cluster)
		Eventually(ctx, func() float64 { return asked(ctx, cluster) }).Should(BeNumerically(">=", before+2))
	}
}

// processesOf tells the members' processes apart from any that started later.
func processesOf(ctx context.Context, clusters []*world.Cluster) []string {
	GinkgoHelper()
	var processes []string
	for _, cluster := range clusters {
		pods, err := cluster.Pods(ctx)
		Expect(err).NotTo(HaveOccurred())
		for i := range pods {
			for _, container := range pods[i].Status.ContainerStatuses {
				processes = append(processes,
					fmt.Sprintf("%s %s %s %d", pods[i].Name, pods[i].UID, container.ContainerID,
						container.RestartCount))
			}
		}
	}
	Expect(processes).NotTo(BeEmpty())
	return processes
}

// expectCompleted expects that each member's record was written once, on its volume or on its Pod, and that a volume's
// names its PVC. Pods got the name of members, and what selects them asks for it no more. Nothing else was written, but
// for statuses. With certificates it is the same, which are issued anew.
func expectCompleted(ctx context.Context, clusters []*world.Cluster, writes []world.Request, budget string) {
	GinkgoHelper()
	want := map[string]int{}
	for _, cluster := range clusters {
		owned := volumes(ctx, cluster)
		wantNamed(ctx, cluster, want, budget)
		for name, uid := range owned {
			want["patch "+path.Join("persistentvolumeclaims", name)] = 2 // its labels with the install, and the record
			claim := pvc()
			Expect(kube.Client.Get(ctx, key(name), claim)).To(Succeed())
			Expect(claim.Annotations[v1alpha1.AnnotationRecord]).To(ContainSubstring(string(uid)), name)
		}
		if len(owned) == 0 {
			for _, pod := range listPods(ctx, cluster) {
				want["patch "+path.Join("pods", pod.Name)] = 2 // its name with the install, and the record
			}
		}
		if object, err := cluster.Get(ctx); Expect(err).NotTo(HaveOccurred()) && object.Spec.IsTLS() {
			for _, ca := range []string{resources.CASecret(cluster.Name), resources.PeerCASecret(cluster.Name)} {
				want["patch "+path.Join("secrets", ca)] = 1 // its labels
			}
		}
		wantRenewed(ctx, cluster, want)
	}
	expectWrites(clusters, writes, want)
}

// expectWrites says what was written, beside what is told: each step, which are objects, budget, Pods and records, and
// that all is well.
func expectWrites(clusters []*world.Cluster, writes []world.Request, want map[string]int) {
	GinkgoHelper()
	got := map[string]int{}
	for _, w := range writes {
		got[w.Verb+" "+path.Join(w.Object.Resource, w.Object.Subresource, w.Object.Name)]++
	}
	for _, cluster := range clusters {
		status := "patch " + path.Join("etcdclusters", "status", cluster.Name)
		Expect(got[status]).To(BeNumerically("<=", 4+1), status)
		delete(got, status)
	}
	Expect(got).To(Equal(want))
}

// expectRelabelled says that of what has a record nothing was written but the label of a volume that the release before
// finds it by, and that others take it for theirs by, the name of Pods, and the certificates.
func expectRelabelled(ctx context.Context, clusters []*world.Cluster, writes []world.Request, budget string) {
	GinkgoHelper()
	want := map[string]int{}
	for _, cluster := range clusters {
		wantNamed(ctx, cluster, want, budget)
		for name := range volumes(ctx, cluster) {
			want["patch "+path.Join("persistentvolumeclaims", name)] = 1
		}
		wantRenewed(ctx, cluster, want)
	}
	expectWrites(clusters, writes, want)
}

// wantNamed expects another name on the Pods of members, and what selects them to follow: once each.
func wantNamed(ctx context.Context, cluster *world.Cluster, want map[string]int, budget string) {
	GinkgoHelper()
	pods := listPods(ctx, cluster)
	for _, pod := range pods {
		want["patch "+path.Join("pods", pod.Name)] = 1
	}
	for _, service := range []string{resources.PeerService(cluster.Name), resources.ClientService(cluster.Name)} {
		want["patch "+path.Join("services", service)] = 1
	}
	verb := "patch"
	if len(pods) == 1 {
		verb = budget
	}
	want[verb+" "+path.Join("poddisruptionbudgets", resources.Budget(cluster.Name))] = 1
}

// wantRenewed expects new certificates of members: this release names more in them than the one before.
func wantRenewed(ctx context.Context, cluster *world.Cluster, want map[string]int) {
	GinkgoHelper()
	object, err := cluster.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	if !object.Spec.IsTLS() {
		return
	}
	for _, pod := range listPods(ctx, cluster) {
		want["patch "+path.Join("secrets", resources.MemberSecret(pod.Name))] = 1
	}
}

// keepingNothing says what is the default for ephemeral data by now, and was not with the release before.
func keepingNothing(c *v1alpha1.EtcdCluster) { c.Spec.Storage.DeletionPolicy = v1alpha1.DeletionDelete }
