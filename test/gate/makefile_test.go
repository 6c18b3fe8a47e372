package main

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Of a recipe that make only prints, the shell says whether it can read it.
func TestANameWithAnApostropheBreaksNoRecipe(t *testing.T) {
	for _, arguments := range [][]string{
		{"test-stories", "STORY=a member's volume", "GROUP=it's", "PICTURES=it's"},
		{"mutants", "ONLY=it's"},
		{"corpus-diff", "REF=it's"},
	} {
		printed := exec.CommandContext(t.Context(), "make", append([]string{"-n", "-C", "../.."}, arguments...)...)
		printed.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") })
		recipe, err := printed.Output()
		if err != nil || len(recipe) == 0 {
			t.Fatalf("%q: %v", arguments, err)
		}
		read := exec.CommandContext(t.Context(), "bash", "-n")
		read.Stdin = bytes.NewReader(recipe)
		if said, err := read.CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %s", arguments, err, said)
		}
	}
}
