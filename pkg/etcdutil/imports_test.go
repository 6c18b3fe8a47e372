package etcdutil

import (
	"os/exec"
	"strings"
	"testing"
)

// The planner may use these facts because they bring no I/O with them.
func TestTheFactsImportNothingThatCouldDoIO(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("listing dependencies: %v", err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		own := strings.HasSuffix(name, "/pkg/etcdutil")
		if name == "net" || name == "context" || name == "os/exec" || strings.Contains(name, ".") && !own && !strings.HasPrefix(name, "vendor/") {
			t.Errorf("it imports %s", name)
		}
	}
}
