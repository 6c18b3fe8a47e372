package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestACommandRefusesTooFewAndTooManyArguments(t *testing.T) {
	for line, fine := range map[string]bool{
		"up": true, "up --nodes 5 --yes": true, "up --nodes=1": true,
		"down": true, "down now": false, "etcd": true, "etcd --etcd 3.6.16": true, "add-etcd": false, "add-etcd 3.6.16": true,
		"load": false, "load a.tar": true, "load a.tar b.tar": true, "push": true, "push a.tar b.tar": true,
		"cut": false, "cut node-1": true, "cut node-1 node-2": false,
		"kubectl": true, "kubectl get pods -A": true,
		"binary": false, "binary kube-apiserver": true,
		"pid ns pod": false, "pid ns pod etcd": true,
	} {
		words := strings.Fields(line)
		if err := find(t, words[0]).check(words[1:]); (err == nil) != fine {
			t.Errorf("localkube %s: %v, want accepted: %v", line, err, fine)
		}
	}
}

// It is how a contributor who is not root comes to a real etcd.
func TestReleasesOfEtcdAreBuiltByGoAloneForAnyUser(t *testing.T) {
	bin := t.TempDir()
	built := `#!/bin/sh
[ "$1" = list ] && exit
while [ "$1" != -o ]; do shift; done
touch "$2/server"
`
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(built), 0o700); err != nil {
		t.Fatal(err)
	}
	touch, err := exec.LookPath("touch")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(touch, filepath.Join(bin, "touch")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin) // no containerd, no mount, no apt-get
	t.Setenv("LOCALKUBE_CACHE", t.TempDir())
	if err := run(t.Context(), []string{"etcd", "--etcd", "3.6.16"}); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(os.Getenv("LOCALKUBE_CACHE"), "bin", "*", "etcd"))
	if err != nil || len(made) != 1 {
		t.Errorf("built are %v, %v", made, err)
	}
	if err := run(t.Context(), []string{"etcd", "--etcd", "2.0.0"}); err == nil || !strings.Contains(err.Error(), "3.6.16") {
		t.Errorf("a release that there is not: %v", err)
	}
}

func TestHelpNamesEveryCommand(t *testing.T) {
	help := usage()
	for _, c := range commands() {
		if !strings.Contains(help, "\n  "+c.name+" ") {
			t.Errorf("help does not name %s:\n%s", c.name, help)
		}
	}
}

func find(t *testing.T, name string) command {
	t.Helper()
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("no command %s", name)
	return command{}
}
