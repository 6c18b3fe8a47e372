package world

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Thaw lets a frozen process go on.
func (c *Cluster) Thaw(ctx context.Context, member string) {
	ginkgo.GinkgoHelper()
	gomega.Expect(syscall.Kill(c.pid(ctx, member), syscall.SIGCONT)).To(gomega.Succeed())
}

// DamageWAL changes what stories wrote in a member's log, so that no checksum fits, and kills the member.
func (c *Cluster) DamageWAL(ctx context.Context, member string) {
	ginkgo.GinkgoHelper()
	c.damage(ctx, member, "wal/*.wal", func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte(keyPrefix), bytes.ToUpper([]byte(keyPrefix)))
	})
}

// DamageDatabase overwrites a member's database from its first page to its last, and kills the member.
func (c *Cluster) DamageDatabase(ctx context.Context, member string) {
	ginkgo.GinkgoHelper()
	c.damage(ctx, member, "snap/db", func(b []byte) []byte { return bytes.Repeat([]byte{0xaa}, len(b)) })
}

// damage rewrites a member's files while its process is stopped, which then never sees them.
func (c *Cluster) damage(ctx context.Context, member, pattern string, how func([]byte) []byte) {
	ginkgo.GinkgoHelper()
	c.Freeze(ctx, member)
	files, err := filepath.Glob(filepath.Join(c.data(ctx, member), pattern))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	changed := 0
	for _, file := range files {
		before, err := os.ReadFile(file)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		after := how(before)
		if bytes.Equal(after, before) {
			continue
		}
		changed++
		gomega.Expect(os.WriteFile(file, after, 0o600)).To(gomega.Succeed())
	}
	gomega.Expect(changed).To(gomega.BeNumerically(">", 0), "nothing of %s was damaged in %v", member, files)
	c.KillEtcd(ctx, member)
}

// Corrupt changes values that Fill wrote in a member's database, behind the back of its process, which serves on with them: the
// database is mapped, and no page of it has a checksum. Members that get different bytes differ from each other.
func (c *Cluster) Corrupt(ctx context.Context, member string, with byte) {
	ginkgo.GinkgoHelper()
	corrupt(c.Database(ctx, member), with)
}

// Database is the file of a member's data, which stays where it is when its Pod goes.
func (c *Cluster) Database(ctx context.Context, member string) string {
	ginkgo.GinkgoHelper()
	return filepath.Join(c.data(ctx, member), "snap", "db")
}

// CorruptFile does what Corrupt does, to a database that no process may have open.
func (c *Cluster) CorruptFile(path string, with byte) {
	ginkgo.GinkgoHelper()
	corrupt(path, with)
}

func corrupt(path string, with byte) {
	ginkgo.GinkgoHelper()
	changed, err := ChangeValues(path, bytes.Repeat([]byte("x"), fillSize), with)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(changed).To(gomega.BeNumerically(">", 0), "values in %s that could be changed", path)
}

// ChangeValues changes the first byte of each such value in a database, and says of how many.
func ChangeValues(path string, value []byte, with byte) (changed int, err error) {
	database, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer database.Close()
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for at := bytes.Index(content, value); at >= 0; at = bytes.Index(content, value) {
		if _, err := database.WriteAt([]byte{with}, int64(at)); err != nil {
			return changed, err
		}
		content[at] = with
		changed++
	}
	return changed, nil
}

// Accuse raises etcd's alarm CORRUPT for a member, as the leader's own check does. Every member speaks of it from then on.
func (c *Cluster) Accuse(ctx context.Context, member string) {
	ginkgo.GinkgoHelper()
	id := c.Identities(ctx)[member]
	gomega.Expect(id).NotTo(gomega.BeZero())
	etcd := c.connect(ctx)
	defer etcd.Close()
	_, err := pb.NewMaintenanceClient(etcd.ActiveConnection()).Alarm(ctx, &pb.AlarmRequest{
		Action: pb.AlarmRequest_ACTIVATE, MemberID: uint64(id), Alarm: pb.AlarmType_CORRUPT,
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
}

// data is the directory that etcd itself made, as this machine sees it.
func (c *Cluster) data(ctx context.Context, member string) string {
	ginkgo.GinkgoHelper()
	found, err := filepath.Glob(filepath.Join(c.directory(ctx, member), "*", member, "member"))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(found).To(gomega.HaveLen(1), "where %s has its data", member)
	return found[0]
}

// PutForeignData puts a copy of what another cluster's member has where a member has its own, and kills the member.
func (c *Cluster) PutForeignData(ctx context.Context, member string, other *Cluster, from string) {
	ginkgo.GinkgoHelper()
	own := c.data(ctx, member)
	other.Freeze(ctx, from)
	theirs := other.data(ctx, from)
	run(ctx, "cp", "--archive", theirs, own+".foreign")
	other.Thaw(ctx, from)
	c.Freeze(ctx, member)
	gomega.Expect(os.RemoveAll(own)).To(gomega.Succeed())
	gomega.Expect(os.Rename(own+".foreign", own)).To(gomega.Succeed())
	c.KillEtcd(ctx, member)
}

// LosePersistentVolume takes the PersistentVolume from under a member's claim, whoever protects it, and waits until
// Kubernetes calls the claim lost. What lies on the node stays there until the story is over.
func (c *Cluster) LosePersistentVolume(ctx context.Context, member string) {
	ginkgo.GinkgoHelper()
	directory := c.directory(ctx, member)
	ginkgo.DeferCleanup(func() error { return os.RemoveAll(directory) }) // nobody else looks after it any more
	claim := &corev1.PersistentVolumeClaim{}
	key := client.ObjectKey{Namespace: c.Namespace, Name: member}
	gomega.Expect(c.Client.Get(ctx, key, claim)).To(gomega.Succeed())
	volume := &corev1.PersistentVolume{}
	gomega.Expect(c.Client.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, volume)).To(gomega.Succeed())
	gomega.Expect(c.Client.Delete(ctx, volume)).To(gomega.Succeed())
	unprotected := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	gomega.Expect(client.IgnoreNotFound(c.Client.Patch(ctx, volume, unprotected))).To(gomega.Succeed())
	uid := claim.UID
	gomega.Eventually(ctx, func() (bool, error) {
		err := c.Client.Get(ctx, key, claim)
		return claim.UID != uid || err != nil || claim.Status.Phase == corev1.ClaimLost, client.IgnoreNotFound(err)
	}).WithTimeout(Patience).Should(gomega.BeTrue(), "the claim of %s is not called lost", member)
}

// run runs a program that has to succeed.
func run(ctx context.Context, program string, args ...string) {
	ginkgo.GinkgoHelper()
	said, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "%s %v: %s", program, args, said)
}
