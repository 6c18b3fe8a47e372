package backupplan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/words"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
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

	// Witness is the voter that gave the same hash: another one than Member, or that one where no other votes.
	// NoWitness is why no other one did. A record of the release before says neither.
	Witness   string `json:"witness,omitempty"`
	NoWitness string `json:"noWitness,omitempty"`

	// Unconditional says that the store knows no conditional writes: it was looked whether the name was free.
	Unconditional bool `json:"unconditional,omitempty"`
}

// unconditional is what such a store costs; empty for all others.
func (f *Facts) unconditional() string {
	if !f.Unconditional {
		return ""
	}
	return " The store knows no conditional writes (it answers 501 to If-None-Match). So the operator looked that no " +
		"object of the name was there, and then wrote. Let nothing else write below this prefix: of two that write " +
		"under one name at once, one is overwritten."
}

// factsOf reads the last words of a snapshot that went well.
func factsOf(a Attempt) (Facts, error) {
	snapshot := a.step(stepSnapshot)
	if snapshot.State != StepDone {
		return Facts{}, errors.New("no snapshot was stored")
	}
	var said struct {
		Facts
		KeysHash keysHash `json:"keysHash"`
	}
	if err := json.Unmarshal([]byte(snapshot.Message), &said); err != nil {
		return Facts{}, fmt.Errorf("reading the manifest in the Pod's last words: %w", err)
	}
	facts := said.Facts
	facts.Witness, facts.NoWitness = said.KeysHash.witnessOf(facts.Member)
	if facts.Key == "" || facts.Revision <= 0 || facts.SizeBytes <= 0 || len(facts.SHA256) != 64 {
		return Facts{}, errors.New("the manifest in the Pod's last words lacks key, revision, size or hash")
	}
	facts.StartedAt = facts.StartedAt.UTC().Truncate(time.Second)
	return facts, nil
}

// brokenBy reads the last words of a step that failed. The agent says why in JSON; what etcd says, or a kernel that
// ended it, is text.
func brokenBy(step Step, lost string) (reason, message string) {
	var said struct{ Reason, Message string }
	if err := json.Unmarshal([]byte(step.Message), &said); err == nil && words.IsReason(said.Reason) {
		return said.Reason, words.Bounded(said.Message)
	}
	if etcdutil.LacksEtcdutl(step.Message) {
		return ReasonEtcdutlMissing, withoutEtcdutl
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
	return reason, words.Bounded(fmt.Sprintf("The step %s failed: %s", step.Name, last))
}

// withoutEtcdutl is a sentence of its own.
const withoutEtcdutl = "The step restore did not start: " + etcdutil.NoEtcdutl + "."

// lastLine is where programs say why they stop.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// keysHash is what the manifest says of who gave the hash that the snapshot was compared with.
type keysHash struct {
	Member    string `json:"member"`
	OnlyVoter bool   `json:"onlyVoter"`
	NoWitness string `json:"noWitness"`
}

// witnessOf is the voter that confirmed the keys of a member's snapshot, or why none did. A member does not confirm
// its own while others vote.
func (h keysHash) witnessOf(member string) (witness, none string) {
	if h.Member == "" || h.Member == member && !h.OnlyVoter {
		return "", cmp.Or(h.NoWitness, "no other member was heard")
	}
	return h.Member, ""
}

// agreement is what a backup that is proven was compared with.
func (f *Facts) agreement() string {
	const agrees = "The hash of the keys of the restored copy matches the hash that "
	switch {
	case f == nil || f.Witness == "":
		return agrees + "a member reported for that revision."
	case f.Witness == f.Member:
		return fmt.Sprintf(agrees+"member %s reported for that revision. "+
			"It is the cluster's only voting member, so no other one could confirm it.", f.Witness)
	}
	return fmt.Sprintf(agrees+"member %s reported for that revision. The snapshot is of member %s.", f.Witness,
		f.Member)
}

// unconfirmed is what a backup without a witness is worth, and what can be done about it.
func (f *Facts) unconfirmed() string {
	return fmt.Sprintf("The backup is in the store and can be restored. "+
		"Its restored copy holds the keys of member %s. No other voting member confirmed these keys: %s. "+
		"The operator does not try again. Create another EtcdBackup once the other members answer.",
		f.Member, f.NoWitness)
}
