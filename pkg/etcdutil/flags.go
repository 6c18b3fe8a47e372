package etcdutil

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

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
