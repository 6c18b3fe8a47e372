package backupplan

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

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
	return k.sign("EtcdBackup", b.Namespace, b.Name, b.Spec.ClusterRef.Name, jsonOf(b.Spec.Store), record)
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
	hash.Write([]byte(jsonOf(parts)))
	return hash.Sum(nil)
}
