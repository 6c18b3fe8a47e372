package contract

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

const flagData = "../flagdata"

var (
	helpFlag = regexp.MustCompile(`(?m)^ +--([a-z][a-z0-9-]*)`)
	helpGate = regexp.MustCompile(`(?m)^ +([A-Za-z]+)=true\|false`)
)

// The lists in flagdata are what real binaries accept. What --help and the list agree on is believed; everything else
// that any minor knows is put to the binary.
func TestTheListsOfFlagsAreWhatRealEtcdAccepts(t *testing.T) {
	for _, version := range needs.ReleasesAndNext() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			binary := filepath.Join(binaries(t, version), "etcd")
			help, err := exec.Command(binary, "--help").CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			minor := minorIn(t, version)
			accepted := acceptedFlags(t, binary, minor, submatches(helpFlag, help))
			compare(t, minor+".txt", slices.DeleteFunc(accepted, func(flag string) bool { return leaving(version, flag) }))
			if gates := submatches(helpGate, help); len(gates) > 0 {
				compare(t, "gates-"+minor+".txt", gates)
			}
		})
	}
}

// leaving reports a flag that the pre-release still accepts, and that etcd dropped since: it is in no list of that minor,
// so that nothing has to change when the next version is taken (etcd-io/etcd#22306).
func leaving(version, flag string) bool {
	return version == needs.Next && (flag == "max-snapshots" || flag == "v2-deprecation")
}

// minorIn is the minor of a version.
func minorIn(t *testing.T, version string) string {
	t.Helper()
	v, err := etcdutil.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	return v.MinorString()
}

func acceptedFlags(t *testing.T, binary, minor string, shown []string) []string {
	t.Helper()
	listed := list(t, minor+".txt")
	names := map[string]bool{}
	for _, other := range etcdutil.ListedMinors() {
		for _, name := range list(t, other+".txt") {
			names[name] = true
		}
	}
	for _, name := range shown {
		names[name] = true
	}
	var accepted []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		agreed := slices.Contains(listed, name) && slices.Contains(shown, name)
		if agreed || accepts(t, binary, name) {
			accepted = append(accepted, name)
		}
	}
	return accepted
}

// accepts gives the flag a value that is none for most; only a flag that is not known is called not defined. The
// version ends the process should the value be taken.
func accepts(t *testing.T, binary, name string) bool {
	t.Helper()
	out, _ := exec.Command(binary, "--"+name+"=?", "--version").CombinedOutput()
	if len(out) == 0 {
		t.Fatalf("%s --%s said nothing", binary, name)
	}
	return !strings.Contains(string(out), "flag provided but not defined")
}

func submatches(pattern *regexp.Regexp, text []byte) []string {
	found := map[string]bool{}
	for _, m := range pattern.FindAllSubmatch(text, -1) {
		found[string(m[1])] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func list(t *testing.T, file string) []string {
	t.Helper()
	return listIn(t, filepath.Join(flagData, file))
}

func listIn(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

func compare(t *testing.T, file string, want []string) {
	t.Helper()
	compareWith(t, filepath.Join(flagData, file), want)
}

// compareWith holds a list to what etcd said, or writes that down.
func compareWith(t *testing.T, path string, want []string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(want, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := listIn(t, path); !slices.Equal(got, want) {
		t.Errorf("%s differs from what etcd says; run with -update and read the difference\nlisted: %v\nsaid:   %v", path, got, want)
	}
}
