package e2e

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/azureserver"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/gcsserver"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// bigKeys are 100 MiB of values.
const bigKeys = 2560

// notCompared is what everything says that tells of a snapshot without a manifest.
const notCompared = "never compared with the members of its cluster"

// savedByEtcdctl has etcdctl of the cluster's own image save a snapshot to a claim, as a person's Job does.
func savedByEtcdctl(ctx context.Context, cluster *world.Cluster, claim, file string) {
	GinkgoHelper()
	members, err := cluster.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(members).NotTo(BeEmpty())
	member := members[0].Spec
	mount := func(name, at string) corev1.VolumeMount { return corev1.VolumeMount{Name: name, MountPath: at} }
	pod := &corev1.Pod{ObjectMeta: meta(cluster.Namespace, "save"), Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, SecurityContext: member.SecurityContext,
		Containers: []corev1.Container{{
			Name: "etcdctl", Image: member.Containers[0].Image, ImagePullPolicy: corev1.PullIfNotPresent,
			SecurityContext: member.Containers[0].SecurityContext, Command: []string{"etcdctl"},
			Args: []string{"--endpoints=https://" + cluster.Name + "." + cluster.Namespace + ".svc:2379", "--cacert=/tls/ca.crt",
				"--cert=/tls/tls.crt", "--key=/tls/tls.key", "snapshot", "save", "/backups/" + file},
			VolumeMounts: []corev1.VolumeMount{mount("backups", "/backups"), mount("tls", "/tls")},
		}},
		Volumes: []corev1.Volume{
			{Name: "backups", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}},
			{Name: "tls", VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: resources.ClientSecret(cluster.Name)}}},
		},
	}}
	Expect(kube.Client.Create(ctx, pod)).To(Succeed())
	Eventually(ctx, func() (corev1.PodPhase, error) {
		err := kube.Client.Get(ctx, key(pod.Name), pod)
		return pod.Status.Phase, err
	}).WithTimeout(world.Patience).Should(Equal(corev1.PodSucceeded))
	Expect(kube.Client.Delete(ctx, pod)).To(Succeed())
}

// fromKey is a cluster that is to begin with a file in a store.
func fromKey(store v1alpha1.BackupStore, name string) world.Option {
	return func(c *v1alpha1.EtcdCluster) {
		c.Spec.Bootstrap = &v1alpha1.BootstrapSpec{Restore: &v1alpha1.RestoreSource{Store: &store, Key: name}}
	}
}

// isForeign says that the status tells that nothing compared what the cluster began with.
func isForeign(ctx context.Context, cluster *world.Cluster, name, minor string) {
	GinkgoHelper()
	current, err := cluster.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(current.Status.RestoredFrom).To(And(HaveField("Key", name), HaveField("Foreign", true),
		HaveField("EtcdVersion", minor)))
}

var _ = Describe("A snapshot that etcdctl saved", Label("restore"), func() {
	ownNamespace()
	top := v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "backups"}}

	for _, version := range []string{"3.5.35", world.DefaultVersion, "3.7.3"} {
		It("of etcd "+version+", with authentication, leases and 100 MiB, is what a new cluster begins with", perStory,
			func(ctx context.Context) {
				saved := story.Create(ctx, "saved", 1, world.Version(version))
				saved.AwaitReady(ctx, 1)
				saved.EnableAuth(ctx, "saved-client", "again-client")
				saved.Fill(ctx, "saved", savedKeys)
				saved.Fill(ctx, "big", bigKeys)
				lease := saved.Hold(ctx, "/leased")
				story.Claim(ctx, "backups")
				savedByEtcdctl(ctx, saved, "backups", "etcd-2026-01-01_12:00:00.db")
				saved.Fill(ctx, "lost", lostKeys)
				again := story.Create(ctx, "again", 1, world.Version(version), fromKey(top, "etcd-2026-01-01_12:00:00.db"))
				again.AwaitReady(ctx, 1)
				holdsBackup(ctx, again, saved)
				Expect(again.Filled(ctx, "big")).To(Equal(bigKeys))
				Expect(again.AuthIsOn(ctx)).To(BeTrue())
				again.Holds(ctx, lease, "/leased")
				isForeign(ctx, again, "etcd-2026-01-01_12:00:00.db", strings.TrimSuffix(version, path.Ext(version)))
			})
	}

	It("of etcd 3.5 is what a new cluster of 3.7 begins with, and goes up from", perStory, func(ctx context.Context) {
		saved := story.Create(ctx, "saved", 1, world.Version("3.5.35"))
		saved.AwaitReady(ctx, 1)
		saved.Fill(ctx, "saved", savedKeys)
		story.Claim(ctx, "backups")
		savedByEtcdctl(ctx, saved, "backups", "demo.db")
		saved.Fill(ctx, "lost", lostKeys)
		again := story.Create(ctx, "again", 1, world.Version("3.7.3"), fromKey(top, "demo.db"))
		again.AwaitReady(ctx, 1)
		holdsBackup(ctx, again, saved)
		expectVersion(ctx, again, "3.7.3")
		isForeign(ctx, again, "demo.db", "3.5")
	})

	It("is put under a cluster that exists, and the restore says that it was not compared", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "saved", 1)
			cluster.AwaitReady(ctx, 1)
			cluster.Fill(ctx, "saved", savedKeys)
			story.Claim(ctx, "backups")
			savedByEtcdctl(ctx, cluster, "backups", "demo.db")
			cluster.Fill(ctx, "lost", lostKeys)
			before := asItIs(ctx, cluster)
			restore := cluster.RestoreTo(ctx, "back", v1alpha1.EtcdRestoreSource{Store: &top, Key: "demo.db"})
			restore.Approve(ctx)
			status := restore.Complete(ctx)
			cluster.AwaitReady(ctx, 1) // only then is a client led to it
			Expect(status.Conditions).To(ContainElement(And(HaveField("Type", v1alpha1.RestoreComplete),
				HaveField("Message", ContainSubstring(notCompared)))))
			wentBack(ctx, cluster, before, status)
			isForeign(ctx, cluster, "demo.db", "3.6")
		})

	It("of a newer minor version is refused before anything is made, and begun with once spec.version is put right",
		perStory, func(ctx context.Context) {
			saved := story.Create(ctx, "saved", 1)
			saved.AwaitReady(ctx, 1)
			saved.Fill(ctx, "saved", savedKeys)
			story.Claim(ctx, "backups")
			savedByEtcdctl(ctx, saved, "backups", "demo.db")
			saved.Fill(ctx, "lost", lostKeys)
			again := story.Create(ctx, "again", 1, world.Version("3.5.35"), fromKey(top, "demo.db"))
			again.AwaitStalled(ctx, facts.ReasonUnusable)
			Expect(nextStep(ctx, again)).To(ContainSubstring("Set spec.version to 3.6.x"))
			Expect(again.Pods(ctx)).To(BeEmpty())
			Expect(volumes(ctx, again)).To(BeEmpty())
			again.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = world.DefaultVersion })
			again.AwaitReady(ctx, 1)
			holdsBackup(ctx, again, saved)
		})
})

// damages are what may have become of a file on its way to a store.
var damages = []struct {
	what   string
	damage func(snapshot []byte) []byte
	says   string
}{
	{"was cut short", func(b []byte) []byte { return b[:len(b)-100] }, "was cut short"},
	{"is empty", func([]byte) []byte { return nil }, "it is empty"},
	{"has a bit changed", func(b []byte) []byte {
		b[len(b)/2] ^= 1
		return b
	}, "the SHA-256 at its end is not its own"},
	{"is a copy of a member's database", func(b []byte) []byte { return b[:len(b)-32] }, "copy of a member's database"},
	{"is no database", func(b []byte) []byte { return bytes.Repeat([]byte("text "), 1000) }, "no database of etcd"},
}

// What a file is, is found out in one place for every kind of store: all damages are tried on one kind.
var (
	_ = aFileIn("S3", s3server.Versitygw, len(damages))
	_ = aFileIn("GCS", gcsserver.Program, 1)
	_ = aFileIn("Azure", azureserver.Program, 1)
)

// aFileIn tells the stories of a file in a kind of store, on the server that a program is, with so many damages.
func aFileIn(kind string, program s3server.Kind, tried int) bool {
	return Describe("A file in "+kind+" that the operator did not put there", Label("restore", strings.ToLower(kind)), func() {
		BeforeEach(func() { kube.NeedLocalkube() })
		ownNamespace()

		for _, row := range damages[:tried] {
			It(fmt.Sprintf("and that %s is refused before anything is made, and the whole one is begun with", row.what),
				perStory, func(ctx context.Context) {
					saved := story.Create(ctx, "saved", 3, world.Ephemeral)
					saved.AwaitReady(ctx, 3)
					saved.Fill(ctx, "saved", savedKeys)
					snapshot := saved.Snapshot(ctx)
					saved.Fill(ctx, "lost", lostKeys)
					bucket := story.Bucket(ctx, program)
					name := func(file string) string { return bucket.Prefix + "/legacy/" + file }
					Expect(bucket.Put(ctx, name("whole.db"), snapshot)).To(Succeed())
					Expect(bucket.Put(ctx, name("bad.db"), row.damage(bytes.Clone(snapshot)))).To(Succeed())
					again := story.Create(ctx, "again", 3, fromKey(bucket.Store, name("bad.db")))
					again.AwaitStalled(ctx, facts.ReasonUnusable)
					Expect(nextStep(ctx, again)).To(And(ContainSubstring(name("bad.db")), ContainSubstring(row.says)))
					Expect(again.Pods(ctx)).To(BeEmpty())
					Expect(volumes(ctx, again)).To(BeEmpty())
					again.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Bootstrap.Restore.Key = name("whole.db") })
					again.AwaitReady(ctx, 3)
					holdsBackup(ctx, again, saved)
					isForeign(ctx, again, name("whole.db"), "3.6")
				})
		}

		It("is put under a cluster of three that exists", perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "saved", 3)
			cluster.AwaitReady(ctx, 3)
			cluster.Fill(ctx, "saved", savedKeys)
			bucket := story.Bucket(ctx, program)
			name := bucket.Prefix + "/legacy/demo.db"
			Expect(bucket.Put(ctx, name, cluster.Snapshot(ctx))).To(Succeed())
			cluster.Fill(ctx, "lost", lostKeys)
			before := asItIs(ctx, cluster)
			restore := cluster.RestoreTo(ctx, "back", v1alpha1.EtcdRestoreSource{Store: &bucket.Store, Key: name})
			restore.Approve(ctx)
			status := restore.Complete(ctx)
			cluster.AwaitReady(ctx, 3)
			wentBack(ctx, cluster, before, status)
			isForeign(ctx, cluster, name, "3.6")
		})
	})
}
