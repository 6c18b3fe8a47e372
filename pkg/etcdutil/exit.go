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
	// the member list is the authority, and this only a hint.
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
	// ExitTLS: a certificate, a key or an authority's certificate is missing or cannot be used.
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
