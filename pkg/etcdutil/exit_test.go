package etcdutil

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordedExit is a real crash as the contract tests wrote it down: "<reason> <code>", then the message.
type recordedExit struct {
	name    string
	reason  ExitReason
	code    int
	message string
}

func recordedExits(t testing.TB) []recordedExit {
	t.Helper()
	files, err := filepath.Glob("testdata/exits/*/*.txt")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d recorded exits, err %v: they are part of the tests", len(files), err)
	}
	var exits []recordedExit
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, message, _ := strings.Cut(string(text), "\n")
		e := recordedExit{name: strings.TrimPrefix(file, "testdata/exits/"), message: message}
		if _, err := fmt.Sscanf(head, "%s %d", &e.reason, &e.code); err != nil {
			t.Fatalf("%s begins with %q: %v", file, head, err)
		}
		exits = append(exits, e)
	}
	return exits
}

func TestRecordedCrashesAreUnderstood(t *testing.T) {
	for _, e := range recordedExits(t) {
		t.Run(e.name, func(t *testing.T) {
			if got := Classify(e.code, e.message); got != e.reason {
				t.Errorf("understood as %s, want %s:\n%s", got, e.reason, e.message)
			}
		})
	}
}

func TestOrdinaryLogLinesAreNotTakenForTheCause(t *testing.T) {
	const healthy = `{"level":"warn","msg":"rejected connection","error":"tls: failed to find any PEM data"}
{"level":"warn","msg":"failed to write","error":"no space left on device"}
`
	const fatal = `{"level":"fatal","caller":"etcdmain/etcd.go:183","msg":"discovery failed","error":"member count is unequal"}
`
	if got := Classify(1, healthy+fatal); got != ExitStaleFlags {
		t.Errorf("understood as %s, want %s", got, ExitStaleFlags)
	}
}

func TestTheLineBeforeAPanicTellsItsCause(t *testing.T) {
	const cut = `ckend.go:205","msg":"failed to open database","path":"/db","error":"file size too small 5000","stacktrace":"x"}
panic: failed to open database

goroutine 119 [running]:
`
	if got := Classify(2, cut); got != ExitDataCorrupt {
		t.Errorf("understood as %s, want %s", got, ExitDataCorrupt)
	}
}

// A member of 3.5 finds out while it is connected to its peers already, and goroutines of these print a line or two
// before the process is gone.
func TestAMemberThatIsTooOldIsUnderstoodWhenOtherLinesFollowItsWords(t *testing.T) {
	line := `{"level":"info","caller":"rafthttp/peer.go:133","msg":"started remote peer","remote-peer-id":"60b815236525b05f",` +
		strings.Repeat("x", 230) + "}\n"
	for _, e := range recordedExits(t) {
		if e.reason != ExitVersionTooLow || !strings.Contains(e.message, "applyAll") {
			continue // it ended before it met its peers: no line can follow
		}
		for _, follow := range []int{1, 2} {
			message := e.message + strings.Repeat(line, follow)
			if got := Classify(e.code, message[len(message)-2048:]); got != e.reason {
				t.Errorf("%s, and %d more lines: understood as %s", e.name, follow, got)
			}
		}
	}
}

// What the kubelet keeps may begin anywhere in the stack, also within the frame that has panicked.
func TestAMemberThatIsTooOldIsUnderstoodWhereItsPanicIsCutOff(t *testing.T) {
	const cut = `erver/version/downgrade.go:49 +0x396
go.etcd.io/etcd/server/v3/etcdserver/api/membership.(*RaftCluster).SetVersion(0x2276a3bd8000, 0x2276a3998300, 0x1341798, 0x1)
	go.etcd.io/etcd/server/v3@v3.6.16/etcdserver/api/membership/cluster.go:699 +0x82f
go.etcd.io/etcd/server/v3/etcdserver/apply.(*applierMembership).ClusterVersionSet(0x2276a39f3340, 0x2276a39fe2a0, 0x1)
	go.etcd.io/etcd/server/v3@v3.6.16/etcdserver/apply/apply.go:417 +0x97
`
	if got := Classify(2, cut); got != ExitVersionTooLow {
		t.Errorf("understood as %s, want %s", got, ExitVersionTooLow)
	}
}

func TestWhatASignalEndedSaidNothing(t *testing.T) {
	if got := Classify(135, ""); got != ExitDiskFailing {
		t.Errorf("a process that SIGBUS ended is understood as %s", got)
	}
	for _, e := range recordedExits(t) {
		for _, code := range []int{137, 139, 143} {
			if got := Classify(code, e.message); got != ExitUnknown {
				t.Errorf("%s with code %d is understood as %s", e.name, code, got)
			}
		}
	}
}

func TestNothingSaidIsNothingKnown(t *testing.T) {
	for _, message := range []string{"", "\n", "Error", `{"level":"info","msg":"closing etcd server"}`, "panic: runtime error: index out of range"} {
		if got := Classify(1, message); got != ExitUnknown {
			t.Errorf("%q is understood as %s", message, got)
		}
	}
}

// dataIsLost are the reasons for which the planner takes a member's data for lost, by the member's own word.
var dataIsLost = map[ExitReason]bool{ExitDataEmpty: true, ExitDataCorrupt: true, ExitRaftPanic: true}

// exitReasons are all of them.
var exitReasons = []ExitReason{
	ExitUnknown, ExitDataEmpty, ExitDataCorrupt, ExitDataDiffers, ExitRemoved, ExitAlreadyBootstrapped, ExitStaleFlags, ExitBadFlag,
	ExitVersionTooLow, ExitVersionSkipped, ExitDiskFull, ExitDiskFailing, ExitFault, ExitOutOfMemory, ExitPermission, ExitTLS, ExitAddress, ExitRaftPanic,
}

// A termination message is cut in front, wherever 2048 bytes end. A shorter one may be understood less, never otherwise.
func TestACutMessageIsNeverMisunderstood(t *testing.T) {
	for _, e := range recordedExits(t) {
		for from := range len(e.message) {
			if got, _ := sentenceIn(e.message[from:]); dataIsLost[got.reason] && !dataIsLost[e.reason] {
				t.Errorf("%s, cut by %d bytes, is understood as %s", e.name, from, got.reason)
				break
			}
		}
	}
}

// minorsOf are those that say a sentence of lost data; a sentence that is not here is said by all. In its own format 3.5
// has none but JSON.
var minorsOf = map[string][]string{
	"selectWALFiles failed: wal: ":        {"3.6", "3.7"},
	"go.etcd.io/bbolt.(*DB).loadFreelist": {"3.5", "3.6"},
	"Page expected to be":                 {"3.7"},
}

// forPeople is the end of the names of crashes that were told in a log for people.
const forPeople = ",-with-a-log-for-people.txt"

func TestEachSentenceOfLostDataWasSeenInBothFormatsOnEachMinorThatSaysIt(t *testing.T) {
	type place struct {
		sentence, minor string
		isForPeople     bool
	}
	seen := map[place]bool{}
	for _, e := range recordedExits(t) {
		s, _ := sentenceIn(e.message)
		seen[place{s.contains, e.name[:len("3.5")], strings.HasSuffix(e.name, forPeople)}] = true
	}
	for _, s := range exitSentences {
		minors := minorsOf[s.contains]
		if minors == nil {
			minors = KnownMinors()
		}
		for _, minor := range minors {
			for _, isForPeople := range []bool{false, true} {
				if isJudged := dataIsLost[s.reason] || s.reason == ExitAlreadyBootstrapped; isJudged &&
					!(isForPeople && minor == "3.5") && !seen[place{s.contains, minor, isForPeople}] {
					t.Errorf("%q was not seen in a crash of %s, in a log for people: %v", s.contains, minor, isForPeople)
				}
			}
		}
	}
}

// What the kubelet keeps may begin anywhere before the sentence that tells the reason.
func TestAMessageThatStillHasItsSentenceIsUnderstood(t *testing.T) {
	for _, e := range recordedExits(t) {
		if !dataIsLost[e.reason] {
			continue
		}
		s, _ := sentenceIn(e.message)
		for left := e.message; strings.Contains(inJSON(left), s.contains); left = left[1:] {
			if got, _ := sentenceIn(left); got.reason != e.reason {
				t.Errorf("%s is understood as %s when all that is left of it is\n%s", e.name, got.reason, left)
				break
			}
		}
	}
}

// Which space follows is up to the build.
func TestARecordOfTheWALThatCannotBeDecodedIsUnderstoodWithEitherSpace(t *testing.T) {
	for _, space := range []string{" ", "\u00a0"} {
		for _, line := range []string{
			`{"level":"fatal","msg":"discovery failed","error":"proto:` + space + `cannot parse invalid wire-format data"}`,
			"2026-11-28T01:30:56Z\tfatal\tetcdmain/etcd.go:157\tdiscovery failed\t" + `{"error": "proto:` + space + `cannot parse"}`,
		} {
			if got := Classify(1, line); got != ExitDataCorrupt {
				t.Errorf("%q is understood as %s", line, got)
			}
		}
	}
}

func TestEveryReasonWasSeenInARealCrash(t *testing.T) {
	seen := map[ExitReason]bool{
		ExitRemoved:     true, // etcd seldom says it within the last 2048 bytes; the contract looks at the whole log
		ExitOutOfMemory: true, // Kubernetes says it
	}
	for _, e := range recordedExits(t) {
		seen[e.reason] = true
	}
	for _, reason := range exitReasons {
		if !seen[reason] {
			t.Errorf("%s has no recorded crash", reason)
		}
	}
}

func FuzzClassifyStaysInTheClosedSet(f *testing.F) {
	for _, e := range recordedExits(f) {
		f.Add(e.code, e.message)
	}
	known := map[ExitReason]bool{}
	for _, reason := range exitReasons {
		known[reason] = true
	}
	f.Fuzz(func(t *testing.T, code int, message string) {
		if got := Classify(code, message); !known[got] {
			t.Errorf("%q is not in the set", got)
		}
	})
}
