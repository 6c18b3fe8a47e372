package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestAnOperatorOfOneNamespaceWatchesNothingOutsideIt(t *testing.T) {
	o, err := parseOptions([]string{"--namespace=", "--namespace=team-a"}) // as a patch of the manifests appends it
	if err != nil {
		t.Fatal(err)
	}
	options := cacheOptions(o.namespace)
	if len(options.DefaultNamespaces) != 1 {
		t.Errorf("watched: %v", options.DefaultNamespaces)
	}
	if _, ok := options.DefaultNamespaces["team-a"]; !ok {
		t.Errorf("watched: %v", options.DefaultNamespaces)
	}
	for kind, settings := range options.ByObject {
		if settings.Namespaces != nil {
			t.Errorf("%T is watched otherwise than all kinds: %+v", kind, settings)
		}
	}
}

func TestAnOperatorOfAllNamespacesWatchesAll(t *testing.T) {
	o, err := parseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	if watched := cacheOptions(o.namespace).DefaultNamespaces; watched != nil {
		t.Errorf("watched: %v", watched)
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
