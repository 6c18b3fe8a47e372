package store

import (
	"os"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

func TestMain(m *testing.M) { os.Exit(needs.RunWaiting(m)) }
