package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
)

const cgroupMount = "/sys/fs/cgroup"

// cgroupOf is the cgroup of a host, in every hierarchy. Its daemons are in the child `daemons`.
func cgroupOf(host string) string { return "/" + layout.CgroupName + "/" + host }

// hierarchies returns the mount points of all cgroup hierarchies: one for version 2; for version 1 one for each
// controller, and often `unified` beside them, a version 2 without controllers in which runc makes groups too.
func hierarchies() []string {
	if _, err := os.Stat(filepath.Join(cgroupMount, "cgroup.controllers")); err == nil {
		return []string{cgroupMount}
	}
	entries, err := os.ReadDir(cgroupMount)
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		dir := filepath.Join(cgroupMount, e.Name())
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); e.IsDir() && err == nil {
			found = append(found, dir)
		}
	}
	return found
}

// joinFiles makes the cgroup of a host, or a child of that, and returns the files into which a process writes its ID to
// join.
func joinFiles(host, child string) ([]string, error) {
	var files []string
	for _, h := range hierarchies() {
		dir := h
		for _, part := range strings.Split(filepath.Join(layout.CgroupName, host, child), "/") {
			dir = filepath.Join(dir, part)
			if err := makeCgroup(dir); err != nil {
				return nil, fmt.Errorf("making a cgroup of %s: %w", host, err)
			}
		}
		files = append(files, filepath.Join(dir, "cgroup.procs"))
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no cgroup hierarchy is mounted under %s", cgroupMount)
	}
	return files, nil
}

// makeCgroup also gives the group the processors and memory of its parent, which version 1 does not do by itself: a
// group without them takes no process.
func makeCgroup(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if filepath.Dir(dir) == cgroupMount || !strings.HasPrefix(dir, filepath.Join(cgroupMount, "cpuset")+"/") {
		return nil
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// privateCgroups is a shell script for a process in the cgroup of a host, in a mount and a cgroup namespace of its own:
// what it sees as the root of all cgroups is then that of the host, as on a machine, and whatever runs under it can be
// found there from outside.
func privateCgroups() string {
	var script strings.Builder
	for _, h := range hierarchies() {
		_, _ = fmt.Fprintf(&script, "umount %[1]s\nmount -t %[2]s %[1]s\n", h, cgroupMountOptions(h))
		_, _ = fmt.Fprintf(&script, "mkdir -p %[1]s/daemons\n", h)
		if filepath.Base(h) == "cpuset" {
			_, _ = fmt.Fprintf(&script, "cat %[1]s/cpuset.cpus > %[1]s/daemons/cpuset.cpus\n", h)
			_, _ = fmt.Fprintf(&script, "cat %[1]s/cpuset.mems > %[1]s/daemons/cpuset.mems\n", h)
		}
		_, _ = fmt.Fprintf(&script, "echo $$ > %s/daemons/cgroup.procs\n", h)
	}
	return script.String()
}

// cgroupMountOptions are what mount needs after -t to mount that hierarchy again.
func cgroupMountOptions(hierarchy string) string {
	switch name := filepath.Base(hierarchy); {
	case hierarchy == cgroupMount, name == "unified":
		return "cgroup2 cgroup2"
	case name == "systemd":
		return "cgroup -o none,name=systemd cgroup"
	default:
		return "cgroup -o " + name + " cgroup"
	}
}

// KillHost kills every process of a host at once, as a loss of power does, and removes its cgroups.
func KillHost(paths layout.Paths, host string) error {
	killRemembered(filepath.Join(paths.PIDs(), host))
	if err := killCgroup(cgroupOf(host)); err != nil {
		return fmt.Errorf("killing what runs on %s: %w", host, err)
	}
	return nil
}

// KillAll kills every process of every host.
func KillAll(paths layout.Paths) error {
	hosts, err := os.ReadDir(paths.PIDs())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("listing hosts: %w", err)
	}
	for _, h := range hosts {
		killRemembered(filepath.Join(paths.PIDs(), h.Name()))
	}
	return killCgroup("/" + layout.CgroupName)
}

func killRemembered(dir string) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if pid, start, err := parsePIDFile(string(data)); err == nil && isSame(pid, start) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = os.Remove(path)
	}
}

const (
	killRounds = 500
	killPause  = 20 * time.Millisecond
)

// killCgroup kills until nothing is left: a process may have forked between the listing and the signal.
func killCgroup(name string) error {
	var left int
	for range killRounds {
		left = 0
		for _, h := range hierarchies() {
			pids := members(filepath.Join(h, name))
			left += len(pids)
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if left == 0 {
			return removeCgroup(name)
		}
		time.Sleep(killPause)
	}
	return fmt.Errorf("%d processes in cgroup %s outlive SIGKILL", left, name)
}

// members returns the processes of a cgroup and of all below it.
func members(dir string) []int {
	var pids []int
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil //nolint:nilerr // a cgroup that went away meanwhile has no members
		}
		data, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		for _, f := range strings.Fields(string(data)) {
			// 0 is a process of another PID namespace, which cannot be one of ours.
			if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}

// removeCgroup removes a cgroup with all below it; the kernel may take a moment to let go of one whose last process died.
func removeCgroup(name string) error {
	var last error
	for range killRounds {
		last = nil
		for _, h := range hierarchies() {
			if err := removeTree(filepath.Join(h, name)); err != nil {
				last = err
			}
		}
		if last == nil {
			return nil
		}
		time.Sleep(killPause)
	}
	return fmt.Errorf("removing cgroup %s: %w", name, last)
}

// removeTree removes directories only: the files of a cgroup cannot be removed and vanish with it.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

// AnyLeft says whether a cgroup of a localkube exists.
func AnyLeft() bool {
	for _, h := range hierarchies() {
		if _, err := os.Stat(filepath.Join(h, layout.CgroupName)); err == nil {
			return true
		}
	}
	return false
}
