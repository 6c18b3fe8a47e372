package apply

import (
	"errors"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestADowngradeIsEnabledOnceAndCancelledHoweverOftenItIsAsked(t *testing.T) {
	r := newRunning(t)
	minor := etcdutil.Version{Major: 3, Minor: 5}
	enabled := func() string {
		status, err := r.look(t).Clients["demo-1"].Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return status.Downgrade
	}
	r.mustDo(t, r.look(t), changes.EnableDowngrade{Minor: minor})
	if got := enabled(); got != "3.5.0" {
		t.Errorf("%q is enabled", got)
	}
	var refused Rejected
	if err := r.do(t, r.look(t), changes.EnableDowngrade{Minor: minor}); !errors.As(err, &refused) ||
		refused.Reason != RejectedEtcd || !strings.Contains(refused.Message, "invalid downgrade target version") {
		t.Errorf("it is not told in etcd's words that the cluster version is there already: %v", err)
	}
	for range 2 {
		r.mustDo(t, r.look(t), changes.CancelDowngrade{Minor: minor})
	}
	if got := enabled(); got != "" {
		t.Errorf("%q is still enabled", got)
	}
}
