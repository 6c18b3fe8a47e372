package etcdutil

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// featureGatesFlag is the one flag that the operator and a user may both have something to say in.
const featureGatesFlag = "feature-gates"

// The gates by which etcd compares its data with its peers: at each compaction, and before serving. Both are off by
// default (etcd-io/etcd:server/features/etcd_features.go). 3.5, which has no gates, has flags in their place.
const (
	gateAtCompaction, flagAtCompaction = "CompactHashCheck", "experimental-compact-hash-check-enabled"
	gateAtStart, flagAtStart           = "InitialCorruptCheck", "experimental-initial-corrupt-check"
)

// hasGates says whether the version knows --feature-gates at all; etcd has it from 3.6 on.
func hasGates(v Version) bool { return KnownFlag(v, featureGatesFlag) }

// OptionArgs are the arguments for the corruption checks and for the user's extra flags, without dashes in the map, as
// one sorted list that a version understands. Each flag is there once: gates are merged, and the user's word is the
// last one. Flags should have passed CheckExtraArg; OptionArgs refuses none.
//
// The checks are off where atStart is empty; else it is the value of the one before serving, "true", "false", or what
// becomes one of them.
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
	args := make([]string, 0, len(flags))
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		args = append(args, "--"+name+"="+flags[name])
	}
	return args
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
