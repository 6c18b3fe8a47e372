package etcdutil

import (
	"fmt"
	"strings"
)

// Tier says how far a version may be used.
type Tier string

const (
	// TierRefuse is for versions that no new cluster may start with and no cluster may go to. A cluster that runs one
	// already is kept alive, and may always leave it.
	TierRefuse Tier = "Refuse"
	// TierWarn is for versions with a known defect that a later patch of the same minor does not have.
	TierWarn Tier = "Warn"
	// TierFine is for everything else, newer patches of a known minor included.
	TierFine Tier = "Fine"
)

// Verdict is what is thought of a version.
type Verdict struct {
	Tier     Tier
	Reason   string  // a sentence for people; empty when the version is fine
	Waypoint Version // the version to go to instead: of the same minor, or the nearest known one
}

// minor is what is known of one minor release line.
type minor struct {
	major, minor int
	waypoint     Version // the patch to which members go on their way through this minor
	why          string  // what a version below the waypoint lacks
	source       string  // where the waypoint's reason can be read
}

// knownMinors, oldest first.
var knownMinors = []minor{
	{3, 5, Version{3, 5, 35},
		"a member may fail to start after a power loss, and HashKV may race with a received snapshot",
		"etcd-io/etcd#22340, CHANGELOG/CHANGELOG-3.5.md"},
	{3, 6, Version{3, 6, 16},
		"a member may fail to start after a power loss, and HashKV may race with a received snapshot",
		"etcd-io/etcd#22340, CHANGELOG/CHANGELOG-3.6.md"},
	{3, 7, Version{3, 7, 3}, "a streamed range may overwrite the last key it returned, and HashKV may race with a " +
		"received snapshot",
		"etcd-io/etcd:server/etcdserver/v3_server.go, CHANGELOG/CHANGELOG-3.7.md"},
}

// defect is a reason to refuse versions of one minor below the patch that fixed it. Changelogs say where something was
// fixed, rarely since when it was broken, so each is a lower bound and not a range.
type defect struct {
	fixed  Version
	what   string
	source string
}

// refusals are the defects that lose or corrupt data, or keep a cluster from starting.
var refusals = []defect{
	{Version{3, 5, 14}, "its revision can go back after a crash during compaction", "etcd-io/etcd PR 17865"},
	{Version{3, 6, 4}, "a member can fail to start after a learner was promoted", "etcd-io/etcd PR 20387"},
}

// Judge says whether a version may be used and, where not, why and what to use instead.
func Judge(v Version) Verdict {
	known, ok := findMinor(v)
	if !ok {
		nearest := nearestMinor(v)
		return Verdict{TierRefuse,
			fmt.Sprintf("etcd %s is of a minor this operator does not know; it knows %s. Use %s.",
				v, strings.Join(KnownMinors(), ", "), nearest.waypoint), nearest.waypoint}
	}
	for _, d := range refusals {
		if v.SameMinor(d.fixed) && !v.AtLeast(d.fixed) {
			return Verdict{TierRefuse, fmt.Sprintf("etcd %s is refused: %s (fixed in %s). Use %s.",
				v, d.what, d.fixed, known.waypoint), known.waypoint}
		}
	}
	if !v.AtLeast(known.waypoint) {
		return Verdict{TierWarn, fmt.Sprintf("etcd %s has known defects: %s. Use %s.", v, known.why, known.waypoint),
			known.waypoint}
	}
	return Verdict{Tier: TierFine, Waypoint: known.waypoint}
}

// KnownMinors lists the minors that clusters may run, oldest first, as "3.6".
func KnownMinors() []string {
	names := make([]string, len(knownMinors))
	for i, m := range knownMinors {
		names[i] = m.waypoint.MinorString()
	}
	return names
}

func findMinor(v Version) (minor, bool) {
	for _, m := range knownMinors {
		if m.major == v.Major && m.minor == v.Minor {
			return m, true
		}
	}
	return minor{}, false
}

// nearestMinor is the oldest known minor for anything older, the newest for anything newer.
func nearestMinor(v Version) minor {
	if !v.AtLeast(knownMinors[0].waypoint) {
		return knownMinors[0]
	}
	return knownMinors[len(knownMinors)-1]
}
