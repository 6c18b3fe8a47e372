package promql

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Promtool is the promtool that make builds, or the one of this machine. Tests are in a folder of this module. CI never
// does without.
func Promtool(t testing.TB) string {
	t.Helper()
	built, err := filepath.Abs("../../../bin/promtool")
	if err != nil {
		t.Fatal(err)
	}
	for _, candidate := range []string{built, "promtool"} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("no promtool: make bin/promtool")
	}
	t.Skip("NOT TRIED: there is no promtool; make bin/promtool builds it")
	return ""
}
