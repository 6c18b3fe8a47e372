package backupplan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// signed is a proven EtcdBackup as the operator leaves it, and the key that it is signed with.
func signed() (*v1alpha1.EtcdBackup, Key) {
	b := &v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "nightly", UID: "1"}}
	b.Spec.ClusterRef.Name = "demo"
	b.Spec.Store.Volume = &v1alpha1.VolumeStore{ClaimName: "backups"}
	key := KeyOf([]byte("secret"), "prod", "demo")
	text := Record{Namespace: "prod", Name: "nightly", Outcome: &Outcome{Complete: true, Reason: ReasonVerified, FinishedAt: now,
		VerifiedAt: now, Facts: &Facts{Key: "k", Revision: 4}}}.Encode()
	b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: text, v1alpha1.AnnotationBackupSignature: key.Sign(b, text)}
	return b, key
}

func TestARecordCountsOnlyWithASignatureOfItsOwnObjectAndCluster(t *testing.T) {
	forged := Record{Namespace: "prod", Name: "nightly", Outcome: &Outcome{Complete: true, Reason: ReasonVerified, FinishedAt: now,
		VerifiedAt: now, Facts: &Facts{Key: "of-another", Revision: 1 << 62}}}.Encode()
	for name, row := range map[string]struct {
		change func(b *v1alpha1.EtcdBackup, key *Key)
		want   Signature
	}{
		"as it was written": {func(*v1alpha1.EtcdBackup, *Key) {}, SignatureGood},
		"put back by a backup tool under its own name": {func(b *v1alpha1.EtcdBackup, _ *Key) {
			b.UID, b.CreationTimestamp, b.Labels = "2", metav1.NewTime(now.Add(time.Hour)), map[string]string{"velero.io/restore": "r"}
		}, SignatureGood},
		"with another record":    {func(b *v1alpha1.EtcdBackup, _ *Key) { b.Annotations[v1alpha1.AnnotationBackupRecord] = forged }, SignatureWrong},
		"on another store":       {func(b *v1alpha1.EtcdBackup, _ *Key) { b.Spec.Store.Volume.ClaimName = "mine" }, SignatureWrong},
		"of another cluster":     {func(b *v1alpha1.EtcdBackup, _ *Key) { b.Spec.ClusterRef.Name = "other" }, SignatureWrong},
		"in another namespace":   {func(b *v1alpha1.EtcdBackup, _ *Key) { b.Namespace = "test" }, SignatureWrong},
		"under another name":     {func(b *v1alpha1.EtcdBackup, _ *Key) { b.Name = "nightly-2" }, SignatureWrong},
		"with no hex":            {func(b *v1alpha1.EtcdBackup, _ *Key) { b.Annotations[v1alpha1.AnnotationBackupSignature] = "\xff" }, SignatureWrong},
		"with another key":       {func(_ *v1alpha1.EtcdBackup, k *Key) { *k = KeyOf([]byte("other"), "prod", "demo") }, SignatureWrong},
		"with another cluster's": {func(_ *v1alpha1.EtcdBackup, k *Key) { *k = KeyOf([]byte("secret"), "prod", "other") }, SignatureWrong},
		"without a key":          {func(_ *v1alpha1.EtcdBackup, k *Key) { *k = KeyOf(nil, "prod", "demo") }, SignatureUnknown},
		"without a signature":    {func(b *v1alpha1.EtcdBackup, _ *Key) { delete(b.Annotations, v1alpha1.AnnotationBackupSignature) }, SignatureMissing},
		"with neither":           {func(b *v1alpha1.EtcdBackup, k *Key) { b.Annotations, *k = nil, nil }, SignatureMissing},
	} {
		b, key := signed()
		row.change(b, &key)
		if got := key.Check(b); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
		if isProven := key.Proven(b) != nil; isProven != (row.want == SignatureGood) {
			t.Errorf("%s: proven %t", name, isProven)
		}
	}
}

func TestASignedBackupThatIsNotProvenIsCompleteAlone(t *testing.T) {
	for name, outcome := range map[string]Outcome{
		"stored": {Complete: true, Reason: ReasonStored, FinishedAt: now, Facts: &Facts{Key: "k"}},
		"failed": {Reason: ReasonJobFailed, FinishedAt: now, VerifiedAt: now},
	} {
		b, key := signed()
		text := Record{Namespace: "prod", Name: "nightly", Outcome: &outcome}.Encode()
		b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: text, v1alpha1.AnnotationBackupSignature: key.Sign(b, text)}
		if complete := key.Complete(b) != nil; complete != (name == "stored") || key.Proven(b) != nil {
			t.Errorf("%s: complete %t, proven %t", name, complete, key.Proven(b) != nil)
		}
	}
}

func TestTheKeyIsNotTheSecretThatItComesFrom(t *testing.T) {
	if key := KeyOf([]byte("secret"), "prod", "demo"); len(key) != 32 || string(key) == "secret" {
		t.Errorf("%q", key)
	}
}

func TestOnlyWhatTheOperatorHasSeenOfACompleteJobIsSigned(t *testing.T) {
	ended := Outcome{Complete: true, Reason: ReasonVerified, FinishedAt: now, VerifiedAt: now, Facts: &Facts{Key: "k"}}
	for name, row := range map[string]struct {
		o    Observation
		want bool
	}{
		"a Job that is complete":         {seen(complete, with(attempt(StepDone, StepDone, StepDone, StepDone).succeeded())), true},
		"a Job without last words":       {seen(complete), false},
		"a Job that failed":              {seen(gaveUp("x"), with(attempt(StepBroken).broken(refusedByStore))), false},
		"what is left of it: the status": {seen(func(o *Observation) { o.Backup.Ended = &ended }), false},
	} {
		change, ok := Next(row.o).Change.(RecordOutcome)
		if !ok || change.Signed != row.want {
			t.Errorf("%s: %+v", name, change)
		}
	}
}
