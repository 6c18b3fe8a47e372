package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
)

const tail = " 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 424242 99 1"

func TestStartTimeIsReadWithAnyNameOfTheCommand(t *testing.T) {
	for _, name := range []string{"(kubelet)", "(a b)", "(weird) 7 ) S)"} {
		start, err := parseStat("17 " + name + " S" + tail)
		if err != nil || start != 424242 {
			t.Errorf("%s: %d, %v", name, start, err)
		}
	}
}

func TestAZombieHasEnded(t *testing.T) {
	if _, err := parseStat("17 (kubelet) Z" + tail); !errors.Is(err, errEnded) {
		t.Errorf("a zombie is taken for running: %v", err)
	}
}

func TestAProcessThatTookOverTheIDIsNotTheDaemon(t *testing.T) {
	paths := layout.Paths{Root: t.TempDir()}
	if err := remember(paths, Daemon{Host: "node-1", Name: "kubelet"}, os.Getpid()); err != nil {
		t.Fatal(err)
	}
	if pid := PID(paths, "node-1", "kubelet"); pid != os.Getpid() {
		t.Fatalf("a running daemon is not found: %d", pid)
	}
	file := pidFile(paths, "node-1", "kubelet")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	earlier := strings.Replace(string(data), " ", " 1", 1)
	if err := os.WriteFile(file, []byte(earlier), 0o600); err != nil {
		t.Fatal(err)
	}
	if pid := PID(paths, "node-1", "kubelet"); pid != 0 {
		t.Errorf("process %d started at another time and is taken for the daemon", pid)
	}
}

func TestOnlyTheRememberedProcessIsKilled(t *testing.T) {
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	paths := layout.Paths{Root: t.TempDir()}
	if err := remember(paths, Daemon{Host: "node-1", Name: "kubelet"}, sleeper.Process.Pid); err != nil {
		t.Fatal(err)
	}
	// This very process, with a start time that is not its own: it must survive.
	dir := filepath.Join(paths.PIDs(), "node-1")
	if err := os.WriteFile(filepath.Join(dir, "stranger"), fmt.Appendf(nil, "%d 1\n", os.Getpid()), 0o600); err != nil {
		t.Fatal(err)
	}
	killRemembered(dir)
	if err := sleeper.Wait(); err == nil || sleeper.ProcessState.Success() {
		t.Errorf("the remembered process was not killed: %v", err)
	}
}

func TestADaemonIsStartedWithoutAProcessInBetween(t *testing.T) {
	args := command(Daemon{Host: "node-1", Name: "kubelet", Joins: 7, Args: []string{"kubelet", "--x"}}, []string{"/a", "/b"})
	if args[0] != "/bin/sh" || !strings.Contains(args[2], `exec "$@"`) {
		t.Errorf("the shell does not give way to what it starts: %v", args)
	}
	want := []string{
		"/a", "/b", "--", "nsenter", "--net=/run/netns/localkube-node-1",
		"--mount=/proc/7/ns/mnt", "--cgroup=/proc/7/ns/cgroup", "--", "kubelet", "--x",
	}
	if got := args[len(args)-len(want):]; !slices.Equal(got, want) {
		t.Errorf("started as %v, want %v", got, want)
	}
}
