package contract

import (
	"flag"
	"os"
	"testing"
)

// update rewrites the recorded last words of real crashes.
var update = flag.Bool("update", false, "rewrite the recorded messages under pkg/etcdutil/testdata")

// TestMain lets many scenarios run at once: most of their time is waiting for etcd's own five seconds.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil {
		_ = f.Value.Set("24")
	}
	os.Exit(m.Run())
}
