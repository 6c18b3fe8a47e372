package backupplan

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Record says what became of a backup. It is written on the EtcdBackup, so that it outlives the Job and the status.
//
// It names whom it was written for: one that was copied to an EtcdBackup of another name says nothing there. For an
// EtcdBackup that was deleted and put back by a backup tool, under its own name, it still holds.
type Record struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	JobUID    string   `json:"jobUID,omitempty"`
	Outcome   *Outcome `json:"outcome,omitempty"`
}

// Outcome is what came of a backup; it never changes.
type Outcome struct {
	Complete   bool      `json:"complete"`
	Reason     string    `json:"reason"`
	Message    string    `json:"message"`
	FinishedAt time.Time `json:"finishedAt"`
	VerifiedAt time.Time `json:"verifiedAt,omitzero"`
	Facts      *Facts    `json:"facts,omitempty"`
}

// Encode writes a record.
func (r Record) Encode() string {
	return JSON(r)
}

// JSON is the text of a record, whose types can all be written so.
func JSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encoding a record: %v", err))
	}
	return string(text)
}

// RecordOf reads the record on an EtcdBackup. Whether it counts, Key.Check says.
func RecordOf(b *v1alpha1.EtcdBackup) (Record, error) {
	return DecodeRecord(b.Annotations[v1alpha1.AnnotationBackupRecord], b.Namespace, b.Name)
}

// DecodeRecord reads the record of the backup of this name. A text that is none is an error, and never an empty record:
// the backup may have run. Fields that it does not know are passed over, since a newer operator may have written.
func DecodeRecord(text, namespace, name string) (Record, error) {
	empty := Record{Namespace: namespace, Name: name}
	if text == "" {
		return empty, nil
	}
	var r Record
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	if err := decoder.Decode(&r); err != nil {
		return empty, fmt.Errorf("reading the record: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return empty, errors.New("reading the record: something follows it")
	}
	switch {
	case r.Name == "" || r.Namespace == "":
		return empty, errors.New("reading the record: it does not say whose it is")
	case r.Name != name || r.Namespace != namespace:
		return empty, nil
	case r.Outcome != nil && !r.Outcome.isWhole():
		return empty,
			errors.New("reading the record: its outcome lacks a reason, a time, or what a complete backup holds")
	}
	return r, nil
}

// isProven reports what the record says of itself.
func (o Outcome) isProven() bool { return o.Complete && !o.VerifiedAt.IsZero() }

func (o Outcome) isWhole() bool {
	return words.IsReason(o.Reason) && !o.FinishedAt.IsZero() && (!o.Complete || o.Facts != nil)
}

// OutcomeOf is the outcome that a status tells of; nil when it tells of none. It puts back a record that was taken
// away, as `kubectl replace` does with annotations that its file does not have, and serves for nothing else. What is
// put back is not signed.
func OutcomeOf(status v1alpha1.EtcdBackupStatus) *Outcome {
	var outcome *Outcome
	for _, c := range status.Conditions {
		if c.Status == metav1.ConditionTrue && (c.Type == v1alpha1.BackupComplete || c.Type == v1alpha1.BackupFailed) {
			outcome = &Outcome{
				Complete: c.Type == v1alpha1.BackupComplete, Reason: c.Reason, Message: c.Message,
				FinishedAt: c.LastTransitionTime.UTC(),
			}
		}
	}
	if outcome == nil {
		return nil
	}
	if status.Key != "" {
		outcome.Facts = &Facts{
			Key: status.Key, ClusterID: status.ClusterID, Member: status.Member, EtcdVersion: status.EtcdVersion,
			Revision: status.Revision, Witness: status.Witness,
			TotalKeys: status.TotalKeys, SizeBytes: status.SizeBytes, SHA256: status.SHA256,
			StartedAt: words.TimeOf(status.StartedAt), Largest: status.Largest,
			Clients: status.Clients, OtherClients: status.OtherClients,
		}
	}
	if outcome.Complete {
		outcome.FinishedAt, outcome.VerifiedAt = words.TimeOf(status.CompletedAt), words.TimeOf(status.VerifiedAt)
	}
	if !outcome.isWhole() {
		return nil
	}
	return outcome
}

// Key signs what the operator records about the backups of one cluster.
//
// Who may write EtcdBackups, or their schedules, may write any record on them. So that a backup is complete, or proven,
// counts only where Check finds the signature of the operator, which signs what it has read in the last words of its
// own Jobs and nothing else. What can only hold back is believed of every record: that a backup has run, that it
// failed, and which snapshot it names. See docs/decisions/0037-a-record-counts-when-it-is-signed.md.
type Key []byte

// KeyOf derives the key of a cluster from the content of its Secret, which itself signs nothing here; nil without one.
func KeyOf(secret []byte, namespace, cluster string) Key {
	if len(secret) == 0 {
		return nil
	}
	return mac(secret, "records of backups, 1", namespace, cluster)
}

// Sign signs the text of a record for the EtcdBackup that it is on, with the store that the backup lies in. Without a
// key it is empty.
func (k Key) Sign(b *v1alpha1.EtcdBackup, record string) string {
	return k.sign("EtcdBackup", b.Namespace, b.Name, b.Spec.ClusterRef.Name, JSON(b.Spec.Store), record)
}

// Signature is what the signature of a record is worth.
type Signature string

// What signatures are worth.
const (
	SignatureGood    Signature = "Good"
	SignatureWrong   Signature = "Wrong"
	SignatureMissing Signature = "" // there is none
	SignatureUnknown Signature = "Unknown"
)

// Check says what the signature of the record on an EtcdBackup is worth. Without a key nothing is known of it.
func (k Key) Check(b *v1alpha1.EtcdBackup) Signature {
	return k.check(b.Annotations[v1alpha1.AnnotationBackupSignature],
		k.Sign(b, b.Annotations[v1alpha1.AnnotationBackupRecord]))
}

// SignTest signs what came of a test restore, for the EtcdBackupSchedule that it is on.
func (k Key) SignTest(s *v1alpha1.EtcdBackupSchedule, record string) string {
	return k.sign("EtcdBackupSchedule", s.Namespace, s.Name, s.Spec.ClusterRef.Name, record)
}

// CheckTest says what the signature of that is worth.
func (k Key) CheckTest(s *v1alpha1.EtcdBackupSchedule) Signature {
	return k.check(s.Annotations[v1alpha1.AnnotationTestSignature],
		k.SignTest(s, s.Annotations[v1alpha1.AnnotationLastTest]))
}

func (k Key) check(said, want string) Signature {
	switch {
	case said == "":
		return SignatureMissing
	case k == nil:
		return SignatureUnknown
	case hmac.Equal([]byte(said), []byte(want)):
		return SignatureGood
	}
	return SignatureWrong
}

func (k Key) sign(parts ...string) string {
	if k == nil {
		return ""
	}
	return hex.EncodeToString(mac(k, parts...))
}

// Complete is the outcome of a complete backup, where it counts; nil where it does not.
func (k Key) Complete(b *v1alpha1.EtcdBackup) *Outcome {
	record, err := RecordOf(b)
	if err != nil || record.Outcome == nil || !record.Outcome.Complete || k.Check(b) != SignatureGood {
		return nil
	}
	return record.Outcome
}

// Proven is the outcome of a proven backup, where it counts; nil where it does not.
func (k Key) Proven(b *v1alpha1.EtcdBackup) *Outcome {
	if outcome := k.Complete(b); outcome != nil && outcome.isProven() {
		return outcome
	}
	return nil
}

// mac is an HMAC-SHA256 over parts, none of which can be taken for the end of the one before.
func mac(key []byte, parts ...string) []byte {
	hash := hmac.New(sha256.New, key)
	hash.Write([]byte(JSON(parts)))
	return hash.Sum(nil)
}
