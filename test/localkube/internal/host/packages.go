package host

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// CNIPlugins is where Debian puts the CNI plugins.
const CNIPlugins = "/usr/lib/cni"

// Install installs the Debian packages that are missing after saying so. A person at a terminal is asked first, unless
// assumeYes, or the environment says this is CI.
func Install(out io.Writer, assumeYes bool) error {
	names, err := fitness("packages")
	if err != nil {
		return fmt.Errorf("looking for missing packages: %w", err)
	}
	missing := strings.Fields(names)
	if len(missing) == 0 {
		return nil
	}
	say(out, "installing Debian packages: %s\n", strings.Join(missing, " "))
	if !assumeYes && os.Getenv("CI") == "" && isTerminal(os.Stdin) && !confirm(out) {
		return fmt.Errorf("not installed, as you said; localkube needs %s", strings.Join(missing, ", "))
	}
	restore, err := forbidServices()
	if err != nil {
		return err
	}
	defer restore()
	return aptInstall(missing)
}

// aptInstall tries with the package lists as they are first, and fetches them only if that is not enough. What apt-get
// says is shown only if the last try fails.
func aptInstall(packages []string) error {
	args := append([]string{"install", "--no-remove", "--no-install-recommends", "-y", "-qq"}, packages...)
	if err := aptGet(args); err == nil {
		return nil
	}
	if err := aptGet([]string{"update", "-qq"}); err != nil {
		return err
	}
	return aptGet(args)
}

// aptGet waits up to 5 minutes for another apt to finish.
func aptGet(args []string) error {
	args = append([]string{"-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"}, args...)
	cmd := exec.Command("apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}

const policyFile = "/usr/sbin/policy-rc.d"

// forbidServices keeps Debian from starting its own containerd while it is installed, as policy-rc.d is made for. A
// policy that is there already stays.
func forbidServices() (restore func(), err error) {
	f, err := os.OpenFile(policyFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if os.IsExist(err) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("forbidding services to start: %w", err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString("#!/bin/sh\nexit 101\n"); err != nil {
		return nil, fmt.Errorf("forbidding services to start: %w", err)
	}
	return func() { _ = os.Remove(policyFile) }, nil
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

func confirm(out io.Writer) bool {
	say(out, "go on? [Y/n] ")
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "" || answer == "y" || answer == "yes"
}

func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
