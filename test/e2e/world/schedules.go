package world

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Schedule is one EtcdBackupSchedule of a story.
type Schedule struct {
	*Story
	Name string
}

// EachMinute asks for a backup of a cluster at each minute.
func (s *Story) EachMinute(ctx context.Context, name, cluster string, store v1alpha1.BackupStore, options ...func(*v1alpha1.EtcdBackupScheduleSpec)) *Schedule {
	ginkgo.GinkgoHelper()
	object := &v1alpha1.EtcdBackupSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec:       v1alpha1.EtcdBackupScheduleSpec{ClusterRef: v1alpha1.ClusterReference{Name: cluster}, Schedule: "* * * * *", Store: store},
	}
	for _, option := range options {
		option(&object.Spec)
	}
	gomega.Expect(s.Client.Create(ctx, object)).To(gomega.Succeed())
	return &Schedule{Story: s, Name: name}
}

// Status reads how it is kept.
func (s *Schedule) Status(ctx context.Context) (v1alpha1.EtcdBackupScheduleStatus, error) {
	object := &v1alpha1.EtcdBackupSchedule{}
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, object)
	return object.Status, err
}

// Change changes its spec.
func (s *Schedule) Change(ctx context.Context, change func(*v1alpha1.EtcdBackupScheduleSpec)) {
	ginkgo.GinkgoHelper()
	object := &v1alpha1.EtcdBackupSchedule{}
	gomega.Expect(s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, object)).To(gomega.Succeed())
	changed := object.DeepCopy()
	change(&changed.Spec)
	gomega.Expect(s.Client.Patch(ctx, changed, client.MergeFrom(object))).To(gomega.Succeed())
}

// Check fails unless a condition is as the words say: "True Applied".
func (s *Schedule) Check(ctx context.Context, condition, want string) error {
	status, err := s.Status(ctx)
	if err != nil {
		return err
	}
	c := meta.FindStatusCondition(status.Conditions, condition)
	if c == nil || string(c.Status)+" "+c.Reason != want {
		return fmt.Errorf("%s is not %s: %+v", condition, want, status.Conditions)
	}
	return nil
}

// Backups are its EtcdBackups, the oldest first.
func (s *Schedule) Backups(ctx context.Context) []v1alpha1.EtcdBackup {
	ginkgo.GinkgoHelper()
	var list v1alpha1.EtcdBackupList
	gomega.Expect(s.Client.List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.LabelSchedule: s.Name})).To(gomega.Succeed())
	slices.SortFunc(list.Items, func(a, b v1alpha1.EtcdBackup) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// Complete are the keys of those of its EtcdBackups that are complete, the oldest first.
func (s *Schedule) Complete(ctx context.Context) []string {
	ginkgo.GinkgoHelper()
	var keys []string
	for _, b := range s.Backups(ctx) {
		if meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.BackupComplete) {
			keys = append(keys, b.Status.Key)
		}
	}
	return keys
}
