package main

import (
	"strings"
	"testing"
)

func TestACommandRefusesTooFewAndTooManyArguments(t *testing.T) {
	for line, fine := range map[string]bool{
		"up": true, "up --nodes 5 --yes": true, "up --nodes=1": true,
		"down": true, "down now": false,
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
