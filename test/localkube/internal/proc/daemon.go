// Package proc starts the daemons of a localkube, remembers them, and stops them again.
//
// A daemon is known in two ways. A file holds its process ID together with its start time, so that an ID which the
// kernel has given to another process since is never signalled. And it is in a cgroup of its host, which its children
// inherit, so that whatever a daemon started is found even if no file was ever written. Nothing is found by its name.
package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
)

// Daemon is a process to start on a host.
type Daemon struct {
	// Host is the name of the node, or layout.ControlPlane.
	Host string
	// Name is unique on the host.
	Name string
	// Boots makes the daemon the first of a node: it gets mounts and cgroups of its own, as a machine has, and the shell
	// lines Prepare run in them before it.
	Boots   bool
	Prepare string
	// Joins is the process ID of the daemon that booted the node which this one belongs to.
	Joins int
	Args  []string
}

// seldomCollected has daemons use more memory and less time than with Go's default of 100: a machine for tests is short
// of cores. What containerd starts for a Pod inherits it; containers do not.
const seldomCollected = "GOGC=400"

// Start starts a daemon in a session of its own, so that it outlives this program, and returns its process ID.
func Start(paths layout.Paths, d Daemon) (int, error) {
	logs, err := openLog(paths.Log(d.Host, d.Name))
	if err != nil {
		return 0, err
	}
	defer func() { _ = logs.Close() }()
	files, err := joinFiles(d.Host, d.cgroup())
	if err != nil {
		return 0, err
	}
	args := command(d, files)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", logs, logs
	cmd.Env = append([]string{seldomCollected}, os.Environ()...) // what the user sets goes before it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("starting %s on %s: %w", d.Name, d.Host, err)
	}
	pid := cmd.Process.Pid
	if err := remember(paths, d, pid); err != nil {
		_ = cmd.Process.Kill()
		return 0, err
	}
	return pid, cmd.Process.Release()
}

// command wraps what the daemon runs: first a shell joins the cgroup, then the namespaces are entered. Every step
// replaces the process by the next, so that the process ID stays the one that was started.
func command(d Daemon, cgroupFiles []string) []string {
	join := `while [ "$1" != -- ]; do echo $$ > "$1" || exit 1; shift; done; shift; exec "$@"`
	args := append([]string{"/bin/sh", "-c", join, d.Name}, cgroupFiles...)
	args = append(args, "--", "nsenter", "--net=/run/netns/"+layout.NetnsPrefix+d.Host)
	if d.Joins != 0 {
		args = append(args, fmt.Sprintf("--mount=/proc/%d/ns/mnt", d.Joins), fmt.Sprintf("--cgroup=/proc/%d/ns/cgroup", d.Joins))
	}
	args = append(args, "--")
	if d.Boots {
		script := privateCgroups() + d.Prepare + "\nexec \"$@\""
		args = append(args, "unshare", "--mount", "--propagation", "private", "--cgroup", "--",
			"/bin/sh", "-ec", script, d.Name)
	}
	return append(args, d.Args...)
}

// cgroup is the child of the host's cgroup that the daemon starts in. One that boots starts at the top, which becomes
// the root of what it sees, and moves down itself.
func (d Daemon) cgroup() string {
	if d.Boots {
		return ""
	}
	return "daemons"
}

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("making the directory of a log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening a log: %w", err)
	}
	return f, nil
}

func remember(paths layout.Paths, d Daemon, pid int) error {
	start, err := startTime(pid)
	if err != nil {
		return fmt.Errorf("%s on %s ended at once, see %s: %w", d.Name, d.Host, paths.Log(d.Host, d.Name), err)
	}
	file := pidFile(paths, d.Host, d.Name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("remembering %s on %s: %w", d.Name, d.Host, err)
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, "%d %d\n", pid, start), 0o644); err != nil {
		return fmt.Errorf("remembering %s on %s: %w", d.Name, d.Host, err)
	}
	return nil
}

func pidFile(paths layout.Paths, host, name string) string {
	return filepath.Join(paths.PIDs(), host, name)
}

// PID returns the process ID of a daemon, or 0 if it does not run.
func PID(paths layout.Paths, host, name string) int {
	data, err := os.ReadFile(pidFile(paths, host, name))
	if err != nil {
		return 0
	}
	pid, start, err := parsePIDFile(string(data))
	if err != nil || !isSame(pid, start) {
		return 0
	}
	return pid
}

func parsePIDFile(text string) (pid int, start uint64, err error) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return 0, 0, fmt.Errorf("a pid file has two numbers, this one %q", text)
	}
	pid, err = strconv.Atoi(fields[0])
	if err != nil {
		return 0, 0, fmt.Errorf("process ID: %w", err)
	}
	start, err = strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("start time: %w", err)
	}
	return pid, start, nil
}

// isSame says whether the process still runs and is the one that started then.
func isSame(pid int, start uint64) bool {
	now, err := startTime(pid)
	return err == nil && now == start
}

var errEnded = errors.New("the process has ended")

// startTime returns when a process started, in clock ticks since boot. A zombie counts as ended.
func startTime(pid int) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, errEnded
	}
	return parseStat(string(data))
}

// parseStat reads state and start time, fields 3 and 22 of proc(5). The command, field 2, may hold blanks and brackets.
func parseStat(stat string) (uint64, error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, fmt.Errorf("no command in %q", stat)
	}
	const state, start = 0, 19
	fields := strings.Fields(stat[end+1:])
	if len(fields) <= start {
		return 0, fmt.Errorf("too few fields in %q", stat)
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return 0, errEnded
	}
	return strconv.ParseUint(fields[start], 10, 64)
}
