package main

import (
	"slices"
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

// A mutant whose code was moved proves nothing, and is only tried once in a while.
func TestTheCodeThatEachMutantChangesIsThere(t *testing.T) {
	t.Chdir("../..")
	for _, m := range every() {
		if _, err := m.overlay(t.TempDir()); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

func TestTheBugsOfTheGuardAndOfPeersAreChosenByTheirGroups(t *testing.T) {
	chosen, err := choose(nil, []string{"guard", "peers"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range every() {
		isWanted := m.Peer != "" || slices.Contains(guards, m) || strings.HasPrefix(m.File, "controllers/plan/guard/")
		if isChosen := slices.Contains(chosen, m); isChosen != isWanted {
			t.Errorf("%s: chosen %v, want %v", m.Name, isChosen, isWanted)
		}
	}
	const fewest = 130
	if len(chosen) < fewest {
		t.Errorf("only %d mutants are of the guard and of peers, want at least %d", len(chosen), fewest)
	}
	if _, err := choose(nil, []string{"no such group"}); err == nil {
		t.Error("a group that is none chooses nothing, and is not refused")
	}
}
