// Package host is about this machine: whether it can carry a localkube, what has to be installed on it, and which of its
// settings have to be put back afterwards.
package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Check says everything this machine lacks, in one error, or nil if a localkube can run here.
func Check() error {
	var missing []string
	if runtime.GOOS != "linux" {
		return fmt.Errorf("localkube needs Linux, this is %s", runtime.GOOS)
	}
	if os.Geteuid() != 0 {
		missing = append(missing, "root: it makes network namespaces, mounts and cgroups (try sudo)")
	}
	if !hasOverlay() {
		missing = append(missing, "the overlay filesystem, under every container (modprobe overlay)")
	}
	if !hasCgroups() {
		missing = append(missing, "cgroups, mounted under /sys/fs/cgroup")
	}
	for _, tool := range []string{"nsenter", "unshare", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool+" (package util-linux or mount)")
		}
	}
	if len(missing) > 0 {
		return errors.New("this machine lacks:\n  - " + strings.Join(missing, "\n  - "))
	}
	return nil
}

func hasOverlay() bool {
	if listsOverlay() {
		return true
	}
	_ = exec.Command("modprobe", "overlay").Run()
	return listsOverlay()
}

func listsOverlay() bool {
	data, err := os.ReadFile("/proc/filesystems")
	return err == nil && strings.Contains(string(data), "\toverlay\n")
}

func hasCgroups() bool {
	for _, f := range []string{"/sys/fs/cgroup/cgroup.controllers", "/sys/fs/cgroup/memory/cgroup.procs"} {
		if _, err := os.Stat(f); err == nil {
			return true
		}
	}
	return false
}
