package needs

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// again is the name of a test that runs for the second time, in a process that was started for it.
const again = "ETCD_STEWARD_TEST_AGAIN"

// atOnce is how many tests run at once that mostly wait: for etcd's own five seconds, or for a store that stands still.
// Two cores keep up with the processes of so many.
const atOnce = 6

// RunWaiting runs a package whose tests mostly wait.
func RunWaiting(m *testing.M) int {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		panic(err)
	}
	return m.Run()
}

// Alone runs a test in a process of its own, where no other test asks for memory.
func Alone(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if os.Getenv(again) == t.Name() {
		test(t)
		return
	}
	rerun(t, (*exec.Cmd).Run)
}

// FilePermissions runs a test where the permissions of files hold. They do not hold for root. There the test runs in a second
// process, which has given up root's right to pass over them.
func FilePermissions(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if doPermissionsHold(t) {
		test(t)
		return
	}
	rerun(t, func(command *exec.Cmd) error {
		if err := dropRights(unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH); err != nil {
			return err
		}
		return command.Run()
	})
}

func doPermissionsHold(t *testing.T) bool {
	t.Helper()
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	_, err := os.ReadDir(closed)
	return errors.Is(err, os.ErrPermission)
}

// dropRights keeps the processes that this thread starts from ever having these rights.
func dropRights(capabilities ...uintptr) error {
	for _, capability := range capabilities {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
			return fmt.Errorf("giving up capability %d: %w", capability, err)
		}
	}
	return nil
}

// Mounts runs a test where it may mount file systems. Where this process may not, the test runs in a second one, which is root
// in namespaces of its own.
func Mounts(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if mayMount(t) {
		test(t)
		return
	}
	rerun(t, func(command *exec.Cmd) error {
		command.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		return command.Run()
	})
}

func mayMount(t *testing.T) bool {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8k"); err != nil {
		return false
	}
	if err := syscall.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	return true
}

// rerun runs the calling test in a second process. What start changes of its thread ends with that thread.
func rerun(t *testing.T, start func(command *exec.Cmd) error) {
	t.Helper()
	if os.Getenv(again) == t.Name() {
		t.Fatal("the process that was started for this test has the wrong rights too")
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), again+"="+t.Name(), "GOGC=100") // as what is shipped collects its garbage
	var output strings.Builder
	command.Stdout, command.Stderr = &output, &output
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		ended <- start(command)
	}()
	err := <-ended
	switch {
	case err != nil && command.ProcessState == nil:
		Missing(t, fmt.Sprintf("this machine starts no process with the rights that the test needs: %v", err))
	case err != nil || !strings.Contains(output.String(), "--- PASS: "+t.Name()):
		t.Errorf("in a second process: %v\n%s", err, &output)
	}
}
