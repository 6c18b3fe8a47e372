package contract

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// Each minor starts with the arguments that OptionArgs makes for it, the user's among them.
func TestRealEtcdStartsWithItsOptionArgs(t *testing.T) {
	for _, version := range needs.AllReleases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newRealWorld(t, version)
			extra := map[string]string{"max-request-bytes": "2097152", "log-level": "error"}
			if etcdutil.KnownFlag(w.version(), "feature-gates") {
				extra["feature-gates"] = "LeaseCheckpoint=true"
			}
			for name, value := range extra {
				if err := etcdutil.CheckExtraArg(w.version(), name, value); err != nil {
					t.Fatal(err)
				}
			}
			w.extra = etcdutil.OptionArgs(w.version(), "true", extra)
			if !slices.ContainsFunc(w.extra, func(arg string) bool { return strings.Contains(arg, "orrupt") }) {
				t.Fatalf("the checks are not among %v", w.extra)
			}
			p := &play{TB: t, world: w}
			p.startAll("a", "b", "c")
			p.accepted(p.writing("a"))
			p.stop("a")
			p.start(sealed("a"))
			p.serving("a")
		})
	}
}
