package etcdutil

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

var (
	v35 = release(3, 5, 35)
	v36 = release(3, 6, 16)
	v37 = release(3, 7, 3)
)

func TestFlagsThatOnlySomeMinorsKnow(t *testing.T) {
	for _, row := range []struct {
		name             string
		in35, in36, in37 bool
	}{
		{"max-request-bytes", true, true, true},
		{"max-txn-ops", true, true, true},
		{"enable-v2", true, false, false},
		{"feature-gates", false, true, true},
		{"warning-apply-duration", false, true, true},
		{"experimental-warning-apply-duration", true, true, false},
		{"experimental-snapshot-catchup-entries", true, true, false}, // 3.5 accepts it and does not show it
		{"discovery-proxy", true, true, false},                       // 3.7 shows it and does not accept it
		{"no-such-flag", false, false, false},
		{"", false, false, false},
	} {
		if got := [3]bool{KnownFlag(v35, row.name), KnownFlag(v36, row.name), KnownFlag(v37, row.name)}; got != [3]bool{row.in35, row.in36, row.in37} {
			t.Errorf("%q is known to 3.5, 3.6, 3.7: %v", row.name, got)
		}
	}
}

func TestAnUnknownMinorIsReadAsItsNearest(t *testing.T) {
	if !KnownFlag(release(3, 4, 45), "enable-v2") || KnownFlag(release(3, 9, 0), "enable-v2") {
		t.Error("3.4 reads as 3.5 and 3.9 as 3.7")
	}
}

func TestFlagListsAreSortedAndWellFormed(t *testing.T) {
	for minor, lists := range nameTables() {
		if len(lists.flags) < 100 || !slices.IsSorted(lists.flags) || !slices.IsSorted(lists.gates) {
			t.Errorf("%s: %d flags, sorted %v", minor, len(lists.flags), slices.IsSorted(lists.flags))
		}
		for _, name := range lists.flags {
			if !flagName.MatchString(name) {
				t.Errorf("%s: flag %q", minor, name)
			}
		}
		for _, set := range []string{"name", "data-dir", "initial-cluster", "listen-metrics-urls", "peer-client-cert-auth", "auto-compaction-mode"} {
			if !slices.Contains(lists.flags, set) {
				t.Errorf("%s lacks %q, which every member Pod is given", minor, set)
			}
		}
	}
}

func TestOwnedFlags(t *testing.T) {
	for _, name := range strings.Fields(`name data-dir wal-dir config-file listen-peer-urls listen-client-urls listen-client-http-urls
		listen-metrics-urls initial-advertise-peer-urls advertise-client-urls initial-cluster initial-cluster-state initial-cluster-token
		initial-election-tick-advance discovery discovery-srv discovery-token force-new-cluster strict-reconfig-check unsafe-no-fsync
		cert-file key-file trusted-ca-file client-cert-auth client-crl-file peer-cert-file peer-auto-tls auto-tls auth-token
		peer-skip-client-san-verification experimental-peer-skip-client-san-verification max-learners log-outputs
		quota-backend-bytes snapshot-count heartbeat-interval election-timeout auto-compaction-retention
		experimental-initial-corrupt-check experimental-compact-hash-check-enabled version help proxy enable-v2 v2-deprecation`) {
		if !OwnedFlag(name) {
			t.Errorf("%s is not owned", name)
		}
	}
	for _, name := range strings.Fields(`max-request-bytes max-txn-ops feature-gates cipher-suites tls-min-version log-level log-format
		metrics enable-pprof pre-vote corrupt-check-time compact-hash-check-time bcrypt-cost auth-token-ttl backend-batch-limit grpc-keepalive-timeout
		max-concurrent-streams host-whitelist cors max-wals max-snapshots experimental-warning-apply-duration`) {
		if OwnedFlag(name) {
			t.Errorf("%s is owned", name)
		}
	}
}

func TestOwnedFlagsAreFlagsOfSomeMinor(t *testing.T) {
	elsewhere := []string{"help", "ca-file", "log-output", "experimental-max-learners"} // flag packages and older minors know these
	for name := range ownedFlags {
		if !KnownFlag(v35, name) && !KnownFlag(v36, name) && !slices.Contains(elsewhere, name) {
			t.Errorf("%s is a flag of no minor: a slip of the pen?", name)
		}
	}
}

func TestExtraArgsAreRefusedWithAReasonAndARemedy(t *testing.T) {
	for _, row := range []struct {
		version     Version
		name, value string
		says        []string // nothing: accepted
	}{
		{v36, "max-request-bytes", "1048576", nil},
		{v36, "max-request-bytes", "", nil},
		{v37, "feature-gates", "FastLeaseKeepAlive=false", nil},
		{v36, "log-level", "error", nil},
		{v36, "--max-request-bytes", "1", []string{"dashes"}},
		{v36, "Max", "1", []string{"lower case"}},
		{v36, "a=b", "1", []string{"name of the flag"}},
		{v36, "", "1", []string{"name of the flag"}},
		{v36, "cors", "a\nb", []string{"one line", "cors"}},
		{v36, "cors", "a\x00b", []string{"one line"}},
		{v36, "data-dir", "/x", []string{"data-dir", "remove it"}},
		{v36, "snapshot-count", "1", []string{"snapshot-count", "spec.etcd.snapshotCount"}},
		{v36, "cert-file", "/x", []string{"spec.tls"}},
		{v36, "experimental-initial-corrupt-check", "true", []string{"spec.etcd.corruptionChecks"}},
		{v37, "experimental-warning-apply-duration", "1s", []string{"3.7", "does not know"}},
		{v35, "feature-gates", "CompactHashCheck=true", []string{"3.5", "does not know"}},
		{v36, "feature-gates", "FastLeaseKeepAlive=false", []string{"FastLeaseKeepAlive", "3.6", "CompactHashCheck"}},
		{v36, "feature-gates", "CompactHashCheck", []string{"CompactHashCheck", "true or false"}},
		{v36, "log-level", "fatal", []string{"log-level", "error"}},
		{v36, "log-level", "Fatal", []string{"log-level", "error"}},
	} {
		err := CheckExtraArg(row.version, row.name, row.value)
		if (err == nil) != (row.says == nil) {
			t.Errorf("%s %s=%q: %v", row.version, row.name, row.value, err)
			continue
		}
		for _, word := range row.says {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s %s=%q: the refusal does not say %q: %v", row.version, row.name, row.value, word, err)
			}
		}
	}
}

func TestOptionArgs(t *testing.T) {
	const both, hour = "--feature-gates=CompactHashCheck=true,InitialCorruptCheck=true", "--corrupt-check-time=1h"
	for _, row := range []struct {
		about   string
		version Version
		atStart string
		extra   map[string]string
		want    []string
	}{
		{"nothing is asked", v36, "", nil, []string{}},
		{"3.5 has flags for the checks", v35, "true", nil,
			[]string{"--experimental-compact-hash-check-enabled=true", "--experimental-corrupt-check-time=1h",
				"--experimental-initial-corrupt-check=true"}},
		{"3.6 has gates for the checks", v36, "true", nil, []string{hour, both}},
		{"3.7 has gates for the checks", v37, "true", nil, []string{hour, both}},
		{"the user says how often all is compared", v37, "true", map[string]string{"corrupt-check-time": "0"},
			[]string{"--corrupt-check-time=0", both}},
		{"also by the name that 3.6 knows from before", v36, "true", map[string]string{"experimental-corrupt-check-time": "5s"},
			[]string{"--experimental-corrupt-check-time=5s", both}},
		{"what is not compared at the start is compared at compactions", v36, "false", nil,
			[]string{hour, "--feature-gates=CompactHashCheck=true,InitialCorruptCheck=false"}},
		{"so it is with 3.5", v35, "false", nil,
			[]string{"--experimental-compact-hash-check-enabled=true", "--experimental-corrupt-check-time=1h",
				"--experimental-initial-corrupt-check=false"}},
		{"flags are sorted", v36, "", map[string]string{"max-txn-ops": "1", "cors": "*"}, []string{"--cors=*", "--max-txn-ops=1"}},
		{"the user's gates are merged in", v36, "true", map[string]string{"feature-gates": "LeaseCheckpoint=true"},
			[]string{hour, "--feature-gates=CompactHashCheck=true,InitialCorruptCheck=true,LeaseCheckpoint=true"}},
		{"the user's word on a gate of ours is the last", v36, "true", map[string]string{"feature-gates": " InitialCorruptCheck=false ,"},
			[]string{hour, "--feature-gates=CompactHashCheck=true,InitialCorruptCheck=false"}},
		{"without checks the user's gates stay as they are", v36, "", map[string]string{"feature-gates": "B=true,A=true"},
			[]string{"--feature-gates=B=true,A=true"}},
	} {
		before := len(row.extra)
		if got := OptionArgs(row.version, row.atStart, row.extra); !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.about, got, row.want)
		}
		if len(row.extra) != before {
			t.Errorf("%s: the caller's map was changed", row.about)
		}
	}
}

func FuzzAcceptedExtraArgsAreSafeToPassOn(f *testing.F) {
	f.Add("max-request-bytes", "1")
	f.Add("feature-gates", "CompactHashCheck=false,AllAlpha=true")
	f.Add("name", "x\n")
	f.Fuzz(func(t *testing.T, name, value string) {
		for _, v := range []Version{v35, v36, v37} {
			if CheckExtraArg(v, name, value) != nil {
				continue
			}
			if OwnedFlag(name) || !KnownFlag(v, name) || strings.ContainsAny(name+value, "\n\x00") {
				t.Errorf("%s accepts %q=%q", v, name, value)
			}
			for _, arg := range OptionArgs(v, "true", map[string]string{name: value}) {
				if got, _, ok := strings.Cut(strings.TrimPrefix(arg, "--"), "="); !ok || !KnownFlag(v, got) {
					t.Errorf("%s is given %q", v, arg)
				}
			}
		}
	})
}

func TestOfAUsersFlagsAVersionGetsThoseThatItKnows(t *testing.T) {
	v35, v36, v37 := release(3, 5, 35), release(3, 6, 16), release(3, 7, 3)
	for _, row := range []struct {
		name string
		at   Version
		args map[string]string
		want string
		left string // what is left out
	}{
		{"all of them where it knows all, as they are written", v37,
			map[string]string{"feature-gates": "PriorityRequest=true, InitialCorruptCheck=false", "max-txn-ops": "9"},
			"feature-gates=PriorityRequest=true, InitialCorruptCheck=false max-txn-ops=9", ""},
		{"no gate of a later minor", v36,
			map[string]string{"feature-gates": "PriorityRequest=true, InitialCorruptCheck=false", "max-txn-ops": "9"},
			"feature-gates=InitialCorruptCheck=false max-txn-ops=9", "feature-gates PriorityRequest"},
		{"and no list of none", v36, map[string]string{"feature-gates": "PriorityRequest=true"}, "",
			"feature-gates PriorityRequest"},
		{"no gates where there are none", v35, map[string]string{"feature-gates": "InitialCorruptCheck=false"}, "",
			"feature-gates"},
		{"no flag of a later minor", v35, map[string]string{"compact-hash-check-time": "1m", "max-txn-ops": "9"},
			"max-txn-ops=9", "compact-hash-check-time"},
		{"none of none", v36, nil, "", ""},
	} {
		var got []string
		known := ArgsFor(row.at, row.args)
		for _, flag := range slices.Sorted(maps.Keys(known)) {
			got = append(got, flag+"="+known[flag])
		}
		if text := strings.Join(got, " "); text != row.want {
			t.Errorf("%s: %q, not %q", row.name, text, row.want)
		}
		if left := strings.Join(LeftOut(row.at, row.args), ", "); left != row.left {
			t.Errorf("%s: %q is left out, not %q", row.name, left, row.left)
		}
	}
}
