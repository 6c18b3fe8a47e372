package contract

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// update rewrites the recorded last words of real crashes.
var update = flag.Bool("update", false, "rewrite the recorded messages under pkg/etcdutil/testdata")

// scenariosPerProcessor run at once: most of their time is waiting for etcd's own five seconds.
const scenariosPerProcessor = 6

// TestMain says how many scenarios run at once.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil {
		_ = f.Value.Set(strconv.Itoa(scenariosPerProcessor * runtime.NumCPU()))
	}
	os.Exit(m.Run())
}
