package contract

import (
	"slices"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// scenarios is the contract: what the fake and every real etcd must both do.
var scenarios = slices.Concat(bootstrapScenarios, learnerScenarios, removalScenarios, leaderScenarios, identityScenarios, lossScenarios,
	authScenarios, roleScenarios)

// differing are the scenarios and crashes in which releases differ, or may: every release plays them.
var differing = []string{
	// How the cluster version begins.
	"three newborns are one cluster, and each is listed as started",
	// When a new member serves.
	"a single member takes a learner at once, and it becomes a voter",
	// 3.5 refuses with a code of its own.
	"a learner tells its status and refuses all else",
	// 3.5 ends with another exit code and other words.
	"a removed member ends, ends again when started with its data, and is not found a second time",
	// Each has its own library of raft.
	"a learner emptied under its joining flags panics, and can be replaced",
	// Each has its own words.
	"a sealed member of three without data ends, each time, with its peers up",
	// A release may come to refuse that.
	"an emptied member and a stale survivor form a quorum, and acknowledged writes are gone",
	// 3.5 answers with fewer fields.
	"a revision is one above the number of writes, and the hashes of all members agree on it",
	// Only 3.5 has two minors above it, and only 3.7 two below it.
	"two minors older than its data",
	"two minors newer than its data",
}

// plays says whether a release plays a scenario or a crash.
func plays(release, name string) bool {
	return needs.IsFull() || release == needs.Release || slices.Contains(differing, name)
}

func TestWhatDiffersBetweenReleasesIsAScenarioOrACrash(t *testing.T) {
	for _, name := range differing {
		isScenario := slices.ContainsFunc(scenarios, func(s scenario) bool { return s.name == name })
		isCrash := slices.ContainsFunc(crashes, func(c crash) bool { return c.name == name })
		if !isScenario && !isCrash {
			t.Errorf("there is none of the name %q", name)
		}
	}
}
