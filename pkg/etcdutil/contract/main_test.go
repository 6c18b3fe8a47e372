package contract

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// update rewrites the recorded last words of real crashes.
var update = flag.Bool("update", false, "rewrite the recorded messages under pkg/etcdutil/testdata")

// atOnce is how many scenarios run at once. Most of their time is waiting for etcd's own five seconds, and two cores
// keep up with the members of so many.
const atOnce = 6

// TestMain says how many scenarios run at once.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil {
		_ = f.Value.Set(strconv.Itoa(atOnce))
	}
	os.Exit(m.Run())
}
