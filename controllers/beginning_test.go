package controllers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/backup"
)

func image(context.Context) (string, error) { return "steward:1", nil }

// beginningsOf are found among these backups.
func beginningsOf(t *testing.T, backups ...*v1alpha1.EtcdBackup) beginnings {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	builder := kubefake.NewClientBuilder().WithScheme(scheme).WithObjects(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "prod", Name: "old-0", Labels: map[string]string{
			v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelComponent: v1alpha1.ComponentMember, v1alpha1.LabelMember: "old-0", v1alpha1.LabelInstance: "old",
		},
	}})
	for _, b := range backups {
		builder.WithObjects(b)
	}
	return beginnings{builder.Build(), image}
}

// taken is an EtcdBackup with its outcome.
func taken(outcome *backup.Outcome) *v1alpha1.EtcdBackup {
	b := &v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "nightly"}}
	b.Spec.Store.Volume = &v1alpha1.VolumeStore{ClaimName: "backups"}
	b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: backup.Record{Namespace: "prod", Name: "nightly", Outcome: outcome}.Encode()}
	return b
}

func complete(key string) *backup.Outcome {
	return &backup.Outcome{Complete: true, Reason: "Verified", FinishedAt: time.Unix(1, 0), Facts: &backup.Facts{Key: key}}
}

// beginningWith is a cluster that is to begin with a backup.
func beginningWith(source v1alpha1.RestoreSource) *v1alpha1.EtcdCluster {
	c := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo"}}
	c.Spec.Bootstrap = &v1alpha1.BootstrapSpec{Restore: &source}
	return c
}

// sourceFor is what a Pod would be made from that reads what the cluster wishes for.
func sourceFor(t *testing.T, b beginnings, of v1alpha1.RestoreSource) (apply.Source, error) {
	t.Helper()
	cluster := beginningWith(of)
	wish, err := b.wish(t.Context(), cluster)
	if err != nil {
		return apply.Source{}, err
	}
	return b.source(t.Context(), cluster, wish.Hash)
}

func byName() v1alpha1.RestoreSource {
	return v1alpha1.RestoreSource{BackupRef: &v1alpha1.BackupReference{Name: "nightly"}}
}

func TestAnEtcdBackupIsBegunWithByWhatItRecorded(t *testing.T) {
	b := beginningsOf(t, taken(complete("prod/demo/a/snapshot.db")))
	source, err := sourceFor(t, b, byName())
	if err != nil || source.Key != "prod/demo/a/snapshot.db" || source.Store.Volume.ClaimName != "backups" || source.AgentImage != "steward:1" {
		t.Errorf("%+v, %v", source, err)
	}
	wish, err := b.wish(t.Context(), beginningWith(byName()))
	if err != nil || wish.Hash != source.Hash || wish.Hash == "" || wish.Fault != "" {
		t.Errorf("%+v, %v", wish, err)
	}
	byKey := v1alpha1.RestoreSource{Store: &source.Store, Key: source.Key}
	if same, _ := b.wish(t.Context(), beginningWith(byKey)); same != wish {
		t.Error("the same backup by its key is another wish")
	}
	again, _ := beginningsOf(t, taken(complete("prod/demo/b/snapshot.db"))).wish(t.Context(), beginningWith(byName()))
	if again == wish {
		t.Error("another backup under the same name is the same wish")
	}
}

func TestWhatCannotBeBegunWithIsSaid(t *testing.T) {
	failed := complete("")
	failed.Complete, failed.Message = false, "the bucket is full"
	unreadable := taken(nil)
	unreadable.Annotations[v1alpha1.AnnotationBackupRecord] = "{"
	for says, backups := range map[string][]*v1alpha1.EtcdBackup{
		"there is no EtcdBackup nightly": nil,
		"is not complete yet":            {taken(nil)},
		"the bucket is full":             {taken(failed)},
		"cannot be read":                 {unreadable},
	} {
		wish, err := beginningsOf(t, backups...).wish(t.Context(), beginningWith(byName()))
		if err != nil || wish.Hash != "" || !strings.Contains(wish.Fault, says) || wish.Later != (says == "is not complete yet") {
			t.Errorf("want %q: %+v, %v", says, wish, err)
		}
	}
	if wish, err := beginningsOf(t).wish(t.Context(), beginningWith(v1alpha1.RestoreSource{})); err != nil || wish.Fault == "" {
		t.Errorf("a source that names nothing: %+v, %v", wish, err)
	}
}

func TestAMembersOwnVolumeIsNoStore(t *testing.T) {
	source := v1alpha1.RestoreSource{Store: &v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "old-0"}}, Key: "a/snapshot.db"}
	wish, err := beginningsOf(t).wish(t.Context(), beginningWith(source))
	if err != nil || !strings.Contains(wish.Fault, "member old-0 of EtcdCluster old") || wish.Hash != "" {
		t.Errorf("%+v, %v", wish, err)
	}
	source.Store.Volume.ClaimName = "backups"
	if wish, err := beginningsOf(t).wish(t.Context(), beginningWith(source)); err != nil || wish.Fault != "" {
		t.Errorf("%+v, %v", wish, err)
	}
}

func TestTheNewestBackupIsThatOfTheNamedCluster(t *testing.T) {
	store := v1alpha1.BackupStore{S3: &v1alpha1.S3Store{Bucket: "backups"}}
	newest := v1alpha1.RestoreSource{Store: &store, Latest: true, LatestOf: &v1alpha1.BackedUpCluster{Name: "old"}}
	source, err := sourceFor(t, beginningsOf(t), newest)
	if err != nil || source.Key != "" || source.LatestOf.Name != "old" {
		t.Errorf("%+v, %v", source, err)
	}
	newest.LatestOf = nil
	own, err := sourceFor(t, beginningsOf(t), newest)
	if err != nil || own.LatestOf != (v1alpha1.BackedUpCluster{}) || own.Hash == source.Hash {
		t.Errorf("%+v, %v", own, err)
	}
}

func TestWithoutAWishNothingIsRead(t *testing.T) {
	refusing := interceptor.NewClient(kubefake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("something was read")
		},
	})
	b := beginnings{refusing, image}
	if wish, err := b.wish(t.Context(), &v1alpha1.EtcdCluster{}); err != nil || !wish.IsZero() {
		t.Errorf("%+v, %v", wish, err)
	}
	if _, err := b.wish(t.Context(), beginningWith(byName())); err == nil {
		t.Error("an EtcdBackup that cannot be read is taken for none")
	}
}
