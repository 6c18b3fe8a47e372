package etcdutil

import (
	"embed"
	"slices"
	"strings"
	"sync"
)

// flagData lists, per minor, the flags and the feature gates that its etcd accepts, one per line and sorted. The lists
// were found by asking the binaries, because --help is not the truth: 3.5 hides one flag and 3.7 shows two that it does
// not accept. A test compares them with real binaries.
//
//go:embed flagdata/*.txt
var flagData embed.FS

// names are what one minor accepts, each list sorted.
type names struct{ flags, gates []string }

// nameTables reads flagData once, by minor. A minor without a list of gates has none.
var nameTables = sync.OnceValue(func() map[string]names {
	tables := map[string]names{}
	for _, minor := range KnownMinors() {
		flags, err := flagData.ReadFile("flagdata/" + minor + ".txt")
		if err != nil {
			panic("a known minor has no list of flags: " + err.Error()) // the lists are part of the program
		}
		gates, _ := flagData.ReadFile("flagdata/gates-" + minor + ".txt")
		tables[minor] = names{flags: strings.Fields(string(flags)), gates: strings.Fields(string(gates))}
	}
	return tables
})

// KnownFlag says whether etcd of this version's minor accepts the flag, given without dashes.
func KnownFlag(v Version, name string) bool {
	_, found := slices.BinarySearch(namesOf(v).flags, name)
	return found
}

// knownGates are the names that --feature-gates of this version's minor accepts.
func knownGates(v Version) []string { return namesOf(v).gates }

// namesOf gives the lists of a version's minor. Of a minor that is not known, the nearest one answers, so that a
// cluster that runs such a version can be kept alive.
func namesOf(v Version) names {
	known, ok := findMinor(v)
	if !ok {
		known = nearestMinor(v)
	}
	return nameTables()[known.waypoint.MinorString()]
}
