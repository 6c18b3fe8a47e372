package contract

import (
	"flag"
	"log"
	"os"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// update rewrites the recorded last words of real crashes.
var update = flag.Bool("update", false, "rewrite the recorded messages under pkg/etcdutil/testdata")

func TestMain(m *testing.M) {
	if os.Getenv(runWithoutIPv6) != "" {
		log.Fatal(becomeWithoutIPv6(os.Args[1:]))
	}
	os.Exit(needs.RunWaiting(m))
}
