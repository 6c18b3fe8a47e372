// Package needs is where every test says what it needs of the machine. On a person's machine a test is skipped where
// something is missing; with CI set it fails, because a test that CI does not run proves nothing. What only a full run
// plays, with FULL set, is skipped without it, in CI as well.
package needs

import (
	"fmt"
	"os"
	"slices"
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

// IsFull says that this is a full run: every release of etcd, every store, and the tests that take long.
func IsFull() bool { return os.Getenv("FULL") != "" }

// Stride is 1 in a full run, and n in the gate: a test that tries each of many moments or chances in turn goes on by it.
func Stride(n int) int {
	if IsFull() {
		return 1
	}
	return n
}

// Full ends a test that only a full run plays.
func Full(t T, why string) {
	t.Helper()
	if !IsFull() {
		t.Skip("only with FULL=1: " + why)
	}
}

// Unfit ends a test that says nothing on a machine like this one, and is no loss there.
func Unfit(t T, why string) {
	t.Helper()
	t.Skip(why)
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

// Release is the release of etcd that every test is played on.
const Release = "3.6.16"

// AllReleases are those that promises are kept to.
var AllReleases = []string{"3.5.35", Release, "3.7.3"}

// Releases are those that a test is played on which expects the same of each: in a full run all.
func Releases() []string {
	if IsFull() {
		return AllReleases
	}
	return []string{Release}
}

// Next is the pre-release of etcd that the operator accepts. Only a full run plays it.
const Next = "3.8.0-alpha.0"

// ReleasesAndNext are Releases, and in a full run the pre-release as well.
func ReleasesAndNext() []string {
	if IsFull() {
		return append(slices.Clone(AllReleases), Next)
	}
	return Releases()
}

// Etcd is the directory that has the programs of every release of etcd, as <version>/etcd.
func Etcd(t T) string {
	t.Helper()
	return Variable(t, "ETCD_BINARIES", "Build etcd (make localkube-build bin/etcd) and set it to bin/etcd.")
}
