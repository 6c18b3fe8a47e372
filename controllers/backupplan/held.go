package backupplan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Secret is one that the store of a backup is reached with.
type Secret struct {
	Name string
	Keys string // that it has to have, as a part of a sentence
}

// noSecret is how Kubernetes names a Secret that a Pod mounts, and that is not there
// (kubernetes/kubernetes:pkg/volume/secret/secret.go).
var noSecret = regexp.MustCompile(`secrets? "([^"]+)" not found`)

// heldUp is a decision that waits for what keeps the Job's Pod from starting. It says what a person does about it, and
// until when.
func (o Observation) heldUp(stage string, t Trouble) *Decision {
	d := waits(stage, t.Reason, t.Message).troubled()
	if found := noSecret.FindStringSubmatch(t.Message); found != nil {
		d.Message = fmt.Sprintf("Secret %s is missing. Create it in this namespace%s.", found[1], o.keysOf(found[1]))
	}
	d.Message = strings.TrimSuffix(d.Message, ".") + "." + o.goesOn()
	return d
}

// keysOf says which keys a Secret has to have, or "".
func (o Observation) keysOf(secret string) string {
	i := slices.IndexFunc(o.Backup.Secrets, func(s Secret) bool { return s.Name == secret })
	if i < 0 {
		return ""
	}
	return " with " + o.Backup.Secrets[i].Keys
}

// goesOn says what becomes of a backup that something holds up.
func (o Observation) goesOn() string {
	return fmt.Sprintf(" The backup goes on by itself once that is put right, and fails at %s if it is not.",
		words.Format(o.deadline()))
}

// Waits says why an EtcdBackup does not get on, by its own status, or "". It is for display: a status may say anything.
func Waits(b *v1alpha1.EtcdBackup) (reason, message string) {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.BackupComplete)
	isOver := b.Status.Stage == StageComplete || b.Status.Stage == StageFailed || b.DeletionTimestamp != nil
	getsOn := []string{ReasonCreating, ReasonStarting, ReasonRunning, ReasonDeleting}
	if c == nil || isOver || slices.Contains(getsOn, c.Reason) {
		return "", ""
	}
	return c.Reason, c.Message
}
