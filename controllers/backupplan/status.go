package backupplan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Status is what people see of a decision. The old status serves for the times at which conditions turned, and nothing
// else.
func Status(o Observation, d Decision, jobName string, old v1alpha1.EtcdBackupStatus) v1alpha1.EtcdBackupStatus {
	status := v1alpha1.EtcdBackupStatus{Stage: d.Stage}
	if o.Job.Exists || o.Record.JobUID != "" {
		status.JobName = jobName
	}
	if d.Outcome != nil {
		d.Outcome.fill(&status)
	} else if d.Attempt != nil {
		d.Attempt.fill(&status)
	}
	status.Conditions = words.Since(o.Now, 0, conditions(o, d), old.Conditions)
	return status
}

func conditions(o Observation, d Decision) []metav1.Condition {
	isComplete := d.Outcome != nil && d.Outcome.Complete
	all := []metav1.Condition{condition(v1alpha1.BackupComplete, isComplete, d.Reason, d.Message)}
	switch {
	case d.Outcome == nil && o.Backup.Verify:
		return append(all, condition(v1alpha1.BackupVerified, false, ReasonNotYet, "The backup is not proven yet."))
	case d.Outcome != nil && !isComplete:
		return append(all, condition(v1alpha1.BackupFailed, true, d.Reason, d.Message),
			condition(v1alpha1.BackupVerified, false, ReasonNotProven,
				"The backup failed. What it stored, if anything, is not known to be good."))
	case isComplete:
		return append(all, d.Outcome.verified(o.Signature))
	}
	return append(all, notAsked())
}

// verified says of a complete backup whether it is proven.
func (outcome Outcome) verified(signature Signature) metav1.Condition {
	switch {
	case outcome.Reason == ReasonRecordNotSigned && signature == SignatureUnknown:
		return words.Condition(v1alpha1.BackupVerified, metav1.ConditionUnknown, outcome.Reason, outcome.Message)
	case outcome.isProven():
		return condition(v1alpha1.BackupVerified, true, ReasonHashesAgree, outcome.Facts.agreement())
	case outcome.Reason == ReasonRecordNotSigned, outcome.Reason == ReasonNoWitness:
		return condition(v1alpha1.BackupVerified, false, outcome.Reason, outcome.Message)
	}
	return notAsked()
}

func notAsked() metav1.Condition {
	return condition(v1alpha1.BackupVerified, false, ReasonNotAsked,
		"spec.verify is false: the backup is not restored for a proof.")
}

func condition(kind string, isTrue bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if isTrue {
		status = metav1.ConditionTrue
	}
	return words.Condition(kind, status, reason, message)
}

func (outcome Outcome) fill(status *v1alpha1.EtcdBackupStatus) {
	if outcome.Facts != nil {
		outcome.Facts.fill(status)
	}
	if outcome.Complete {
		status.CompletedAt = words.TimeOrNil(outcome.FinishedAt)
		status.VerifiedAt = words.TimeOrNil(outcome.VerifiedAt)
	}
}

// fill shows what the manifest says as soon as the snapshot is stored, while it is being proven.
func (a Attempt) fill(status *v1alpha1.EtcdBackupStatus) {
	status.StartedAt = words.TimeOrNil(a.step(stepSnapshot).StartedAt)
	if facts, err := factsOf(a); err == nil {
		facts.fill(status)
	}
	if a.Progress == nil {
		return
	}
	status.BytesTransferred = new(a.Progress.Bytes)
	if a.Progress.Total > 0 {
		status.BytesTotal = new(a.Progress.Total)
	}
}

func (f Facts) fill(status *v1alpha1.EtcdBackupStatus) {
	status.Key, status.SizeBytes, status.SHA256 = f.Key, f.SizeBytes, f.SHA256
	status.Revision, status.TotalKeys = f.Revision, f.TotalKeys
	status.EtcdVersion, status.ClusterID, status.Member = f.EtcdVersion, f.ClusterID, f.Member
	status.Witness, status.Largest = f.Witness, f.Largest
	status.Clients, status.OtherClients = f.Clients, f.OtherClients
	status.StartedAt = words.TimeOrNil(f.StartedAt)
}

// Events are what became different from the old status to the new one.
func Events(d Decision, old, status v1alpha1.EtcdBackupStatus) []words.Event {
	switch {
	case d.Outcome != nil && old.Stage != status.Stage:
		return []words.Event{ended(d, status)}
	case d.Outcome != nil:
		return nil
	case d.Trouble && words.ReasonOf(old.Conditions, v1alpha1.BackupComplete) != d.Reason:
		return []words.Event{{Warning: true, Reason: EventHeldUp, Action: "Backup", Note: d.Reason + ": " + d.Message}}
	case old.JobName == "" && status.JobName != "":
		return []words.Event{{Reason: EventStarted, Action: "Backup",
			Note: fmt.Sprintf("Job %s makes the backup.", status.JobName)}}
	}
	return nil
}

func ended(d Decision, status v1alpha1.EtcdBackupStatus) words.Event {
	switch {
	case d.Reason == ReasonRecordNotSigned:
		return words.Event{Warning: true, Reason: EventDoubted, Action: "Backup", Note: d.Message}
	case d.Outcome.Complete:
		isWarning := d.Reason == ReasonNoWitness || d.Outcome.Facts.Unconditional
		return words.Event{Warning: isWarning, Reason: EventComplete, Action: "Backup",
			Note: fmt.Sprintf("%s Revision %d, %d bytes, at %s.",
				d.Message, status.Revision, status.SizeBytes, status.Key)}
	}
	return words.Event{Warning: true, Reason: EventFailed, Action: "Backup", Note: d.Reason + ": " + d.Message}
}

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

	// Largest are the prefixes of keys that take most, in the last words of the step compare.
	Largest []v1alpha1.KeyPrefix `json:"largest,omitempty"`

	// Clients are the EtcdClients whose keys take most, in the same words, and OtherClients how many more there are.
	Clients      []v1alpha1.ClientUsage `json:"clients,omitempty"`
	OtherClients int64                  `json:"otherClients,omitempty"`
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
	facts.Largest = largestOf(a.step(stepCompare))
	facts.Clients, facts.OtherClients = clientsOf(a.step(stepCompare))
	return facts, nil
}

// clientsOf reads them as largestOf does.
func clientsOf(compare Step) (all []v1alpha1.ClientUsage, others int64) {
	var said struct {
		Clients      []toldClient
		OtherClients int64
	}
	if err := json.Unmarshal([]byte(compare.Message), &said); err != nil {
		return nil, 0
	}
	for _, told := range said.Clients {
		all = append(all, v1alpha1.ClientUsage(told))
	}
	return all, max(said.OtherClients, 0)
}

// toldClient is a client as the step says it: ["shop/shop",5,9000,20], by the name of its role in etcd.
type toldClient v1alpha1.ClientUsage

// UnmarshalJSON implements json.Unmarshaler.
func (c *toldClient) UnmarshalJSON(text []byte) error {
	var role string
	parts := []any{&role, &c.Keys, &c.Bytes, &c.Revisions}
	const figures = 4
	if err := json.Unmarshal(text, &parts); err != nil || len(parts) != figures {
		return errors.New("the step compare does not say of a client what it takes")
	}
	switch names := strings.Split(role, "/"); len(names) {
	case 2:
		c.Name, c.User = names[0], names[1]
	case 3:
		c.Namespace, c.Name, c.User = names[0], names[1], names[2]
	default:
		return errors.New("the step compare names a client that has no name")
	}
	return nil
}

// largestOf reads them in what the step said. An agent of a release before says nothing of them, and a backup is none
// the worse for it.
func largestOf(compare Step) []v1alpha1.KeyPrefix {
	var said struct{ Largest []v1alpha1.KeyPrefix }
	if err := json.Unmarshal([]byte(compare.Message), &said); err != nil {
		return nil
	}
	return said.Largest
}

// brokenBy says why a step failed. What ended the Pod speaks for a step that said nothing.
func brokenBy(step Step, lost string) (reason, message string) {
	said, why := words.Failure(step.Message)
	switch {
	case words.IsReason(said):
		return said, words.Bounded(why)
	case why == etcdutil.NoEtcdutl:
		return ReasonEtcdutlMissing, withoutEtcdutl
	}
	reason = ReasonStepFailed
	if step.Name == stepRestore {
		reason = ReasonRestoreFailed
	}
	return reason, words.Bounded(fmt.Sprintf("The step %s failed: %s", step.Name, cmp.Or(why, lost, "it said nothing")))
}

// withoutEtcdutl is a sentence of its own.
const withoutEtcdutl = "The step restore did not start: " + etcdutil.NoEtcdutl + "."

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
