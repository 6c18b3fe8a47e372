package backup

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
)

func TestARecordThatAPersonWroteProvesNothing(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	b := w.backup()
	b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: backupplan.Record{Namespace: "shop", Name: "nightly", Outcome: &backupplan.Outcome{
		Complete: true, Reason: backupplan.ReasonVerified, Message: "all is well", FinishedAt: w.Now, VerifiedAt: w.Now,
		Facts: &backupplan.Facts{Key: "etcd/of-another/snapshot.db", Revision: 9223372036854775000, StartedAt: w.Now},
	}}.Encode()}
	if err := w.Kube.Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.settles()
	if s := w.backup().Status; s.VerifiedAt != nil || len(w.Jobs()) > 0 {
		t.Errorf("it made %d Jobs, and says %+v", len(w.Jobs()), s)
	}
	w.is(v1alpha1.BackupVerified, "False RecordNotSigned")
	w.is(v1alpha1.BackupComplete, "True RecordNotSigned")
	w.says("does not count")
}

func (w *backupWorld) edit(change func(b *v1alpha1.EtcdBackup)) {
	w.T.Helper()
	b := w.backup()
	change(b)
	if err := w.Kube.Update(w.T.Context(), b); err != nil {
		w.T.Fatal(err)
	}
	w.restart()
}

func TestARecordThatTheOperatorSignedCountsAfterItWasExchangedAndTheObjectPutBack(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.whole()
	b := w.backup()
	if err := w.Kube.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	b.ResourceVersion, b.UID, b.Status = "", "another", v1alpha1.EtcdBackupStatus{}
	if err := w.Kube.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.passes(4)
	w.is("Complete", "True Verified")
	w.is("Verified", "True HashesAgree")
}

func TestAChangeOfASignedRecordIsTold(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.whole()
	w.edit(func(b *v1alpha1.EtcdBackup) {
		b.Annotations[v1alpha1.AnnotationBackupRecord] = strings.Replace(b.Annotations[v1alpha1.AnnotationBackupRecord], `"revision":42`, `"revision":9223372036854775000`, 1)
	})
	w.passes(2)
	w.is("Verified", "False RecordNotSigned")
	w.says("demo-ca")
	jobs := len(w.Jobs())
	w.Now = w.Now.Add(24 * time.Hour)
	w.passes(4)
	if w.is("Complete", "True RecordNotSigned"); len(w.Jobs()) != jobs {
		t.Error("it runs again")
	}
}

func TestWhileTheKeyIsAwayNothingIsKnownOfARecordAndItCountsWhenItIsBack(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.whole()
	if err := w.Kube.Delete(t.Context(), jobworld.CA()); err != nil {
		t.Fatal(err)
	}
	w.restart()
	result, err := w.operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.Key})
	if err != nil || result.RequeueAfter != 10*time.Minute {
		t.Errorf("it looks again after %s: %v", result.RequeueAfter, err)
	}
	w.is("Verified", "Unknown RecordNotSigned")
	if err := w.Kube.Create(t.Context(), jobworld.CA()); err != nil {
		t.Fatal(err)
	}
	w.passes(1)
	w.is("Verified", "True HashesAgree")
}

func TestABackupThatCannotBeSignedIsRecordedAllTheSame(t *testing.T) {
	objects := slices.DeleteFunc(jobworld.Serving(), func(o client.Object) bool { return o.GetName() == "demo-ca" })
	w := newBackupWorld(t, jobworld.Nightly(), objects...)
	w.whole()
	w.is("Complete", "True RecordNotSigned")
	if b := w.backup(); b.Status.Key != "etcd/snapshot.db" || b.Annotations[v1alpha1.AnnotationBackupSignature] != "" {
		t.Errorf("%+v", b)
	}
}

func withoutTLS() []client.Object {
	objects := slices.DeleteFunc(jobworld.Serving(), func(o client.Object) bool { return o.GetName() == "demo-ca" })
	objects[0].(*v1alpha1.EtcdCluster).Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled}
	return objects
}

func TestTheFirstBackupOfAClusterWithoutACAMakesAKeyAndTheNextUsesIt(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), withoutTLS()...)
	w.whole()
	w.is("Verified", "True HashesAgree")
	secret := &corev1.Secret{}
	if err := w.Kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "demo-records-tls"}, secret); err != nil {
		t.Fatal(err)
	}
	if len(secret.Data[corev1.TLSPrivateKeyKey]) < 20 || secret.Type != corev1.SecretTypeTLS || len(secret.OwnerReferences) != 1 {
		t.Errorf("%+v", secret)
	}
	second := jobworld.Nightly(func(b *v1alpha1.EtcdBackup) { b.Name, b.UID = "second", "1b4c2d1e-second" })
	if err := errors.Join(w.Kube.Delete(t.Context(), w.Job()), w.Kube.Create(t.Context(), second)); err != nil {
		t.Fatal(err)
	}
	first := w.Key
	w.Key = client.ObjectKeyFromObject(second)
	w.passes(3)
	w.succeed(w.Pod("p2"))
	w.passes(4)
	w.is("Verified", "True HashesAgree")
	w.Key = first
	w.restart()
	w.passes(2)
	w.is("Verified", "True HashesAgree")
}

func TestAQuotaOnSecretsKeepsNoBackupFromBeingComplete(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), withoutTLS()...)
	w.OnWrite = func(what string) error {
		if what == "create *v1.Secret" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "demo-records-tls", errors.New("exceeded quota: few"))
		}
		return nil
	}
	w.whole()
	w.is("Complete", "True RecordNotSigned")
}
