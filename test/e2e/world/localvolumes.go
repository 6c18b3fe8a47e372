package world

import (
	"context"
	"os"
	"path/filepath"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// OnLocalVolumes puts members on volumes of the kind local, one on each node: Kubernetes gives their files to the group
// of a Pod, which it does not with those of localkube's own class. They go with the story.
func (s *Story) OnLocalVolumes(ctx context.Context) Option {
	ginkgo.GinkgoHelper()
	s.NeedLocalkube()
	late := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-local"},
		Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &late}
	s.make(ctx, class)
	nodes, err := s.Nodes(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for _, node := range nodes {
		root, err := s.localkube(ctx, "volumes", node)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		directory := filepath.Join(root, class.Name)
		gomega.Expect(os.MkdirAll(directory, 0o750)).To(gomega.Succeed())
		ginkgo.DeferCleanup(os.RemoveAll, directory)
		s.make(ctx, localVolume(class.Name, node, directory))
	}
	return func(c *v1alpha1.EtcdCluster) {
		c.Spec.Storage = &v1alpha1.StorageSpec{StorageClassName: &class.Name, DeletionPolicy: v1alpha1.DeletionDelete}
	}
}

func localVolume(class, node, directory string) *corev1.PersistentVolume {
	isIt := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: class + "-" + node},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: directory}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchExpressions: []corev1.NodeSelectorRequirement{isIt}}}}},
		},
	}
}

// make creates what is of no namespace, for this story alone.
func (s *Story) make(ctx context.Context, object client.Object) {
	ginkgo.GinkgoHelper()
	gomega.Expect(s.Client.Create(ctx, object)).To(gomega.Succeed())
	ginkgo.DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(s.Client.Delete(ctx, object)) })
}
