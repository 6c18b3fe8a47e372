package world

import (
	"context"
	"fmt"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Backup is one EtcdBackup of a story.
type Backup struct {
	*Story
	Name string
}

// Claim makes a PersistentVolumeClaim for backups.
func (s *Story) Claim(ctx context.Context, name string) {
	ginkgo.GinkgoHelper()
	gomega.Expect(s.Client.Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	})).To(gomega.Succeed())
}

// ToVolume is a store on a claim.
func ToVolume(claim string) v1alpha1.BackupStore {
	return v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: claim, Path: "etcd"}}
}

// Backup asks for a backup of a cluster of this name, whether or not there is one.
func (s *Story) Backup(ctx context.Context, name, cluster string, store v1alpha1.BackupStore, options ...func(*v1alpha1.EtcdBackupSpec)) *Backup {
	ginkgo.GinkgoHelper()
	object := &v1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec:       v1alpha1.EtcdBackupSpec{ClusterRef: v1alpha1.ClusterReference{Name: cluster}, Store: store},
	}
	for _, option := range options {
		option(&object.Spec)
	}
	gomega.Expect(s.Client.Create(ctx, object)).To(gomega.Succeed())
	return &Backup{Story: s, Name: name}
}

// Get reads the object.
func (b *Backup) Get(ctx context.Context) (*v1alpha1.EtcdBackup, error) {
	object := &v1alpha1.EtcdBackup{}
	err := b.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.Name}, object)
	return object, err
}

// Await waits until a condition is True. A backup that ends otherwise is not waited for.
func (b *Backup) Await(ctx context.Context, condition string) v1alpha1.EtcdBackupStatus {
	ginkgo.GinkgoHelper()
	var status v1alpha1.EtcdBackupStatus
	gomega.Eventually(ctx, func() error {
		object, err := b.Get(ctx)
		if err != nil {
			return err
		}
		status = object.Status
		if meta.IsStatusConditionTrue(status.Conditions, condition) {
			return nil
		}
		err = fmt.Errorf("not %s: %+v", condition, status.Conditions)
		for _, end := range []string{v1alpha1.BackupComplete, v1alpha1.BackupFailed} {
			if meta.IsStatusConditionTrue(status.Conditions, end) {
				return gomega.StopTrying("it has ended").Wrap(err)
			}
		}
		return err
	}).WithTimeout(Patience).Should(gomega.Succeed())
	return status
}

// Says is the reason and the sentence of the condition Complete.
func (b *Backup) Says(ctx context.Context) string {
	object, err := b.Get(ctx)
	if err != nil {
		return err.Error()
	}
	if c := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.BackupComplete); c != nil {
		return c.Reason + ": " + c.Message
	}
	return ""
}

// ChangeRecord writes another record on it, as any account may that may write EtcdBackups.
func (b *Backup) ChangeRecord(ctx context.Context, from, to string) {
	ginkgo.GinkgoHelper()
	object, err := b.Get(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	was := object.DeepCopy()
	record := object.Annotations[v1alpha1.AnnotationBackupRecord]
	gomega.Expect(record).To(gomega.ContainSubstring(from))
	object.Annotations[v1alpha1.AnnotationBackupRecord] = strings.Replace(record, from, to, 1)
	gomega.Expect(b.Client.Patch(ctx, object, client.MergeFrom(was))).To(gomega.Succeed())
}

// WipeStatus takes the status away, as somebody might who restores objects without it.
func (b *Backup) WipeStatus(ctx context.Context) {
	ginkgo.GinkgoHelper()
	patch := client.RawPatch("application/json-patch+json", []byte(`[{"op":"remove","path":"/status"}]`))
	object := &v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	gomega.Expect(b.Client.Status().Patch(ctx, object, patch)).To(gomega.Succeed())
}
