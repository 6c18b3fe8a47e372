package world

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// MoveToOwnDisk puts a member's data on a disk of its own, of so many MiB, and kills the member, which starts again there. The
// disk is an ext4 in a file, and goes with the story. The returned function has it take at most so many bytes a second from then on.
func (c *Cluster) MoveToOwnDisk(ctx context.Context, member string, mebibytes int) (slow func(context.Context, int)) {
	ginkgo.GinkgoHelper()
	image := filepath.Join(ginkgo.GinkgoT().TempDir(), member)
	gomega.Expect(os.WriteFile(image, nil, 0o600)).To(gomega.Succeed())
	gomega.Expect(os.Truncate(image, int64(mebibytes)<<20)).To(gomega.Succeed())
	run(ctx, "mkfs.ext4", "-q", image)
	said, err := exec.CommandContext(ctx, "losetup", "--find", "--show", image).Output()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	device := strings.TrimSpace(string(said))
	ginkgo.DeferCleanup(func(ctx context.Context) { run(ctx, "losetup", "--detach", device) })
	d := c.moveTo(ctx, member, "-t", "ext4", device)
	gomega.Expect(os.RemoveAll(filepath.Join(d.root, d.directory, "lost+found"))).To(gomega.Succeed())
	return func(ctx context.Context, bytesPerSecond int) {
		ginkgo.GinkgoHelper()
		run(ctx, "sync", "--file-system", filepath.Join(d.root, d.directory)) // what was copied is not what is slow
		c.slow(ctx, member, device, bytesPerSecond)
	}
}

// slow bounds what is written to a block device by a member, and by the kernel in its name.
func (c *Cluster) slow(ctx context.Context, member, device string, bytesPerSecond int) {
	ginkgo.GinkgoHelper()
	stat := syscall.Stat_t{}
	gomega.Expect(syscall.Stat(device, &stat)).To(gomega.Succeed())
	number := fmt.Sprintf("%d:%d", unix.Major(stat.Rdev), unix.Minor(stat.Rdev))
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.pid(ctx, member)))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case fields[0] == "0" && hasCgroups2(): // the kernel writes in the name of who made a page dirty
			limit(filepath.Join("/sys/fs/cgroup", fields[2], "io.max"), number, fmt.Sprintf("wbps=%d", bytesPerSecond), "wbps=max")
			return
		case fields[1] == "blkio": // what the kernel writes by itself is of the first group
			for _, group := range []string{"/", fields[2]} {
				limit(filepath.Join("/sys/fs/cgroup/blkio", group, "blkio.throttle.write_bps_device"), number,
					strconv.Itoa(bytesPerSecond), "0")
			}
			return
		}
	}
	ginkgo.Fail("no cgroup of " + member + " bounds what it writes")
}

func hasCgroups2() bool {
	_, err := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	return err == nil
}

// limit bounds a device, and takes that back: the kernel keeps it for the next disk of that number.
func limit(file, device, bound, none string) {
	ginkgo.GinkgoHelper()
	gomega.Expect(os.WriteFile(file, []byte(device+" "+bound), 0o600)).To(gomega.Succeed(), file)
	ginkgo.DeferCleanup(func() error {
		err := os.WriteFile(file, []byte(device+" "+none), 0o600)
		if os.IsNotExist(err) { // it went with its Pod
			return nil
		}
		return err
	})
}
