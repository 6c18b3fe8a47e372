package etcdutil

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// featureGatesFlag is the one flag that the operator and a user may both have something to say in.
const featureGatesFlag = "feature-gates"

// The gates by which etcd compares its data with its peers: at each compaction, and before serving. Both are off by
// default (etcd-io/etcd:server/features/etcd_features.go). 3.5, which has no gates, has flags in their place.
const (
	gateAtCompaction, flagAtCompaction = "CompactHashCheck", "experimental-compact-hash-check-enabled"
	gateAtStart, flagAtStart           = "InitialCorruptCheck", "experimental-initial-corrupt-check"
)

// flagByTheHour is how long etcd's leader waits between two comparisons of all that members hold, 3.5 with
// experimentPrefix before it. Without the flag it makes none (etcd-io/etcd:server/etcdserver/server.go, monitorKVHash).
const (
	flagByTheHour, theHour = "corrupt-check-time", "1h"
	experimentPrefix       = "experimental-"
)

// hasGates says whether the version knows --feature-gates at all; etcd has it from 3.6 on.
func hasGates(v Version) bool { return KnownFlag(v, featureGatesFlag) }

// OptionArgs are the arguments for the corruption checks and for the user's extra flags, without dashes in the map, as
// one sorted list that a version understands. Each flag is there once: gates are merged, and the user's word is the
// last one. Flags should have passed CheckExtraArg; OptionArgs refuses none.
//
// The checks are off where atStart is empty; else it is the value of the one before serving, "true", "false", or what
// becomes one of them. At compactions and by the hour etcd compares by itself.
func OptionArgs(v Version, atStart string, extra map[string]string) []string {
	flags := maps.Clone(extra)
	if flags == nil {
		flags = map[string]string{}
	}
	switch {
	case atStart == "":
	case hasGates(v):
		flags[featureGatesFlag] = mergeGates([]gate{{gateAtCompaction, "true"}, {gateAtStart, atStart}},
			extra[featureGatesFlag])
	default:
		flags[flagAtCompaction], flags[flagAtStart] = "true", atStart
	}
	if atStart != "" {
		compareByTheHour(v, flags)
	}
	args := make([]string, 0, len(flags))
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		args = append(args, "--"+name+"="+flags[name])
	}
	return args
}

// compareByTheHour adds that flag under the name that the version knows, unless the user's flags have it. 3.6 knows
// both.
func compareByTheHour(v Version, flags map[string]string) {
	name := flagByTheHour
	if !KnownFlag(v, name) {
		name = experimentPrefix + name
	}
	_, isSaid := flags[flagByTheHour]
	_, isSaidOld := flags[experimentPrefix+flagByTheHour]
	if !isSaid && !isSaidOld {
		flags[name] = theHour
	}
}

// ArgsFor are those of a user's extra flags that etcd of this version knows, with the feature gates that it knows. What
// it knows all of stays as it is written.
func ArgsFor(v Version, extra map[string]string) map[string]string {
	known := maps.Clone(extra)
	maps.DeleteFunc(known, func(flag, _ string) bool { return !KnownFlag(v, flag) })
	gates := parseGates(known[featureGatesFlag])
	left := slices.DeleteFunc(slices.Clone(gates), func(g gate) bool { return !slices.Contains(knownGates(v), g.name) })
	switch {
	case len(left) == len(gates):
	case len(left) == 0:
		delete(known, featureGatesFlag)
	default:
		known[featureGatesFlag] = joinGates(left)
	}
	return known
}

// LeftOut are the names of the user's extra flags, and of feature gates in them, that etcd of this version does not
// know, in order.
func LeftOut(v Version, extra map[string]string) []string {
	var out []string
	for _, flag := range slices.Sorted(maps.Keys(extra)) {
		if !KnownFlag(v, flag) {
			out = append(out, flag)
		}
	}
	for _, g := range parseGates(extra[featureGatesFlag]) {
		if KnownFlag(v, featureGatesFlag) && !slices.Contains(knownGates(v), g.name) {
			out = append(out, featureGatesFlag+" "+g.name)
		}
	}
	return out
}

// mergeGates adds gates that the user's list does not speak of.
func mergeGates(ours []gate, user string) string {
	gates := parseGates(user)
	for _, wanted := range ours {
		if !slices.ContainsFunc(gates, func(g gate) bool { return g.name == wanted.name }) {
			gates = append(gates, wanted)
		}
	}
	slices.SortFunc(gates, func(a, b gate) int { return cmp.Compare(a.name, b.name) })
	return joinGates(gates)
}

func joinGates(gates []gate) string {
	entries := make([]string, len(gates))
	for i, g := range gates {
		entries[i] = g.name + "=" + g.value
	}
	return strings.Join(entries, ",")
}

type gate struct{ name, value string }

// parseGates reads "A=true,B=false". A broken item is kept as it is: CheckExtraArg has its say before.
func parseGates(list string) []gate {
	var gates []gate
	for item := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		if name = strings.TrimSpace(name); name != "" {
			gates = append(gates, gate{name, strings.TrimSpace(value)})
		}
	}
	return gates
}

// checkGates says what is wrong with a list of gates. Each name must be one that the minor knows: an unknown gate stops
// etcd at its start.
func checkGates(v Version, list string) error {
	for _, g := range parseGates(list) {
		if _, err := strconv.ParseBool(g.value); err != nil {
			return fmt.Errorf("extra flag %q: gate %q must be true or false, not %q", featureGatesFlag, g.name, g.value)
		}
		if known := knownGates(v); !slices.Contains(known, g.name) {
			return fmt.Errorf("extra flag %q: etcd %s does not know the gate %q and would not start; it knows %s",
				featureGatesFlag, v.MinorString(), g.name, strings.Join(known, ", "))
		}
	}
	return nil
}

// flagName is what the name of a flag of etcd looks like, without the leading dashes.
var flagName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// ownedPrefixes are families of flags that the operator sets, or that must never be set in a Pod.
var ownedPrefixes = []string{
	"initial-", "listen-", "advertise-", "discovery", "proxy", "unsafe-", "force-new-cluster",
	"peer-", "experimental-peer-", "client-", "log-rotation",
}

// ownedFlags are single flags that the operator owns, with what to use instead where there is something.
var ownedFlags = map[string]string{
	"name": "", "data-dir": "", "wal-dir": "", "config-file": "", "version": "", "help": "",
	"cert-file": "use spec.tls", "key-file": "use spec.tls", "trusted-ca-file": "use spec.tls",
	"ca-file":  "use spec.tls",
	"auto-tls": "use spec.tls", "self-signed-cert-validity": "use spec.tls",
	"auth-token": "", "strict-reconfig-check": "", "max-learners": "", "experimental-max-learners": "",
	"logger": "", "log-outputs": "", "log-output": "", "enable-log-rotation": "",
	// what a leader keeps for members that lag is counted with (see facts.IsLogCovered)
	"snapshot-catchup-entries": "", "experimental-snapshot-catchup-entries": "",
	// with data of the v2 API no etcd of 3.6 starts (etcd-io/etcd:server/etcdserver/bootstrap.go)
	"enable-v2": "", "experimental-enable-v2v3": "", "v2-deprecation": "",
	"quota-backend-bytes":                     "use spec.etcd.quotaBackendBytes",
	"auto-compaction-mode":                    "use spec.etcd.autoCompaction.mode",
	"auto-compaction-retention":               "use spec.etcd.autoCompaction.retention",
	"snapshot-count":                          "use spec.etcd.snapshotCount",
	"heartbeat-interval":                      "use spec.etcd.heartbeatInterval",
	"election-timeout":                        "use spec.etcd.electionTimeout",
	"experimental-initial-corrupt-check":      "use spec.etcd.corruptionChecks",
	"experimental-compact-hash-check-enabled": "use spec.etcd.corruptionChecks",
}

// quietLevels hide the last words of a member, which are the evidence of what happened to its data. etcd takes capitals
// for what they are in lower case (go.uber.org/zap:zapcore/level.go).
var quietLevels = []string{"dpanic", "panic", "fatal"}

// OwnedFlag says that the operator sets this flag itself, or never lets it be set.
func OwnedFlag(name string) bool {
	if _, ok := ownedFlags[name]; ok {
		return true
	}
	return slices.ContainsFunc(ownedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// CheckExtraArg says why a flag of the user's may not be given to an etcd of this version, in a sentence that names the
// flag and what to do; nil when it may.
func CheckExtraArg(v Version, name, value string) error {
	switch {
	case !flagName.MatchString(name):
		return fmt.Errorf("extra flag %q: write the name of the flag without dashes before it, in lower case, such "+
			"as max-request-bytes", name)
	case strings.ContainsAny(value, "\n\r\x00"):
		return fmt.Errorf("extra flag %q: its value must be one line", name)
	case OwnedFlag(name):
		return ownedError(name)
	case !KnownFlag(v, name):
		return fmt.Errorf("extra flag %q: etcd %s does not know it and would not start; remove it", name,
			v.MinorString())
	case name == featureGatesFlag:
		return checkGates(v, value)
	case name == "log-level" && slices.Contains(quietLevels, strings.ToLower(value)):
		return fmt.Errorf("extra flag %q: at level %q a stopping etcd would not say why; use error or a lower one",
			name, value)
	}
	return nil
}

func ownedError(name string) error {
	if remedy := ownedFlags[name]; remedy != "" {
		return fmt.Errorf("extra flag %q: the operator sets it; %s instead", name, remedy)
	}
	return fmt.Errorf("extra flag %q: the operator owns it; remove it", name)
}

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
	for _, minor := range ListedMinors() {
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
