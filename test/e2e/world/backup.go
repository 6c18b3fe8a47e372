package world

import (
	"context"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
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
