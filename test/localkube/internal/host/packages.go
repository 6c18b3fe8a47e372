package host

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// CNIPlugins is where Debian puts the CNI plugins.
const CNIPlugins = "/usr/lib/cni"

// tools names what localkube runs of the system, and the Debian package that has it.
var tools = []struct{ path, pkg string }{
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{filepath.Join(CNIPlugins, "ptp"), "containernetworking-plugins"},
	{"nft", "nftables"},
	{"ip", "iproute2"},
	{"iptables", "iptables"},
	{"conntrack", "conntrack"},
	{"busybox", "busybox-static"},
	{"mkfs.ext4", "e2fsprogs"},
}

// Missing returns the Debian packages to install, each once.
func Missing() []string {
	var missing []string
	seen := map[string]bool{}
	for _, t := range tools {
		if _, err := exec.LookPath(t.path); err != nil && !seen[t.pkg] {
			seen[t.pkg] = true
			missing = append(missing, t.pkg)
		}
	}
	return missing
}

// Install installs what is missing after saying so. A person at a terminal is asked first, unless assumeYes, or the
// environment says this is CI.
func Install(out io.Writer, assumeYes bool) error {
	missing := Missing()
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("missing: %s; there is no apt-get to install them with, so please install them",
			strings.Join(missing, ", "))
	}
	say(out, "installing Debian packages: %s\n", strings.Join(missing, " "))
	if !assumeYes && os.Getenv("CI") == "" && isTerminal(os.Stdin) && !confirm(out) {
		return fmt.Errorf("not installed, as you said; localkube needs %s", strings.Join(missing, ", "))
	}
	return install(out, missing)
}

// install tries with the package lists as they are first, and fetches them only if that is not enough.
func install(out io.Writer, packages []string) error {
	restore, err := forbidServices()
	if err != nil {
		return err
	}
	defer restore()
	args := append([]string{"install", "--no-remove", "--no-install-recommends", "-y", "-qq"}, packages...)
	if err := aptGet(io.Discard, args); err == nil {
		return nil
	}
	if err := aptGet(out, []string{"update", "-qq"}); err != nil {
		return err
	}
	return aptGet(out, args)
}

func aptGet(out io.Writer, args []string) error {
	cmd := exec.Command("apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("apt-get %s: %w", strings.Join(args, " "), err)
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
