package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Facts are what the manifest says of a snapshot, as far as people are told. Its other fields are the agent's own.
type Facts struct {
	Key         string    `json:"key"`
	ClusterID   string    `json:"clusterID"`
	Member      string    `json:"member"`
	EtcdVersion string    `json:"etcdVersion"`
	Revision    int64     `json:"revision"`
	TotalKeys   int64     `json:"totalKeys"`
	SizeBytes   int64     `json:"sizeBytes"`
	SHA256      string    `json:"sha256"`
	StartedAt   time.Time `json:"startedAt"`
}

// factsOf reads the last words of a snapshot that went well.
func factsOf(a Attempt) (Facts, error) {
	snapshot := a.step(stepSnapshot)
	if snapshot.State != StepDone {
		return Facts{}, errors.New("no snapshot was stored")
	}
	var facts Facts
	if err := json.Unmarshal([]byte(snapshot.Message), &facts); err != nil {
		return Facts{}, fmt.Errorf("reading the manifest in the Pod's last words: %w", err)
	}
	if facts.Key == "" || facts.Revision <= 0 || facts.SizeBytes <= 0 || len(facts.SHA256) != 64 {
		return Facts{}, errors.New("the manifest in the Pod's last words lacks key, revision, size or hash")
	}
	facts.StartedAt = facts.StartedAt.UTC().Truncate(time.Second)
	return facts, nil
}

// word is what a reason of a condition may be.
var word = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,63}$`)

// brokenBy reads the last words of a step that failed. The agent says why in JSON; what etcd says, or a kernel that ended
// it, is text.
func brokenBy(step Step, lost string) (reason, message string) {
	var said struct{ Reason, Message string }
	if err := json.Unmarshal([]byte(step.Message), &said); err == nil && word.MatchString(said.Reason) {
		return said.Reason, bounded(said.Message)
	}
	reason = ReasonStepFailed
	if step.Name == stepRestore {
		reason = ReasonRestoreFailed
	}
	last := lastLine(step.Message)
	if last == "" {
		last = lost
	}
	if last == "" {
		last = "it said nothing"
	}
	return reason, bounded(fmt.Sprintf("The step %s failed: %s", step.Name, last))
}

// lastLine is where programs say why they stop.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// longest is how much of somebody else's words a condition repeats, in bytes.
const longest = 1024

// bounded is one line of text, not too long.
func bounded(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "?")
	if len(text) <= longest {
		return text
	}
	cut := longest
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
