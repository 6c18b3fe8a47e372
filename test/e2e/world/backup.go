package world

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Saved are objects as a backup tool keeps them, in the order in which it restores them.
type Saved []*unstructured.Unstructured

// Parts are the kinds of what is made for a cluster and goes with it.
var Parts = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "Pod"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Version: "v1", Kind: "Service"},
}

// Save saves what was made for a cluster, of these kinds, and then the cluster. Of each object it leaves out what Velero does
// (vmware-tanzu/velero:pkg/restore/restore.go, resetMetadataAndStatus): whose it was, which one it was, and how it was.
func (c *Cluster) Save(ctx context.Context, kinds ...schema.GroupVersionKind) Saved {
	ginkgo.GinkgoHelper()
	var saved Saved
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		gomega.Expect(c.Client.List(ctx, list, client.InNamespace(c.Namespace))).To(gomega.Succeed())
		found := 0
		for i := range list.Items {
			if v1alpha1.ClusterOf(list.Items[i].GetLabels()) == c.Name {
				found++
				saved = append(saved, saveable(&list.Items[i]))
			}
		}
		gomega.Expect(found).NotTo(gomega.BeZero(), "of kind %s", kind.Kind)
	}
	cluster := &unstructured.Unstructured{}
	cluster.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("EtcdCluster"))
	gomega.Expect(c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Name}, cluster)).To(gomega.Succeed())
	return append(saved, saveable(cluster))
}

func saveable(object *unstructured.Unstructured) *unstructured.Unstructured {
	for _, field := range []string{
		"generateName", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"ownerReferences", "managedFields",
	} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	switch object.GetKind() {
	case "PersistentVolumeClaim": // a tool that copies what lies there makes another disk
		unstructured.RemoveNestedField(object.Object, "spec", "volumeName")
		annotations := object.GetAnnotations()
		maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.Contains(key, "kubernetes.io/") })
		object.SetAnnotations(annotations)
		object.SetFinalizers(nil)
	case "Pod":
		unstructured.RemoveNestedField(object.Object, "spec", "nodeName")
	case "Service":
		if address, _, _ := unstructured.NestedString(object.Object, "spec", "clusterIP"); address != "None" {
			unstructured.RemoveNestedField(object.Object, "spec", "clusterIP")
			unstructured.RemoveNestedField(object.Object, "spec", "clusterIPs")
		}
	}
	return object
}

// Restore creates what was saved, but for what is there.
func (w *World) Restore(ctx context.Context, saved Saved) {
	ginkgo.GinkgoHelper()
	for _, object := range saved {
		err := w.Client.Create(ctx, object.DeepCopy())
		gomega.Expect(client.IgnoreAlreadyExists(err)).To(gomega.Succeed(), "%s %s", object.GetKind(), object.GetName())
	}
}

// Copy is what lay on a member's volume at one moment.
type Copy struct{ member, node, directory string }

// CopyVolumes copies what lies on the volume of each member, one after the other, while it stands still.
func (c *Cluster) CopyVolumes(ctx context.Context, members ...string) []Copy {
	ginkgo.GinkgoHelper()
	root, err := os.MkdirTemp("", "etcd-volumes-")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(func() error { return os.RemoveAll(root) })
	var copies []Copy
	for _, member := range members {
		copied := Copy{member: member, node: c.NodeOf(ctx, member), directory: filepath.Join(root, member)}
		c.Freeze(ctx, member)
		run(ctx, "cp", "--archive", c.directory(ctx, member), copied.directory)
		c.Thaw(ctx, member)
		copies = append(copies, copied)
	}
	return copies
}

// PutBack creates the claims that were saved as new disks, and puts on each what was copied. No Pod mounts them.
func (c *Cluster) PutBack(ctx context.Context, claims Saved, copies []Copy) {
	ginkgo.GinkgoHelper()
	for _, object := range claims {
		at := slices.IndexFunc(copies, func(copied Copy) bool { return copied.member == object.GetName() })
		gomega.Expect(at).To(gomega.BeNumerically(">=", 0), object.GetName())
		copied, claim := copies[at], object.DeepCopy()
		annotations := claim.GetAnnotations()
		annotations["volume.kubernetes.io/selected-node"] = copied.node // as if its Pod had been scheduled there
		claim.SetAnnotations(annotations)
		gomega.Expect(c.Client.Create(ctx, claim)).To(gomega.Succeed())
		bound := &corev1.PersistentVolumeClaim{}
		gomega.Eventually(ctx, func() (corev1.PersistentVolumeClaimPhase, error) {
			err := c.Client.Get(ctx, client.ObjectKeyFromObject(claim), bound)
			return bound.Status.Phase, err
		}).WithTimeout(Patience).Should(gomega.Equal(corev1.ClaimBound), claim.GetName())
		root, err := c.localkube(ctx, "volumes", copied.node)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		made := filepath.Join(root, bound.Spec.VolumeName+"_"+c.Namespace+"_"+copied.member)
		run(ctx, "cp", "--archive", copied.directory+"/.", made)
	}
}
