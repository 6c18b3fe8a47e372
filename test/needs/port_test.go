package needs_test

import (
	"net"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

func TestAFreePortCanBeListenedOnAndIsNoneOfThoseThatConnectionsGet(t *testing.T) {
	for range 100 {
		port := needs.FreePort(t)
		listener, err := net.Listen("tcp", ":"+port)
		if err != nil {
			t.Fatal(err)
		}
		if number := listener.Addr().(*net.TCPAddr).Port; number < 10000 || number >= 30000 {
			t.Errorf("a connection may get %d", number)
		}
		_ = listener.Close()
	}
}
