package etcdutil

import (
	"cmp"
	"fmt"
	"strings"
)

// ExitReason says why an etcd process stopped, as far as its last words tell. The set is closed.
type ExitReason string

const (
	// ExitUnknown: nothing in the message is recognised. It never justifies giving data up.
	ExitUnknown ExitReason = "Unknown"
	// ExitDataEmpty: no data in the directory, and no other peer answered. Under sealed flags there is no other peer to
	// ask, so it says that the directory is empty. Under the flags of a joining learner the same words say only that no
	// peer answered: which of the two it is, the caller knows from the flags.
	ExitDataEmpty ExitReason = "DataEmpty"
	// ExitDataCorrupt: the WAL, a snapshot or the database cannot be read.
	ExitDataCorrupt ExitReason = "DataCorrupt"
	// ExitDataDiffers: the data differs from that of at least one peer. Which of the two is wrong the member cannot
	// know: a good one that starts beside a corrupt one says the same (etcd-io/etcd:server/etcdserver/corrupt.go
	// InitialCheck).
	ExitDataDiffers ExitReason = "DataDiffers"
	// ExitRemoved: the member was removed from the cluster. Often it ends without a word of it, with code 0 or 1:
	// the member list is the CA, and this only a hint.
	ExitRemoved ExitReason = "Removed"
	// ExitAlreadyBootstrapped: no data, state new, and a peer says that this member has started before.
	ExitAlreadyBootstrapped ExitReason = "AlreadyBootstrapped"
	// ExitStaleFlags: --initial-cluster does not match the members, or does not name this one.
	ExitStaleFlags ExitReason = "StaleFlags"
	// ExitBadFlag: a flag, a gate or an environment variable is not understood, or contradicts another.
	ExitBadFlag ExitReason = "BadFlag"
	// ExitVersionTooLow: the binary is older than the data or the cluster allow.
	ExitVersionTooLow ExitReason = "VersionTooLow"
	// ExitVersionSkipped: a 3.7 met log entries that only older minors can decode. The data is whole: an older binary
	// starts on it.
	ExitVersionSkipped ExitReason = "VersionSkipped"
	// ExitDiskFull: no space left on the volume.
	ExitDiskFull ExitReason = "DiskFull"
	// ExitDiskFailing: the disk or its file system returns errors, or became read-only.
	ExitDiskFailing ExitReason = "DiskFailing"
	// ExitFault: the Go runtime stopped the process and printed every goroutine, so that the cause was cut off: a page
	// of the database that the disk did not deliver (SIGBUS), or a bug.
	ExitFault ExitReason = "Fault"
	// ExitOutOfMemory: the kernel killed it because its container used more memory than its limit. Kubernetes says so,
	// in this word; the process itself says nothing.
	ExitOutOfMemory ExitReason = "OOMKilled"
	// ExitPermission: the data directory may not be read or written.
	ExitPermission ExitReason = "Permission"
	// ExitTLS: a certificate, a key or a CA's certificate is missing or cannot be used.
	ExitTLS ExitReason = "TLS"
	// ExitAddress: a listener could not be opened.
	ExitAddress ExitReason = "Address"
	// ExitRaftPanic: raft was to go on from entries that this disk does not hold: the member was started under its ID
	// on an emptied or an older directory.
	ExitRaftPanic ExitReason = "RaftPanic"
)

// Classify is why an etcd process stopped: see Explain.
func Classify(exitCode int, message string) ExitReason {
	reason, _ := Explain(exitCode, message)
	return reason
}

// Explain reads the end of what etcd printed, as the kubelet's FallbackToLogsOnError puts it into a termination
// message: at most 80 lines and 2048 bytes, JSON or console, cut anywhere. Its words, in one line, are those of the
// line that tells the reason.
//
// A signal ends a process without a last word: what it printed before is no cause. SIGBUS is the kernel's word for a
// page of the database that the disk did not deliver.
func Explain(exitCode int, message string) (reason ExitReason, words string) {
	const signals, sigbus = 128, 7
	switch {
	case exitCode == signals+sigbus:
		return ExitDiskFailing, signalWords(sigbus)
	case exitCode > signals:
		return ExitUnknown, signalWords(exitCode - signals)
	case strings.Contains(message, removedSentence):
		return ExitRemoved, removedSentence
	}
	if s, line := sentenceIn(message); s.reason != "" {
		return s.reason, cmp.Or(entryWords(line), graveWords(message), exitMeanings[s.reason])
	}
	return ExitUnknown, cmp.Or(LastWords(message), fmt.Sprintf("it ended with exit code %d", exitCode))
}

// sentenceIn is the sentence that tells the reason, and the line that it is in; no sentence where none is found.
func sentenceIn(message string) (sentence exitSentence, line string) {
	last := inJSON(lastWords(message))
	for _, s := range exitSentences {
		if at := strings.Index(last, s.contains); at >= 0 {
			return s, lineAt(last, at)
		}
	}
	return exitSentence{}, ""
}

// inJSON has fields of a log as JSON has them: a log for people (--log-format=console) has a space after each name.
func inJSON(log string) string { return strings.ReplaceAll(log, `": "`, `":"`) }

// lineAt is the line of a text that this position is in.
func lineAt(text string, at int) string {
	from := strings.LastIndex(text[:at], "\n") + 1
	line, _, _ := strings.Cut(text[from:], "\n")
	return line
}

// lastWords cuts ordinary log lines from the front, so that a warning of a healthy time is not taken for the cause: it
// begins with the line by which etcd says that it ends. Where that line itself was cut off, as in front of a long
// stack, everything is kept.
func lastWords(message string) string {
	lines := strings.SplitAfter(message, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "panic: ") && i > 0:
			return strings.Join(lines[entryBefore(lines, i):], "") // it says the same with the error
		case isFatal(line):
			return strings.Join(lines[i:], "")
		}
	}
	return message
}

// entryBefore is where the last entry of the log before a line is. In a log for people its stack is between them: a
// function and a file, in turns.
func entryBefore(lines []string, i int) int {
	for i--; i > 0 && strings.HasPrefix(lines[i], "\t"); i -= 2 {
	}
	return max(0, i)
}

// isFatal says that a line of the log is etcd's last but for stacks. Flags that contradict each other are a mere
// warning to etcd (etcd-io/etcd:server/etcdmain/etcd.go).
func isFatal(line string) bool {
	for _, mark := range []string{`"level":"fatal"`, `"level":"panic"`, "\tfatal\t", "\tpanic\t",
		"failed to verify flags"} {
		if strings.Contains(line, mark) {
			return true
		}
	}
	return false
}

// NoEtcdutl is what LacksEtcdutl means, and what a person can do about it: the beginning of a sentence and another one,
// without the last stop.
const NoEtcdutl = "the image of etcd has no etcdutl, which restores and proves backups. Name an image that has it in " +
	"spec.image of the EtcdCluster, such as etcd's own"

// LacksEtcdutl reports that no container was started because its image has no etcdutl, by what the runtime says. Both
// look where $PATH leads: runc in the words of Go (os/exec ErrNotFound), crun in its own
// (containers/crun:src/libcrun/container.c).
func LacksEtcdutl(said string) bool {
	return strings.Contains(said, `"etcdutl": executable file not found in $PATH`) ||
		strings.Contains(said, "executable file `etcdutl` not found in $PATH")
}

// removedSentence is what a removed member hears from each peer. Only a removed member prints it
// (etcd-io/etcd:server/etcdserver/api/rafthttp/http.go, 410).
const removedSentence = "the member has been permanently removed from the cluster"

// exitSentence ties a reason to the words of etcd, or to a function in the stack of its panic where the words are cut
// off.
type exitSentence struct {
	contains string
	reason   ExitReason
}

// exitSentences is read from the top, and the first that is found wins: a full or forbidden disk comes before the
// database that could not be opened for it. Each was seen in a real crash of 3.5.35, 3.6.16 or 3.7.3, recorded in
// testdata/exits, unless it says otherwise. A field of the log stands here as in JSON: see inJSON.
var exitSentences = []exitSentence{
	{"no space left on device", ExitDiskFull},
	// the error is cut off; a directory that may not be written ends etcd before
	{"panic: failed to create WAL", ExitDiskFull},
	{"disk quota exceeded", ExitDiskFull}, // EDQUOT (not tried)

	{": input/output error", ExitDiskFailing},       // EIO (not tried)
	{": read-only file system", ExitDiskFailing},    // EROFS
	{": structure needs cleaning", ExitDiskFailing}, // EUCLEAN (not tried)
	{"[signal SIGBUS: bus error", ExitDiskFailing},  // where the goroutines behind it are few enough (not tried)

	{": permission denied", ExitPermission},

	{"cannot fetch cluster info from peer urls", ExitDataEmpty}, // server/etcdserver/bootstrap.go
	{"has already been bootstrapped", ExitAlreadyBootstrapped},
	{"member count is unequal", ExitStaleFlags},
	{"PeerURLs: no match found for existing member", ExitStaleFlags},
	{"couldn't find local name", ExitStaleFlags},
	{"error setting up initial cluster", ExitStaleFlags}, // server/embed/config.go PeerURLsMapAndToken (not tried)

	{"invalid downgrade; server version is lower than determined cluster version", ExitVersionTooLow},
	{"version.MustDetectDowngrade", ExitVersionTooLow},           // the same as a panic: the words are cut off
	{"membership.(*RaftCluster).SetVersion(", ExitVersionTooLow}, // and so is the frame that has panicked
	{").ClusterVersionSet\\n", ExitVersionTooLow},                // 3.5: a long stack and other lines follow the words
	{"incompatible with current running cluster", ExitVersionTooLow},
	{"\" is not supported\"", ExitVersionTooLow}, // version \"3.7.0\" is not supported: server/storage/schema
	{"unmarshal should never fail", ExitVersionSkipped},
	{"pbutil.MustUnmarshalMessage", ExitVersionSkipped},

	{"is out of range [lastIndex(", ExitRaftPanic}, // raft: tocommit(8) is out of range [lastIndex(0)]

	{"crc mismatch", ExitDataCorrupt},                 // server/storage/wal
	{"\"error\":\"wal: ", ExitDataCorrupt},            // the other errors of that package
	{"selectWALFiles failed: wal: ", ExitDataCorrupt}, // from 3.6 on its files are told so: one of them is gone
	// A record of the WAL that cannot be decoded. Of the space that follows, each build of 3.7 has one of two widths
	// (google.golang.org/protobuf/internal/errors).
	{"\"error\":\"proto:", ExitDataCorrupt},
	{"cannot use none as id", ExitDataCorrupt}, // a WAL that does not say whose it is
	{"\"error\":\"invalid database\"", ExitDataCorrupt},
	{"\"error\":\"file size too small", ExitDataCorrupt},
	{"\"error\":\"checksum error\"", ExitDataCorrupt},        // bbolt errors.ErrChecksum
	{"go.etcd.io/bbolt.(*DB).loadFreelist", ExitDataCorrupt}, // up to 3.6, where bbolt's pages contradict each other
	{"Page expected to be", ExitDataCorrupt},                 // 3.7, where they do
	{"found data inconsistency with peers", ExitDataDiffers},

	{"flag provided but not defined", ExitBadFlag},
	{"for flag -", ExitBadFlag}, // invalid value "x" for flag -y
	{"failed to verify flags", ExitBadFlag},
	{"conflicting environment variable is shadowed", ExitBadFlag},
	{"unexpected TLS cipher suite", ExitBadFlag},
	{"panic: unrecognized level", ExitBadFlag},

	{"bind: ", ExitAddress}, // listen tcp …: bind: cannot assign requested address

	{"failed to find any PEM data", ExitTLS},
	{"TLS key/cert (", ExitTLS},
	{"tls: private key does not match", ExitTLS}, // crypto/tls (not tried)
	{".crt: no such file or directory", ExitTLS},
	{".key: no such file or directory", ExitTLS},

	{" fp=0x", ExitFault}, // frames of goroutines as the runtime prints them, and no panic does: runtime/traceback.go
}

// exitMeanings are for people, where nothing but a stack is left of what etcd said.
var exitMeanings = map[ExitReason]string{
	ExitVersionTooLow:  "it is older than its data or its cluster allows",
	ExitVersionSkipped: "it cannot read an entry that an older minor version wrote",
	ExitDataCorrupt:    "its database cannot be read",
	ExitFault:          "the Go runtime stopped it, and the line that says why was cut off",
}
