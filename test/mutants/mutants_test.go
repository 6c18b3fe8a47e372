package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEachMutantHasANameOfItsOwnAndChangesSomething(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range every() {
		if seen[m.Name] {
			t.Errorf("%s: two mutants have this name", m.Name)
		}
		seen[m.Name] = true
		if m.From == m.To {
			t.Errorf("%s: it changes nothing", m.Name)
		}
	}
}

// Mutants are only tried once in a while; one whose text or test is gone would prove nothing by then.
func TestTheCodeThatEachMutantChangesAndItsTestAreThereOnce(t *testing.T) {
	if _, err := locate("../..", every()); err != nil {
		t.Error(err)
	}
}

func TestAMutantIsFoundWhereverItsTextAndItsTestStand(t *testing.T) {
	root := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		name := filepath.Join(root, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, directory := range rooms {
		write(directory+"/doc.go", "package x")
	}
	seeded := []mutant{{Name: "one", From: "isSafe()", To: "true", Test: "TestItIsSafe/with_a_row"}}
	refusal := func() string {
		t.Helper()
		if _, err := locate(root, seeded); err != nil {
			return err.Error()
		}
		return ""
	}

	if said := refusal(); !strings.Contains(said, "stands 0 times") {
		t.Errorf("a text that is nowhere: %q", said)
	}
	write("controllers/plan/size.go", "isSafe()")
	if said := refusal(); !strings.Contains(said, "0 packages have TestItIsSafe") {
		t.Errorf("a test that is nowhere: %q", said)
	}
	write("pkg/backup/safe_test.go", "func TestItIsSafe(t *testing.T) { isSafe() }")
	located, err := locate(root, seeded)
	if err != nil {
		t.Fatal(err)
	}
	if want := (place{file: "controllers/plan/size.go", pkg: "./pkg/backup"}); located[0].place != want {
		t.Errorf("found in %+v, want %+v", located[0].place, want)
	}
	write("api/twice.go", "isSafe()")
	if said := refusal(); !strings.Contains(said, "stands 2 times") {
		t.Errorf("a text that stands in two files: %q", said)
	}
}

func TestTheBugsOfTheGuardAndOfPeersAreChosenByTheirGroups(t *testing.T) {
	all, err := locate("../..", every())
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := choose(all, nil, []string{"guard", "peers"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		isWanted := m.Peer != "" || isListed(guards, m) || strings.HasPrefix(m.file, "controllers/plan/changes/")
		if isChosen := isListed(chosen, m); isChosen != isWanted {
			t.Errorf("%s: chosen %v, want %v", m.Name, isChosen, isWanted)
		}
	}
	const fewest = 130
	if len(chosen) < fewest {
		t.Errorf("only %d mutants are of the guard and of peers, want at least %d", len(chosen), fewest)
	}
	if _, err := choose(all, nil, []string{"no such group"}); err == nil {
		t.Error("a group that is none chooses nothing, and is not refused")
	}
}
