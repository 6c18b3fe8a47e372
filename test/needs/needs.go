// Package needs is where every test says what it needs of the machine. On a person's machine a test is skipped where something is
// missing; with CI set it fails, because a test that CI does not run proves nothing.
package needs

import (
	"fmt"
	"os"
)

// T is what testing.TB and Ginkgo's own have in common here.
type T interface {
	Helper()
	Skip(args ...any)
	Fatal(args ...any)
}

// Missing ends a test that cannot run on this machine.
func Missing(t T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal("with CI set no test may be skipped: " + what)
	}
	t.Skip(what)
}

// Variable is the value of an environment variable that a test cannot do without.
func Variable(t T, name, howToSet string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		Missing(t, fmt.Sprintf("%s is not set. %s", name, howToSet))
	}
	return value
}

// Etcd is the directory that has the programs of every release of etcd, as <version>/etcd.
func Etcd(t T) string {
	t.Helper()
	return Variable(t, "ETCD_BINARIES", "Build etcd (make localkube-build bin/etcd) and set it to bin/etcd.")
}
