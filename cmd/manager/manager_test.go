package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestAnOperatorOfSomeNamespacesWatchesNothingOutsideThem(t *testing.T) {
	for given, want := range map[string][]string{
		"--namespace= --namespace=team-a":   {"team-a"}, // as a patch of the manifests appends it
		"--namespace=team-b,team-a":         {"team-a", "team-b"},
		"--namespace=team-b,team-a,team-b":  {"team-a", "team-b"},
		"--namespace=team-c --namespace=a1": {"a1"},
	} {
		o, err := parseOptions(strings.Fields(given))
		if err != nil {
			t.Fatalf("%s: %v", given, err)
		}
		options := cacheOptions(o.namespaces)
		if watched := slices.Sorted(maps.Keys(options.DefaultNamespaces)); !slices.Equal(watched, want) {
			t.Errorf("%s: watched are %v, want %v", given, watched, want)
		}
		for kind, settings := range options.ByObject {
			if settings.Namespaces != nil {
				t.Errorf("%T is watched otherwise than all kinds: %+v", kind, settings)
			}
		}
	}
}

func TestSpacesBetweenNamespacesAreNoPartOfThem(t *testing.T) {
	o, err := parseOptions([]string{"--namespace=team-b, team-a"})
	if err != nil || !slices.Equal(o.namespaces, []string{"team-a", "team-b"}) {
		t.Errorf("%q, %v", o.namespaces, err)
	}
}

func TestANamespaceThatIsNoneIsRefusedByTheNameOfItsFlag(t *testing.T) {
	for given, bad := range map[string]string{"Team": `"Team"`, "team-a,": `""`, ",": `""`, "a,b.c": `"b.c"`, "*": `"*"`} {
		_, err := parseOptions([]string{"--namespace=" + given})
		if err == nil || !strings.Contains(err.Error(), "--namespace") || !strings.Contains(err.Error(), "names "+bad) {
			t.Errorf("%s: %v", given, err)
		}
	}
}

func TestAnOperatorOfAllNamespacesWatchesAll(t *testing.T) {
	for _, given := range []string{"", "--namespace=", "--namespace=team-a --namespace="} {
		o, err := parseOptions(strings.Fields(given))
		if err != nil {
			t.Fatal(err)
		}
		if watched := cacheOptions(o.namespaces).DefaultNamespaces; watched != nil {
			t.Errorf("%s: watched: %v", given, watched)
		}
	}
}

func TestWhoChoosesUsersAndGroupsIsFoundOutUnlessItIsSaid(t *testing.T) {
	for given, want := range map[string]string{"": "auto", "--platform-ids=true": "true", "--platform-ids=false": "false"} {
		o, err := parseOptions(strings.Fields(given))
		if err != nil || o.platformIDs != want {
			t.Errorf("%q: %q, %v", given, o.platformIDs, err)
		}
	}
	const says = `--platform-ids is "yes"; it must be true, false or auto`
	if _, err := parseOptions([]string{"--platform-ids=yes"}); err == nil || err.Error() != says {
		t.Errorf("%v", err)
	}
}

func TestAnInstallIsNamedByItsNamespaceAndNotByItsPod(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "team-a")
	if got := identity(); got != "team-a/etcd-steward" {
		t.Error(got)
	}
	t.Setenv("POD_NAMESPACE", "")
	if got := identity(); got != "local/etcd-steward" {
		t.Error(got)
	}
}

// TestMain lets a process of this test play a replica that lost the Lease: once begun anew it says so.
func TestMain(m *testing.M) {
	switch os.Getenv("PLAYS") {
	case "the former leader":
		_ = os.Setenv("PLAYS", "its successor")
		beginAnew(errors.New("another one leads"))
	case "its successor":
		fmt.Println("began anew in process", os.Getpid(), os.Args[1:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAFormerLeaderBeginsAnewInItsOwnPlaceAndIsNotRestarted(t *testing.T) {
	leader := exec.CommandContext(t.Context(), os.Args[0], "--leader-elect")
	leader.Env = append(os.Environ(), "PLAYS=the former leader")
	var said, errs strings.Builder
	leader.Stdout, leader.Stderr = &said, &errs
	if err := leader.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	if want := fmt.Sprintln("began anew in process", leader.Process.Pid, "[--leader-elect]"); said.String() != want {
		t.Errorf("it said %q, not %q", said.String(), want)
	}
	if !strings.Contains(errs.String(), "another one leads") {
		t.Errorf("it does not say why: %q", errs.String())
	}
}
