package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fake puts shell scripts before the programs of this machine, or in the place of all of them.
func fake(t *testing.T, alone bool, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	path := dir
	if !alone {
		path += ":" + os.Getenv("PATH")
	}
	t.Setenv("PATH", path)
	return dir
}

func TestAllThatAMachineLacksIsSaidAtOnceWithItsRemedy(t *testing.T) {
	fake(t, false, map[string]string{
		"uname": "echo Linux", "id": "echo 1000", "df": "echo; echo disk 9 9 1048576 9% /",
	})
	cache := filepath.Join(t.TempDir(), "not", "there")
	err := Check(cache)
	if err == nil {
		t.Fatal("it lacks nothing")
	}
	for _, want := range []string{"root, ", "sudo", "12 GiB of free disk for " + cache, "LOCALKUBE_CACHE"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}

func TestACacheThatHasAKubernetesNeedsNoMoreSpace(t *testing.T) {
	fake(t, false, map[string]string{"id": "echo 1000", "df": "echo; echo disk 9 9 5242880 9% /"})
	cache := t.TempDir()
	for _, directory := range []string{"kubernetes-1.2.3-0123ab.tmp", "kubernetes-1.2.3-0123ab"} {
		if err := os.MkdirAll(filepath.Join(cache, "bin", directory), 0o700); err != nil {
			t.Fatal(err)
		}
		isHalf := strings.HasSuffix(directory, ".tmp")
		if err := Check(cache); err == nil || strings.Contains(err.Error(), "12 GiB") != isHalf {
			t.Errorf("with %s: %v", directory, err)
		}
	}
}

func TestOnAnotherSystemThatIsAllThatIsSaid(t *testing.T) {
	fake(t, false, map[string]string{"uname": "echo Darwin", "id": "echo 1000"})
	err := Check(t.TempDir())
	if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "Darwin") {
		t.Errorf("%v", err)
	}
}

func TestEveryMissingPackageIsNamedOnce(t *testing.T) {
	programs := map[string]string{"nft": ""}
	for _, name := range []string{"sort", "awk"} {
		programs[name] = "PATH=" + os.Getenv("PATH") + " exec " + name + ` "$@"`
	}
	programs["sh"] = `exec /bin/sh "$@"`
	fake(t, true, programs)
	names, err := fitness("packages")
	if err != nil || strings.Count(names, "containerd") != 1 || strings.Contains(names, "nftables") {
		t.Errorf("%v:\n%s", err, names)
	}
}

func TestAptIsTriedAgainWithFreshListsAndIsHeardWhenThatFailsToo(t *testing.T) {
	const noLuck, luck = `echo "$@" >>"${0%/*}/calls"; echo "E: no luck"; exit 100`, `#!/bin/sh
echo "$@" >>"${0%/*}/calls"
[ -e "${0%/*}/fresh" ] && exit
case "$*" in *update*) : >"${0%/*}/fresh";; *) exit 100;; esac
`
	dir := fake(t, false, map[string]string{"apt-get": noLuck})
	if err := aptInstall([]string{"runc"}); err == nil || !strings.Contains(err.Error(), "E: no luck") {
		t.Errorf("apt-get is not heard: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "apt-get"), []byte(luck), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := aptInstall([]string{"runc"}); err != nil {
		t.Errorf("with fresh lists it goes well: %v", err)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(calls)), "\n")
	if len(lines) != 5 {
		t.Errorf("apt-get was called as\n%s", calls)
	}
	for _, line := range lines {
		if !strings.Contains(line, "DPkg::Lock::Timeout=300") || !strings.Contains(line, "Acquire::Retries=3") {
			t.Errorf("it neither waits nor tries again: %s", line)
		}
	}
}

func TestMountsAreTakenDownDeepestFirstAndOnlyThoseBelow(t *testing.T) {
	const mountinfo = `22 1 8:1 / / rw - ext4 /dev/a rw
30 22 0:5 / /state rw - tmpfs tmpfs rw
31 30 0:5 / /state/a\040b rw - tmpfs tmpfs rw
32 31 0:5 / /state/a\040b/deep/er rw - tmpfs tmpfs rw
33 22 0:5 / /state-of-others rw - tmpfs tmpfs rw
`
	want := []string{"/state/a b/deep/er", "/state/a b"}
	if got := mountsBelow(mountinfo, "/state"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAvailableMemoryIsWhatTheKernelSays(t *testing.T) {
	const meminfo = "MemTotal:       24644936 kB\nMemAvailable:   21952712 kB\nBuffers: 1 kB\n"
	if got := availableKiB(meminfo); got != 21952712 {
		t.Errorf("got %d", got)
	}
	if got := availableKiB("MemTotal: 24644936 kB\n"); got != 0 {
		t.Errorf("of a kernel that does not say: %d", got)
	}
}
