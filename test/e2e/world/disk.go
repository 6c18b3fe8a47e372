package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// Disk is a small disk of its own that holds one member's data.
type Disk struct {
	directory string   // where it is mounted, on the node
	root      string   // the node's files, as this machine sees them
	mounts    *os.File // the node's mounts
}

// MoveToDisk puts a member's data on a disk of so many MiB and kills the member, which starts again there with all that it
// had. The disk is a tmpfs over the member's directory in its node's mounts; it goes with the story.
func (c *Cluster) MoveToDisk(ctx context.Context, member string, mebibytes int) *Disk {
	ginkgo.GinkgoHelper()
	return c.moveTo(ctx, member, "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm,mode=0777", mebibytes), "tmpfs")
}

// moveTo puts a member's data on what `mount` mounts with these arguments.
func (c *Cluster) moveTo(ctx context.Context, member string, mount ...string) *Disk {
	ginkgo.GinkgoHelper()
	shim := parent(c.pid(ctx, member)) // it lives as long as the Pod, among the node's mounts
	mounts, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", shim))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	d := &Disk{directory: c.directory(ctx, member), root: fmt.Sprintf("/proc/%d/root", shim), mounts: mounts}
	staging := d.directory + ".disk"
	gomega.Expect(os.Mkdir(staging, 0o777)).To(gomega.Succeed())
	ginkgo.DeferCleanup(func(ctx context.Context) {
		defer mounts.Close()
		d.onNode(ctx, "umount", "--lazy", d.directory) // a container may still use it
		gomega.Expect(os.Remove(staging)).To(gomega.Succeed())
	})
	c.Freeze(ctx, member)
	d.onNode(ctx, append(append([]string{"mount"}, mount...), staging)...)
	d.onNode(ctx, "cp", "--archive", "--sparse=never", d.directory+"/.", staging)
	d.onNode(ctx, "mount", "--bind", staging, d.directory)
	d.onNode(ctx, "umount", staging)
	c.KillEtcd(ctx, member)
	return d
}

// onNode runs a program that sees the node's files as they are mounted there.
func (d *Disk) onNode(ctx context.Context, command ...string) {
	ginkgo.GinkgoHelper()
	run(ctx, "nsenter", d.commandOnNode(command...)...)
}

func (d *Disk) commandOnNode(command ...string) []string {
	mounts := fmt.Sprintf("--mount=/proc/%d/fd/%d", os.Getpid(), d.mounts.Fd())
	return append([]string{mounts, "--"}, command...)
}

// filler is the file that takes all the room that is left.
func (d *Disk) filler() string { return filepath.Join(d.root, d.directory, "filler") }

// Fill leaves not a single block. A member notices once its database outgrows the 16 MiB that it reserved at its start, or
// its log the 64 MiB.
func (d *Disk) Fill() {
	ginkgo.GinkgoHelper()
	file, err := os.Create(d.filler())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	defer file.Close()
	written := 0
	for _, block := range [][]byte{make([]byte, 1<<20), make([]byte, 4<<10)} {
		for err = nil; err == nil; {
			var n int
			n, err = file.Write(block)
			written += n
		}
		gomega.Expect(errors.Is(err, syscall.ENOSPC)).To(gomega.BeTrue(), "filling the disk: %v", err)
	}
	gomega.Expect(written).To(gomega.BeNumerically(">", 0), "it was full already")
}

// Free gives the room back.
func (d *Disk) Free() {
	ginkgo.GinkgoHelper()
	gomega.Expect(os.Remove(d.filler())).To(gomega.Succeed())
}

// MakeReadOnly makes the disk read-only for whoever has mounted it, as a kernel does after errors. It waits until no process has a
// file there open to be written to, so the member is to be killed before.
func (d *Disk) MakeReadOnly(ctx context.Context) {
	ginkgo.GinkgoHelper()
	command := d.commandOnNode("mount", "-o", "remount,ro", d.directory)
	gomega.Eventually(ctx, func() ([]byte, error) {
		return exec.CommandContext(ctx, "nsenter", command...).CombinedOutput()
	}).WithTimeout(Patience).WithPolling(20*time.Millisecond).Should(gomega.BeEmpty(), "what mount says when it succeeds")
	probe := filepath.Join(d.root, d.directory, "probe")
	gomega.Expect(os.WriteFile(probe, nil, 0o600)).To(gomega.MatchError(syscall.EROFS))
}

// parent is the process that started another one.
func parent(pid int) int {
	ginkgo.GinkgoHelper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	_, after, _ := strings.Cut(string(text), ") ") // behind the name, which may hold anything
	fields := strings.Fields(after)
	gomega.Expect(len(fields)).To(gomega.BeNumerically(">", 2))
	found, err := strconv.Atoi(fields[1])
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(found).To(gomega.BeNumerically(">", 1))
	return found
}
