package contract

import (
	"flag"
	"os"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// update rewrites the recorded last words of real crashes.
var update = flag.Bool("update", false, "rewrite the recorded messages under pkg/etcdutil/testdata")

func TestMain(m *testing.M) { os.Exit(needs.RunWaiting(m)) }
