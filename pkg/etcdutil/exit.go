package etcdutil

import "strings"

// ExitReason says why an etcd process stopped, as far as its last words tell. The set is closed.
type ExitReason string

const (
	// ExitUnknown: nothing in the message is recognised. It never justifies giving data up.
	ExitUnknown ExitReason = "Unknown"
	// ExitDataEmpty: a sealed member found no data in its directory.
	ExitDataEmpty ExitReason = "DataEmpty"
	// ExitDataForeign: the directory holds the data of another cluster.
	ExitDataForeign ExitReason = "DataForeign"
	// ExitDataCorrupt: the WAL, a snapshot or the database cannot be read, or differs from what the peers have.
	ExitDataCorrupt ExitReason = "DataCorrupt"
	// ExitRemoved: the member was removed from the cluster.
	ExitRemoved ExitReason = "Removed"
	// ExitAlreadyBootstrapped: an empty directory with --initial-cluster-state=new, while a peer says this member has started before.
	ExitAlreadyBootstrapped ExitReason = "AlreadyBootstrapped"
	// ExitStaleFlags: --initial-cluster does not match the member list any more.
	ExitStaleFlags ExitReason = "StaleFlags"
	// ExitPeersUnreachable: a joining member could not ask any other peer about the cluster.
	ExitPeersUnreachable ExitReason = "PeersUnreachable"
	// ExitBadFlag: a flag, a gate or an environment variable is not understood.
	ExitBadFlag ExitReason = "BadFlag"
	// ExitVersionTooLow: the binary is older than the data or the cluster allows.
	ExitVersionTooLow ExitReason = "VersionTooLow"
	// ExitVersionSkipped: a 3.7 met log entries that only older minors can decode.
	ExitVersionSkipped ExitReason = "VersionSkipped"
	// ExitDiskFull: no space left on the volume.
	ExitDiskFull ExitReason = "DiskFull"
	// ExitPermission: the data directory cannot be read or written by the process.
	ExitPermission ExitReason = "Permission"
	// ExitTLS: a certificate, key or CA file is missing or not usable.
	ExitTLS ExitReason = "TLS"
	// ExitAddress: a listener could not be opened.
	ExitAddress ExitReason = "Address"
	// ExitRaftPanic: raft was asked to go on from a log that the disk does not hold: the member was started under its ID on an empty or older disk.
	ExitRaftPanic ExitReason = "RaftPanic"
)

// Classify reads the end of what etcd printed, as the kubelet's FallbackToLogsOnError puts it into a termination
// message (at most 2048 bytes or 80 lines, JSON or console), and the exit code. The code alone decides nothing: a removed
// member exits 0 or 1 at random.
func Classify(_ int, message string) ExitReason {
	for _, s := range exitSentences {
		if strings.Contains(message, s.contains) {
			return s.reason
		}
	}
	return ExitUnknown
}

// CuredByReplacement says whether a fresh member in the place of the stopped one would live, by the stopped one's own
// word: its data is empty, foreign or not readable. Everything else is reported and never answered by giving data up.
func (r ExitReason) CuredByReplacement() bool {
	switch r {
	case ExitDataEmpty, ExitDataForeign, ExitDataCorrupt, ExitRaftPanic:
		return true
	}
	return false
}

// exitSentence ties a reason to the words of etcd that it is recognised by. Order matters: the first that is found wins.
type exitSentence struct {
	contains string
	reason   ExitReason
}

var exitSentences = []exitSentence{
	{"the member has been permanently removed from the cluster", ExitRemoved},
	{"cannot fetch cluster info from peer urls", ExitDataEmpty},
	{"could not retrieve cluster information from the given URLs", ExitDataEmpty},
	{"has already been bootstrapped", ExitAlreadyBootstrapped},
	{"member count is unequal", ExitStaleFlags},
	{"couldn't find local name", ExitStaleFlags},
	{"tocommit", ExitRaftPanic},
	{"no space left on device", ExitDiskFull},
	{"permission denied", ExitPermission},
	{"flag provided but not defined", ExitBadFlag},
}
