package observe

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
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
)

// sourcesAmong are found among these backups.
func sourcesAmong(t *testing.T, backups ...*v1alpha1.EtcdBackup) Sources {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	builder := kubefake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: "old-0", Labels: map[string]string{
				v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelComponent: v1alpha1.ComponentMember,
				v1alpha1.LabelMember: "old-0", v1alpha1.LabelInstance: "old",
			},
		}})
	for _, b := range backups {
		builder.WithObjects(b)
	}
	return Sources{Reader: builder.Build()}
}

// taken is an EtcdBackup with its outcome.
func taken(outcome *backupplan.Outcome) *v1alpha1.EtcdBackup {
	b := &v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "nightly"}}
	b.Spec.Store.Volume = &v1alpha1.VolumeStore{ClaimName: "backups"}
	b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: backupplan.Record{Namespace: "prod", Name: "nightly",
		Outcome: outcome}.Encode()}
	return b
}

func complete(key string) *backupplan.Outcome {
	return &backupplan.Outcome{Complete: true, Reason: "Verified", FinishedAt: time.Unix(1, 0),
		Facts: &backupplan.Facts{Key: key}}
}

// beginningWith is a cluster that is to begin with a backup.
func beginningWith(source v1alpha1.RestoreSource) *v1alpha1.EtcdCluster {
	c := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo"}}
	c.Spec.Bootstrap = &v1alpha1.BootstrapSpec{Restore: &source}
	return c
}

// sourceFor is the backup that the cluster wishes for.
func sourceFor(t *testing.T, b Sources, asked v1alpha1.RestoreSource) *Source {
	t.Helper()
	cluster := beginningWith(asked)
	wish, err := b.WantedBackup(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	source, err := b.OfHash(t.Context(), cluster, wish.Hash)
	if err != nil || source == nil {
		t.Fatalf("%+v has no source: %v", wish, err)
	}
	return source
}

func byName() v1alpha1.RestoreSource {
	return v1alpha1.RestoreSource{BackupRef: &v1alpha1.BackupReference{Name: "nightly"}}
}

func TestAnEtcdBackupIsBegunWithByWhatItRecorded(t *testing.T) {
	b := sourcesAmong(t, taken(complete("prod/demo/a/snapshot.db")))
	source := sourceFor(t, b, byName())
	if source.Key != "prod/demo/a/snapshot.db" || source.Store.Volume.ClaimName != "backups" {
		t.Errorf("%+v", source)
	}
	wish, err := b.WantedBackup(t.Context(), beginningWith(byName()))
	if err != nil || wish.Hash != shortHash(source) || wish.Hash == "" || wish.Fault != "" {
		t.Errorf("%+v, %v", wish, err)
	}
	byKey := v1alpha1.RestoreSource{Store: &source.Store, Key: source.Key}
	if same, _ := b.WantedBackup(t.Context(), beginningWith(byKey)); same != wish {
		t.Error("the same backup by its key is another wish")
	}
	again, _ := sourcesAmong(t, taken(complete("prod/demo/b/snapshot.db"))).WantedBackup(t.Context(),
		beginningWith(byName()))
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
		wish, err := sourcesAmong(t, backups...).WantedBackup(t.Context(), beginningWith(byName()))
		if err != nil || wish.Hash != "" || !strings.Contains(wish.Fault, says) ||
			wish.Later != (says == "is not complete yet") {
			t.Errorf("want %q: %+v, %v", says, wish, err)
		}
	}
	if wish, err := sourcesAmong(t).WantedBackup(t.Context(), beginningWith(v1alpha1.RestoreSource{})); err != nil ||
		wish.Fault == "" {
		t.Errorf("a source that names nothing: %+v, %v", wish, err)
	}
}

func TestAMembersOwnVolumeIsNoStore(t *testing.T) {
	source := v1alpha1.RestoreSource{Store: &v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "old-0"}},
		Key: "a/snapshot.db"}
	wish, err := sourcesAmong(t).WantedBackup(t.Context(), beginningWith(source))
	if err != nil || !strings.Contains(wish.Fault, "member old-0 of EtcdCluster old") || wish.Hash != "" {
		t.Errorf("%+v, %v", wish, err)
	}
	source.Store.Volume.ClaimName = "backups"
	if wish, err := sourcesAmong(t).WantedBackup(t.Context(), beginningWith(source)); err != nil || wish.Fault != "" {
		t.Errorf("%+v, %v", wish, err)
	}
}

func TestTheNewestBackupIsThatOfTheNamedCluster(t *testing.T) {
	store := v1alpha1.BackupStore{S3: &v1alpha1.S3Store{Bucket: "backups"}}
	newest := v1alpha1.RestoreSource{Store: &store, Latest: true, LatestOf: &v1alpha1.BackedUpCluster{Name: "old"}}
	source := sourceFor(t, sourcesAmong(t), newest)
	if source.Key != "" || source.LatestOf.Name != "old" {
		t.Errorf("%+v", source)
	}
	newest.LatestOf = nil
	own := sourceFor(t, sourcesAmong(t), newest)
	if *own.LatestOf != (v1alpha1.BackedUpCluster{}) || shortHash(own) == shortHash(source) {
		t.Errorf("%+v", own)
	}
}

func TestWithoutAWishNothingIsRead(t *testing.T) {
	refusing := interceptor.NewClient(kubefake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("something was read")
		},
	})
	b := Sources{Reader: refusing}
	if wish, err := b.WantedBackup(t.Context(), &v1alpha1.EtcdCluster{}); err != nil || !wish.IsZero() {
		t.Errorf("%+v, %v", wish, err)
	}
	if _, err := b.WantedBackup(t.Context(), beginningWith(byName())); err == nil {
		t.Error("an EtcdBackup that cannot be read is taken for none")
	}
}

func TestAStoreThatOneNodeMountsAtATimeIsToldFromOneThatAllDo(t *testing.T) {
	volume := &v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "backups"}}
	for mode, want := range map[corev1.PersistentVolumeAccessMode]bool{
		corev1.ReadWriteOnce: true, corev1.ReadWriteOncePod: true, corev1.ReadWriteMany: false, corev1.ReadOnlyMany: false,
	} {
		b := sourcesAmong(t)
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "backups"}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{mode}
		if err := b.Reader.(client.Client).Create(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		wish, err := b.WantedBackup(t.Context(), beginningWith(v1alpha1.RestoreSource{Store: volume, Latest: true}))
		if err != nil || wish.OneNode != want || wish.Fault != "" {
			t.Errorf("%s: %+v, %v", mode, wish, err)
		}
	}
	wish, err := sourcesAmong(t).WantedBackup(t.Context(), beginningWith(v1alpha1.RestoreSource{Store: volume, Latest: true}))
	if err != nil || wish.OneNode {
		t.Errorf("a claim that is not there: %+v, %v", wish, err)
	}
}
