package scheduleplan

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Chore is what a schedule does beside making backups, each by Jobs of its own.
type Chore string

// The chores.
const (
	Prune Chore = "prune"        // removes from the store what retention does not keep
	Test  Chore = "test-restore" // restores the newest backup
)

// Names of the containers whose last words tell what came of a chore.
const (
	stepPrune = "prune"
	stepFetch = "fetch"
)

// Job is one Job of a chore.
type Job struct {
	Name  string
	Chore Chore
	At    time.Time // the run that it prunes after, or the time that it was made for
	backupplan.Job
	Pods []backupplan.Attempt
}

// Record says what came of a chore when it was last done. It is written on the schedule, so that it outlives Jobs and
// status.
type Record struct {
	At         time.Time `json:"at"` // as that of the Job
	Good       bool      `json:"good"`
	Reason     string    `json:"reason"`
	Message    string    `json:"message"`
	FinishedAt time.Time `json:"finishedAt"`

	// What follows stays from the last time that went well.
	Kept   int32     `json:"kept,omitempty"`   // after pruning
	Oldest *Point    `json:"oldest,omitempty"` // of what is kept
	Newest *Point    `json:"newest,omitempty"` // of what is kept; of a test, what was restored
	GoodAt time.Time `json:"goodAt,omitzero"`
	For    time.Time `json:"for,omitzero"` // the At of that time
}

// Point is a backup that can be restored.
type Point struct {
	Key       string    `json:"key"`
	Revision  int64     `json:"revision"`
	StartedAt time.Time `json:"startedAt"`
}

// Encode writes a record.
func (r Record) Encode() string { return backupplan.JSON(r) }

// DecodeRecord reads a record. One that cannot be read is as one that is not there: the chore is done once more, which
// changes nothing.
func DecodeRecord(text string) Record {
	var r Record
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.FinishedAt.IsZero() || !words.IsReason(r.Reason) {
		return Record{}
	}
	return r
}

// AsOf is a record as it is believed at a time. Clocks can be wrong: one of the future keeps nothing from being done,
// and its Jobs are read once more.
func (r Record) AsOf(now time.Time) Record {
	if r.At.After(now) {
		r.At = time.Time{}
	}
	return r
}

// Believed is the record of a test restore as far as it counts: what is not signed proves nothing. What it calls proven
// is held all the same. Where there is a key to sign with, the test is made again at once.
func (r Record) Believed(signature backupplan.Signature, hasKey bool) Record {
	if r.FinishedAt.IsZero() || signature == backupplan.SignatureGood {
		return r
	}
	r.Good, r.GoodAt, r.For, r.Reason = false, time.Time{}, time.Time{}, backupplan.ReasonRecordNotSigned
	r.Message = "The record of the last test restore has no good signature of the operator, so it proves nothing. " +
		"An earlier release wrote it, or it was changed, or the key of the cluster was. The next test restore counts."
	if hasKey {
		r.At = time.Time{}
	}
	return r
}

// ProvenBy is the backup that the last test restore of a schedule that went well has proven, where that counts; nil
// where none did.
func ProvenBy(s *v1alpha1.EtcdBackupSchedule, key backupplan.Key) *Point {
	r := DecodeRecord(s.Annotations[v1alpha1.AnnotationLastTest])
	if r.GoodAt.IsZero() || key.CheckTest(s) != backupplan.SignatureGood {
		return nil
	}
	return r.Newest
}

// lastWords are what the Pod of a chore says when all went well; a test restore says the last three of its backup
// alone.
type lastWords struct {
	Kept      int32     `json:"kept"`
	Removed   int32     `json:"removed"`
	Leftovers int32     `json:"leftovers"`
	Oldest    *Point    `json:"oldest"`
	Newest    *Point    `json:"newest"`
	Gone      []string  `json:"gone"`      // of what was asked for, the directories that the store has no backup in
	Unchecked int32     `json:"unchecked"` // of those that are kept, signed ones that no key checks
	NotRead   []string  `json:"notRead"`   // manifests that cannot be trusted, and why
	More      int       `json:"notReadMore"`
	Key       string    `json:"key"`
	Revision  int64     `json:"revision"`
	StartedAt time.Time `json:"startedAt"`

	Unconfirmed bool `json:"unconfirmed"` // no other member confirmed the keys of what was restored
}

// untrusted tells of manifests that are left alone; empty when there are none.
func (s lastWords) untrusted() string {
	if len(s.NotRead)+s.More == 0 {
		return ""
	}
	first := ""
	if len(s.NotRead) > 0 {
		first = ": " + s.NotRead[0]
	}
	return fmt.Sprintf(" Manifests that cannot be trusted, and are left alone: %d%s", len(s.NotRead)+s.More, first)
}

// unchecked tells that the key of the store is gone; empty when it is there, or nothing was ever signed. Another tool
// that owns the Secret takes away what it does not know, and no backup fails for that.
func (s lastWords) unchecked() string {
	if s.Unchecked == 0 {
		return ""
	}
	return fmt.Sprintf(" Of these %d have a signed manifest, and the store's Secret has no manifest-key to check it "+
		"with. New backups are not signed. Put the key back; where another tool writes the Secret, put it where that "+
		"tool reads it.", s.Unchecked)
}

// words reads the last words of a Job that is complete.
func (j Job) words() (lastWords, error) {
	step := stepPrune
	if j.Chore == Test {
		step = stepFetch
	}
	text := backupplan.LastWords(j.Pods, step)
	if text == "" {
		return lastWords{}, errors.New("its Pod is gone before its result was read")
	}
	var s lastWords
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return lastWords{}, fmt.Errorf("its result cannot be read: %w", err)
	}
	return s, nil
}

// record is what came of a Job that has ended; old is what came of the one before.
func (j Job) record(old Record) Record {
	r := Record{
		At: j.At, FinishedAt: j.EndedAt.UTC().Truncate(time.Second), Kept: old.Kept, Oldest: old.Oldest,
		Newest: old.Newest, GoodAt: old.GoodAt, For: old.For,
	}
	s, err := j.words()
	switch {
	case j.End != backupplan.JobComplete:
		r.Reason, r.Message = j.WhyFailed(j.Pods)
		return r
	case err != nil:
		r.Reason, r.Message = backupplan.ReasonResultLost, fmt.Sprintf("The Job %s succeeded, and %v.", j.Name, err)
		return r
	case j.Chore == Test && s.Unconfirmed:
		r.Reason = ReasonUnconfirmed
		r.Message = fmt.Sprintf("The backup of %s, revision %d, was fetched and restored. That proves nothing: when "+
			"it was made, no other member confirmed its keys. The EtcdBackup says which did not.",
			words.Format(s.StartedAt), s.Revision)
		return r
	case j.Chore == Test:
		r.Newest = &Point{Key: s.Key, Revision: s.Revision, StartedAt: s.StartedAt.UTC().Truncate(time.Second)}
		r.Reason, r.Message = ReasonRestored,
			fmt.Sprintf("The backup of %s, revision %d, was fetched, restored and compared.", words.Format(s.StartedAt),
				s.Revision)
	case s.Kept == 0:
		r.Reason, r.Message = ReasonStoreEmpty,
			"The store has no readable backup of this schedule, although one was complete. Check that it is the same "+
				"store, and that its volume is mounted."+s.untrusted()
		return r
	default:
		r.Kept, r.Oldest, r.Newest = s.Kept, s.Oldest, s.Newest
		r.Reason, r.Message = ReasonApplied,
			fmt.Sprintf("%s in the store, and %d were removed.%s%s", backups(s.Kept), s.Removed, s.unchecked(),
				s.untrusted())
	}
	r.Good, r.GoodAt, r.For = true, r.FinishedAt, j.At
	return r
}

func backups(n int32) string {
	if n == 1 {
		return "1 backup is"
	}
	return fmt.Sprintf("%d backups are", n)
}

func directoryOf(key string) string { return path.Base(path.Dir(key)) }

func (p *Point) show() *v1alpha1.RestorePoint {
	if p == nil || p.Key == "" {
		return nil
	}
	return &v1alpha1.RestorePoint{Time: metav1.NewTime(p.StartedAt.UTC().Truncate(time.Second)), Revision: p.Revision,
		Key: p.Key}
}
