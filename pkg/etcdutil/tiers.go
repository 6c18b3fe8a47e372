package etcdutil

import (
	"fmt"
	"slices"
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
	Reason   string  // a sentence for people about the version alone; empty when the version is fine
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
	{3, 5, release(3, 5, 35),
		"a member may fail to start after a power loss, and HashKV may race with a received snapshot",
		"etcd-io/etcd#22340, CHANGELOG/CHANGELOG-3.5.md"},
	{3, 6, release(3, 6, 16),
		"a member may fail to start after a power loss, and HashKV may race with a received snapshot",
		"etcd-io/etcd#22340, CHANGELOG/CHANGELOG-3.6.md"},
	{3, 7, release(3, 7, 3), "a streamed range may overwrite the last key it returned, and HashKV may race with a " +
		"received snapshot",
		"etcd-io/etcd:server/etcdserver/v3_server.go, CHANGELOG/CHANGELOG-3.7.md"},
}

// trial is the minor that comes next, of which only this pre-release is known. A cluster runs it where the spec asks
// for that very version, and is warned; nothing leads through it.
var trial = minor{3, 8, Version{Major: 3, Minor: 8, Pre: "alpha.0"}, "it is a pre-release, for tests only. No later " +
	"version has to read its data", "etcd-io/etcd:CHANGELOG/CHANGELOG-3.8.md"}

// defect is a reason to refuse versions of one minor below the patch that fixed it. Changelogs say where something was
// fixed, rarely since when it was broken, so each is a lower bound and not a range.
type defect struct {
	fixed  Version
	what   string
	source string
}

// refusals are the defects that lose or corrupt data, or keep a cluster from starting.
var refusals = []defect{
	{release(3, 5, 14), "its revision can go back after a crash during compaction", "etcd-io/etcd PR 17865"},
	{release(3, 6, 4), "a member can fail to start after a learner was promoted", "etcd-io/etcd PR 20387"},
}

// Judge says whether a version may be used and, where not, why and what to use instead.
func Judge(v Version) Verdict {
	known, isKnown := findMinor(v)
	switch {
	case v == trial.waypoint:
		return Verdict{TierWarn, fmt.Sprintf("etcd %s is accepted, but %s.", v, trial.why), newest().waypoint}
	case isKnown && known == trial:
		return Verdict{TierRefuse, fmt.Sprintf("etcd %s is of a minor of which this operator knows only %s, which is "+
			"for tests.", v, trial.waypoint), newest().waypoint}
	case !isKnown:
		return Verdict{TierRefuse,
			fmt.Sprintf("etcd %s is of a minor this operator does not know; it knows %s.",
				v, strings.Join(KnownMinors(), ", ")), nearestMinor(v).waypoint}
	case v.Pre != "":
		return Verdict{TierRefuse, fmt.Sprintf("etcd %s is not accepted: it is a pre-release.", v), known.waypoint}
	}
	return judgeRelease(v, known)
}

// judgeRelease judges a release of a minor that clusters may run.
func judgeRelease(v Version, known minor) Verdict {
	for _, d := range refusals {
		if v.SameMinor(d.fixed) && !v.AtLeast(d.fixed) {
			return Verdict{TierRefuse, fmt.Sprintf("etcd %s is not accepted: %s (fixed in %s).",
				v, d.what, d.fixed), known.waypoint}
		}
	}
	if !v.AtLeast(known.waypoint) {
		return Verdict{TierWarn, fmt.Sprintf("etcd %s has known defects: %s.", v, known.why), known.waypoint}
	}
	return Verdict{Tier: TierFine, Waypoint: known.waypoint}
}

// KnownMinors lists the minors of which clusters may run releases, oldest first, as "3.6".
func KnownMinors() []string { return namesOfMinors(knownMinors) }

// ListedMinors lists the minors of which flags and gates are known: those and the one that comes next.
func ListedMinors() []string { return namesOfMinors(listedMinors()) }

func listedMinors() []minor { return append(slices.Clone(knownMinors), trial) }

func namesOfMinors(minors []minor) []string {
	names := make([]string, len(minors))
	for i, m := range minors {
		names[i] = m.waypoint.MinorString()
	}
	return names
}

func findMinor(v Version) (minor, bool) {
	for _, m := range listedMinors() {
		if m.major == v.Major && m.minor == v.Minor {
			return m, true
		}
	}
	return minor{}, false
}

func newest() minor { return knownMinors[len(knownMinors)-1] }

// nearestMinor is the oldest known minor for anything older, the newest for anything newer.
func nearestMinor(v Version) minor {
	if !v.AtLeast(knownMinors[0].waypoint) {
		return knownMinors[0]
	}
	return newest()
}

// vulnerability is a security advisory of etcd or of a module that it is built with, and the patch of each known minor
// that ended it. A minor that is not named never had it.
type vulnerability struct {
	id     string // as etcd itself names it, and the module where it is not etcd's own
	fixed  []Version
	source string
}

// vulnerabilities, by the time when they were told.
var vulnerabilities = []vulnerability{
	{"CVE-2026-33343", []Version{release(3, 5, 28), release(3, 6, 9)}, "etcd-io/etcd CHANGELOG, GHSA-rfx7-8w68-q57q"},
	{"CVE-2026-33413", []Version{release(3, 5, 28), release(3, 6, 9)}, "etcd-io/etcd CHANGELOG, GHSA-q8m4-xhhv-38mg"},
	{"CVE-2026-44283", []Version{release(3, 5, 30), release(3, 6, 11)},
		"etcd-io/etcd PRs 21681, 21685, GHSA-x35m-3gp4-4fh5"},
	{"GHSA-3wh4-j44w-pg92", []Version{release(3, 5, 32), release(3, 6, 13)}, "etcd-io/etcd PRs 22021, 22025"},
	{"GHSA-xg4h-6gfc-h4m8", []Version{release(3, 5, 33), release(3, 6, 14), release(3, 7, 1)},
		"etcd-io/website:content/en/blog/2026, v3.7.1, v3.6.14, and v3.5.33"},
	{"GHSA-6vch-q96h-7gc3", []Version{release(3, 5, 33), release(3, 6, 14), release(3, 7, 1)},
		"etcd-io/website:content/en/blog/2026, v3.7.1, v3.6.14, and v3.5.33"},
	{"GHSA-w67g-5rqw-f597 (gorilla/websocket)", []Version{release(3, 5, 34), release(3, 6, 15)},
		"etcd-io/etcd PR 22366, server/go.mod"},
	{"CVE-2026-56852 (golang.org/x/text)", []Version{release(3, 5, 34), release(3, 6, 15), release(3, 7, 2)},
		"etcd-io/website:content/en/blog/2026/sep-21-patch-release.md, server/go.mod"},
}

// Vulnerabilities names the security advisories that a version is known to be open to, those of its dependencies too,
// and the first patch of its minor without any of them. Both are empty for a version without one.
func Vulnerabilities(v Version) (ids []string, fixed Version) {
	for _, known := range vulnerabilities {
		for _, f := range known.fixed {
			if !v.SameMinor(f) || v.AtLeast(f) {
				continue
			}
			ids = append(ids, known.id)
			if !fixed.AtLeast(f) {
				fixed = f
			}
		}
	}
	return ids, fixed
}
